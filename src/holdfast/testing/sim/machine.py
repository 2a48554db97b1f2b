"""The machine under simulated gateways: background processes do what their command says, in spite of kills.

run N       ends after N seconds
serve       runs until it is ended
say M …     prints a line after M seconds, for each M
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from functools import partial

from holdfast.model import ProcessId
from holdfast.policy.processes import Identity, ProcessStatus
from holdfast.records import dataclass
from holdfast.testing.observation.history import History, Worked
from holdfast.tools import FoundProcess, Launch, Output, ToolFailed

from .faults import SECRET_WORDS, FaultPlan
from .life import ProcessLife
from .loop import SimLoop
from .ports import pause
from .processes import SimProcesses

LINE = "ready"
TAKES = 0.1
"""Seconds the machine takes at most to begin or to end something."""


class SimMachine:
    """Runs processes on the time of the world, and records what they did."""

    def __init__(
        self,
        loop: SimLoop,
        history: History,
        faults: FaultPlan,
        trace: Callable[[str], None],
        is_over: Callable[[str], bool],
    ) -> None:
        self.processes = SimProcesses()
        self._loop = loop
        self._history = history
        self._faults = faults
        self._trace = trace
        self._is_over = is_over
        """Whether a turn has ended, by the ledger."""

    def port(self, life: ProcessLife) -> Port:
        """The machine as one gateway sees it."""
        return Port(self, life)

    async def start(self, launch: Launch) -> Identity:
        known = self.processes.table.get(launch.id)
        identity = await self.processes.start(launch)
        if known is None or known.identity is None:
            self._note("began", launch.id)
            self._follow(launch)
        return identity

    def end(self, id: ProcessId, code: int | None = 0, what: str = "ended") -> None:
        """End it, if it has not ended yet."""
        if id in self.processes.running():
            self._note(what, id)
            self.processes.end(id, code)

    def restart(self) -> None:
        """The power fails: every process is gone, and no one saw how it ended."""
        for id in self.processes.running():
            self._note("lost", id)
        self.processes.restart_machine()

    def unsettled(self, known: dict[str, str]) -> list[str]:
        """Processes that will still end by themselves, or whose state a ledger with these states lacks."""
        for id, one in self.processes.table.items():
            if one.alive and not one.launch.command.startswith("serve"):
                return [f"process {id} runs"]
            if one.identity is not None and id not in known:
                return [f"process {id} is not known"]
            if not one.alive and known.get(id) == "running":
                return [f"process {id} is over"]
        return []

    async def moment(self) -> None:
        await pause(self._loop, TAKES * self._faults.between(0.1, 1.0))

    def blind(self) -> None:
        if self._faults.hits("process_blind"):
            raise ToolFailed(f"the machine does not report its state {SECRET_WORDS}")

    def _follow(self, launch: Launch) -> None:
        word, *rest = launch.command.split()
        said = [float(rest[at + 1]) for at, one in enumerate(rest) if one == "say"]
        for number, seconds in enumerate(said, start=1):
            self._later(seconds, partial(self._say, launch.id, number))
        if word == "run":
            self._later(float(rest[0]), partial(self.end, launch.id))

    def _say(self, id: ProcessId, number: int) -> None:
        if id in self.processes.running():
            self._note("put_out", id)
            self.processes.put_out(id, f"{LINE} {number}\n")

    def _later(self, seconds: float, act: Callable[[], None]) -> None:
        self._loop.call_later(seconds, act, context=Context())

    def _note(self, what: str, id: ProcessId) -> None:
        launch = self.processes.table[id].launch
        self._trace(f"background process {id} {what}")
        over = self._is_over(launch.turn)
        self._history.worked.append(Worked(what, id, launch.turn, launch.command, over))


@dataclass(frozen=True, slots=True)
class Port:
    """One gateway's access to the machine: it ends with the gateway, at any point."""

    machine: SimMachine
    life: ProcessLife

    async def start(self, launch: Launch) -> Identity:
        """The caller learns what was started, even if it is cancelled meanwhile."""
        self.life.check()
        starting = asyncio.ensure_future(self._start(launch))
        while True:
            try:
                return await asyncio.shield(starting)
            except asyncio.CancelledError:
                if starting.cancelled():
                    raise

    async def _start(self, launch: Launch) -> Identity:
        if launch.id not in self.machine.processes.table:
            self.machine.processes.plan(launch)
        await self.machine.moment()
        self.life.check()
        identity = await self.machine.start(launch)
        await self.machine.moment()
        return identity

    async def stands(self, id: ProcessId, identity: Identity) -> ProcessStatus:
        self.life.check()
        self.machine.blind()
        return await self.machine.processes.stands(id, identity)

    async def output(self, id: ProcessId, start: int, most: int) -> Output:
        self.life.check()
        return await self.machine.processes.output(id, start, most)

    async def write(self, id: ProcessId, identity: Identity, text: str) -> None:
        self.life.check()
        await self.machine.processes.write(id, identity, text)
        await self.machine.moment()

    async def kill(self, id: ProcessId, identity: Identity) -> ProcessStatus:
        self.life.check()
        before = await self.machine.processes.stands(id, identity)
        await self.machine.moment()
        self.life.check()
        if not before.ended:
            self.machine.end(id, -15, "killed")
        await self.machine.moment()
        return before

    async def all(self) -> tuple[ProcessId, ...]:
        self.life.check()
        return await self.machine.processes.all()

    async def find(self, id: ProcessId) -> FoundProcess | None:
        self.life.check()
        return await self.machine.processes.find(id)

    async def forget(self, id: ProcessId) -> None:
        self.life.check()
        await self.machine.processes.forget(id)
