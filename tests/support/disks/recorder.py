"""Runs a gateway in a child process and writes down all it does to its home, in order; or makes it fail."""

import errno
import os
import signal
import socket
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from holdfast.clock import SystemClock

from .events import Event, Made, Moved, Removed, Sized, SyncBegun, SyncEnded, Told, Wrote
from .subject import TELLING, live
from .watched import Call, Listener, be_watched

HOME = "home"
LEDGER = f"{HOME}/ledger.db"
_UNIMPORTANT = ("logs", "workspace", "lock")
"""In the home; writing it may fail all the same."""
_MEMORY = f"{LEDGER}-shm"
"""The log's index: gone with the power."""
# SQLite is built to use the one or the other.
LOG_SYNCS = (f"fdatasync {LEDGER}-wal", f"fsync {LEDGER}-wal")
LOG_WRITES = (f"pwrite64 {LEDGER}-wal", f"write {LEDGER}-wal")
COPY_SYNCS = (f"fdatasync {LEDGER}", f"fsync {LEDGER}")
LEDGER_SYNCS = (*LOG_SYNCS, *COPY_SYNCS)
_SLOW = 0.0015
"""Seconds a sync takes at the least: until everybody else has had their say."""
_LONG = 60.0
_HERE = -100 & 0xFFFFFFFF
"""The folder a process works in, as a call names it."""
_SECTOR = 512


@dataclass(frozen=True, slots=True)
class Fault:
    """From its first call on, so many calls that write or sync fail in this way."""

    first: int
    code: int
    calls: int = 1
    short: bool = False
    """Whether the first of them still writes a part of it, as a disk does that is just about full."""
    at_work: bool = False
    """Whether calls are counted only from where the gateway has told something."""
    only: tuple[str, ...] = ()
    """Which calls, if not any: a call's name and the path it is for."""

    def __str__(self) -> str:
        kind = errno.errorcode[self.code] + (" after a part" if self.short else "")
        where = f"call {self.first}{' at work' if self.at_work else ''}"
        return f"{kind} at {where}, {self.calls} times{f' ({self.only[0]})' if self.only else ''}"


def matters(path: str) -> bool:
    """Whether a start needs what stands there, or believes it."""
    first = path.removeprefix(f"{HOME}/").partition("/")[0]
    return first not in _UNIMPORTANT and path != _MEMORY and not path.endswith(".sock")


class Hangs(AssertionError):
    """The gateway came neither to rest nor to its end."""


class Recorder:
    """One home on one disk, over any number of boots."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / HOME
        self.events: list[Event] = []
        self.calls: list[str] = []
        """The calls of the last boot that could have failed."""
        self.hit: list[str] = []
        """Those that did."""
        self._syncs = 0

    def boot(
        self, number: int, fault: Fault | None = None, die_at: int | None = None, planted: str | None = None
    ) -> int:
        """Run a gateway to its end, or kill it when it would do that many things; its exit code."""
        here, there = socket.socketpair()
        child = os.fork()
        if child == 0:
            self._be(number, there, planted)
        there.close()
        try:
            watch = _Watch(self, child, Listener(child, here), fault)
        finally:
            here.close()
        return watch.until_it_ends(die_at)

    def _be(self, number: int, parent: socket.socket, planted: str | None) -> None:
        """In the child; never returns."""
        code = 1
        try:
            words = os.open(self.root / "words", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            nobody = os.open(os.devnull, os.O_WRONLY)
            for what, where in ((words, 1), (words, 2), (nobody, TELLING)):
                os.dup2(what, where)
            be_watched(parent)
            parent.close()
            code = live(self.home, number, planted)
        except BaseException:  # noqa: BLE001 - as the interpreter ends: with its trace, and never in our code
            traceback.print_exc()
        finally:
            os._exit(code)

    def words(self) -> str:
        """What the gateways wrote for people."""
        return (self.root / "words").read_text(errors="replace")

    def new_sync(self) -> int:
        self._syncs += 1
        return self._syncs


class _Watch:
    """The life of one child, call by call."""

    def __init__(self, recorder: Recorder, child: int, listener: Listener, fault: Fault | None) -> None:
        self._recorder = recorder
        self._child = child
        self._listener = listener
        self._fault = fault
        self._held: list[tuple[Call, int]] = []
        """Syncs under way."""
        self._has_told = False
        recorder.calls, recorder.hit = [], []

    def until_it_ends(self, die_at: int | None) -> int:
        recorder = self._recorder
        last = None if die_at is None else len(recorder.events) + die_at
        clock = SystemClock()
        until = clock.monotonic() + _LONG
        try:
            while True:
                call = self._listener.next(_SLOW if self._held else _LONG)
                if call is not None:
                    if last is not None and len(recorder.events) >= last:
                        # It never gets its answer; what came before it has been carried out.
                        break
                    _HANDLED[call.name](self, call)
                elif self._held:
                    self._end_sync()
                if clock.monotonic() > until:
                    raise Hangs(f"not at rest after {_LONG} seconds; last words: {recorder.words()[-2000:]}")
        except EOFError:
            pass
        finally:
            os.kill(self._child, signal.SIGKILL)
            _, status = os.waitpid(self._child, 0)
            self._listener.close()
        return os.waitstatus_to_exitcode(status)

    # Where a call means.

    def _of(self, descriptor: int) -> str | None:
        """The path of an open file, seen from the root; None when it is none of ours."""
        try:
            return self._ours(os.readlink(f"/proc/{self._child}/fd/{descriptor & 0xFFFFFFFF}"))
        except OSError:
            return None

    def _at(self, folder: int, address: int) -> str | None:
        path = self._listener.text(address)
        if not os.path.isabs(path):
            where = "cwd" if folder & 0xFFFFFFFF == _HERE else f"fd/{folder & 0xFFFFFFFF}"
            path = os.path.join(os.readlink(f"/proc/{self._child}/{where}"), path)
        return self._ours(os.path.normpath(path))

    def _ours(self, path: str) -> str | None:
        root = str(self._recorder.root)
        if path == root:
            return ""
        inside = path.removeprefix(f"{root}/")
        return inside if inside.startswith(HOME) and not path.endswith(" (deleted)") else None

    # What becomes of it.

    def _fails(self, call: Call, path: str) -> bool:
        """Whether this call is one that fails; then it has."""
        calls, fault, hit = self._recorder.calls, self._fault, self._recorder.hit
        if fault is not None and fault.at_work and not self._has_told:
            return False
        calls.append(f"{call.name} {path}")
        if fault is None or len(calls) <= fault.first or len(hit) >= fault.calls:
            return False
        if fault.only and calls[-1] not in fault.only:
            return False
        hit.append(calls[-1])
        if fault.short and len(hit) == 1 and call.name == "pwrite64" and call.args[2] > _SECTOR:
            self._write_a_part(call, path)
        else:
            self._listener.fail(call, fault.code)
        return True

    def _write_a_part(self, call: Call, path: str) -> None:
        descriptor, address, size, offset = call.args[:4]
        data = self._listener.read(address, size // _SECTOR // 2 * _SECTOR or _SECTOR)
        file = os.open(f"/proc/{self._child}/fd/{descriptor}", os.O_WRONLY)
        os.pwrite(file, data, offset)
        os.close(file)
        self._note(path, Wrote(path, offset, data))
        self._listener.done(call, len(data))

    def _note(self, path: str, event: Event) -> None:
        if matters(path):
            self._recorder.events.append(event)

    def _write(self, call: Call, offset: int | None = None) -> None:
        descriptor, address, size = call.args[:3]
        if descriptor == TELLING:
            self._has_told = True
            self._recorder.events.append(Told(self._listener.read(address, size).decode()))
            return self._listener.go_on(call)
        path = self._of(descriptor)
        if path is not None:
            if self._fails(call, path):
                return None
            where = self._position(descriptor, path) if offset is None else offset
            self._note(path, Wrote(path, where, self._listener.read(address, size)))
        return self._listener.go_on(call)

    def _position(self, descriptor: int, path: str) -> int:
        with open(f"/proc/{self._child}/fdinfo/{descriptor}", encoding="ascii") as info:
            said = dict(line.split(":", 1) for line in info)
        if int(said["flags"], 8) & os.O_APPEND:
            return os.stat(self._recorder.root / path).st_size
        return int(said["pos"])

    def _pwrite(self, call: Call) -> None:
        self._write(call, call.args[3])

    def _resize(self, call: Call) -> None:
        path = self._of(call.args[0])
        if path is not None:
            if self._fails(call, path):
                return
            self._note(path, Sized(path, call.args[1]))
        self._listener.go_on(call)

    def _sync(self, call: Call) -> None:
        path = self._of(call.args[0])
        if path is None or not matters(path):
            self._listener.go_on(call)
            return
        number = self._recorder.new_sync()
        self._note(path, SyncBegun(path, number))
        if self._fails(call, path):
            self._note(path, SyncEnded(number, kept=False))
        else:
            # Not carried out: what a sync does is up to who replays this, and memory needs none.
            self._held.append((call, number))

    def _end_sync(self) -> None:
        call, number = self._held.pop(0)
        self._recorder.events.append(SyncEnded(number))
        self._listener.done(call)

    def _open(self, call: Call, path: str | None, flags: int) -> None:
        if path is not None and flags & (os.O_CREAT | os.O_TRUNC):
            there = self._is_there(path)
            if there is False and flags & os.O_CREAT:
                if self._fails(call, path):
                    return
                self._note(path, Made(path))
            elif there and flags & os.O_TRUNC and not flags & os.O_EXCL:
                self._note(path, Sized(path, 0))
        self._listener.go_on(call)

    def _change(self, call: Call, path: str | None, event: Callable[[str], Event], there: bool) -> None:
        """A change of a folder, which happens only if the path is (or is not) there."""
        if path is not None and self._is_there(path) is there:
            if self._fails(call, path):
                return
            self._note(path, event(path))
        self._listener.go_on(call)

    def _is_there(self, path: str) -> bool | None:
        """None when it cannot be, for want of a folder."""
        place = self._recorder.root / path
        return os.path.lexists(place) if place.parent.is_dir() else None

    def _move(self, call: Call, path: str | None, to: str | None) -> None:
        if (path is None) is not (to is None):
            raise NotImplementedError(f"{path} was moved to {to}: one of them is none of ours")
        self._change(call, path, lambda one: Moved(one, to or ""), there=True)

    def _refuse_unknown(self, call: Call, path: str | None) -> None:
        """A way of writing nobody has used so far: better no trace than a wrong one."""
        if path is not None and matters(path):
            raise NotImplementedError(f"{call.name} {path} has to be written down too")
        self._listener.go_on(call)


_HANDLED: Mapping[str, Callable[[_Watch, Call], None]] = {
    "write": _Watch._write,
    "pwrite64": _Watch._pwrite,
    "ftruncate": _Watch._resize,
    "fsync": _Watch._sync,
    "fdatasync": _Watch._sync,
    "open": lambda w, c: w._open(c, w._at(_HERE, c.args[0]), c.args[1]),
    "openat": lambda w, c: w._open(c, w._at(c.args[0], c.args[1]), c.args[2]),
    "creat": lambda w, c: w._open(c, w._at(_HERE, c.args[0]), os.O_CREAT | os.O_TRUNC),
    "mkdir": lambda w, c: w._change(c, w._at(_HERE, c.args[0]), lambda p: Made(p, folder=True), False),
    "mkdirat": lambda w, c: w._change(c, w._at(c.args[0], c.args[1]), lambda p: Made(p, folder=True), False),
    "rmdir": lambda w, c: w._change(c, w._at(_HERE, c.args[0]), Removed, True),
    "unlink": lambda w, c: w._change(c, w._at(_HERE, c.args[0]), Removed, True),
    "unlinkat": lambda w, c: w._change(c, w._at(c.args[0], c.args[1]), Removed, True),
    "rename": lambda w, c: w._move(c, w._at(_HERE, c.args[0]), w._at(_HERE, c.args[1])),
    "renameat": lambda w, c: w._move(c, w._at(*c.args[:2]), w._at(*c.args[2:4])),
    "renameat2": lambda w, c: w._move(c, w._at(*c.args[:2]), w._at(*c.args[2:4])),
    "link": lambda w, c: w._refuse_unknown(c, w._at(_HERE, c.args[0])),
    "linkat": lambda w, c: w._refuse_unknown(c, w._at(*c.args[:2])),
    "truncate": lambda w, c: w._refuse_unknown(c, w._at(_HERE, c.args[0])),
    "fallocate": lambda w, c: w._refuse_unknown(c, w._of(c.args[0])),
    "writev": lambda w, c: w._refuse_unknown(c, w._of(c.args[0])),
    "pwritev": lambda w, c: w._refuse_unknown(c, w._of(c.args[0])),
    "pwritev2": lambda w, c: w._refuse_unknown(c, w._of(c.args[0])),
    "copy_file_range": lambda w, c: w._refuse_unknown(c, w._of(c.args[2])),
}
