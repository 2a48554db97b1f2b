"""What single commits and deaths changed in a ledger, recorded at that instant."""

from __future__ import annotations

from typing import NamedTuple


class Write(NamedTuple):
    """An entry appended by a commit, with the generation its session had before that commit."""

    session: str
    seq: int
    turn: str
    generation: int
    before: int


class Claim(NamedTuple):
    """A turn that a commit started, with the generations of its session before and after that commit."""

    session: str
    turn: str
    generation: int
    before: int
    after: int
    age: int = 0
    """Of resumed work: milliseconds since its last progress, without its time in line."""
    expired_for: int = 0
    """Milliseconds since an approval expired that the model learns of only now, without its time in line."""


class Woken(NamedTuple):
    """A wake-up that a commit put into a turn, with the state of its process just before that commit."""

    event_id: str
    session: str
    turn: str
    seen: bool = False
    """Whether a call had shown the end of the process, or ended it."""


class Left(NamedTuple):
    """Interrupted work that a commit left as too old, with its age."""

    turn: str
    age: int


class Answered(NamedTuple):
    """A question that a commit closed with an answer, with its incarnation and its session's at that time."""

    question: str
    incarnation: int
    current: int
    late: int = 0
    """Milliseconds after it expired."""


class PutAside(NamedTuple):
    """A question that a commit closed because of another message, with the authors of that commit."""

    question: str
    senders: tuple[str, ...]


class Death(NamedTuple):
    """A process ended, but not in order."""

    turn: str | None
    """The turn whose work killed it; None if it was killed from outside."""
    running: frozenset[str]
    """The turns that ran at that instant."""
