"""Carry out what tools want of background processes: start once, look, write input, kill."""

from __future__ import annotations

from contextlib import suppress

from holdfast.clock import Clock
from holdfast.errors import StoreFault
from holdfast.model import (
    CallRecord,
    CallState,
    Process,
    ProcessId,
    ProcessState,
    Returned,
    SessionId,
)
from holdfast.policy.processes import (
    Identity,
    ProcessStatus,
    identity_of,
    missed_text,
    one_line,
    process_id,
    state_text,
)
from holdfast.policy.settings import ProcessSettings
from holdfast.store import Spawned, Step, Store
from holdfast.tools import (
    KillProcess,
    Launch,
    LookAtProcess,
    Looking,
    Output,
    ProcessPort,
    StartProcess,
    ToolContext,
    ToolFailed,
    WriteToProcess,
)
from holdfast.tools.containment import private_of_session

Wish = StartProcess | LookAtProcess | WriteToProcess | KillProcess

_LOOK_AGAIN = 0.5
_SHOWN_BY_POLL = 20
_MOST_SHOWN = 32_000
"""How many bytes of output one look shows."""
_LISTED = 20


class ProcessWork:
    """The background processes of one session, for one run."""

    def __init__(self, store: Store, processes: ProcessPort, clock: Clock, settings: ProcessSettings) -> None:
        self._store = store
        self._processes = processes
        self._clock = clock
        self._settings = settings
        self._begun: set[ProcessId] = set()
        """The processes this run has started or is starting, committed or not."""

    async def carry_out(self, wish: Wish, context: ToolContext, call: CallRecord) -> Step:
        """Carry it out, and return the step to commit; `ToolFailed` says why that is not possible."""
        match wish:
            case StartProcess():
                return await self._start(wish, context, call)
            case LookAtProcess(how=Looking.LIST):
                return _result(call, await self._listed(context.session))
            case LookAtProcess():
                return await self._look(wish, context, call)
            case WriteToProcess(process, text):
                found = await self._find(context.session, process)
                await self._processes.write(found.id, identity_of(found), text)
                return _result(call, f"Written to {found.id}.")
            case KillProcess(process):
                return await self._kill(await self._find(context.session, process), call)

    async def missed_output(self, session: SessionId) -> str:
        """The words that tell a turn of matching output that started no wake-up; empty if there is none."""
        try:
            missed = {one.id: one.missed for one in await self._all(session) if one.missed}
        except ToolFailed:
            return ""
        return missed_text(missed) if missed else ""

    async def _start(self, wish: StartProcess, context: ToolContext, call: CallRecord) -> Step:
        id = process_id(context.key)
        running = {one.id for one in await self._all(context.session) if one.state is ProcessState.RUNNING}
        if len((running | self._begun) - {id}) >= self._settings.most:
            raise ToolFailed(
                f"{self._settings.most} background processes of this conversation run already; end one first"
            )
        self._begun.add(id)
        launch = Launch(
            id,
            wish.command,
            wish.folder or context.workspace,
            context.turn,
            self._clock.now(),
            wish.notify,
            wish.patterns,
            private_of_session(context.workspace, context.session),
            wish.reach,
        )
        try:
            identity = await self._processes.start(launch)
        except ToolFailed:
            self._begun.discard(id)
            raise
        woken = " The gateway wakes you when it ends." if wish.notify else ""
        text = f"Started as background process {id}.{woken} process_look shows its state and output."
        return Step((Returned(call.id, CallState.DONE, text),), spawn=(spawned(launch, identity),))

    async def _look(self, wish: LookAtProcess, context: ToolContext, call: CallRecord) -> Step:
        assert wish.process is not None
        found = await self._find(context.session, wish.process)
        if wish.how is Looking.WAIT:
            await self._wait(found, wish.seconds, context)
        status = await self._status(found)
        lines = wish.lines if wish.how is Looking.LOG else _SHOWN_BY_POLL
        output = await self._processes.output(found.id, -_MOST_SHOWN, _MOST_SHOWN)
        text = f"{found.id} ({one_line(found.command)}): {state_text(status)}.\n{tail_of(output, lines)}"
        seen = (found.id,) if status.ended else ()
        return Step((Returned(call.id, CallState.DONE, text),), looked_at=(found.id,), consume_processes=seen)

    async def _wait(self, found: Process, seconds: float, context: ToolContext) -> None:
        """Wait until the process has ended or the time is up; its output counts as progress of the run."""
        until, size = self._clock.monotonic() + seconds, -1
        while not (await self._status(found)).ended:
            left = until - self._clock.monotonic()
            if left <= 0:
                return
            now = (await self._processes.output(found.id, -1, 1)).size
            if now != size:
                size = now
                context.progress()
            await self._clock.sleep(min(_LOOK_AGAIN, left))

    async def _kill(self, found: Process, call: CallRecord) -> Step:
        status = await self._status(found)
        if not status.ended:
            # It may end by itself before the kill: then it was not killed, and the watcher records its end.
            status = await self._processes.kill(found.id, identity_of(found))
        if status.ended:
            text = f"{found.id} was not running: {state_text(status)}."
        else:
            text = f"Killed {found.id}."
            # If this write fails, the watcher records the end later. This step consumes the process anyway.
            with suppress(StoreFault):
                await self._store.end_process(found.id, ProcessState.KILLED, None)
        return Step((Returned(call.id, CallState.DONE, text),), consume_processes=(found.id,))

    async def _listed(self, session: SessionId) -> str:
        found = sorted(await self._all(session), key=lambda one: one.started_at)[-_LISTED:]
        lines = [f"{one.id}: {state_text(await self._status(one))}; {one_line(one.command)}" for one in found]
        return "\n".join(lines) or "There are no background processes in this conversation."

    async def _status(self, found: Process) -> ProcessStatus:
        if found.state is not ProcessState.RUNNING:
            return ProcessStatus(found.state, found.exit_code)
        return await self._processes.stands(found.id, identity_of(found))

    async def _find(self, session: SessionId, id: ProcessId) -> Process:
        known = await self._all(session)
        for one in known:
            if one.id == id:
                return one
        names = ", ".join(one.id for one in known[-_LISTED:]) or "none"
        raise ToolFailed(f"there is no background process {id!r} in this conversation; there are: {names}")

    async def _all(self, session: SessionId) -> tuple[Process, ...]:
        try:
            return await self._store.processes(session)
        except StoreFault as fault:
            raise ToolFailed(f"nothing was done: the ledger could not be read ({fault})") from fault


def spawned(launch: Launch, identity: Identity) -> Spawned:
    """A started process, as the ledger stores it."""
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


def tail_of(output: Output, lines: int) -> str:
    """The last lines of the output, and how many bytes came before them."""
    text = output.data.decode(errors="replace").replace("\r\n", "\n")
    shown = text.splitlines()[-lines:] if lines else []
    if not shown:
        return "It has written no output." if not output.size else f"({output.size} bytes of output)"
    kept = len("\n".join(shown).encode())
    before = max(0, output.size - kept - 1)
    return "\n".join([f"(… {before} bytes of output before this)"] * bool(before) + shown)


def _result(call: CallRecord, text: str) -> Step:
    return Step((Returned(call.id, CallState.DONE, text),))
