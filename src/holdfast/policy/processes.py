"""Background processes: who is who, how one stands, what is watched for, and the words for it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence

from holdfast.model import Process, ProcessId, ProcessState
from holdfast.records import dataclass

STARTING = "process_start"
"""The tool that starts one."""
LONGEST_COMMAND = 20_000
MOST_PATTERNS = 10
LONGEST_PATTERN = 200
LONGEST_LINE = 2_000
"""Characters of one line of output that are looked at and shown."""
_SHOWN_MATCHES = 10
_GLANCE = 200
"""Characters of the last line that are shown beside a process."""
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)", re.DOTALL)


def process_id(key: str) -> ProcessId:
    """The id of what a call starts: the same on every run of the call, so that it is started once."""
    return ProcessId(f"p{hashlib.sha256(key.encode()).hexdigest()[:12]}")


@dataclass(frozen=True, slots=True)
class Identity:
    """A process of one start of the machine. A pid alone is nobody: it is used again."""

    pid: int
    ticks: int
    """When it started, in the machine's own ticks since its start."""
    boot: str


def identity_of(process: Process) -> Identity:
    """Who it was when it was started."""
    return Identity(process.pid, process.started_ticks, process.boot)


@dataclass(frozen=True, slots=True)
class ProcessStatus:
    """How a process stands, with its exit code once it has ended and somebody saw how."""

    state: ProcessState
    code: int | None = None

    @property
    def ended(self) -> bool:
        return self.state is not ProcessState.RUNNING


def standing(known: Identity, seen: Identity | None, code: int | None, ourselves: int) -> ProcessStatus:
    """How a process stands from who has its pid now and the exit code that was left, if one was.

    Whoever has the pid and began at another time is somebody else, and so are we ourselves.
    """
    if code is not None:
        return ProcessStatus(ProcessState.EXITED, code)
    if seen == known and known.pid != ourselves:
        return ProcessStatus(ProcessState.RUNNING)
    return ProcessStatus(ProcessState.LOST)


def fits(pattern: str, line: str) -> bool:
    """Whether a line has this in it; case does not matter, and `*` stands for anything between two pieces.

    No regular expressions: a model writes these, and one that takes for ever must not exist.
    """
    at, low = 0, line.lower()
    for piece in pattern.lower().split("*"):
        found = low.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return True


@dataclass(frozen=True, slots=True)
class Scan:
    """What a piece of output holds: its matching lines, and how far whole lines go."""

    lines: tuple[str, ...]
    matched_upto: int
    """Bytes up to the end of the last match."""
    read_upto: int
    """Bytes up to the end of the last whole line."""


def scan(data: bytes, patterns: Sequence[str], to_the_end: bool = False) -> Scan:
    """Look through output line by line; one that is not whole yet waits, unless nothing more will come."""
    lines: list[str] = []
    at = matched = 0
    for piece in data.replace(b"\r", b"\n").splitlines(keepends=True):
        if not piece.endswith(b"\n") and not to_the_end and len(piece) < LONGEST_LINE:
            break
        at += len(piece)
        line = piece.decode(errors="replace").rstrip("\n")[:LONGEST_LINE]
        if any(fits(pattern, line) for pattern in patterns):
            lines.append(line)
            matched = at
    return Scan(tuple(lines), matched, at)


def refused_patterns(patterns: Sequence[str]) -> str | None:
    """Why these cannot be watched for; None when they can."""
    if len(patterns) > MOST_PATTERNS:
        return f"the gateway watches for at most {MOST_PATTERNS} patterns, not {len(patterns)}"
    if any(not pattern.strip("* ") or len(pattern) > LONGEST_PATTERN for pattern in patterns):
        return f"a pattern is a text of 1 to {LONGEST_PATTERN} characters"
    return None


# Words.


def state_text(standing: ProcessStatus) -> str:
    """How it stands, for a model to read."""
    if standing.state is ProcessState.RUNNING:
        return "running"
    if standing.state is ProcessState.LOST:
        return "gone; how it ended is unknown (the machine may have restarted, or a signal killed it)"
    code = "" if standing.code is None else f", exit code {standing.code}"
    return f"{'killed' if standing.state is ProcessState.KILLED else 'ended'}{code}"


def last_line(output: bytes) -> str:
    """The last line that says something, for a glance: nothing in it moves the cursor or colours."""
    text = _ESCAPES.sub("", output.decode(errors="replace")).replace("\r", "\n")
    lines = ("".join(filter(str.isprintable, line)).strip() for line in reversed(text.split("\n")))
    return next(filter(None, lines), "")[:_GLANCE]


def ended_text(id: ProcessId, command: str, state: ProcessState, code: int | None) -> str:
    """What wakes a session when a process of it has ended."""
    return f"The background process {id} ({one_line(command)}) is {state_text(ProcessStatus(state, code))}."


def output_text(text: str) -> str:
    """The end of what a process put out, quoted: none of its lines can pass for words of somebody else."""
    return "\n".join(["The end of its output:", *_quoted(text.splitlines())])


def _quoted(lines: Sequence[str]) -> list[str]:
    """Lines of output, each marked as such, with nothing in them that hides or moves text."""
    plain = (_ESCAPES.sub("", line).expandtabs(4) for line in lines)
    return [f"> {''.join(letter if letter.isprintable() else ' ' for letter in line)}" for line in plain]


def match_text(id: ProcessId, command: str, lines: Sequence[str]) -> str:
    """What wakes a session when a line it waits for was put out."""
    shown = _quoted(lines[:_SHOWN_MATCHES])
    if len(lines) > _SHOWN_MATCHES:
        shown.append(f"(and {len(lines) - _SHOWN_MATCHES} more)")
    what = f"The background process {id} ({one_line(command)}) printed what you watch for:"
    return "\n".join(
        [what, *shown, "Look at its output in this turn if you also want to be told of later matches."]
    )


def missed_text(missed: Mapping[ProcessId, int]) -> str:
    """What the next turn is told of matches that woke nobody."""
    named = ", ".join(f"{id} ({count})" for id, count in missed.items())
    return f"Background processes have printed what you watch for, and you have not looked since: {named}."


def one_line(text: str, most: int = 120) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most]}…"
