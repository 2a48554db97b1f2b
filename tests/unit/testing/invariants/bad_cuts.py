"""A history of a reply that was cut off: what can be wrong with what is kept of it, and with asking again."""

import json
from collections.abc import Callable
from dataclasses import replace

from holdfast.testing.observation.history import EntryLine, History, Ledger, OutboxLine, TurnLine, Writing

Spoil = Callable[[History], None]
KEY = "plain/bot/a"
HALF = "the first half"


def replied(text: str, finish: str = "stopped") -> EntryLine:
    body = json.dumps({"text": text, "finish": finish})
    return EntryLine("s", 2, "t1", "replied", None, None, body, 2)


def turn(state: str, why: str | None) -> TurnLine:
    return TurnLine("t1", "s", KEY, 1, state, 1, None, why)


def owed(dedupe: str) -> tuple[OutboxLine, ...]:
    return (OutboxLine(1, KEY, 1, "t1", "notice", dedupe, 1, "words", "sent", None),)


STOPPED = Ledger(turns=(turn("cancelled", "stop"),), entries=(replied(HALF),), outbox=owed("partial:t1"))
UNKNOWN = Ledger(turns=(turn("expired", "reply_unknown"),), outbox=owed("reply_unknown:t1:1"))


def stopped(history: History) -> None:
    """A reply was stopped, and all of it is kept."""
    history.ledger = STOPPED
    history.editing = frozenset({"plain"})
    history.writings = [Writing("t1", shown=[(1.0, "the"), (5.0, HALF)], how="cut", ended_at=5.5)]


def died(history: History) -> None:
    """A process died in the middle of a reply: what was recorded in time is kept."""
    stopped(history)
    history.ledger = replace(STOPPED, turns=(turn("expired", "too_old"),), entries=(replied("the"),))
    history.writings[0].how = "died"


def unknown(history: History) -> None:
    """A reply with effects of its own was cut off, is told, and not asked for again."""
    history.ledger = UNKNOWN
    history.writings = [Writing("t1", effects=True, how="died", ended_at=3.0)]


def but(sound: Spoil, spoil: Spoil) -> Spoil:
    def both(history: History) -> None:
        sound(history)
        spoil(history)

    return both


def ledger(**changes: object) -> Spoil:
    def spoil(history: History) -> None:
        history.ledger = replace(history.ledger, **changes)  # type: ignore[arg-type]  # names are fields

    return spoil


SPOILT_CUTS: dict[str, tuple[str, str, Spoil]] = {
    "a stopped answer that vanishes": ("R24.3", "had written", but(stopped, ledger(entries=()))),
    "a stopped answer without its end": (
        "R24.3",
        "had written",
        but(stopped, ledger(entries=(replied("the"),))),
    ),
    "a stopped answer that its chat lacks": (
        "R24.3",
        "its chat did not get it",
        but(stopped, ledger(outbox=())),
    ),
    "an answer that a crash took along": ("R24.3", "had written", but(died, ledger(entries=()))),
    "a stopped answer taken for a final one": (
        "R24.3",
        "is done, but its reply was stopped",
        but(stopped, ledger(turns=(turn("done", None),))),
    ),
    "a reply with effects asked for again": (
        "R7.2",
        "requested again",
        but(unknown, lambda h: h.writings.append(Writing("t1", effects=True, how="replied"))),
    ),
    "a reply with effects that is untold": ("R7.2", "was not told", but(unknown, ledger(outbox=()))),
}
