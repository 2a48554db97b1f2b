"""Runs some test files once, in the copy, and writes down which lines each test ran and how long it took.

    python collector.py DATA REPORT TEST-FILE…

It is run by its path, so that nothing of the project is imported before the measuring begins.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

import coverage
import pytest
from hypothesis import settings

QUIET = "ignore:Module already imported:pytest.PytestAssertRewriteWarning"
"""Libraries were imported before pytest could look at them, and that is meant."""
PROFILE = "mutate"
settings.register_profile(PROFILE, deadline=None, database=None, derandomize=True)
"""The same examples each time: what a mutant meets does not hang on chance."""
ELSEWHERE = ("tests/sim/test_worlds.py::test_random_worlds_hold",)
"""Tests whose work is done in processes of their own: no line could be seen to run."""
FAST = Path("/dev/shm")
"""Ledgers of tests are written here, if there is such a place: no disk has to be waited for."""


class Contexts:
    """Gives each test a context of its own, and keeps its time."""

    def __init__(self, measured: coverage.Coverage) -> None:
        self._measured = measured
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._measured.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            self._measured.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.outcome != "passed":
            self.failed.add(report.nodeid)


def main(data: str, report: str, *files: str) -> int:
    copy = Path.cwd()
    sys.path[0] = str(copy)
    measured = coverage.Coverage(
        data_file=data, include=[f"{copy}/src/holdfast/*", f"{copy}/tests/*"], config_file=False
    )
    contexts = Contexts(measured)
    measured.start()
    options = ["-q", "-W", QUIET, "-p", "no:cacheprovider"]
    options += [f"--hypothesis-profile={PROFILE}", f"--rootdir={copy}"]
    options += [f"--deselect={test}" for test in ELSEWHERE]
    with tempfile.TemporaryDirectory(prefix="mutate-", dir=FAST if FAST.is_dir() else None) as place:
        code = pytest.main([*options, f"--basetemp={place}/t", *files], plugins=[contexts])
    measured.stop()
    measured.save()
    ours = {"__main__", "holdfast", "tests", *sys.stdlib_module_names}
    found = {
        "seconds": {test: round(s, 3) for test, s in contexts.seconds.items() if test not in contexts.failed},
        "failed": sorted(contexts.failed),
        "modules": [name for name in sys.modules if name.split(".")[0] not in ours],
    }
    Path(report).write_text(json.dumps(found))
    return int(code) if code not in (0, 1, 5) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
