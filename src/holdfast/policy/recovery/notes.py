"""Which one note, if any, the gateway gives the model before a run.

A note is an entry of its own kind, keyed by the turn and `count`: the interruption that it is about, or 0
for the note that opens a turn. It holds the gateway's words only, never a person's. One function chooses,
so there are never two.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from holdfast.model import MISSING_REASON_MEANS, Interruption, NoteKind, Tail, TurnState
from holdfast.policy.ages import within
from holdfast.policy.settings import RecoverySettings
from holdfast.records import dataclass

from .outcome import UNANSWERED


class Dropped(StrEnum):
    """Why interrupted work was cancelled after the gateway asked: continue or drop?"""

    SAID = "dropped"
    WROTE_ELSE = "dropped_by_other_message"
    UNANSWERED = "dropped_unanswered"
    """The question expired."""


@dataclass(frozen=True, slots=True)
class Before:
    """How the turn before this one, in the same session, ended."""

    state: TurnState
    why: str | None
    """The reason that the ledger keeps."""
    interruptions: int
    tail: Tail
    progress_at: int | None
    results_left: bool = False
    """Its transcript ends in tool results that the model has not used."""


@dataclass(frozen=True, slots=True)
class NoteFacts:
    """The facts that decide about a note."""

    opening: bool
    """The turn has no entries yet."""
    message_follows: bool
    """A person's message comes right after the note; only a resume can be without one."""
    interruptions: int = 0
    noted: int = 0
    """The last interruption that has its note, or needed none because the turn was waiting."""
    reason: str | None = None
    results_left: bool = False
    """For a resume: the turn's transcript ends in tool results that the model has not used."""
    before: Before | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """One note to append; at most one per turn and `count`."""

    kind: NoteKind
    count: int
    text: str


_DROPPED: frozenset[str | None] = frozenset(Dropped)

_KINDS: Mapping[str, NoteKind] = MappingProxyType(
    {
        Interruption.RESTART_TIMEOUT: NoteKind.RESTARTED,
        Interruption.SHUTDOWN_TIMEOUT: NoteKind.SHUT_DOWN,
        Interruption.RESTART_INTERRUPTED: NoteKind.INTERRUPTED,
    }
)

_CAUSES: Mapping[NoteKind, str] = MappingProxyType(
    {
        NoteKind.RESTARTED: "A gateway restart cut this work off.",
        NoteKind.SHUT_DOWN: "A gateway shutdown cut this work off; the gateway is running again.",
        NoteKind.INTERRUPTED: "A gateway interruption (it ended unexpectedly) cut this work off.",
        NoteKind.GENERAL: "This work was cut off; the gateway is running again.",
    }
)

WHOLE = "The history above is whole; nothing of it was lost."
"""A part of every note after which work that was cut off goes on."""
_RESTARTS = "Any restart in it has already happened: do not ask for it or start it again."
_RESULTS_FIRST = "Work on the unfinished results first and sum them up."
_THEN_MESSAGE = "Then answer the person's new message, which follows."
_AND_MESSAGE = "Go on with the work, then answer the person's new message, which follows."
_NO_MESSAGE = "There is no new message: go on with the work, do not greet, and do not ask what to do next."
_FOLLOWING = "Answer the message that follows."
_THEN_FOLLOWING = "Then answer the message that follows."

_OPENINGS: Mapping[NoteKind, str] = MappingProxyType(
    {
        NoteKind.LEFT_BEHIND: (
            "The work before this was cut off and left behind; it was not finished and is not running. "
            f"{_RESTARTS} Go on with it only if the person asks for it. {_FOLLOWING}"
        ),
        NoteKind.RESUME_FAILED: (
            f"The work before this was cut off, resumed, and failed; it was not finished. {WHOLE} {_RESTARTS}"
        ),
        NoteKind.DROPPED: (
            "The work before this stopped before its end, and the person dropped it; it is not running. "
            f"{_RESTARTS} Go on with it only if the person asks for it. {_FOLLOWING}"
        ),
        NoteKind.REPLY_UNKNOWN: (
            "Your reply before this was cut off. What you did in it may or may not have happened, and it was "
            "not repeated: check whether it happened before you do it again, or ask the person. "
            f"{_FOLLOWING}"
        ),
        NoteKind.TOOL_TAIL: (
            "The history above ends in tool results that were never answered. "
            f"{_RESTARTS} Finish with those results and sum them up. {_THEN_FOLLOWING}"
        ),
    }
)


def note_for(facts: NoteFacts, now: int, settings: RecoverySettings) -> Note | None:
    """Choose the one note, or none, with which this claim of a turn begins."""
    if facts.interruptions > facts.noted:
        kind = resume_kind(facts.reason)
        text = resume_text(kind, facts.message_follows, facts.results_left)
        return Note(kind, facts.interruptions, text)
    if not facts.opening or facts.before is None:
        return None
    opening = _opening_kind(facts.before, now, settings)
    return None if opening is None else Note(opening, 0, _opening_text(opening, facts.before.results_left))


def resume_kind(reason: str | None) -> NoteKind:
    """Name the note for an interruption's reason; an unknown reason gets the general note."""
    return _KINDS.get(reason or MISSING_REASON_MEANS, NoteKind.GENERAL)


def resume_text(kind: NoteKind, message_follows: bool, results_left: bool) -> str:
    """Say what cut the work off and what comes first."""
    first = f" {_RESULTS_FIRST}" if results_left else ""
    message = _THEN_MESSAGE if results_left else _AND_MESSAGE
    return f"{_CAUSES[kind]} {WHOLE} {_RESTARTS}{first} {message if message_follows else _NO_MESSAGE}"


def _opening_text(kind: NoteKind, results_left: bool) -> str:
    """Say how the turn before ended, and after a failed resume whether results are left."""
    if kind is not NoteKind.RESUME_FAILED:
        return _OPENINGS[kind]
    return f"{_OPENINGS[kind]} {f'{_RESULTS_FIRST} {_THEN_FOLLOWING}' if results_left else _FOLLOWING}"


def _opening_kind(before: Before, now: int, settings: RecoverySettings) -> NoteKind | None:
    if before.tail is Tail.REPLYING and before.state is not TurnState.CANCELLED:
        # Only the model can find out what it did in that reply.
        return NoteKind.REPLY_UNKNOWN
    if before.state is TurnState.EXPIRED:
        # An unanswered question leaves nothing to finish: the next message is new work.
        return None if before.why == UNANSWERED else NoteKind.LEFT_BEHIND
    if before.state is TurnState.CANCELLED:
        # A turn that a person or the operator ended is over, even if results are left.
        return NoteKind.DROPPED if before.why in _DROPPED else None
    if not within(settings.window, now, before.progress_at):
        return None
    if before.state is TurnState.FAILED and before.interruptions:
        return NoteKind.RESUME_FAILED
    return NoteKind.TOOL_TAIL if before.tail is Tail.WORK else None
