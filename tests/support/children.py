"""Processes of our own: started with the tests' Python, spoken to through pipes."""

import subprocess
import sys
from typing import IO

from tests.unit.project.tree import ROOT


class Child:
    """A Python process running a module; lines go both ways."""

    def __init__(self, module: str, *arguments: object, keep_open: bool = False) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, *map(str, arguments)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            close_fds=not keep_open,
            text=True,
            bufsize=1,
        )

    @property
    def output(self) -> IO[str]:
        assert self.process.stdout is not None
        return self.process.stdout

    def hear(self) -> str:
        """The next line; empty at the end of the process."""
        return self.output.readline().rstrip("\n")

    def tell(self, line: str = "") -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        self.process.kill()
        self.end()

    def end(self) -> int:
        """Close both pipes and wait for its end."""
        self.process.communicate()
        return self.process.returncode
