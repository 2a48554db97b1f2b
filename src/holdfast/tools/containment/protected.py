"""Places in a folder that programs execute or trust: contained code may read them and not change them."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from holdfast.records import dataclass

from ..base import ToolFailed

REPOSITORY = ".git"
_TRUSTED = ("hooks", "config", "config.worktree", "commondir")
"""What Git executes, and what says where else it looks for that."""
_MOST_FOLDERS = 100_000
_MOST_PLACES = 1_000
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
    return configured or (repositories and _in_repository([name.casefold() for name in names]))


def _as_deep(names: Sequence[str], pattern: str) -> bool:
    wanted = PurePosixPath(pattern).parts
    return len(wanted) == len(names) and all(
        fnmatchcase(name, part) for name, part in zip(names, wanted, strict=True)
    )


def _in_repository(names: Sequence[str]) -> bool:
    """`.git/hooks/…`, `.git/config`, the same of modules and worktrees, and a `.git` that is a file."""
    if REPOSITORY not in names:
        return False
    inside = names[list(names).index(REPOSITORY) + 1 :]
    if not inside:
        return True
    own = inside[0] in _TRUSTED
    of_another = inside[0] in ("modules", "worktrees") and any(name in _TRUSTED for name in inside[2:])
    return own or of_another


def protection(root: Path, patterns: Sequence[str], repositories: bool) -> Protection:
    """The places of a folder that are there now; raises `ToolFailed` where one could not be kept.

    Code of an agent had this folder before: whatever it may have done there to be overlooked (a folder that
    cannot be read, more folders than anybody looks through, a link) ends in words, not in a place less.
    """
    places = dict.fromkeys(_Look(root, patterns, repositories).found())
    if len(places) > _MOST_PLACES:
        raise ToolFailed(f"{root} has more than {_MOST_PLACES} places that have to stay as they are")
    above = {parent for place in places for parent in place.parents if parent.is_relative_to(root)}
    pinned = sorted(above - {root} - places.keys())
    return Protection(tuple(places), tuple(pinned))


class _Look:
    """One look through a folder."""

    def __init__(self, root: Path, patterns: Sequence[str], repositories: bool) -> None:
        self._root = root
        self._patterns = patterns
        self._repositories = repositories
        self._deepest = max((len(PurePosixPath(pattern).parts) for pattern in patterns), default=0)
        self._looks = 0

    def found(self) -> Iterator[Path]:
        waiting: list[tuple[str, ...]] = [()]
        while waiting and (self._repositories or self._deepest):
            inside = waiting.pop()
            place = self._root.joinpath(*inside)
            folders, others, links = self._names(place)
            for name in (*folders, *others, *links):
                fits = any(_as_deep((*inside, name), pattern) for pattern in self._patterns)
                if fits or (self._repositories and name == REPOSITORY and name not in folders):
                    yield from self._kept(place, name, links)
            if self._repositories and REPOSITORY in folders:
                yield from self._of_repository(place / REPOSITORY)
            if self._repositories or len(inside) + 1 < self._deepest:
                waiting += [(*inside, name) for name in folders if name != REPOSITORY]

    def _kept(self, place: Path, name: str, links: Sequence[str]) -> Iterator[Path]:
        if name not in links:
            yield place / name
        elif self._repositories:
            # In a folder of the owner's; in one of ours an agent could lock itself out.
            raise ToolFailed(f"{place / name} is a link, which cannot be kept as it is; nothing was run")

    def _of_repository(self, folder: Path) -> Iterator[Path]:
        """Its places; where there is no folder of hooks it is made, so that contained code cannot make it."""
        if not os.path.lexists(folder / "hooks"):
            self._make(folder / "hooks")
        folders, others, links = self._names(folder)
        for name in _TRUSTED:
            if name in (*folders, *others, *links):
                yield from self._kept(folder, name, links)
        if "worktrees" in folders:
            for one in self._names(folder / "worktrees")[0]:
                _, files, also = self._names(folder / "worktrees" / one)
                for name in (*files, *also):
                    if name in _TRUSTED:
                        yield from self._kept(folder / "worktrees" / one, name, also)
        if "modules" in folders:
            yield from self._modules(folder / "modules")

    def _modules(self, folder: Path) -> Iterator[Path]:
        """Of each module, which is a repository itself: known also by what cannot be taken away from it."""
        for name in self._names(folder)[0]:
            _, files, links = self._names(folder / name)
            if {"HEAD", "config"}.isdisjoint((*files, *links)):
                yield from self._modules(folder / name)
            else:
                yield from self._of_repository(folder / name)

    def _names(self, folder: Path) -> tuple[list[str], list[str], list[str]]:
        """Folders, files and links in a folder."""
        self._looks += 1
        if self._looks > _MOST_FOLDERS:
            raise ToolFailed(
                f"{self._root} has more than {_MOST_FOLDERS} folders, too many to look through for what has "
                "to stay as it is; nothing was run"
            )
        folders: list[str] = []
        others: list[str] = []
        links: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    kind = links if entry.is_symlink() else folders if entry.is_dir() else others
                    kind.append(entry.name)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise ToolFailed(
                f"{folder} cannot be looked through for what has to stay as it is ({error.strerror}); "
                "nothing was run"
            ) from None
        return folders, others, links

    def _make(self, folder: Path) -> None:
        try:
            folder.mkdir(_PRIVATE)
        except OSError as error:
            if error.errno != errno.EROFS:
                raise ToolFailed(f"{folder} cannot be made: {error.strerror}; nothing was run") from None
