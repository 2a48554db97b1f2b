"""Who may talk: those of the configuration, and those let in since, as the ledger has them."""

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
    PairingRefusal.UNKNOWN: "there is no such code; look at it again with whoever gave it to you",
    PairingRefusal.EXPIRED: "this code is too old; whoever it belongs to gets another one when they write",
    PairingRefusal.USED: "this code was used before; its person is let in, unless that was taken back since",
    PairingRefusal.TOO_MANY_TRIES: "too many wrong codes were tried; wait an hour, and look at it again",
    PairingRefusal.NOT_OWNER: "only an owner may let people in",
}


class AccessCheck:
    """Knows who may talk now. Read before anything else runs, and again with every change.

    Only this process writes the ledger: what it has read is what is so, but for the instant of a change.
    """

    def __init__(self, store: Store, clock: Clock, configured: Access, settings: PairingSettings) -> None:
        self._store = store
        self._clock = clock
        self._configured = configured
        self._settings = settings
        self._access: Access | None = None

    def access(self) -> Access | None:
        """Everybody who may talk; None, and so nobody, before it was read."""
        return self._access

    async def read(self) -> None:
        self._access = with_grants(self._configured, await self._store.grants())

    async def work(self) -> None:
        """Read again whenever it changes; asking now and then is for the wake-up that never came."""
        while True:
            seen = self._store.version("access")
            await self.read()
            await first_of(self._store.changed("access", seen), self._clock.sleep(_LOOK_AGAIN))

    async def pair(self, code: str, owner: bool = False) -> Json:
        """Let the person in who was given this code; with `owner`, as one who may do everything."""
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
        """Let somebody in by their id, or a group by its address."""
        scope = _scope_of(who)
        if owner and scope is GrantScope.CHAT:
            raise Unwilling("a chat cannot be an owner; name the person")
        fresh = await self._store.grant(GrantScope.OWNER if owner else scope, who, LOCAL_PERSON)
        await self.read()
        return {"who": who, "owner": owner, "fresh": fresh}

    async def remove(self, who: str) -> Json:
        """Take back what was granted; work of theirs that is not done is not resumed any more."""
        scope = _scope_of(who)
        gone = await self._store.revoke(who, LOCAL_PERSON)
        await self.read()
        configured = self._configured
        if who in configured.owners | configured.people or ChatAddress(who) in configured.chats:
            raise Unwilling(f"{who} stands in the configuration: take it out there and restart the gateway")
        if not gone:
            raise Unwilling(f"this {scope} was not let in, so nothing was changed: {who}")
        return {"who": who, "removed": gone}

    def _is_owner(self) -> bool:
        found = still_allowed(LOCAL_PERSON, self._access, self._clock.now())
        return isinstance(found, Allowed) and found.owner


async def people_at_rest(settings: Settings, clock: Clock, ids: Ids, do: str, arguments: Json) -> Json:
    """The same while no gateway runs; what is to be told of it is sent at the next start.

    Takes the home for that long; raises `HomeLocked` when another process has it.
    """
    if not (settings.home / LEDGER).exists():
        raise NotFound("ledger in", settings.home)
    store = await open_ledger(settings.home, clock, ids)
    try:
        door = AccessCheck(store, clock, settings.access, settings.gateway.pairing)
        await door.read()
        verb = of_people(door)[do]
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
