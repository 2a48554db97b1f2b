"""Stands between the gateway and the program of an MCP server, in a process of its own; run as a file.

The program lives in a process group that ends with it, and with the gateway, however that ends. What it
writes for people goes to a log that does not grow; of what it writes to the gateway only lines that may be
messages come through, and none that could fill the memory of who reads it.

    guard.py PARENT LOG SECRETS COMMAND [ARGUMENT ...]

SECRETS: the names, with commas between, of the variables whose values are left out of the log.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import selectors
import signal
import subprocess
import sys
from types import FrameType

LONGEST_MESSAGE = 8 * 1024 * 1024
"""Bytes of one line to the gateway; a program that writes a longer one is ended."""
LONGEST_LINE = 16 * 1024
LARGEST_LOG = 1024 * 1024
"""Bytes of a log, after which it is put aside and a new one begun; one that was put aside is kept."""
SHORTEST_SECRET = 6
_AT_ONCE = 64 * 1024
_PR_SET_PDEATHSIG = 1
_NOT_FOUND = 127


class Log:
    """A file that is never larger than so much, of lines without secrets."""

    def __init__(self, path: str, secrets: list[bytes]) -> None:
        self._path = path
        self._secrets = sorted(secrets, key=len, reverse=True)
        self._rest = b""
        self._open()

    def write(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LONGEST_LINE:
            lines.append(self._rest)
            self._rest = b""
        for line in lines:
            self.line(line)

    def line(self, line: bytes) -> None:
        for secret in self._secrets:
            line = line.replace(secret, b"[secret]")
        written = line[:LONGEST_LINE] + b"\n"
        if self._size + len(written) > LARGEST_LOG:
            self._turn()
        with contextlib.suppress(OSError):  # a full disk is no reason to end a server
            self._size += self._file.write(written)

    def end(self, words: str) -> None:
        if self._rest:
            self.line(self._rest)
        self.line(words.encode())

    def _open(self) -> None:
        try:
            self._file = open(self._path, "ab", buffering=0)  # noqa: SIM115 - kept until the process ends
        except OSError:
            self._file = open(os.devnull, "ab", buffering=0)  # noqa: SIM115 - as above
        self._size = self._file.tell()

    def _turn(self) -> None:
        self._file.close()
        with contextlib.suppress(OSError):
            os.replace(self._path, f"{self._path}.1")
        self._open()


class Messages:
    """Lines that may be messages, passed on whole; the rest is for the log."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._parts: list[bytes] = []
        self._length = 0

    def take(self, data: bytes) -> bool:
        """Pass on what is complete; False when a line is too long or nobody reads any more."""
        *lines, rest = data.split(b"\n")
        for line in lines:
            if not self._pass_on(b"".join((*self._parts, line))):
                return False
            self._parts, self._length = [], 0
        self._parts.append(rest)
        self._length += len(rest)
        return self._length <= LONGEST_MESSAGE

    def _pass_on(self, line: bytes) -> bool:
        if not line.lstrip().startswith(b"{"):
            if line.strip():
                self._log.line(line)
            return True
        if len(line) > LONGEST_MESSAGE:
            return False
        left = memoryview(line + b"\n")
        try:
            while left:
                left = left[os.write(1, left) :]
        except OSError:
            return False
        return True


def die_with_parent(number: int) -> None:
    """Be sent this signal when the process that began us ends; only Linux knows how."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)


def main(parent: int, log: Log, command: list[str]) -> int:
    """Run the program until it ends, or we are told to; its exit code."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(wake)
    told: list[int] = []

    def hear(number: int, frame: FrameType | None) -> None:
        told.append(number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, hear)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    die_with_parent(signal.SIGTERM)
    if os.getppid() != parent:
        return 0  # it ended before we could ask to be told
    try:
        child = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
            preexec_fn=lambda: die_with_parent(signal.SIGKILL),
        )
    except OSError as fault:
        log.end(f"could not be started: {fault.strerror}")
        return _NOT_FOUND
    # Only the program reads what the gateway writes: when it is gone, writing fails.
    os.close(0)
    try:
        why = _relay(child, log, woken, told)
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
    code = child.wait()
    log.end(why or (f"ended with code {code}" if code >= 0 else f"was killed by signal {-code}"))
    return code if code >= 0 else 128 - code


def _relay(child: subprocess.Popen[bytes], log: Log, woken: int, told: list[int]) -> str:
    """Carry what the program writes until it has ended; why it is ended, if it is not its own doing."""
    assert child.stdout is not None
    assert child.stderr is not None
    out, err = child.stdout.fileno(), child.stderr.fileno()
    messages = Messages(log)
    with selectors.DefaultSelector() as ready:
        for file in (out, err, woken):
            ready.register(file, selectors.EVENT_READ)
        while True:
            ended = child.poll() is not None
            # What it wrote before its end is still carried; what others hold open is not waited for.
            found = {key.fd: os.read(key.fd, _AT_ONCE) for key, _ in ready.select(0 if ended else None)}
            if told:
                return f"was ended by signal {told[0]}"
            if found.get(out) == b"" or (ended and not found.keys() & {out, err}):
                return "" if _ends(child) else "closed its output, and was ended"
            if found.get(err) == b"":
                ready.unregister(err)
            log.write(found.get(err, b""))
            if not messages.take(found.get(out, b"")):
                return "wrote a line that is too long, or that nobody reads, and was ended"


def _ends(child: subprocess.Popen[bytes]) -> bool:
    """Whether it ends by itself within a moment."""
    try:
        child.wait(0.5)
    except subprocess.TimeoutExpired:
        return False
    return True


if __name__ == "__main__":
    _, _parent, _log, _names, *_command = sys.argv
    _values = [os.environb.get(name.encode(), b"") for name in _names.split(",") if name]
    sys.exit(main(int(_parent), Log(_log, [one for one in _values if len(one) >= SHORTEST_SECRET]), _command))
