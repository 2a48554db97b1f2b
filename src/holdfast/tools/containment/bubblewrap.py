"""The arguments that make bubblewrap build a view: a pure function of the view and the machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path

from holdfast.records import dataclass

from .machine import Machine
from .view import ProgramView

_MEGABYTE = 1_048_576
_ALONE = (
    *("--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
    *("--die-with-parent", "--as-pid-1", "--cap-drop", "ALL"),
)


class _Kind(StrEnum):
    """What is mounted on a path."""

    READ = "--ro-bind"
    WRITE = "--bind"
    LINK = "--symlink"
    EMPTY = "--tmpfs"
    PROCESSES = "--proc"
    DEVICES = "--dev"


@dataclass(frozen=True, slots=True)
class _Mount:
    path: Path
    kind: _Kind
    source: str = ""
    size: int = 0
    """Megabytes of an empty folder; 0: it is sealed and stays empty."""


def arguments(view: ProgramView, machine: Machine, files: frozenset[Path] = frozenset()) -> tuple[str, ...]:
    """The arguments of `bwrap`, up to the command; `files` are the paths that are not folders.

    A folder comes before its content, so the inner path counts: a workspace in a read-only folder is
    writable, a protected place in the workspace is not.
    """
    chosen = {mount.path: mount for mount in _mounts(view, machine, files)}
    found = [*_ALONE, *(() if view.network else ("--unshare-net",))]
    for mount in sorted(chosen.values(), key=lambda one: len(one.path.parts)):
        found += _words(mount)
    sealed = [Path("/dev"), Path("/proc"), Path("/")]
    sealed += [mount.path for mount in chosen.values() if mount.kind is _Kind.EMPTY and not mount.size]
    for path in sealed:
        found += ["--remount-ro", str(path)]
    return tuple(found)


def _mounts(view: ProgramView, machine: Machine, files: frozenset[Path]) -> Iterator[_Mount]:
    """Everything in the view; if two mounts have the same path, the later one counts."""
    shown = (*machine.folders, *machine.runtime, *view.read)
    yield from (_bound(path, _Kind.READ) for path in shown)
    yield from (_Mount(path, _Kind.LINK, target) for path, target in machine.links)
    yield _Mount(Path("/proc"), _Kind.PROCESSES)
    yield _Mount(Path("/dev"), _Kind.DEVICES)
    yield _Mount(Path("/dev/shm"), _Kind.EMPTY, size=view.limits.memory)
    yield _Mount(Path("/tmp"), _Kind.WRITE, str(view.temporary))
    yield _Mount(Path("/var/tmp"), _Kind.WRITE, str(view.temporary))
    # Secrets inside the shown folders are covered. Most lie elsewhere and are simply absent.
    for path in (*machine.secrets, *(() if view.hidden is None else (view.hidden,))):
        if _lies_in(path, shown):
            empty = _Mount(path, _Kind.READ, "/dev/null") if path in files else _Mount(path, _Kind.EMPTY)
            yield empty
    yield from (_bound(path, _Kind.WRITE) for path in (*view.writable, *view.pinned))
    yield from (_bound(path, _Kind.READ) for path in view.protected)


def _bound(path: Path, kind: _Kind) -> _Mount:
    return _Mount(path, kind, str(path))


def _lies_in(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _words(mount: _Mount) -> list[str]:
    path = str(mount.path)
    match mount.kind:
        case _Kind.READ | _Kind.WRITE | _Kind.LINK:
            return [mount.kind, mount.source, path]
        case _Kind.EMPTY if mount.size:
            return ["--size", str(mount.size * _MEGABYTE), mount.kind, path]
        case _:
            return [mount.kind, path]
