"""Places in a folder that programs execute or trust: contained code may read them and not change them."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from holdfast.records import dataclass
from holdfast.tools.base import ToolFailed

from .git_configuration import Named, common_folder, folder_of_hooks, of_user, read, repository_at

REPOSITORY = ".git"
_HOOKS, _CONFIG, _OF_WORKTREE = "hooks", "config", "config.worktree"
_TRUSTED = (_HOOKS, _CONFIG, _OF_WORKTREE, "commondir")
"""What Git executes, and the files that name further places of that kind."""
_MOST_FOLDERS = 100_000
_MOST_PLACES = 1_000
_PRIVATE, _FOR_ALL = 0o700, 0o644
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Protection:
    """The places that stay read-only, and the folders above them, which may not be renamed."""

    places: tuple[Path, ...] = ()
    pinned: tuple[Path, ...] = ()


def is_protected(names: Sequence[str], patterns: Sequence[str], repositories: bool) -> bool:
    """Whether a path inside a folder, name by name, is a protected place or lies in one.

    `patterns` are the configured places; `repositories` adds the places of Git repositories.
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


def protection(
    root: Path, patterns: Sequence[str], repositories: bool, writable: Sequence[Path] = ()
) -> Protection:
    """The protected places of a folder; raises `ToolFailed` if one of them could not be protected.

    Code of an agent may have prepared this folder so that the gateway overlooks a place: with a folder that
    it cannot read, with too many folders, with a link. Each of these refuses the whole folder, in words.
    `writable` are all folders that the program may change: the configuration of a repository in one of them
    may name a place in another.
    """
    roots = (root, *writable)
    places = dict.fromkeys(_Look(root, patterns, repositories, roots).found())
    if len(places) > _MOST_PLACES:
        raise ToolFailed(f"{root} has more than {_MOST_PLACES} protected places; nothing was run")
    above = {
        parent
        for place in places
        for parent in place.parents
        if any(parent.is_relative_to(one) and parent != one for one in roots)
    }
    return Protection(tuple(places), tuple(sorted(above - places.keys())))


def together(found: Sequence[Protection]) -> Protection:
    """All of these. A folder inside a place is already read-only; pinned, it would be writable again."""
    places = dict.fromkeys(place for one in found for place in one.places)
    above = dict.fromkeys(folder for one in found for folder in one.pinned)
    pinned = [folder for folder in above if places.keys().isdisjoint((folder, *folder.parents))]
    return Protection(tuple(places), tuple(pinned))


class _Look:
    """One search through a folder."""

    def __init__(
        self, root: Path, patterns: Sequence[str], repositories: bool, roots: Sequence[Path]
    ) -> None:
        self._root = root
        self._patterns = patterns
        self._repositories = repositories
        self._roots = roots
        self._deepest = max((len(PurePosixPath(pattern).parts) for pattern in patterns), default=0)
        self._looks = 0
        self._worktrees: list[Path] = []
        """Folders that something other than a folder `.git` makes a work tree."""
        self._named: list[Named] = []

    def found(self) -> Iterator[Path]:
        waiting: list[tuple[str, ...]] = [()]
        while waiting and (self._repositories or self._deepest):
            inside = waiting.pop()
            place = self._root.joinpath(*inside)
            folders, others, links = self._names(place)
            for name in (*folders, *others, *links):
                if any(_as_deep((*inside, name), pattern) for pattern in self._patterns):
                    yield from self._kept(place, name, links)
            if self._repositories:
                yield from self._of_git(place, folders, others, links)
            if self._repositories or len(inside) + 1 < self._deepest:
                waiting += [(*inside, name) for name in folders if name != REPOSITORY]
        if self._repositories:
            yield from self._named_elsewhere()

    def _of_git(
        self, place: Path, folders: Sequence[str], others: Sequence[str], links: Sequence[str]
    ) -> Iterator[Path]:
        """The places that Git trusts in this folder, if it is a work tree or a repository itself."""
        if REPOSITORY in folders:
            yield from self._of_repository(place / REPOSITORY)
        elif REPOSITORY in (*others, *links):
            yield from self._kept(place, REPOSITORY, links)
            self._worktrees.append(place)
            elsewhere = repository_at(place / REPOSITORY)
            if elsewhere is not None:
                self._named.append(_named_by(elsewhere))
        if _is_repository(folders, others, links):
            yield from self._of_repository(place)

    def _kept(self, place: Path, name: str, links: Sequence[str]) -> Iterator[Path]:
        if name not in links:
            yield place / name
        elif self._repositories:
            # In a folder of the owner. In a folder of the gateway, an agent could lock itself out so.
            raise ToolFailed(f"{place / name} is a link, which cannot be protected; nothing was run")

    def _of_repository(self, folder: Path) -> Iterator[Path]:
        """The places of a repository; missing ones are made, so that contained code cannot make them."""
        self._make(folder / _HOOKS)
        for name in (_CONFIG, _OF_WORKTREE):
            self._make(folder / name, file=True)
        folders, others, links = self._names(folder)
        for name in _TRUSTED:
            if name in (*folders, *others, *links):
                yield from self._kept(folder, name, links)
        if "worktrees" in folders:
            for one in self._names(folder / "worktrees")[0]:
                yield from self._of_worktree(folder / "worktrees" / one)
        if "modules" in folders:
            yield from self._modules(folder / "modules")
        named = _named_by(folder)
        self._named.append(named)
        for worktree in (folder.parent if folder.name == REPOSITORY else folder, *named.worktrees):
            yield from self._hooks(worktree, named)
        for path in named.included:
            yield from self._held(path, file=True)

    def _of_worktree(self, folder: Path) -> Iterator[Path]:
        self._make(folder / _OF_WORKTREE, file=True)
        _, files, links = self._names(folder)
        for name in (*files, *links):
            if name in _TRUSTED:
                yield from self._kept(folder, name, links)
        self._named.append(read(folder / _OF_WORKTREE))

    def _modules(self, folder: Path) -> Iterator[Path]:
        """The places of each module, a repository itself; an agent cannot remove all marks of one."""
        for name in self._names(folder)[0]:
            _, files, links = self._names(folder / name)
            if {"HEAD", _CONFIG}.isdisjoint((*files, *links)):
                yield from self._modules(folder / name)
            else:
                yield from self._of_repository(folder / name)

    # Places that a configuration names.

    def _named_elsewhere(self) -> Iterator[Path]:
        """The places that configurations elsewhere name for work trees of this folder.

        Files that an agent may change decide which configuration counts for a work tree; so all count.
        """
        repositories = (one / REPOSITORY for one in self._root.parents)
        above = [_named_by(repository_at(one) or one) for one in repositories]
        for worktree, named in zip(self._root.parents, above, strict=True):
            yield from self._hooks(worktree, named)
        for named in (*above, of_user(), *self._named):
            for worktree in self._worktrees:
                yield from self._hooks(worktree, named)
            for path in named.included:
                yield from self._held(path, file=True)

    def _hooks(self, worktree: Path, named: Named) -> Iterator[Path]:
        for written in named.hooks:
            yield from self._held(folder_of_hooks(worktree, written))

    def _held(self, path: Path, file: bool = False) -> Iterator[Path]:
        """This place, made if it is missing, if it lies in a folder that the program may change."""
        for one in (path, Path(os.path.realpath(path))):
            root = next((root for root in self._roots if one.is_relative_to(root)), None)
            if root is not None:
                links = (at for at in (one, *one.parents) if at.is_relative_to(root) and at.is_symlink())
                for link in links:
                    yield from self._kept(link.parent, link.name, (link.name,))
                self._make(one, file)
                if os.path.lexists(one):
                    yield one
                return

    def _names(self, folder: Path) -> tuple[list[str], list[str], list[str]]:
        """The folders, files and links in a folder."""
        self._looks += 1
        if self._looks > _MOST_FOLDERS:
            raise ToolFailed(
                f"{self._root} has more than {_MOST_FOLDERS} folders, too many to search for protected "
                "places; nothing was run"
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
                f"{folder} cannot be searched for protected places ({error.strerror}); nothing was run"
            ) from None
        return folders, others, links

    def _make(self, path: Path, file: bool = False) -> None:
        """Make an empty folder or file if the place is missing, through no link."""
        if os.path.lexists(path):
            return
        try:
            _make_below(next(root for root in self._roots if path.is_relative_to(root)), path, file)
        except FileExistsError:
            return
        except OSError as error:
            if error.errno != errno.EROFS:
                raise ToolFailed(f"{path} cannot be made: {error.strerror}; nothing was run") from None


def _is_repository(folders: Sequence[str], others: Sequence[str], links: Sequence[str]) -> bool:
    """Whether Git takes a folder for a repository, or would again if someone restored the missing parts.

    An agent can remove the first three parts. The last three are protected from the first search on.
    """
    bare = "HEAD" in (*others, *links) and all(name in (*folders, *links) for name in ("objects", "refs"))
    return bare or (_HOOKS in folders and _CONFIG in others and _OF_WORKTREE in others)


def _named_by(repository: Path) -> Named:
    """What the configuration of a repository names, also if its common folder is elsewhere."""
    common = common_folder(repository)
    return read(repository / _CONFIG, repository / _OF_WORKTREE, common / _CONFIG)


def _make_below(root: Path, path: Path, file: bool) -> None:
    *above, last = path.relative_to(root).parts
    folder = os.open(root, _FOLDER)
    try:
        for name in above:
            with suppress(FileExistsError):
                os.mkdir(name, _PRIVATE, dir_fd=folder)
            below = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = below
        if not file:
            os.mkdir(last, _PRIVATE, dir_fd=folder)
            return
        made = os.open(last, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _FOR_ALL, dir_fd=folder)
        try:
            owner = os.fstat(folder)
            if os.geteuid() == 0:
                # Git refuses to work if it may not read a configuration.
                os.fchown(made, owner.st_uid, owner.st_gid)
        finally:
            os.close(made)
    finally:
        os.close(folder)
