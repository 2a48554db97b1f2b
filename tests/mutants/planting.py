"""Planted bugs: each a diff of a production file, applied to a copy of the sources and never to the sources.

A file of `planted` begins with what a reader wants to know, then comes the diff:

    Breaks: what goes wrong
    Promise: the invariant that speaks of it
    Failures: the known failures of gateways it repeats, if any
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src"
PLANTED = Path(__file__).parent / "planted"


class DoesNotApply(AssertionError):
    """The source a diff was made for is not there any more: the diff has to be made anew."""


@dataclass(frozen=True)
class Hunk:
    """Some lines of a file, and what they become."""

    old: str
    new: str


@dataclass(frozen=True)
class Mutant:
    """One planted bug."""

    name: str
    breaks: str
    promise: str
    failures: tuple[str, ...]
    file: str
    """From the top of the project."""
    hunks: tuple[Hunk, ...]

    def applied_to(self, source: str) -> str:
        """The source with the bug in it; every hunk has to fit at exactly one place."""
        for number, hunk in enumerate(self.hunks, start=1):
            places = source.count(hunk.old)
            if places != 1 or hunk.old == hunk.new:
                raise DoesNotApply(f"{self.name}: hunk {number} fits {self.file} at {places} places")
            source = source.replace(hunk.old, hunk.new)
        return source


def mutants() -> dict[str, Mutant]:
    """All of them, by name."""
    return {path.stem: read(path) for path in sorted(PLANTED.glob("*.diff"))}


def read(path: Path) -> Mutant:
    head, _, diff = path.read_text().partition("--- a/")
    said = dict(line.split(": ", 1) for line in head.strip().splitlines())
    file, *hunks = diff.split("\n@@")
    failures = said.get("Failures", "").replace(",", " ").split()
    return Mutant(
        path.stem,
        said["Breaks"],
        said["Promise"],
        tuple(failures),
        file.splitlines()[0],
        tuple(_hunk(text) for text in hunks),
    )


def _hunk(text: str) -> Hunk:
    """Where it stands is found by what it says: lines above it come and go."""
    lines = [line or " " for line in text.splitlines()[1:]]
    old, new = ("".join(f"{line[1:]}\n" for line in lines if line[0] in which) for which in (" -", " +"))
    return Hunk(old, new)


def plant(mutant: Mutant | None, folder: Path) -> Path:
    """A copy of the sources with this bug in it, or with none; returns what to import them from."""
    copy = folder / "src"
    shutil.copytree(SOURCES, copy, copy_function=_link)
    if mutant is not None:
        file = folder / mutant.file
        source = mutant.applied_to(file.read_text())
        file.unlink()  # It is the same file as in the sources.
        file.write_text(source)
    return copy


def _link(source: str, copy: str) -> None:
    try:
        os.link(source, copy)
    except OSError:
        shutil.copy2(source, copy)
