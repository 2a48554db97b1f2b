"""Mutants tried in copies of the project by warm workers, and the verdicts, kept from run to run."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from queue import Queue
from threading import Thread

from tests.mutation.covering import PACKAGE, Covering, digest, environment
from tests.mutation.operators import Mutation

WORKER = Path(__file__).parent / "worker.py"
STAGE = 6
"""Test files that are imported first: they catch most mutants, and importing all takes long."""


@dataclass(frozen=True)
class Verdict:
    """What became of one mutant."""

    key: str
    verdict: str
    """survived, uncovered; killed, timeout, import (the project does not start), died (the process ended)."""
    by: str
    """The test that noticed it."""
    seconds: float
    tests: int
    """How many could have noticed it."""
    module: str
    """The digest of the file it changes."""
    tested: str
    """The digest of what judged it: the test's file if one noticed it, else the whole project."""

    @property
    def survived(self) -> bool:
        return self.verdict in ("survived", "uncovered")


class Verdicts:
    """Every verdict, written down at once: a run that is stopped loses only the mutants it was trying.

    A survivor is tried again when anything has changed. A mutant that a test noticed is tried again when its
    module has changed, or the file of that test.
    """

    def __init__(self, path: Path, copy: Path, whole: str) -> None:
        self._path = path
        self._copy = copy
        self._whole = whole
        self._digest = cache(lambda name: digest(copy / name))
        lines = path.read_text().splitlines(keepends=True) if path.exists() else []
        if lines and not lines[-1].endswith("\n"):  # The run was stopped while it wrote this one.
            lines.pop()
            path.write_text("".join(lines))
        self._kept = {one.key: one for one in (Verdict(**json.loads(line)) for line in lines)}

    def known(self, mutation: Mutation) -> Verdict | None:
        # Asked before the trials begin: during them a mutant may be in the place of the file.
        self._digest(f"{PACKAGE}/{mutation.file}")
        kept = self._kept.get(mutation.key)
        if kept is None or (kept.module, kept.tested) != self._digests(mutation, kept.by):
            return None
        return kept

    def keep(self, mutation: Mutation, verdict: str, by: str, seconds: float, tests: int) -> Verdict:
        made = Verdict(mutation.key, verdict, by, seconds, tests, *self._digests(mutation, by))
        self._kept[made.key] = made
        with self._path.open("a") as file:
            file.write(json.dumps(asdict(made)) + "\n")
        return made

    def _digests(self, mutation: Mutation, by: str) -> tuple[str, str]:
        tested = self._digest(by.partition("::")[0]) if by else self._whole
        return self._digest(f"{PACKAGE}/{mutation.file}"), tested


class Worker:
    """One warm process and its copy of the project."""

    def __init__(self, copy: Path, covering: Covering) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(WORKER)],
            cwd=copy,
            env={**environment(copy), "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._covering = covering
        self._copy = copy
        self._passes: dict[str, bool] = {}
        """Tests that noticed a mutant: whether they pass without one."""
        self._ask(covering.modules)

    def attempt(self, mutation: Mutation, tests: Sequence[str]) -> tuple[str, str, float]:
        """The verdict, the test that noticed it, and how long it took.

        A test counts only if it passes here without the change.
        """
        source = (self._copy / PACKAGE / mutation.file).read_text(encoding="utf-8")
        took = 0.0
        while chosen := [test for test in tests if self._passes.get(test, True)]:
            verdict, by, seconds = self._run(mutation.file, mutation.applied_to(source), chosen)
            took += seconds
            if by and by not in self._passes:
                self._passes[by] = self._run(mutation.file, source, [by])[0] == "survived"
            if not by or self._passes[by]:
                return verdict, by, took
        return "survived", "", took

    def _run(self, file: str, source: str, tests: Sequence[str]) -> tuple[str, str, float]:
        timed = [(test, self._covering.seconds[test]) for test in tests]
        files = list(dict.fromkeys(test.partition("::")[0] for test in tests))[:STAGE]
        first = [one for one in timed if one[0].partition("::")[0] in files]
        rest = [one for one in timed if one[0].partition("::")[0] not in files]
        stages = [stage for stage in (first, rest) if stage]
        self._ask({"file": f"{PACKAGE}/{file}", "source": source, "stages": stages})
        assert self._process.stdout is not None
        said = json.loads(self._process.stdout.readline())
        return said["verdict"], said["by"], said["seconds"]

    def _ask(self, job: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def copies(first: Path, count: int) -> list[Path]:
    """As many copies of the project as there are workers; the others are made from the first."""
    made = [first]
    for number in range(1, count):
        other = first.with_name(f"copy-{number}")
        shutil.rmtree(other, ignore_errors=True)
        shutil.copytree(first, other)
        made.append(other)
    return made


def try_all(
    wanted: Sequence[tuple[Mutation, list[str]]], covering: Covering, places: Sequence[Path]
) -> Iterator[tuple[Mutation, str, str, float, int]]:
    """Try each mutant against its tests, one worker in each copy; verdicts as they come."""
    waiting: Queue[tuple[Mutation, list[str]] | None] = Queue()
    done: Queue[tuple[Mutation, str, str, float, int] | BaseException] = Queue()
    for one in wanted:
        waiting.put(one)

    def work(place: Path) -> None:
        worker = Worker(place, covering)
        try:
            while (job := waiting.get()) is not None:
                mutation, tests = job
                said = worker.attempt(mutation, tests) if tests else ("uncovered", "", 0.0)
                done.put((mutation, *said, len(tests)))
        except BaseException as broken:  # noqa: BLE001 - the run ends with it
            done.put(broken)
        finally:
            worker.close()

    threads = [Thread(target=work, args=(place,), daemon=True) for place in places[: len(wanted)]]
    for thread in threads:
        waiting.put(None)
        thread.start()
    for _ in wanted:
        verdict = done.get()
        if isinstance(verdict, BaseException):
            raise verdict
        yield verdict
    for thread in threads:
        thread.join()
