"""The processes of a drill: the witness, and one gateway after the other."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from pathlib import Path

from holdfast.api.client import NotRunning, RequestDeclined, ask
from holdfast.api.to_json import Json
from holdfast.clock import Clock, in_time
from holdfast.errors import HoldfastError

from .agent import WITNESS

EFFECTS = "effects.txt"
LOG = "gateway.log"
_STARTS_WITHIN = 30.0
_STOPS_WITHIN = 90.0
_LOOK_AGAIN = 0.01

# A drill kills on purpose: the gateway must not park work or turn safe mode on because of that.
SETTINGS = """\
agent.use = "holdfast.cli.drill.agent:agent"
resume.strikes = 20
resume.interruptions = 100
safe_mode.exits = 100
safe_mode.within = "1m"
reconcile = "1s"
web.port = 0
"""


# With default settings the gateway may turn safe mode on, hold work and park it.
DEFAULTS = """\
agent.use = "holdfast.cli.drill.agent:agent"
web.port = 0
"""


class DrillFailed(HoldfastError):
    """The drill itself did not work; this says nothing about the gateway's promises."""


class DrillProcesses:
    """Starts, kills and ends the processes; `end` leaves none behind in any case."""

    def __init__(self, home: Path, clock: Clock, sabotage: str | None, settings: str = SETTINGS) -> None:
        self._home = home
        self._clock = clock
        self._sabotage = sabotage
        self._settings = settings
        self._witness: Process | None = None
        self._gateway: Process | None = None

    async def prepare(self) -> None:
        """Write the settings and start the witness."""
        (self._home / "holdfast.toml").write_text(self._settings, encoding="utf-8")
        module = "holdfast.cli.drill.witness"
        self._witness = await asyncio.create_subprocess_exec(
            sys.executable, "-m", module, self._home / WITNESS, self._home / EFFECTS, stdin=PIPE, stdout=PIPE
        )
        assert self._witness.stdout is not None
        if not await self._witness.stdout.readline():
            raise DrillFailed("the witness could not be started")

    async def start(self) -> None:
        """Start a gateway as people do; a sabotaged one through a module of its own."""
        command = ["-m", "holdfast", "up", "--no-supervise", "--home", str(self._home)]
        if self._sabotage is not None:
            command = ["-m", "holdfast.cli.drill.sabotage", self._sabotage, str(self._home)]
        with (self._home / LOG).open("ab") as log:
            self._gateway = await asyncio.create_subprocess_exec(
                sys.executable, *command, stdin=DEVNULL, stdout=log, stderr=log
            )

    async def kill(self) -> None:
        """Send SIGKILL to the gateway, at any point of its work."""
        assert self._gateway is not None
        if self._gateway.returncode is not None:
            raise DrillFailed(
                f"the gateway ended by itself with {self._gateway.returncode}; {self._end_of_log()}"
            )
        self._gateway.kill()
        await self._gateway.wait()

    async def until_ready(self) -> Json:
        """Wait until the gateway just started answers."""
        try:
            return await in_time(self._clock, _STARTS_WITHIN, self._answered())
        except TimeoutError:
            raise DrillFailed(f"the gateway did not start; {self._end_of_log()}") from None

    async def until_at_work(self, within: float) -> bool:
        """Wait at most `within` seconds until a turn runs. Returns whether one does."""
        until = self._clock.monotonic() + within
        while not (await self.until_ready())["running"]:
            if self._clock.monotonic() >= until:
                return False
            await self._clock.sleep(_LOOK_AGAIN)
        return True

    async def stop(self) -> None:
        """Stop the gateway in order."""
        assert self._gateway is not None
        self._gateway.terminate()
        try:
            await in_time(self._clock, _STOPS_WITHIN, self._gateway.wait())
        except TimeoutError:
            raise DrillFailed(f"the gateway did not stop; {self._end_of_log()}") from None

    async def end(self) -> None:
        """Leave nothing running."""
        for process in (self._gateway, self._witness):
            if process is not None and process.returncode is None:
                process.kill()
                await process.wait()

    def effects(self) -> list[str]:
        """What the witness wrote down."""
        path = self._home / EFFECTS
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    async def _answered(self) -> Json:
        assert self._gateway is not None
        while True:
            # The gateway may not answer yet. Whether it still lives is checked below.
            with suppress(NotRunning, RequestDeclined):
                status = await ask(self._home, "status")
                if status["pid"] == self._gateway.pid and status["state"] == "running":
                    return status
            if self._gateway.returncode is not None:
                raise DrillFailed(f"the gateway ended with {self._gateway.returncode}; {self._end_of_log()}")
            await self._clock.sleep(_LOOK_AGAIN)

    def _end_of_log(self) -> str:
        lines = (self._home / LOG).read_text(encoding="utf-8", errors="replace").splitlines()
        return "the end of its log: " + " | ".join(lines[-3:]) if lines else "its log is empty"
