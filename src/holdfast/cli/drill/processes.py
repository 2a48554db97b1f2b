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

# A drill kills on purpose: nothing may be parked or slowed down for dying often.
SETTINGS = """\
agent.use = "holdfast.cli.drill.agent:agent"
resume.strikes = 20
resume.interruptions = 100
safe_mode.exits = 100
safe_mode.within = "1m"
reconcile = "1s"
web.port = 0
"""


# As a gateway runs at home: it may be in safe mode, hold work and park it.
DEFAULTS = """\
agent.use = "holdfast.cli.drill.agent:agent"
web.port = 0
"""


class DrillFailed(HoldfastError):
    """The drill itself could not be carried out."""


class DrillProcesses:
    """Starts, kills and ends them; whatever happens, `end` leaves none behind."""

    def __init__(self, home: Path, clock: Clock, sabotage: str | None, settings: str = SETTINGS) -> None:
        self._home = home
        self._clock = clock
        self._sabotage = sabotage
        self._settings = settings
        self._witness: Process | None = None
        self._gateway: Process | None = None

    async def prepare(self) -> None:
        """Write the settings, and have the witness ready."""
        (self._home / "holdfast.toml").write_text(self._settings, encoding="utf-8")
        module = "holdfast.cli.drill.witness"
        self._witness = await asyncio.create_subprocess_exec(
            sys.executable, "-m", module, self._home / WITNESS, self._home / EFFECTS, stdin=PIPE, stdout=PIPE
        )
        assert self._witness.stdout is not None
        if not await self._witness.stdout.readline():
            raise DrillFailed("the witness could not be started")

    async def start(self) -> None:
        """Start a gateway like anybody does; a sabotaged one through its own door."""
        command = ["-m", "holdfast", "up", "--no-supervise", "--home", str(self._home)]
        if self._sabotage is not None:
            command = ["-m", "holdfast.cli.drill.sabotage", self._sabotage, str(self._home)]
        with (self._home / LOG).open("ab") as log:
            self._gateway = await asyncio.create_subprocess_exec(
                sys.executable, *command, stdin=DEVNULL, stdout=log, stderr=log
            )

    async def kill(self) -> None:
        """SIGKILL, in whatever it is doing."""
        assert self._gateway is not None
        if self._gateway.returncode is not None:
            raise DrillFailed(
                f"the gateway ended by itself with {self._gateway.returncode}; {self._last_words()}"
            )
        self._gateway.kill()
        await self._gateway.wait()

    async def until_ready(self) -> Json:
        """Wait until the gateway just started answers."""
        try:
            return await in_time(self._clock, _STARTS_WITHIN, self._answered())
        except TimeoutError:
            raise DrillFailed(f"the gateway did not start; {self._last_words()}") from None

    async def until_at_work(self, within: float) -> bool:
        """Wait until a turn runs, no longer than so many seconds; whether one does."""
        until = self._clock.monotonic() + within
        while not (await self.until_ready())["running"]:
            if self._clock.monotonic() >= until:
                return False
            await self._clock.sleep(_LOOK_AGAIN)
        return True

    async def stop(self) -> None:
        """End the gateway in good order."""
        assert self._gateway is not None
        self._gateway.terminate()
        try:
            await in_time(self._clock, _STOPS_WITHIN, self._gateway.wait())
        except TimeoutError:
            raise DrillFailed(f"the gateway did not stop; {self._last_words()}") from None

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
            # It does not answer yet, or cannot: whether it still lives is looked at below.
            with suppress(NotRunning, RequestDeclined):
                status = await ask(self._home, "status")
                if status["pid"] == self._gateway.pid and status["state"] == "running":
                    return status
            if self._gateway.returncode is not None:
                raise DrillFailed(f"the gateway ended with {self._gateway.returncode}; {self._last_words()}")
            await self._clock.sleep(_LOOK_AGAIN)

    def _last_words(self) -> str:
        lines = (self._home / LOG).read_text(encoding="utf-8", errors="replace").splitlines()
        return "its last words: " + " | ".join(lines[-3:]) if lines else "it said nothing"
