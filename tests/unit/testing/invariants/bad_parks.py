"""A history of parks and safe mode: what can be wrong with what is held, repeated and said of it."""

from collections.abc import Callable
from dataclasses import replace

from holdfast.testing.observation.commits import Death
from holdfast.testing.observation.history import History, Ledger, OutboxLine, QuestionLine, TurnLine

Spoil = Callable[[History], None]
DAY = 24 * 3_600_000
CRASHED = "The gateway crashed or was killed {} while it worked on this, so I parked this conversation."
RESTARTED = "3 restarts of the gateway cut this work off before it made any progress, so I parked it."


def parked(number: int, at: int) -> TurnLine:
    why = "too_many_strikes"
    return TurnLine(f"t{number}", f"s{number}", "k", number, "parked", 1, None, why, 3, at)


def owed(dedupe: str, text: str) -> OutboxLine:
    return OutboxLine(1, "plain/bot/a", 1, None, "notice", dedupe, 1, text, "sent", None)


LEDGER = Ledger(
    turns=(
        parked(1, 1_000),
        parked(2, 2_000),
        TurnLine("t3", "s3", "k", 3, "done", 1, None, None, 0, 2_500),
        parked(4, 3_000),
        TurnLine("t5", "s5", "k", 5, "done", 1, None, None, 1, 2 * DAY),
        TurnLine("t6", "s6", "other", 6, "cancelled", 1, None, "dropped"),
    ),
    outbox=(
        owed("too_many_strikes:t1:3", CRASHED.format("3 times")),
        owed("safe_mode:t5:1", "paused"),
    ),
    questions=(QuestionLine("safe_mode_suspect:t6:2", "continue", "t6", None, "answered", "drop", 7),),
    paused=frozenset({"t5"}),
)


def dangers(history: History) -> None:
    """All of it as it should be."""
    history.ledger = LEDGER
    history.deaths = [Death("t1", frozenset({"t1"}))] * 3 + [Death("t2", frozenset({"t2"}))]


def spoilt(spoil: Spoil) -> Spoil:
    def both(history: History) -> None:
        dangers(history)
        spoil(history)

    return both


def with_ledger(**changes: object) -> Spoil:
    return spoilt(lambda h: setattr(h, "ledger", replace(LEDGER, **changes)))  # type: ignore[arg-type]


def with_turn(number: int, **changes: object) -> Spoil:
    turns = tuple(
        line._replace(**changes) if line.id == f"t{number}" else line  # type: ignore[arg-type]
        for line in LEDGER.turns
    )
    return with_ledger(turns=turns)


SPOILT_PARKS: dict[str, tuple[str, str, Spoil]] = {
    "work that is paused in silence": (
        "R8.3",
        "turn t5 was held by safe mode, but its chat was not told",
        with_ledger(outbox=LEDGER.outbox[:1]),
    ),
    "held work that a message drops": (
        "R8.3",
        "turn t6, which safe mode held, was dropped without an answer",
        with_turn(6, why="dropped_by_other_message"),
    ),
    "held work that a message does not release": (
        "R8.3",
        "inbox row 9 waits behind t5",
        spoilt(lambda h: h.kept_waiting.append("inbox row 9 waits behind t5, which is held")),
    ),
    "poison in a fresh session": (
        "R8.4",
        "turn t2 follows a park and killed the process 3 times",
        spoilt(lambda h: h.deaths.extend([Death("t2", frozenset({"t2"}))] * 2)),
    ),
    "a conversation that is parked without end": (
        "R8.4",
        "turn t5 began after 3 parks of k within a day",
        with_turn(5, ended_at=4_000),
    ),
    "a park that speaks of too many crashes": (
        "R8.6",
        "names 4 crashes, but there were 3",
        with_ledger(outbox=(owed("too_many_strikes:t1:3", CRASHED.format("4 times")),)),
    ),
    "a park that speaks of restarts": (
        "R8.6",
        "names restarts, but none has cut that work off",
        with_ledger(outbox=(owed("too_many_strikes:t1:3", RESTARTED),)),
    ),
}
