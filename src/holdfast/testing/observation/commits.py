"""What single commits and deaths did to a ledger, written down at that instant."""

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
    """A turn that a commit set running, with the generations its session had around that commit."""

    session: str
    turn: str
    generation: int
    before: int
    after: int
    age: int = 0
    """Of interrupted work taken up again: milliseconds since its last progress, less time in line."""
    unheard: int = 0
    """Milliseconds since an approval expired that the model is to hear of only now, less time in line."""


class Woken(NamedTuple):
    """A wake-up that a commit let into a turn, with what was true of its process just before that commit."""

    event_id: str
    session: str
    turn: str
    seen: bool = False
    """Somebody had seen the end of the process, or ended it."""


class Left(NamedTuple):
    """Interrupted work that a commit left for its age, with what the age was."""

    turn: str
    age: int


class Answered(NamedTuple):
    """A question that a commit closed with an answer, with its incarnation and its session's then."""

    question: str
    incarnation: int
    current: int
    late: int = 0
    """Milliseconds after its time was up."""


class PutAside(NamedTuple):
    """A question that a commit closed because something else was written, with who wrote in that commit."""

    question: str
    senders: tuple[str, ...]


class Death(NamedTuple):
    """A process ended other than in order."""

    turn: str | None
    """Whose work killed it; None if it was killed from outside."""
    running: frozenset[str]
    """The turns that ran just then."""
