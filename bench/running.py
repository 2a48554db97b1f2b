"""`holdfast up` as people start it, watched from outside: ready when its socket says that it runs."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from holdfast.api.client import NotRunning, RequestDeclined, ask
from holdfast.api.to_json import Json

_LOOK_AGAIN = 0.002
_PATIENCE = 60.0
FLOOR = "import starlette.applications, starlette.routing, uvicorn.server, sqlite3"
# The benchmark kills every gateway in the end, and that must not count against the next one.
SETTINGS = """\
people = ["web:bench"]
safe_mode.exits = 100
safe_mode.within = "1m"
web.port = 0
"""


@dataclass(frozen=True, slots=True)
class Up:
    """A gateway and its parent."""

    parent: int
    gateway: int
    seconds: float
    """From the start of the command to the first answer."""

    def megabytes(self) -> float:
        """The memory of both now."""
        return sum(_resident(process) for process in {self.parent, self.gateway})


def environment(folder: Path) -> Mapping[str, str]:
    """Compiled modules are kept in the benchmark's own folder, as for an installed program."""
    known = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**known, "PYTHONPYCACHEPREFIX": str(folder / "compiled")}


def import_floor(folder: Path) -> float:
    """Seconds of a process that imports the floor's modules and ends."""
    started = perf_counter()
    subprocess.run([sys.executable, "-c", FLOOR], check=True, env=environment(folder))
    return perf_counter() - started


def _configure(home: Path) -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / "holdfast.toml").write_text(SETTINGS, encoding="utf-8")


@asynccontextmanager
async def up(home: Path, folder: Path, supervise: bool = True) -> AsyncIterator[Up]:
    """A running gateway with the echo agent; both processes are gone afterwards."""
    _configure(home)
    command = [sys.executable, "-m", "holdfast", "up", "--home", str(home), "--agent", "echo"]
    with (folder / "gateway.log").open("ab") as log:
        started = perf_counter()
        process = await asyncio.create_subprocess_exec(
            *command,
            "--supervise" if supervise else "--no-supervise",
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment(folder),
        )
    found: Json = {}
    try:
        found = await _ready(home, process, started + _PATIENCE)
        yield Up(process.pid, found["pid"], perf_counter() - started)
    finally:
        await _end(process, found.get("pid"))


async def _ready(home: Path, process: asyncio.subprocess.Process, until: float) -> Json:
    while True:
        with suppress(NotRunning, ConnectionError, RequestDeclined):
            status = await ask(home, "status")
            if status["state"] == "running":
                return status
        if process.returncode is not None or perf_counter() > until:
            raise RuntimeError(f"the gateway on {home} did not start: {process.returncode}")
        await asyncio.sleep(_LOOK_AGAIN)


async def _end(process: asyncio.subprocess.Process, gateway: int | None) -> None:
    """Kill the parent first, so that it starts no other gateway; their last words are dropped."""
    for pid in (process.pid, gateway):
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    await process.wait()


def _resident(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    found = re.search(r"^VmRSS:\s+(\d+) kB$", status, re.MULTILINE)
    assert found is not None
    return int(found[1]) / 1024
