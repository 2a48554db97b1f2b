"""Restarts and stops asked for as rows: by a command, an operator or a turn. Each is carried out once."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

from holdfast.clock import Clock, first_of
from holdfast.errors import WrongState
from holdfast.model import Request
from holdfast.policy.admission import Drain
from holdfast.policy.ages import age
from holdfast.policy.settings import SECOND
from holdfast.records import dataclass
from holdfast.store import Store

RESTART = "restart"
RESTART_WHEN_QUIET = "restart_when_quiet"
STOP = "stop"

MEANING = MappingProxyType({RESTART: Drain.RESTART, RESTART_WHEN_QUIET: Drain.RESTART, STOP: Drain.SHUTDOWN})
"""What this stage carries out; other requests are somebody else's."""

_LOOK_AGAIN = SECOND / 4 / SECOND
_IDLE = 60.0


@dataclass(frozen=True, slots=True)
class Requests:
    """Settles a request, then carries it out: a crash in between has restarted the process already."""

    store: Store
    clock: Clock
    born: int
    """When this process began; a restart it found that was asked for before that has happened."""
    reply_within: int
    is_quiet: Callable[[], bool]
    carry_out: Callable[[Drain], None]

    async def work(self) -> None:
        """Look whenever a request comes, and again while one waits for a reply or for quiet."""
        found: frozenset[int] | None = None
        while True:
            seen = self.store.version("requests")
            asked = await self.store.requests()
            if found is None:
                # By time alone a clock that is set back would make every new request an old one.
                found = frozenset(request.id for request in asked)
            waiting = await self.look(asked, found)
            await first_of(
                self.store.changed("requests", seen), self.clock.sleep(_LOOK_AGAIN if waiting else _IDLE)
            )

    async def look(self, asked: tuple[Request, ...], found: frozenset[int]) -> bool:
        """Carry out what is ready; True when something is asked for and not ready yet.

        `found` were there when this process began to look.
        """
        waiting = False
        for request in asked:
            drain = MEANING.get(request.what)
            if drain is None:
                continue
            if drain is Drain.RESTART and request.id in found and request.asked_at < self.born:
                await self._settle(request, "the process has begun anew since")
            elif not await self._is_ready(request):
                waiting = True
            elif await self._settle(request, "carried out"):
                self.carry_out(drain)
        return waiting

    async def _is_ready(self, request: Request) -> bool:
        """A turn that asks is not waited for longer than its reply may take; quiet may be long in coming."""
        if request.what == RESTART_WHEN_QUIET and not self.is_quiet():
            return False
        if request.after_turn is None or age(self.clock.now(), request.asked_at) >= self.reply_within:
            return True
        return await self.store.reply_settled(request.after_turn)

    async def _settle(self, request: Request, outcome: str) -> bool:
        try:
            await self.store.settle_request(request.id, outcome)
        except WrongState:
            return False
        return True
