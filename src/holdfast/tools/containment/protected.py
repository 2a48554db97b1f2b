"""Places in a folder that programs execute or trust: contained code may read them and not change them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from holdfast.records import dataclass

REPOSITORY = ".git"
_IN_REPOSITORY = ("hooks", "config")
_DEEPEST = 4
_MOST_FOLDERS = 5_000
_PRIVATE = 0o700


@dataclass(frozen=True, slots=True)
class Protection:
    """Which places stay read-only, and the folders above them, which may not be renamed."""

    places: tuple[Path, ...] = ()
    pinned: tuple[Path, ...] = ()


def is_protected(names: Sequence[str], patterns: Sequence[str], repositories: bool) -> bool:
    """Whether a path inside a folder, name by name, is such a place or lies in one.

    `patterns` are the configured ones; `repositories` adds the places of Git repositories.
    """
    ends = range(1, len(names) + 1)
    configured = any(_as_deep(names[:end], pattern) for end in ends for pattern in patterns)
    return configured or (repositories and _in_repository(names))


def _as_deep(names: Sequence[str], pattern: str) -> bool:
    wanted = PurePosixPath(pattern).parts
    return len(wanted) == len(names) and all(
        fnmatchcase(name, part) for name, part in zip(names, wanted, strict=True)
    )


def _in_repository(names: Sequence[str]) -> bool:
    """`.git/hooks/…`, `.git/config`, the same of modules, and a `.git` that is a file."""
    if REPOSITORY not in names:
        return False
    inside = names[list(names).index(REPOSITORY) + 1 :]
    if not inside:
        return True
    own = inside[0] in _IN_REPOSITORY
    of_module = inside[0] == "modules" and any(name in _IN_REPOSITORY for name in inside[2:])
    return own or of_module


def protection(root: Path, patterns: Sequence[str], repositories: bool) -> Protection:
    """The places of a folder that are there now; links are passed over, and never followed.

    A repository without a folder of hooks gets an empty one, so that contained code cannot make it.
    """
    places: dict[Path, None] = {}
    for path in _found(root, patterns, repositories):
        places[path] = None
    above = {parent for place in places for parent in place.parents if parent.is_relative_to(root)}
    pinned = sorted(above - {root} - places.keys())
    return Protection(tuple(places), tuple(pinned))


def _found(root: Path, patterns: Sequence[str], repositories: bool) -> Iterator[Path]:
    for count, (place, folders, files) in enumerate(os.walk(root)):
        inside = Path(place).relative_to(root).parts
        for name in (*folders, *files):
            if any(_as_deep((*inside, name), pattern) for pattern in patterns) and _is_real(place, name):
                yield Path(place, name)
        if repositories and REPOSITORY in files and _is_real(place, REPOSITORY):
            yield Path(place, REPOSITORY)
        if repositories and REPOSITORY in folders and _is_real(place, REPOSITORY):
            yield from _of_repository(Path(place, REPOSITORY))
        if REPOSITORY in folders:
            folders.remove(REPOSITORY)
        if len(inside) >= _DEEPEST or count >= _MOST_FOLDERS:
            folders.clear()


def _of_repository(folder: Path) -> Iterator[Path]:
    (folder / "hooks").mkdir(_PRIVATE, exist_ok=True)
    for name in _IN_REPOSITORY:
        if _is_real(str(folder), name):
            yield folder / name
    for place, folders, files in os.walk(folder / "modules"):
        # A module is a repository itself, and is known by its HEAD.
        if "HEAD" in files:
            yield from (Path(place, name) for name in _IN_REPOSITORY if _is_real(place, name))
            folders[:] = [name for name in folders if name == "modules"]


def _is_real(place: str, name: str) -> bool:
    """Whether it is there, and no link."""
    try:
        return not stat.S_ISLNK(os.lstat(os.path.join(place, name)).st_mode)
    except OSError:
        return False
