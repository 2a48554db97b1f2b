"""Background processes: who is who, how one stands, what is watched for, and the words for it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from holdfast.model import ProcessId, ProcessState
from holdfast.records import dataclass

LONGEST_COMMAND = 20_000
MOST_PATTERNS = 10
LONGEST_PATTERN = 200
LONGEST_LINE = 2_000
"""Characters of one line of output that are looked at and shown."""
_SHOWN_MATCHES = 10
_PASSED_ON = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "TERM",
    "COLORTERM",
)
_PASSED_ON_FAMILIES = ("LC_", "XDG_")


def process_id(key: str) -> ProcessId:
    """The id of what a call starts: the same on every run of the call, so that it is started once."""
    return ProcessId(f"p{hashlib.sha256(key.encode()).hexdigest()[:12]}")


def environment_for(known: Mapping[str, str]) -> dict[str, str]:
    """What a background process is told of its surroundings: where things are, nothing that may be secret."""
    return {
        name: value
        for name, value in known.items()
        if name in _PASSED_ON or name.startswith(_PASSED_ON_FAMILIES)
    }


@dataclass(frozen=True, slots=True)
class Identity:
    """A process of one start of the machine. A pid alone is nobody: it is used again."""

    pid: int
    ticks: int
    """When it started, in the machine's own ticks since its start."""
    boot: str


@dataclass(frozen=True, slots=True)
class Standing:
    """How a process stands, with its exit code once it has ended and somebody saw how."""

    state: ProcessState
    code: int | None = None

    @property
    def ended(self) -> bool:
        return self.state is not ProcessState.RUNNING


def standing(known: Identity, seen: Identity | None, code: int | None, ourselves: int) -> Standing:
    """How a process stands from who has its pid now and the exit code that was left, if one was.

    Whoever has the pid and began at another time is somebody else, and so are we ourselves.
    """
    if code is not None:
        return Standing(ProcessState.EXITED, code)
    if seen == known and known.pid != ourselves:
        return Standing(ProcessState.RUNNING)
    return Standing(ProcessState.LOST)


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
        return f"at most {MOST_PATTERNS} patterns are watched for, not {len(patterns)}"
    if any(not pattern.strip("* ") or len(pattern) > LONGEST_PATTERN for pattern in patterns):
        return f"a pattern is a text of 1 to {LONGEST_PATTERN} characters"
    return None


# Words.


def state_text(standing: Standing) -> str:
    """How it stands, for a model to read."""
    if standing.state is ProcessState.RUNNING:
        return "running"
    if standing.state is ProcessState.LOST:
        return "gone, and nobody knows how it ended (the machine may have restarted, or it was killed hard)"
    code = "" if standing.code is None else f", exit code {standing.code}"
    return f"{'killed' if standing.state is ProcessState.KILLED else 'ended'}{code}"


def ended_text(id: ProcessId, command: str, state: ProcessState, code: int | None) -> str:
    """What wakes a session when a process of it has ended."""
    return f"The background process {id} ({one_line(command)}) is {state_text(Standing(state, code))}."


def match_text(id: ProcessId, command: str, lines: Sequence[str]) -> str:
    """What wakes a session when a line it waits for was put out."""
    shown = [f"> {line}" for line in lines[:_SHOWN_MATCHES]]
    if len(lines) > _SHOWN_MATCHES:
        shown.append(f"(and {len(lines) - _SHOWN_MATCHES} more)")
    what = f"The background process {id} ({one_line(command)}) put out what you watch for:"
    return "\n".join(
        [what, *shown, "Look at it in this turn if you want to be told of what comes next, too."]
    )


def missed_text(missed: Mapping[ProcessId, int]) -> str:
    """What the next turn is told of matches that woke nobody."""
    named = ", ".join(f"{id} ({count})" for id, count in missed.items())
    return f"Background processes have put out what you watch for, and you have not looked since: {named}."


def one_line(text: str, most: int = 120) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most]}…"
