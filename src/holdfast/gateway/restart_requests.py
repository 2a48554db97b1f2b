"""Carry out requests for a restart or a stop, once each. A command, an operator or a turn writes the row."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

from holdfast.clock import Clock, first_of
from holdfast.errors import WrongState
from holdfast.model import Request
from holdfast.policy.ages import age
from holdfast.policy.intake.admission import Drain
from holdfast.policy.settings import SECOND
from holdfast.records import dataclass
from holdfast.store import Store

RESTART = "restart"
RESTART_WHEN_QUIET = "restart_when_quiet"
STOP = "stop"

MEANING = MappingProxyType({RESTART: Drain.RESTART, RESTART_WHEN_QUIET: Drain.RESTART, STOP: Drain.SHUTDOWN})
"""The requests that this stage carries out; other stages carry out the rest."""

OF_AN_EARLIER_RUN = "void: it was asked of an earlier run of the gateway, and that run has ended"
_LOOK_AGAIN = SECOND / 4 / SECOND
_IDLE = 60.0


@dataclass(frozen=True, slots=True)
class RestartRequests:
    """Settles a request, then carries it out: a crash in between has already restarted the process."""

    store: Store
    clock: Clock
    reply_within: int
    is_quiet: Callable[[], bool]
    carry_out: Callable[[Drain], None]

    async def work(self) -> None:
        """Look when a request comes, and again while one waits for a reply or for running turns."""
        while True:
            seen = self.store.version("requests")
            waiting = await self.look(await self.store.requests())
            await first_of(
                self.store.changed("requests", seen), self.clock.sleep(_LOOK_AGAIN if waiting else _IDLE)
            )

    async def look(self, asked: tuple[Request, ...]) -> bool:
        """Carry out the requests that are ready; True when one is not ready yet.

        A request belongs to the run that was asked. A later run settles it as void.
        """
        waiting = False
        for request in asked:
            drain = MEANING.get(request.what)
            if drain is None:
                continue
            if request.instance != self.store.instance:
                await self._settle(request, OF_AN_EARLIER_RUN)
            elif not await self._is_ready(request):
                waiting = True
            elif await self._settle(request, "carried out"):
                self.carry_out(drain)
        return waiting

    async def _is_ready(self, request: Request) -> bool:
        """Wait a limited time for the reply of the turn that asked, and without a limit for running turns."""
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
