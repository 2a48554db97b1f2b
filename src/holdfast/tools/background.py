"""Background processes of this machine: each has a folder in the home, which is made before the start.

The folder decides everything, so any later run of the gateway can ask it. The plan is written first. The
minder that writes `started.json` first runs the process. `ended.json` holds the exit code.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from holdfast.clock import Clock
from holdfast.model import ProcessId, TurnId
from holdfast.policy.processes import Identity, ProcessStatus, standing
from holdfast.policy.settings import SECOND, ProcessSettings
from holdfast.telemetry import Secrets, no_secrets

from .base import ToolFailed
from .containment import Launcher, Prepared, helper_command, secret_pipe
from .containment.helper import process_minder as minder
from .process_port import FoundProcess, Launch, Output

T = TypeVar("T")

FOLDER = "processes"
SEGMENT = 1_000_000
AS_USUAL = ProcessSettings()
_MEGABYTE = 1_000_000
_GIVEN_UP = Identity(0, 0, "")
"""The identity in `started.json` of a process that the gateway gave up before it started."""
_START_WITHIN = 30.0
_LOOK_AGAIN = 0.05
_STDIN = "0"
"""The descriptor from which a minder reads the secrets that it masks."""
_ROUNDS = 20
"""How often the gateway looks for processes to kill: one of them may just have started another."""


class BackgroundProcesses:
    """Processes of this machine, each in its own session of the system."""

    def __init__(
        self,
        home: Path,
        clock: Clock,
        environment: Mapping[str, str],
        launcher: Launcher,
        settings: ProcessSettings = AS_USUAL,
        segment: int = SEGMENT,
        secrets: Secrets = no_secrets,
    ) -> None:
        self._secrets = secrets
        self._root = home / FOLDER
        self._clock = clock
        self._environment = dict(environment)
        self._launcher = launcher
        self._settings = settings
        self._segment = segment

    async def start(self, launch: Launch) -> Identity:
        starting = asyncio.ensure_future(asyncio.to_thread(self._start, launch))
        while True:
            try:
                return await asyncio.shield(starting)
            except asyncio.CancelledError:
                # The answer comes soon. The gateway waits for it: it must know each process that runs.
                if starting.cancelled():
                    raise

    async def stands(self, id: ProcessId, identity: Identity) -> ProcessStatus:
        return await _off_loop(lambda: self._stands(id, identity))

    async def output(self, id: ProcessId, start: int, most: int) -> Output:
        return await _off_loop(lambda: read_output(self._root / id, start, most, self._segment))

    async def write(self, id: ProcessId, identity: Identity, text: str) -> None:
        if (await self.stands(id, identity)).ended:
            raise ToolFailed("the process has ended and takes no more input")
        await _off_loop(lambda: _write(self._root / id / minder.INPUT, text.encode()))

    async def kill(self, id: ProcessId, identity: Identity) -> ProcessStatus:
        before = await self.stands(id, identity)
        if before.ended:
            return before
        for number in (signal.SIGTERM, signal.SIGKILL):
            await self._signal(identity, number)
            if await self._gone(id, identity, self._settings.grace / SECOND):
                return before
        # A process that the signals do not reach still holds the output, so the minder does not end: kill it.
        await _off_loop(lambda: _send(identity.pid, identity.ticks, signal.SIGKILL))
        if not await self._gone(id, identity, self._settings.grace / SECOND):
            raise ToolFailed("the process does not end, even after it was killed")
        return before

    async def all(self) -> tuple[ProcessId, ...]:
        return await _off_loop(
            lambda: (
                tuple(ProcessId(name) for name in sorted(os.listdir(self._root)))
                if self._root.is_dir()
                else ()
            )
        )

    async def find(self, id: ProcessId) -> FoundProcess | None:
        return await _off_loop(lambda: self._find(id))

    async def forget(self, id: ProcessId) -> None:
        def remove() -> None:
            folder = self._root / id
            if folder.is_dir():
                # A minder that is about to start it finds this file and starts nothing.
                minder.write_whole(str(folder / minder.STARTED), _as_json(_GIVEN_UP), once=True)
                shutil.rmtree(folder)

        await _off_loop(remove)

    # In a thread.

    def _start(self, launch: Launch) -> Identity:
        folder = self._root / launch.id
        try:
            if not (folder / minder.STARTED).exists():
                prepared = self._prepared(launch)
                self._plan(folder, launch, prepared)
                self._launch(folder, prepared)
        except OSError as error:
            raise ToolFailed(f"the process could not be started: {error}") from error
        started = _identity(_read(folder / minder.STARTED))
        if started is None or started == _GIVEN_UP:
            trouble = folder / "trouble"
            words = trouble.read_text(errors="replace").strip() if trouble.exists() else ""
            raise ToolFailed(f"the process could not be started{f': {words}' if words else ''}")
        return started

    def _plan(self, folder: Path, launch: Launch, prepared: Prepared) -> None:
        if (folder / minder.PLAN).exists():
            return
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        plan = {
            **prepared.order,
            "argv": prepared.argv,
            "contained": prepared.containment.value,
            "command": launch.command,
            "folder": str(launch.folder),
            "turn": launch.turn,
            "at": launch.at,
            "notify": launch.notify,
            "patterns": list(launch.patterns),
            "segment": self._segment,
            "keep": max(1, self._settings.log * _MEGABYTE // SEGMENT),
        }
        minder.write_whole(str(folder / minder.PLAN), plan)

    def _prepared(self, launch: Launch) -> Prepared:
        private = launch.private or self._root / launch.id / "private"
        view = self._launcher.view(launch.folder, private, launch.reach.read, launch.reach.write)
        return self._launcher.prepare(
            view, ("/bin/sh", "-c", launch.command), environment=self._environment, lingers=True
        )

    def _launch(self, folder: Path, prepared: Prepared) -> None:
        told = secret_pipe(self._secrets())
        try:
            with (folder / "trouble").open("ab") as trouble:
                helper = subprocess.Popen(
                    helper_command("process_minder", str(folder), _STDIN),
                    stdin=told,
                    stdout=subprocess.DEVNULL,
                    stderr=trouble,
                    env=dict(prepared.environment),
                    start_new_session=True,
                )
        finally:
            os.close(told)
        try:
            helper.wait(_START_WITHIN)
        except subprocess.TimeoutExpired:
            helper.kill()
            helper.wait()
            # A minder that is only slow must find that it is too late.
            minder.write_whole(str(folder / minder.STARTED), _as_json(_GIVEN_UP), once=True)

    def _stands(self, id: ProcessId, identity: Identity) -> ProcessStatus:
        # First the process, then its file: a minder writes the exit code before it ends.
        seen = _seen(identity)
        code = _read(self._root / id / minder.ENDED).get("code")
        return standing(identity, seen, code if isinstance(code, int) else None, os.getpid())

    def _find(self, id: ProcessId) -> FoundProcess | None:
        folder = self._root / id
        plan = _read(folder / minder.PLAN)
        try:
            launch = Launch(
                id,
                str(plan["command"]),
                Path(plan["folder"]),
                TurnId(plan["turn"]),
                int(plan["at"]),
                bool(plan["notify"]),
                tuple(map(str, plan["patterns"])),
            )
        except (KeyError, TypeError, ValueError):
            return None
        return FoundProcess(launch, _identity(_read(folder / minder.STARTED)))

    async def _signal(self, identity: Identity, number: signal.Signals) -> None:
        """Signal everything that the process started, but not its minder, which stays to record the end.

        The programs between the minder and the command would take the command with them at once.
        """
        rounds = 1 if number is signal.SIGTERM else _ROUNDS
        spared = number is signal.SIGTERM
        for _ in range(rounds):
            members = await _off_loop(lambda: _members(identity, spared))
            for pid, ticks in members:
                await _off_loop(partial(_send, pid, ticks, number))
            if not members:
                return

    async def _gone(self, id: ProcessId, identity: Identity, seconds: float) -> bool:
        until = self._clock.monotonic() + seconds
        while not (await self.stands(id, identity)).ended:
            if self._clock.monotonic() >= until:
                return False
            await self._clock.sleep(_LOOK_AGAIN)
        return True


async def _off_loop(work: Callable[[], T]) -> T:
    try:
        return await asyncio.to_thread(work)
    except OSError as error:
        raise ToolFailed(f"the gateway could not read its files of the process: {error}") from error


def _seen(identity: Identity) -> Identity | None:
    """The process that has this pid now."""
    found = minder.stat_of(identity.pid) if identity.pid > 0 else None
    return Identity(identity.pid, found[0], minder.boot_id()) if found else None


def _members(identity: Identity, spare_children: bool) -> tuple[tuple[int, int], ...]:
    """Every process below the minder, each with its start time; none after the end of the minder.

    A process that leaves the session still counts: the minder adopts every process whose parent ended.
    `spare_children` leaves the minder's own children out.
    """
    if _seen(identity) != identity:
        return ()
    found = {
        pid: stat
        for name in os.listdir("/proc")
        if name.isdigit() and (stat := minder.stat_of(pid := int(name)))
    }
    below = {identity.pid}
    while more := {pid for pid, (_, *up) in found.items() if not below.isdisjoint(up)} - below:
        below |= more
    spared = {pid for pid, stat in found.items() if spare_children and stat[2] == identity.pid}
    return tuple((pid, found[pid][0]) for pid in sorted(below - spared - {identity.pid}))


def _send(pid: int, ticks: int, number: signal.Signals) -> None:
    """Signal the process with this start time, never a later process with the same pid."""
    with suppress(ProcessLookupError, PermissionError):
        handle = os.pidfd_open(pid)
        try:
            stat = minder.stat_of(pid)
            if stat is not None and stat[0] == ticks and pid != os.getpid():
                signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)


def _write(path: Path, data: bytes) -> None:
    try:
        pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        raise ToolFailed("the process has ended, or does not take input yet") from error
    written = 0
    try:
        while written < len(data):
            written += os.write(pipe, data[written:])
    except BlockingIOError:
        raise ToolFailed(
            f"the process does not read its input: it took {written} of {len(data)} bytes, and the rest was "
            "not sent"
        ) from None
    finally:
        os.close(pipe)


def read_output(folder: Path, start: int, most: int, segment: int = SEGMENT) -> Output:
    """A piece of the output from the numbered files, by its position in all the output so far."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        names = []
    numbers = sorted(int(name[len(minder.OUTPUT) :]) for name in names if _is_output(name))
    if not numbers:
        return Output(b"", 0, 0, 0)
    size = numbers[-1] * segment + (folder / f"{minder.OUTPUT}{numbers[-1]}").stat().st_size
    wanted = size + start if start < 0 else start
    begin = at = min(max(wanted, numbers[0] * segment), size)
    pieces: list[bytes] = []
    while at < size and at - begin < most:
        number, within = divmod(at, segment)
        piece = _part(folder / f"{minder.OUTPUT}{number}", within, min(most - (at - begin), segment - within))
        if not piece:
            break
        pieces.append(piece)
        at += len(piece)
    return Output(b"".join(pieces), begin, at, size)


def _is_output(name: str) -> bool:
    return name.startswith(minder.OUTPUT) and name[len(minder.OUTPUT) :].isdigit()


def _part(path: Path, within: int, most: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(within)
            return file.read(most)
    except FileNotFoundError:
        return b""


def _read(path: Path) -> dict[str, Any]:
    """What a JSON file holds; nothing if it is absent or unreadable."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _identity(found: Mapping[str, Any]) -> Identity | None:
    try:
        return Identity(int(found["pid"]), int(found["ticks"]), str(found["boot"]))
    except (KeyError, TypeError, ValueError):
        return None


def _as_json(identity: Identity) -> dict[str, object]:
    return {"pid": identity.pid, "ticks": identity.ticks, "boot": identity.boot}
