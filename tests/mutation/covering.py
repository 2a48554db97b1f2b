"""Which tests run which line, and the copy of the project in which this is found out and mutants are tried.

Collected once and kept: a test file is run again only when a file that it ran has changed.
"""

from __future__ import annotations

import compileall
import json
import os
import py_compile
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any

from coverage import CoverageData

from tests.mutation.operators import Mutation
from tests.unit.project.tree import ROOT, repository_files

QUICK = (
    "tests/unit",
    "tests/contract",
    "tests/scenario",
    "tests/providers",
    "tests/migration",
    "tests/web",
    "tests/sim/test_worlds.py",
    "tests/sim/test_progress.py",
)
SLOW = ("tests/processes", "tests/e2e", "tests/crash", "tests/sim", "tests/browser")
LEFT_OUT = ("tests/unit/project", "tests/unit/bench", "tests/mutation", "tests/mutants")
"""They read the sources, or speak of other code."""
PACKAGE = "src/holdfast"
PIECE = 16
"""Test files that are run together: when a run is stopped, it goes on with the next ones."""
Collected = dict[str, Any]
"""What a collector found."""


def digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()[:16] if path.is_file() else ""


def refresh(copy: Path, root: Path) -> None:
    """Make `copy` hold what the project holds now, and nothing else."""
    kept = set()
    for source in repository_files() if root == ROOT else files_of(root):
        target = copy / source.relative_to(root)
        kept.add(target)
        if not target.is_file() or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):
                target.unlink()
            shutil.copy2(source, target)
    for target in files_of(copy):
        if target not in kept:
            target.unlink()
    # By what a source says, not by its time: a mutant may be written within the same second.
    mode = py_compile.PycInvalidationMode.CHECKED_HASH
    compileall.compile_dir(copy / "src", quiet=2, invalidation_mode=mode)


def files_of(folder: Path) -> list[Path]:
    """Its files, in a fixed order, without what Python keeps."""
    found = sorted(folder.rglob("*"))
    return [path for path in found if path.is_file() and "__pycache__" not in path.parts]


def environment(copy: Path) -> dict[str, str]:
    path = os.pathsep.join((str(copy / "src"), str(copy)))
    return {**os.environ, "PYTHONPATH": path, "COVERAGE_CORE": "ctrace"}


@dataclass
class Covering:
    """What is known about the tests of the copy."""

    folder: Path
    """Where it is kept."""
    touched: dict[str, dict[str, str]] = field(default_factory=dict)
    """The digests of the files that a test file ran."""
    data: dict[str, str] = field(default_factory=dict)
    """Where the lines are kept that the tests of a file ran."""
    seconds: dict[str, float] = field(default_factory=dict)
    """How long each test took, itself."""
    modules: list[str] = field(default_factory=list)
    """The libraries that were imported, in their order: some cannot be imported before others."""
    failed: list[str] = field(default_factory=list)
    """Tests that fail without any change; they judge no mutant."""

    @classmethod
    def load(cls, folder: Path) -> Covering:
        kept = folder / "covering.json"
        return cls(folder, **json.loads(kept.read_text())) if kept.exists() else cls(folder)

    def save(self) -> None:
        kept = {name: value for name, value in vars(self).items() if name != "folder"}
        fresh = self.folder / "covering.json.new"
        fresh.write_text(json.dumps(kept))
        fresh.replace(self.folder / "covering.json")
        for data in self.folder.glob("lines-*.coverage"):
            if data.name not in self.data.values():
                data.unlink()

    def stale(self, copy: Path, files: Iterable[str]) -> list[str]:
        """Those of the test files that are new, or ran something that is not the same any more."""
        now: dict[str, str] = {}

        def same(name: str, then: str) -> bool:
            if name not in now:
                now[name] = digest(copy / name)
            return now[name] == then

        return [
            file
            for file in files
            if file not in self.touched or not all(same(*one) for one in self.touched[file].items())
        ]

    def collect(self, copy: Path, files: Sequence[str], jobs: int) -> Iterator[int]:
        """Run these test files, some at a time, and keep what they ran; says how many are left."""
        pieces = [files[start : start + PIECE] for start in range(0, len(files), PIECE)]
        left = len(files)
        with ThreadPoolExecutor(jobs) as pool:
            running = [pool.submit(_collected, self.folder, copy, piece) for piece in pieces]
            for piece in as_completed(running):
                data, found = piece.result()
                self._keep(copy, data, found)
                left -= len(found["files"])
                yield left

    def _keep(self, copy: Path, data: Path, found: Collected) -> None:
        lines = CoverageData(basename=str(data))
        lines.read()
        ran: dict[str, set[str]] = {file: {file} for file in found["files"]}
        for path in lines.measured_files():
            for tests in lines.contexts_by_lineno(path).values():
                for file in {test.partition("::")[0] for test in tests if test}:
                    ran[file].add(Path(path).relative_to(copy).as_posix())
        lines.close()
        self.seconds = {
            test: took for test, took in self.seconds.items() if test.partition("::")[0] not in ran
        } | found["seconds"]
        self.failed = [test for test in self.failed if test.partition("::")[0] not in ran] + found["failed"]
        self.modules = list(dict.fromkeys([*self.modules, *found["modules"]]))
        for file, names in ran.items():
            self.data[file] = data.name
            self.touched[file] = {name: digest(copy / name) for name in sorted(names)}
        self.save()

    def only(self, files: Iterable[str]) -> Covering:
        """The same without the tests of other files."""
        judges = set(files)
        seconds = {test: s for test, s in self.seconds.items() if test.partition("::")[0] in judges}
        return replace(self, seconds=seconds)

    def lines(self, copy: Path, file: str) -> Mapping[int, set[str]]:
        """The tests that run each line of a file of the package."""
        path = str(copy / PACKAGE / file)
        found: dict[int, set[str]] = defaultdict(set)
        for name in sorted(set(self.data.values())):
            kept = CoverageData(basename=str(self.folder / name))
            kept.read()
            for line, tests in kept.contexts_by_lineno(path).items():
                found[line] |= {
                    test
                    for test in tests
                    if test in self.seconds and self.data[test.partition("::")[0]] == name
                }
            kept.close()
        return found

    def tests_for(self, mutation: Mutation, lines: Mapping[int, set[str]], budget: float) -> list[str]:
        """The tests that can notice this change, fastest first, as many as fit into the time."""
        if mutation.runs is not None:
            first, last = mutation.runs
            groups = [set().union(*(lines.get(line, set()) for line in range(first, last + 1)))]
        else:
            # It runs while modules are imported: whoever uses the module may notice it, the nearest first.
            near = f"tests/unit/{mutation.package}/"
            groups = [set().union(*lines.values()), {t for t in self.seconds if t.startswith(near)}]
            groups.append(set(self.seconds))
        chosen: dict[str, None] = {}
        for group in groups:
            for test in sorted(group, key=lambda test: (self.seconds[test], test)):
                budget -= self.seconds[test] if test not in chosen else 0.0
                if chosen and budget < 0:
                    return list(chosen)
                chosen[test] = None
        return list(chosen)


def _collected(folder: Path, copy: Path, files: Sequence[str]) -> tuple[Path, Collected]:
    """Run these test files in a process of their own."""
    name = sha256("\n".join((*files, str(monotonic()))).encode()).hexdigest()[:8]
    data, report, log = (folder / f"collecting-{name}.{kind}" for kind in ("coverage", "json", "log"))
    collector = Path(__file__).parent / "collector.py"
    command = [sys.executable, str(collector), str(data), str(report), *files]
    with log.open("wb") as said:
        subprocess.run(command, cwd=copy, env=environment(copy), stdout=said, stderr=said, check=True)
    found = json.loads(report.read_text()) | {"files": list(files)}
    report.unlink()
    log.unlink()
    return data.rename(folder / f"lines-{name}.coverage"), found


def test_files(copy: Path, slow: bool = False) -> list[str]:
    """Every file of the tests that judge mutants."""
    found = []
    for path in sorted((copy / "tests").rglob("test_*.py")):
        name = path.relative_to(copy).as_posix()
        if name.startswith((*QUICK, *SLOW) if slow else QUICK) and not name.startswith(LEFT_OUT):
            found.append(name)
    return found
