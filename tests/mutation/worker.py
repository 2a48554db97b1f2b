"""A warm process that tries one mutant after the other in its own copy of the project.

    python worker.py < jobs > verdicts        (one line of JSON each)

The worker has imported pytest and every library, and nothing of the project. For each mutant it writes the
changed file into the copy and forks. The child imports the project with the change in it and runs the given
tests until one fails. The worker is run by its path: nothing of the project is imported before the fork.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from time import monotonic

import pytest
from hypothesis import settings

QUIET = "ignore:Module already imported:pytest.PytestAssertRewriteWarning"
"""Libraries were imported before pytest could look at them, and that is meant."""
PROFILE = "mutate"
settings.register_profile(PROFILE, deadline=None, database=None, derandomize=True)
CPU = (3.0, 5.0)
"""What a test may use of a processor: this many seconds, and so many times what it took unharmed."""
REAL = (20.0, 10.0)
"""The same for the clock on the wall, for tests that wait: other work on the machine may slow them."""
COLLECTING = 60.0
"""What the imports may take at most."""
FAST = Path("/dev/shm")
"""Ledgers of tests are written here, if there is such a place: no disk has to be waited for."""

Tests = list[tuple[str, float]]
"""Each with the seconds it took unharmed."""


class Chosen:
    """Runs these tests, in this order, each within its time, and writes down which one ran last."""

    def __init__(self, tests: Tests, said: Path) -> None:
        self._seconds = dict(tests)
        self._order = {test: index for index, (test, _) in enumerate(tests)}
        self._said = said

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self._order), key=lambda item: self._order[item.nodeid]
        )

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._said.write_text(item.nodeid)
        seconds = self._seconds[item.nodeid]
        _limit(CPU[0] + CPU[1] * seconds, REAL[0] + REAL[1] * seconds)
        return (yield)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        _limit(COLLECTING, COLLECTING)
        last = self._said.read_text() if self._said.exists() else ""
        self._said.write_text(f"{last}\n{int(exitstatus)}")


def _limit(cpu: float, real: float) -> None:
    """The kernel ends this process when one of these is over: no code of it has to run for that."""
    signal.setitimer(signal.ITIMER_PROF, cpu)
    signal.setitimer(signal.ITIMER_REAL, real)


def attempt(copy: Path, tests: Tests) -> tuple[str, str]:
    """Run these tests in a child; how it ended, and the test that ended it."""
    place = Path(tempfile.mkdtemp(prefix="mutate-", dir=FAST if FAST.is_dir() else None))
    said = place / "said"
    child = os.fork()
    if child == 0:
        _in_child(copy, tests, place, said)
    _, status = os.waitpid(child, 0)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # Its tests may have left processes behind.
    last, _, code = (said.read_text() if said.exists() else "").partition("\n")
    shutil.rmtree(place, ignore_errors=True)
    return _verdict(status, code), last


def _verdict(status: int, code: str) -> str:
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGALRM, signal.SIGPROF):
        return "timeout"
    if not code:
        return "died"
    return {0: "survived", 5: "survived", 1: "killed", 2: "import"}.get(int(code), "died")


def _in_child(copy: Path, tests: Tests, place: Path, said: Path) -> None:
    code = 3
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        _limit(COLLECTING, 5 * COLLECTING)
        sys.dont_write_bytecode = True
        files = list(dict.fromkeys(test.partition("::")[0] for test, _ in tests))
        options = ["-q", "-x", "-W", QUIET, "-p", "no:cacheprovider", f"--basetemp={place}/t"]
        options += [f"--hypothesis-profile={PROFILE}", f"--rootdir={copy}"]
        code = int(pytest.main([*options, *files], plugins=[Chosen(tests, said)]))
    finally:
        os._exit(code)


def serve(copy: Path) -> None:
    for line in sys.stdin:
        job = json.loads(line)
        file = copy / job["file"]
        unharmed = file.read_bytes()
        began = monotonic()
        verdict, last = "survived", ""
        try:
            file.write_text(job["source"], encoding="utf-8")
            for tests in job["stages"]:
                verdict, last = attempt(copy, tests)
                if verdict != "survived":
                    break
        finally:
            file.write_bytes(unharmed)
        by = "" if verdict == "survived" else last
        answer = {"verdict": verdict, "by": by, "seconds": round(monotonic() - began, 2)}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def main() -> None:
    copy = Path.cwd()
    sys.path[0] = str(copy)
    for name in json.loads(sys.stdin.readline()):
        try:
            importlib.import_module(name)
        except ImportError:
            continue  # One that only its own package can import.
    serve(copy)


if __name__ == "__main__":
    main()
