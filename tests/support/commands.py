"""The command line as people use it: real processes, read line by line."""

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from holdfast.cli.program import run

PATIENCE = 180
"""Seconds after which a process that does not end fails its test; never waited for otherwise."""

READY = "the gateway is running"


def environment(**more: str) -> dict[str, str]:
    """What our processes see: nothing of ours from outside, and output at once."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    return {**kept, "PYTHONUNBUFFERED": "1", "COLUMNS": "200", "HOLDFAST_WEB_PORT": "0", **more}


def holdfast(*arguments: object, said: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    """Run one command to its end, as a process."""
    return subprocess.run(
        [sys.executable, "-m", "holdfast", *map(str, arguments)],
        input=said,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=environment(**more),
    )


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str


def command(*arguments: object) -> Done:
    """Run one command in this very process: those that only ask or look need none of their own."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run(list(map(str, arguments)))
    return Done(code, out.getvalue(), err.getvalue())


def as_json(*arguments: object) -> Any:
    """What a command says with --json."""
    done = command(*arguments, "--json")
    assert done.out, done.err
    return json.loads(done.out)


class Spoken:
    """A process whose lines are read as they come."""

    def __init__(self, *arguments: object, errors: bool = False, **more: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "holdfast", *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL if errors else subprocess.PIPE,
            stderr=subprocess.PIPE if errors else subprocess.DEVNULL,
            text=True,
            bufsize=1,
            env=environment(**more),
        )
        self._output: IO[str] | None = self.process.stderr if errors else self.process.stdout
        self.shown: list[str] = []

    def until(self, words: str) -> str:
        """Read until a line with these words."""
        assert self._output is not None
        for line in self._output:
            self.shown.append(line.rstrip("\n"))
            if words in line:
                return line
        raise AssertionError(f"{words!r} never came:\n" + "\n".join(self.shown))

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def end(self) -> int:
        """Close its input, read what is left, and wait for its end."""
        assert self.process.stdin is not None and self._output is not None
        self.process.stdin.close()
        self.shown += self._output.read().splitlines()
        self._output.close()
        return self.process.wait(PATIENCE)

    def drop(self) -> None:
        """Whatever it does: no more of it."""
        self.process.kill()
        self.end()


@contextmanager
def up(home: Path, *arguments: object, pace: str = "0", **more: str) -> Iterator[Spoken]:
    """A gateway that answers; ended in good order, or already dead by then."""
    gateway = Spoken("up", "--home", home, *arguments, errors=True, HOLDFAST_AGENT_PACE=pace, **more)
    try:
        gateway.until(READY)
        yield gateway
    finally:
        if gateway.process.poll() is None:
            gateway.process.terminate()
        gateway.end()


def gateway_pid(home: Path) -> int:
    """Whom to kill: the holder of the home's lock."""
    return int((home / "lock").read_text().split()[1])


def kill_gateway(home: Path) -> None:
    os.kill(gateway_pid(home), signal.SIGKILL)


def notes(home: Path) -> list[str]:
    """What the demonstration wrote into its files."""
    return [
        line for file in (home / "workspace").rglob("notes-*.txt") for line in file.read_text().splitlines()
    ]
