"""Runs the program of an MCP server in a process between it and the gateway.

Everything the program starts ends with it, and with the gateway, however that ends. Its words for people go
to a log of limited size. Of its words for the gateway, only lines that may be messages come through, and none
that would keep the reader busy (see `mcp_messages.py`).

    mcp_program ORDER COMMAND [ARGUMENT ...]

ORDER is JSON: `parent`, the gateway's process; `log`, a path; `secrets`, the descriptor with the values to
leave out of the log, or null; `memory` in megabytes and `processes`, the limits of the program.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import selectors
import signal
from types import FrameType
from typing import Any

from .child import STATUS, start, status_from
from .kernel import adopt_orphans, die_with_parent
from .limits import UsageWatch, end_all
from .masker import Masked, ToldSecrets, told
from .mcp_messages import Messages

LONGEST_LINE = 16 * 1024
LARGEST_LOG = 1024 * 1024
"""Bytes of a log, after which the helper renames it and begins a new one; it keeps one old log."""
LOOK_EVERY = 100
"""Milliseconds between two looks at what the program uses."""
_AT_ONCE = 64 * 1024
_MOMENT, _TRIES = 0.1, 5


class Lines:
    """Cuts a stream into complete lines without secrets; a line that is too long becomes several."""

    def __init__(self, masked: Masked) -> None:
        self._masked = masked
        self._rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        return self._whole(self._masked.feed(data))

    def end(self) -> list[bytes]:
        lines = self._whole(self._masked.end())
        return [*lines, self._rest] if self._rest else lines

    def _whole(self, masked: bytes) -> list[bytes]:
        *lines, self._rest = (self._rest + masked).split(b"\n")
        if len(self._rest) > LONGEST_LINE:
            lines.append(self._rest)
            self._rest = b""
        return lines


class BoundedLog:
    """A log file of limited size, whose lines hold no secrets."""

    def __init__(self, path: str, secrets: ToldSecrets) -> None:
        self._path = path
        self._errors, self._noise = Lines(secrets.stream()), Lines(secrets.stream())
        self._open()

    def write(self, data: bytes) -> None:
        """Log what the program writes for people, in pieces."""
        self._keep(self._errors.feed(data))

    def noise(self, line: bytes) -> None:
        """Log a line that is not a message."""
        self._keep(self._noise.feed(line + b"\n"))

    def end(self, words: str) -> None:
        self._keep([*self._errors.end(), *self._noise.end(), words.encode()])

    def _keep(self, lines: list[bytes]) -> None:
        for line in lines:
            self._line(line)

    def _line(self, line: bytes) -> None:
        written = line[:LONGEST_LINE] + b"\n"
        if self._size + len(written) > LARGEST_LOG:
            self._turn()
        with contextlib.suppress(OSError):  # a full disk is no reason to end a server
            self._size += self._file.write(written)

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


def main(arguments: list[str]) -> int:
    """Run the program until it ends or must be ended; its exit code."""
    order: dict[str, Any] = json.loads(arguments[0])
    woken, signals = _listen()
    adopt_orphans()
    die_with_parent(signal.SIGTERM)
    if os.getppid() != order["parent"]:
        return 0  # the gateway ended before this process could ask for the signal
    program = Program(order, arguments[1:])
    log = BoundedLog(order["log"], told(order["secrets"]))
    try:
        why = _relay(program, log, woken, signals)
    finally:
        code = program.end()
    log.end(why or (f"ended with code {code}" if code >= 0 else f"was killed by signal {-code}"))
    return code if code >= 0 else 128 - code


def _listen() -> tuple[int, list[int]]:
    """A descriptor that becomes readable at each signal, and the signals that ask for the end."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(wake)
    signals: list[int] = []

    def hear(number: int, frame: FrameType | None) -> None:
        signals.append(number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, hear)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    return woken, signals


class Program:
    """The program of the server and everything that it starts."""

    def __init__(self, order: dict[str, Any], argv: list[str]) -> None:
        self._memory, self._processes = order["memory"], order["processes"]
        self._status: int | None = None
        out, into = os.pipe()
        err, into_err = os.pipe()
        self._said, status = os.pipe()
        self._pid = start(argv, {0: 0, 1: into, 2: into_err, STATUS: status})
        # Only the program reads what the gateway writes: when it is gone, writing fails.
        for ours in (0, into, into_err, status):
            os.close(ours)
        self.out, self.err = out, err
        self._usage = UsageWatch(self._memory, self._processes, LOOK_EVERY)

    @property
    def has_ended(self) -> bool:
        """Whether the program itself has ended; its orphans are collected."""
        try:
            while self._status is None and (found := os.waitpid(-1, os.WNOHANG))[0]:
                if found[0] == self._pid:
                    self._status = found[1]
        except ChildProcessError:
            return True
        return self._status is not None

    def too_much(self) -> str | None:
        """The limit that the program exceeds, in words, if any."""
        over = self._usage.over()
        if over is None:
            return None
        return f"{self._memory} MB" if over == "memory" else f"{self._processes} processes"

    def end(self) -> int:
        """End every process that is left; how the program ended."""
        ended_itself = self.has_ended
        end_all(self._pid)
        said = status_from(self._said) if ended_itself else None
        status = self._status if said is None else said
        return -signal.SIGKILL if status is None else os.waitstatus_to_exitcode(status)


def _relay(program: Program, log: BoundedLog, woken: int, signals: list[int]) -> str:
    """Carry what the program writes until it ends; returns why it has to be ended, or nothing."""
    out, err = program.out, program.err
    messages = Messages(log.noise)
    with selectors.DefaultSelector() as ready:
        for file in (out, err, woken):
            ready.register(file, selectors.EVENT_READ)
        while True:
            ended = program.has_ended
            # What the program wrote before its end is still carried; others may hold the pipe open for ever.
            wait = 0 if ended else LOOK_EVERY / 1_000
            found = {key.fd: os.read(key.fd, _AT_ONCE) for key, _ in ready.select(wait)}
            if signals:
                return f"was ended by signal {signals[0]}"
            if found.get(out) == b"" or (ended and not found.keys() & {out, err}):
                return "" if _ends(program, woken) else "closed its output, and was ended"
            if found.get(err) == b"":
                ready.unregister(err)
            log.write(found.get(err, b""))
            if not messages.take(found.get(out, b"")):
                return "wrote a line that is too long, or that could not be passed on, and was ended"
            over = program.too_much()
            if over:
                return f"used more than {over} and was ended"


def _ends(program: Program, woken: int) -> bool:
    """Whether the program ends by itself within a moment."""
    for _ in range(_TRIES):
        if program.has_ended:
            return True
        if select.select([woken], [], [], _MOMENT)[0]:
            os.read(woken, _AT_ONCE)
    return program.has_ended
