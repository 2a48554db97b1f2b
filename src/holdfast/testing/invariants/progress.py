"""What people saw of work in progress, judged: the rules of notices, previews and typing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from holdfast.model import WORKING
from holdfast.policy.delivery.parts import POSSIBLY_REPEATED
from holdfast.policy.turn.progress_notice import LAST_WORDS
from holdfast.testing.observation.history import History, Seen


def only_what_runs_is_shown(history: History) -> Iterator[str]:
    """R10.5: a stale generation shows nothing; what is taken away, or given its last words, is no show.

    A message that is owed goes out even so; sent again, it has had the time to get its last words.
    """
    for seen in history.seen:
        shows = seen.what != "message" and seen.text and not _is_last(seen)
        if shows and seen.current != seen.generation:
            yield (
                f"{seen.what} {seen.text!r} was shown for turn {seen.turn} under generation "
                f"{seen.generation}, when it had {seen.current or 'no owner'}"
            )


def one_notice(history: History) -> Iterator[str]:
    """R12: one message per session says that work goes on, none once there is rest, and one per run."""
    yield from _live_at_once(history)
    yield from _said_twice(history)


def _live_at_once(history: History) -> Iterator[str]:
    """Where messages cannot be changed one stands as what was true when it was sent.

    One that was sent again, marked as a possible repeat, stands for the first as well. One whose outcome
    nobody ever learned has no id by which it could be changed.
    """
    sessions = {turn.id: turn.session for turn in history.ledger.turns}
    given_up = {line.dedupe for line in history.ledger.outbox if line.state in ("failed", "expired")}
    live: dict[str, dict[str, Seen]] = defaultdict(dict)
    for seen in history.seen:
        if seen.what == "beside" or seen.platform not in history.editing:
            continue
        if f"{WORKING}{seen.turn}:{seen.generation}" in given_up:
            continue
        there = live[sessions.get(seen.turn, seen.turn)]
        if seen.what == "edit" and seen.message not in there and not _is_last(seen):
            yield f"the notice {seen.message} of turn {seen.turn} goes on after its last words"
        if seen.marked:
            for id_ in [id_ for id_, other in there.items() if _same(other, seen)]:
                del there[id_]
        if _is_last(seen):
            there.pop(seen.message, None)
        else:
            there[seen.message] = seen
        if len(there) > 1:
            yield f"turn {seen.turn} has {len(there)} notices that say it goes on: {sorted(there)}"
    for id_, seen in [each for there in live.values() for each in there.items()]:
        yield f"the notice {id_} of turn {seen.turn} still says {seen.text!r}"


def _said_twice(history: History) -> Iterator[str]:
    """A run speaks of itself by one message, whatever the platform can do with it."""
    told: dict[tuple[str, int], str] = {}
    for seen in history.seen:
        if seen.what in ("message", "again") and not seen.marked:
            first = told.setdefault((seen.turn, seen.generation), seen.message)
            if first != seen.message:
                yield f"turn {seen.turn} says twice under generation {seen.generation} that it goes on"


def _is_last(seen: Seen) -> bool:
    return seen.text.removeprefix(POSSIBLY_REPEATED) in LAST_WORDS


def _same(one: Seen, other: Seen) -> bool:
    return (one.turn, one.generation) == (other.turn, other.generation)
