"""What every view takes from this machine, and which of the machine's secrets it leaves out."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

from holdfast.records import dataclass

from .installations import parts_of

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu")
"""Folders of the operating system and of programs for all users, shown read-only."""
DATA = ("/var/lib/ca-certificates", "/var/lib/snapd/snap", "/snap")
SETTINGS = Path("/etc")
"""The folder where system programs keep their settings, and secrets for their own user."""
_RESOLVER = "/etc/resolv.conf"
_FOR_ALL = stat.S_IROTH
_MOST_LINKS = 4_000


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine as programs see it."""

    folders: tuple[Path, ...]
    """Folders shown read-only, with everything below."""
    links: tuple[tuple[Path, str], ...]
    """System folders that are links, and where each leads."""
    secrets: tuple[Path, ...] = ()
    """Files and folders to leave out: those inside the shown folders that not every user may read, and the
    key files that the configuration names."""
    runtime: tuple[Path, ...] = ()
    """What the last step into containment needs: the interpreter, its library and the helper."""
    interpreter: Path = Path("/usr/bin/python3")


def look(helper: Path, secret_files: Sequence[Path] = ()) -> Machine:
    """The machine as it is now; reads files, so not for the event loop.

    `secret_files` hold keys of the gateway, wherever they lie.
    """
    found = [Path(path) for path in (*SYSTEM, *DATA)]
    folders = [path for path in found if path.is_dir() and not path.is_symlink()]
    links = [(path, os.readlink(path)) for path in found if path.is_symlink()]
    interpreter = Path(os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable))
    runtime = (*installed((interpreter.parent,), (), Path.home()), helper)
    folders += resolver_files()
    return Machine(
        tuple(folders),
        tuple(links),
        (*(path for path in secrets_in(SETTINGS) if _is_ours(path)), *_places_of(secret_files)),
        tuple(path for path in runtime if not _is_below(path, folders)),
        interpreter,
    )


def resolver_files() -> list[Path]:
    """The file with the name servers, if it lies outside of the shown folders."""
    real = Path(os.path.realpath(_RESOLVER))
    inside = any(real.is_relative_to(folder) for folder in SYSTEM)
    return [] if inside or not real.is_file() else [real]


def secrets_in(folder: Path) -> Iterator[Path]:
    """Everything in a folder that not every user may read: host keys, passwords, keys of certificates."""
    for place, folders, files in os.walk(folder, onerror=lambda error: None):
        for name in list(folders):
            path = os.path.join(place, name)
            mode = os.lstat(path).st_mode
            if not stat.S_ISLNK(mode) and not mode & _FOR_ALL:
                folders.remove(name)
                yield Path(path)
        for name in files:
            path = os.path.join(place, name)
            mode = os.lstat(path).st_mode
            if not stat.S_ISLNK(mode) and not mode & _FOR_ALL:
                yield Path(path)


def _places_of(files: Sequence[Path]) -> tuple[Path, ...]:
    """The real paths of these files: nothing is bound over a link, whose target would stay visible."""
    real = (Path(os.path.realpath(one)) for one in files)
    return tuple(dict.fromkeys(one for one in real if one.is_file()))


def _is_ours(path: Path) -> bool:
    return os.access(path, os.R_OK) or os.access(path, os.X_OK)


def installed(folders: Sequence[Path], files: Sequence[Path], user: Path) -> tuple[Path, ...]:
    """The installations of these programs and of those in the folders, as far as they exist.

    A link in such a folder leads to another installation, which is shown as well: from a virtual environment
    to its Python, from a program of `pipx` or `uv` to its environment.
    """
    shown: dict[Path, None] = {}
    waiting = [*folders, *(file.parent for file in files)]
    targets = [file for file in files if file.is_symlink()]
    seen: set[Path] = set()
    while waiting or targets:
        while targets:
            waiting += _led_to(targets.pop(), shown)
        if not waiting:
            break
        folder = waiting.pop()
        if folder in seen or _is_below(folder, [Path(path) for path in SYSTEM]) or not folder.is_dir():
            continue
        seen.add(folder)
        for part in parts_of(folder, user):
            if os.path.lexists(part):
                shown[Path(part)] = None
        targets += _links_in(folder)
    return tuple(shown)


def _links_in(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [Path(one.path) for one in entries if one.is_symlink()][:_MOST_LINKS]
    except OSError:
        return []


def _led_to(link: Path, shown: dict[Path, None]) -> list[Path]:
    """The folders of programs on the way of a link; a final target elsewhere is shown by itself."""
    found: list[Path] = []
    hops = 0
    while link.is_symlink() and hops < 40:
        hops += 1
        link = Path(os.path.normpath(link.parent / os.readlink(link)))
        found.append(link)
    if found:
        found.append(Path(os.path.realpath(found[-1])))
    for path in found:
        if path.parent.name not in ("bin", "sbin") and path.is_file() and not _is_below(path, list(shown)):
            shown[path] = None
    return [path.parent for path in found if path.parent.name in ("bin", "sbin")]


def _is_below(path: PurePath, folders: Sequence[PurePath]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)
