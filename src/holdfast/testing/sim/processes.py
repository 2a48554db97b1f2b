"""Background processes of a simulated machine: they outlive gateways, and end when the test ends them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from holdfast.model import ProcessId
from holdfast.policy.processes import Identity, ProcessStatus, standing
from holdfast.records import dataclass
from holdfast.tools import FoundProcess, Launch, Output, ToolFailed

_OURSELVES = 1
"""The pid of every gateway here."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """One process of the machine."""

    launch: Launch
    identity: Identity | None = None
    """None while it is planned and not started."""
    code: int | None = None
    alive: bool = False
    output: bytes = b""
    """All its output."""
    lost: int = 0
    """How many bytes at the beginning of the output are no longer kept."""
    input: str = ""


class SimProcesses:
    """The port, with a machine that a test controls. All gateways of a world share one."""

    def __init__(self) -> None:
        self.table: dict[ProcessId, Simulated] = {}
        self.starts: list[ProcessId] = []
        """One entry for each real start."""
        self._boot = 1
        self._ticks = 0
        self._pid = 100
        self._others: dict[int, Identity] = {}
        """Other processes that have a pid from before the machine's last start."""

    # The port.

    async def start(self, launch: Launch) -> Identity:
        known = self.table.get(launch.id) or self.plan(launch)
        if known.identity is None:
            self._ticks += 1
            self._pid += 1
            identity = Identity(self._pid, self._ticks, f"boot {self._boot}")
            known = self._set(launch.id, identity=identity, alive=True)
            self.starts.append(launch.id)
        assert known.identity is not None
        return known.identity

    async def stands(self, id: ProcessId, identity: Identity) -> ProcessStatus:
        known = self.table.get(id)
        holders = [one.identity for one in self.table.values() if _has(one, identity.pid)]
        holder = holders[0] if holders else self._others.get(identity.pid)
        return standing(identity, holder, known.code if known else None, _OURSELVES)

    async def output(self, id: ProcessId, start: int, most: int) -> Output:
        data = self.table[id].output if id in self.table else b""
        lost = self.table[id].lost if id in self.table else 0
        begin = max(lost, len(data) + start if start < 0 else min(start, len(data)))
        return Output(data[begin : begin + most], begin, min(len(data), begin + most), len(data))

    async def write(self, id: ProcessId, identity: Identity, text: str) -> None:
        if (await self.stands(id, identity)).ended:
            raise ToolFailed("the process has ended and takes no more input")
        self._set(id, input=self.table[id].input + text)

    async def kill(self, id: ProcessId, identity: Identity) -> ProcessStatus:
        before = await self.stands(id, identity)
        if not before.ended:
            self.end(id, -15)
        return before

    async def all(self) -> tuple[ProcessId, ...]:
        return tuple(sorted(self.table))

    async def find(self, id: ProcessId) -> FoundProcess | None:
        known = self.table.get(id)
        return FoundProcess(known.launch, known.identity) if known else None

    async def forget(self, id: ProcessId) -> None:
        self.table.pop(id, None)

    # The machine.

    def plan(self, launch: Launch) -> Simulated:
        """Leave what a gateway leaves that dies before the start."""
        self.table[launch.id] = planned = Simulated(launch)
        return planned

    def put_out(self, id: ProcessId, text: str) -> None:
        self._set(id, output=self.table[id].output + text.encode())

    def lose(self, id: ProcessId, upto: int) -> None:
        """Drop the output up to here, as for a process with very much output."""
        self._set(id, lost=upto)

    def end(self, id: ProcessId, code: int | None) -> None:
        """End it with an exit code; None: it was killed together with its minder."""
        self._set(id, alive=False, code=code)

    def restart_machine(self) -> None:
        """Restart the machine: every process is gone, pids start again, and others get the old pids."""
        self._boot += 1
        self._pid, self._ticks = 100, 0
        for id, one in self.table.items():
            if one.identity is not None:
                pid = one.identity.pid
                self._others[pid] = Identity(pid, 0, f"boot {self._boot}")
            self._set(id, alive=False)

    def running(self) -> tuple[ProcessId, ...]:
        return tuple(id for id, one in self.table.items() if one.alive)

    def _set(self, id: ProcessId, **changes: Any) -> Simulated:
        self.table[id] = changed = replace(self.table[id], **changes)
        return changed


def _has(one: Simulated, pid: int) -> bool:
    return one.alive and one.identity is not None and one.identity.pid == pid
