"""Fresh gateway processes without the wait: one process has imported everything, and forks each of them.

What is forked runs what `holdfast up --no-supervise` turns into, and is killed like any other.
"""

import gc
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

from holdfast.process.main import run_and_exit
from holdfast.web import open_page

from .commands import environment


class Nursery:
    """The process that forks, as tests see it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.nursery"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
            cwd=Path(__file__).parents[2],
        )

    def start(self, home: Path, log: Path, **more: str) -> int:
        """A gateway on this home; its process."""
        return int(self._ask(start=str(home), log=str(log), more=more))

    def wait(self, pid: int) -> int:
        """Its exit code, once it has ended; below zero the signal that ended it."""
        return int(self._ask(wait=pid))

    def close(self) -> None:
        self._process.kill()
        with self._process:
            """Its end, and that of its pipes."""

    def _ask(self, **what: object) -> Any:
        given, taken = self._process.stdin, self._process.stdout
        assert given is not None
        assert taken is not None
        given.write(json.dumps(what) + "\n")
        given.flush()
        return json.loads(taken.readline())


def _be_gateway(home: str, log: str, more: dict[str, str]) -> None:
    written = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for target, source in ((0, nothing), (1, written), (2, written)):
        os.dup2(source, target)
    os.environ.update(more)
    run_and_exit([home], open_page)


def main(asked: IO[str], answer: int) -> None:
    for line in asked:
        what = json.loads(line)
        if "wait" in what:
            _, status = os.waitpid(what["wait"], 0)
            found = os.waitstatus_to_exitcode(status)
        else:
            found = os.fork()
            if not found:
                os.close(answer)
                _be_gateway(what["start"], what["log"], what["more"])
        os.write(answer, f"{found}\n".encode())


def _warm_up() -> None:
    """Do once, for all of them, what takes its time: the imports, and what is built at the first use."""
    import holdfast.platforms.telegram.bot  # noqa: PLC0415 - only here
    import holdfast.web.server  # noqa: F401, PLC0415 - only here
    import tests.support.inside  # noqa: F401, PLC0415 - only here
    from holdfast.platforms.telegram.session import BotSession  # noqa: PLC0415 - only here

    BotSession("1:nobody", "http://127.0.0.1:9")
    # What was made until now is not looked at again in each of them, which would copy all of it.
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    _warm_up()
    main(sys.stdin, os.dup(1))
