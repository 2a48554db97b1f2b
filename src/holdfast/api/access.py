"""Who may talk: the people and groups of the configuration, and those that the ledger has as let in."""

from __future__ import annotations

from holdfast.clock import Clock, Ids, first_of
from holdfast.config.kinds import is_chat, is_person
from holdfast.config.settings import LOCAL_PERSON, Settings
from holdfast.errors import BadRequest, NotFound
from holdfast.model import ChatAddress, GrantScope, Stopped
from holdfast.policy.intake.access import Access, Allowed, still_allowed, with_grants
from holdfast.policy.intake.pairing import PairingRefusal, PairingRefused, read_code
from holdfast.policy.settings import PairingSettings
from holdfast.store import LEDGER, Store, open_ledger

from .arguments import Unwilling, check
from .operations import of_people
from .to_json import Json

_LOOK_AGAIN = 60.0
REFUSALS = {
    PairingRefusal.UNKNOWN: "there is no such code; compare it with the one that the person got",
    PairingRefusal.EXPIRED: "this code has expired; the person gets a new one when they write again",
    PairingRefusal.USED: "this code was used before; its person is let in, unless removed since",
    PairingRefusal.TOO_MANY_TRIES: "too many wrong codes were tried; wait an hour, and check the code",
    PairingRefusal.NOT_OWNER: "only an owner may let people in",
}


class AccessCheck:
    """Knows who may talk now. It reads the ledger before anything else runs, and again after every change.

    Only this process writes the ledger, so what it has read is true, except in the instant of a change.
    """

    def __init__(self, store: Store, clock: Clock, configured: Access, settings: PairingSettings) -> None:
        self._store = store
        self._clock = clock
        self._configured = configured
        self._settings = settings
        self._access: Access | None = None

    def access(self) -> Access | None:
        """All who may talk; None before the first read: then no one may."""
        return self._access

    async def read(self) -> None:
        self._access = with_grants(self._configured, await self._store.grants())

    async def work(self) -> None:
        """Read again after every change, and now and then in case a wake-up was lost."""
        while True:
            seen = self._store.version("access")
            await self.read()
            await first_of(self._store.changed("access", seen), self._clock.sleep(_LOOK_AGAIN))

    async def pair(self, code: str, owner: bool = False) -> Json:
        """Let in the person who has this code; with `owner`, as an owner."""
        known = read_code(code)
        if known is None:
            raise BadRequest.value("code", code, "a code of 8 letters and digits, as the bot gave it")
        scope = GrantScope.OWNER if owner else GrantScope.PERSON
        found = await self._store.pair(known, LOCAL_PERSON, self._is_owner(), scope, self._settings)
        await self.read()
        if isinstance(found, PairingRefused):
            raise Unwilling(REFUSALS[found.reason])
        return {"person": found.person, "owner": owner}

    async def allow(self, who: str, owner: bool = False) -> Json:
        """Let a person in by their id, or a group by its address."""
        scope = _scope_of(who)
        if owner and scope is GrantScope.CHAT:
            raise Unwilling("a chat cannot be an owner; name the person")
        fresh = await self._store.grant(GrantScope.OWNER if owner else scope, who, LOCAL_PERSON)
        await self.read()
        return {"who": who, "owner": owner, "fresh": fresh}

    async def remove(self, who: str) -> Json:
        """Remove a person or a group. Their unfinished work is not resumed any more."""
        scope = _scope_of(who)
        gone = await self._store.revoke(who, LOCAL_PERSON)
        await self.read()
        configured = self._configured
        if who in configured.owners | configured.people or ChatAddress(who) in configured.chats:
            raise Unwilling(f"the configuration lets {who} in: remove it there and restart the gateway")
        if not gone:
            raise Unwilling(f"this {scope} was not let in, so nothing was changed: {who}")
        return {"who": who, "removed": gone}

    def _is_owner(self) -> bool:
        found = still_allowed(LOCAL_PERSON, self._access, self._clock.now())
        return isinstance(found, Allowed) and found.owner


async def people_at_rest(settings: Settings, clock: Clock, ids: Ids, do: str, arguments: Json) -> Json:
    """The same while no gateway runs. The next start sends the messages about it.

    Locks the home meanwhile; raises `HomeLocked` if another process has the lock.
    """
    if not (settings.home / LEDGER).exists():
        raise NotFound("ledger in", settings.home)
    store = await open_ledger(settings.home, clock, ids)
    try:
        people = AccessCheck(store, clock, settings.access, settings.gateway.pairing)
        await people.read()
        verb = of_people(people)[do]
        check(verb.arguments, arguments)
        return await verb.run(arguments)
    finally:
        await store.end_instance(Stopped.STOPPED)
        await store.close()


def _scope_of(who: str) -> GrantScope:
    if is_chat(who):
        return GrantScope.CHAT
    if is_person(who):
        return GrantScope.PERSON
    allowed = (
        'the id of a person, like "telegram:123456", or the address of a group, like "telegram/1000/-100123"'
    )
    raise BadRequest.value("who", who, allowed)
