"""The watcher of background processes writes an inbox row when a process ends or prints an expected line.

It keeps nothing that matters in memory. The ledger stores with each match how far the output was read, so
a fresh gateway process reads on from there and reports no line twice.
"""

from __future__ import annotations

from holdfast.clock import Clock, first_of
from holdfast.errors import Report, StoreFault, unreported
from holdfast.model import Process, ProcessId, ProcessState
from holdfast.policy.ages import age
from holdfast.policy.processes import Identity, ProcessStatus, identity_of, match_text, output_text, scan
from holdfast.policy.settings import DAY, ProcessSettings
from holdfast.records import dataclass
from holdfast.store import Spawned, Store
from holdfast.tools import FoundProcess, ProcessPort

EVERY = 1.0
"""Seconds between two looks while a process runs."""
SWEEP_EVERY = 60.0
"""Seconds between two looks at the processes on the disk."""
_PIECE = 256_000
"""How many bytes of output one look reads; the next look reads the rest."""
_LAST_WORDS = 2_000
"""How many bytes of output the row for an ended process holds."""
_NEVER_STARTED = DAY
"""A planned process that has not started after so long never will."""


@dataclass(frozen=True, slots=True)
class _Place:
    """How far the output of a process was read, how many matches it had, and when that was."""

    position: int
    matches: int
    looked_at: int | None = None


class Watcher:
    """Looks at every running process at intervals; `sweep` also finds processes the ledger does not know."""

    def __init__(
        self,
        store: Store,
        processes: ProcessPort,
        clock: Clock,
        settings: ProcessSettings,
        report: Report = unreported,
    ) -> None:
        self._store = store
        self._processes = processes
        self._clock = clock
        self._settings = settings
        self._report = report
        self._places: dict[ProcessId, _Place] = {}

    async def work(self) -> None:
        """Look for ever: at once when a process started or ended, often while one runs, else rarely."""
        await self.sweep()
        swept = self._clock.monotonic()
        while True:
            seen = self._store.version("processes")
            running = await self.look()
            if self._clock.monotonic() - swept >= SWEEP_EVERY:
                await self.sweep()
                swept = self._clock.monotonic()
            pause = EVERY if running else SWEEP_EVERY
            await first_of(self._store.changed("processes", seen), self._clock.sleep(pause))

    async def look(self) -> int:
        """Look at each process that the ledger knows as running; returns how many still run."""
        known = await self._store.processes()
        self._places = {one.id: self._places[one.id] for one in known if one.id in self._places}
        return sum([await self._look_at(process) for process in known])

    async def sweep(self) -> None:
        """Add started processes that the ledger misses; remove processes that are over or forgotten."""
        on_disk = await self._processes.all()
        known = {one.id: one for one in await self._store.known_processes(on_disk)}
        for id in on_disk:
            try:
                if id in known:
                    await self._tidy(known[id])
                else:
                    await self._take_in(id)
            except StoreFault:
                raise
            except Exception as fault:  # noqa: BLE001 - one fault must not hide the other processes
                self._report(f"sweeping background process {id}", fault)

    async def _look_at(self, process: Process) -> bool:
        """Look at one process; True while it runs. A fault with it does not stop the look at the others."""
        try:
            status = await self._processes.stands(process.id, identity_of(process))
            if process.patterns and not (process.notify and status.ended):
                await self._match(process, status)
            if status.ended:
                await self._end(process, status)
            return not status.ended
        except StoreFault:
            raise
        except Exception as fault:  # noqa: BLE001 - as above
            self._report(f"looking at background process {process.id}", fault)
            return True

    async def _end(self, process: Process, status: ProcessStatus) -> None:
        last = await self._processes.output(process.id, -_LAST_WORDS, _LAST_WORDS)
        text = last.data.decode(errors="replace").strip()
        words = output_text(text) if text else "It wrote no output."
        await self._store.end_process(process.id, status.state, status.code, words)

    async def _match(self, process: Process, status: ProcessStatus) -> None:
        """Read the new output. All matching lines of one look count as one match."""
        place = self._places.get(process.id) or _Place(process.watched, process.matches)
        position, matches, now = place.position, place.matches, self._clock.now()
        while matches < self._settings.wakeups:
            output = await self._processes.output(process.id, position, _PIECE)
            is_last = output.end >= output.size
            found = scan(output.data, process.patterns, status.ended and is_last)
            if found.lines:
                matches += 1
                text = match_text(process.id, process.command, found.lines)
                upto = output.start + found.matched_upto
                most, since = self._settings.wakeups, place.looked_at
                await self._store.match_process(process.id, matches, text, most, upto, since)
            position = output.start + found.read_upto
            if is_last or not status.ended:
                break
        self._places[process.id] = _Place(position, matches, now)

    async def _take_in(self, id: ProcessId) -> None:
        found = await self._processes.find(id)
        if found is None:
            return
        if found.identity is not None and found.identity.pid:
            await self._store.adopt_process(_spawned(found, found.identity), found.launch.turn)
            for known in await self._store.known_processes((id,)):
                await self._tidy(known)
        elif age(self._clock.now(), found.launch.at) > _NEVER_STARTED:
            await self._processes.forget(id)

    async def _tidy(self, process: Process) -> None:
        """Kill and remove a process of a forgotten session; remove a process that ended long ago."""
        forgotten = not process.command
        if forgotten and process.state is ProcessState.RUNNING:
            await self._processes.kill(process.id, identity_of(process))
            await self._store.end_process(process.id, ProcessState.KILLED, None)
        over = process.ended_at is not None and age(self._clock.now(), process.ended_at) > self._settings.keep
        if forgotten or over:
            await self._processes.forget(process.id)


def _spawned(found: FoundProcess, identity: Identity) -> Spawned:
    launch = found.launch
    return Spawned(
        launch.id,
        identity.pid,
        identity.ticks,
        launch.command,
        f"processes/{launch.id}",
        launch.notify,
        launch.patterns,
        identity.boot,
    )
