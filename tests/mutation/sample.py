"""Which mutants are tried: a sample of each package, the same for the same seed.

A mutation is drawn by what it says and where, not by its line. So a change of one function changes the sample
only there.
"""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from tests.mutation.covering import PACKAGE
from tests.mutation.operators import Mutation, enums_of, mutations

EQUIVALENT = Path(__file__).parent / "equivalent.toml"
Population = dict[str, list[Mutation]]
"""All mutations of each package."""


class NothingThere(Exception):
    """No module has the name that was given."""


def population(copy: Path, names: Sequence[str] = ()) -> Population:
    """All mutations of these packages or modules (`policy`, `policy/ages.py`), or of the whole project."""
    sources = {
        path.relative_to(copy / PACKAGE).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted((copy / PACKAGE).rglob("*.py"))
    }
    enums = enums_of(sources.values())
    chosen = {file for file in sources if not names or any(_is_in(file, name) for name in names)}
    if not chosen:
        raise NothingThere(f"there is no package and no module called {', '.join(names)}")
    found: Population = defaultdict(list)
    for file in sorted(chosen):
        for mutation in mutations(file, sources[file], enums):
            found[mutation.package].append(mutation)
    return dict(found)


def _is_in(file: str, name: str) -> bool:
    name = name.removeprefix(f"{PACKAGE}/").rstrip("/")
    return file == name or file.startswith(f"{name}/") or (name == "base" and "/" not in file)


def drawn(population: Iterable[Mutation], sample: int, seed: int) -> list[Mutation]:
    """So many of them, in the order of their text; 0: all."""
    ranked = sorted(population, key=lambda m: sha256(f"{seed}:{m.key}".encode()).digest())
    return sorted(ranked[: sample or None], key=lambda m: (m.file, m.start, m.key))


def changed_since(root: Path, revision: str) -> Mapping[str, set[int]]:
    """The lines of the package that are not as they were in this revision."""
    command = ["git", "diff", "-U0", "--no-color", revision, "--", PACKAGE]
    said = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    found: dict[str, set[int]] = defaultdict(set)
    file = ""
    for line in said.splitlines():
        if line.startswith("+++ "):
            file = line.removeprefix(f"+++ b/{PACKAGE}/")
        elif hunk := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            first, count = int(hunk[1]), int(hunk[2] or 1)
            found[file] |= set(range(first, first + count))
    return found


@dataclass(frozen=True)
class Equivalent:
    """A mutation that changes nothing anybody could notice, and why."""

    file: str
    function: str
    was: str
    becomes: str
    reason: str
    nth: int = 1

    def is_about(self, mutation: Mutation) -> bool:
        return (mutation.file, mutation.function, mutation.was, mutation.becomes, mutation.nth) == (
            self.file,
            self.function,
            self.was,
            self.becomes,
            self.nth,
        )


def equivalents(path: Path = EQUIVALENT) -> list[Equivalent]:
    if not path.exists():
        return []
    return [
        Equivalent(**one) for one in tomllib.loads(path.read_text(encoding="utf-8")).get("equivalent", [])
    ]
