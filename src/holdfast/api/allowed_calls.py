"""The rules that owners stored with "always allow this", for the command line and the page."""

from __future__ import annotations

from holdfast.clock import Clock, Ids
from holdfast.config.settings import LOCAL_PERSON, Settings
from holdfast.errors import NotFound, WrongState
from holdfast.model import AllowedCall, Stopped
from holdfast.policy.consent.allowed_calls import described
from holdfast.policy.consent.card import one_line
from holdfast.records import dataclass
from holdfast.store import LEDGER, Store, open_ledger

from .arguments import Unwilling
from .to_json import Json, shown


def rule_shown(rule: AllowedCall) -> Json:
    """A rule as JSON: its row, and one line that says what it covers, with every character visible."""
    return {"covers": one_line(described(rule)), **shown(rule)}


@dataclass(frozen=True, slots=True)
class Rules:
    """Revokes rules, as the owner of this machine."""

    store: Store

    async def revoke(self, rule: int) -> Json:
        """Revoke a rule: no call starts under it any more."""
        try:
            await self.store.revoke_allowed_call(rule, LOCAL_PERSON)
        except WrongState as refusal:
            if refusal.found is None:
                raise NotFound("rule", rule) from None
            raise Unwilling(f"rule {rule} was revoked before; nothing was changed") from None
        return {"rule": rule, "revoked": True}


async def revoke_at_rest(settings: Settings, clock: Clock, ids: Ids, rule: int) -> Json:
    """The same while no gateway runs; raises `HomeLocked` if another process has the lock of the home."""
    if not (settings.home / LEDGER).exists():
        raise NotFound("ledger in", settings.home)
    store = await open_ledger(settings.home, clock, ids)
    try:
        return await Rules(store).revoke(rule)
    finally:
        await store.end_instance(Stopped.STOPPED)
        await store.close()
