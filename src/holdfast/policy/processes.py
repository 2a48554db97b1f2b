"""Background processes: identity, state, the output that an agent watches for, and the words for all this."""

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
"""Characters of one line of output that are searched and shown."""
_SHOWN_MATCHES = 10
_GLANCE = 200
"""Characters of the last line that are shown beside a process."""
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)", re.DOTALL)


def process_id(key: str) -> ProcessId:
    """The id of the process that a call starts: the same on every run of the call, so it starts once."""
    return ProcessId(f"p{hashlib.sha256(key.encode()).hexdigest()[:12]}")


@dataclass(frozen=True, slots=True)
class Identity:
    """One process of one boot of the machine. A pid alone does not name it: the machine reuses pids."""

    pid: int
    ticks: int
    """When it started, in the machine's ticks since boot."""
    boot: str


def identity_of(process: Process) -> Identity:
    """The identity that the ledger recorded when the process started."""
    return Identity(process.pid, process.started_ticks, process.boot)


@dataclass(frozen=True, slots=True)
class ProcessStatus:
    """The state of a process, with its exit code if it has ended and left one."""

    state: ProcessState
    code: int | None = None

    @property
    def ended(self) -> bool:
        return self.state is not ProcessState.RUNNING


def standing(known: Identity, seen: Identity | None, code: int | None, ourselves: int) -> ProcessStatus:
    """The state of a process, from the process that has its pid now (`seen`) and the exit code, if any.

    A process with the same pid and another start time is a different process; so is this gateway.
    """
    if code is not None:
        return ProcessStatus(ProcessState.EXITED, code)
    if seen == known and known.pid != ourselves:
        return ProcessStatus(ProcessState.RUNNING)
    return ProcessStatus(ProcessState.LOST)


def fits(pattern: str, line: str) -> bool:
    """Whether a line contains the pattern; case does not matter, and `*` matches anything.

    A model writes these patterns, so they are no regular expressions: one of those could take for ever.
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
    """What a search of some output found: the matching lines, and how far it read."""

    lines: tuple[str, ...]
    matched_upto: int
    """Bytes up to the end of the last match."""
    read_upto: int
    """Bytes up to the end of the last whole line."""


def scan(data: bytes, patterns: Sequence[str], to_the_end: bool = False) -> Scan:
    """Search output line by line; an incomplete last line waits, unless nothing more will come."""
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
    """Why the gateway cannot watch for these; None when it can."""
    if len(patterns) > MOST_PATTERNS:
        return f"the gateway watches for at most {MOST_PATTERNS} patterns, not {len(patterns)}"
    if any(not pattern.strip("* ") or len(pattern) > LONGEST_PATTERN for pattern in patterns):
        return f"a pattern is a text of 1 to {LONGEST_PATTERN} characters"
    return None


# Words.


def state_text(standing: ProcessStatus) -> str:
    """The state of a process, in words for a model."""
    if standing.state is ProcessState.RUNNING:
        return "running"
    if standing.state is ProcessState.LOST:
        return "gone; how it ended is unknown (the machine may have restarted, or a signal killed it)"
    code = "" if standing.code is None else f", exit code {standing.code}"
    return f"{'killed' if standing.state is ProcessState.KILLED else 'ended'}{code}"


def last_line(output: bytes) -> str:
    """The last line with text in it, without escape sequences: it moves no cursor and has no colours."""
    text = _ESCAPES.sub("", output.decode(errors="replace")).replace("\r", "\n")
    lines = ("".join(filter(str.isprintable, line)).strip() for line in reversed(text.split("\n")))
    return next(filter(None, lines), "")[:_GLANCE]


def ended_text(id: ProcessId, command: str, state: ProcessState, code: int | None) -> str:
    """The wake-up of a session whose process has ended."""
    return f"The background process {id} ({one_line(command)}) is {state_text(ProcessStatus(state, code))}."


def output_text(text: str) -> str:
    """The end of a process's output, quoted: no line of it can look like words of the gateway or a person."""
    return "\n".join(["The end of its output:", *_quoted(text.splitlines())])


def _quoted(lines: Sequence[str]) -> list[str]:
    """Lines of output, each marked as a quote, without characters that hide or move text."""
    plain = (_ESCAPES.sub("", line).expandtabs(4) for line in lines)
    return [f"> {''.join(letter if letter.isprintable() else ' ' for letter in line)}" for line in plain]


def match_text(id: ProcessId, command: str, lines: Sequence[str]) -> str:
    """The wake-up of a session whose process printed a line that the agent watches for."""
    shown = _quoted(lines[:_SHOWN_MATCHES])
    if len(lines) > _SHOWN_MATCHES:
        shown.append(f"(and {len(lines) - _SHOWN_MATCHES} more)")
    what = f"The background process {id} ({one_line(command)}) printed what you watch for:"
    return "\n".join(
        [what, *shown, "Look at its output in this turn if you also want to be told of later matches."]
    )


def missed_text(missed: Mapping[ProcessId, int]) -> str:
    """What the next turn is told of matches that caused no wake-up."""
    named = ", ".join(f"{id} ({count})" for id, count in missed.items())
    return f"Background processes have printed what you watch for, and you have not looked since: {named}."


def one_line(text: str, most: int = 120) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most]}…"
