"""What `/undo` and `/retry` take out of the view, and which effects they cannot undo."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.model import (
    CallRecord,
    CallState,
    EffectClass,
    Entry,
    Journal,
    Said,
    Tail,
    Turn,
    TurnId,
    Undone,
)
from holdfast.records import dataclass

from .markers import MARKERS, read_markers

_DID_SOMETHING = frozenset({CallState.DONE, CallState.FAILED, CallState.UNKNOWN})


@dataclass(frozen=True, slots=True)
class LastTurn:
    """The last turn that the view shows: what an undo takes out, and the messages of that turn."""

    turn: TurnId
    undone: Undone
    said: tuple[Said, ...]


def last_shown_turn(entries: Sequence[Entry]) -> LastTurn | None:
    """The last turn of which the view shows anything; None when every turn is undone."""
    gone = read_markers(entries).undone
    shown = [e for e in entries if e.seq not in gone and not isinstance(e.body, MARKERS)]
    if not shown:
        return None
    turn = shown[-1].turn
    its = [entry for entry in shown if entry.turn == turn]
    said = tuple(entry.body for entry in its if isinstance(entry.body, Said))
    return LastTurn(turn, Undone(its[0].seq, its[-1].seq), said)


def lasting_calls(journal: Journal) -> tuple[CallRecord, ...]:
    """Calls that changed something outside, or may have: an undo does not undo these changes."""
    return tuple(
        call for call in journal.calls if call.effect is not EffectClass.READ and call.state in _DID_SOMETHING
    )


def reply_lasts(turn: Turn) -> bool:
    """Whether a reply with effects was cut off in this turn: these effects may have happened."""
    return turn.tail is Tail.REPLYING
