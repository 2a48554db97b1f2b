"""Rules about what people see of work in progress: notices, previews and typing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from holdfast.model import WORKING
from holdfast.policy.delivery.parts import POSSIBLY_REPEATED
from holdfast.policy.turn.progress_notice import LAST_WORDS
from holdfast.testing.observation.history import History, Seen


def only_what_runs_is_shown(history: History) -> Iterator[str]:
    """R10.5: a stale generation shows nothing; removing a notice, or its last words, is always allowed.

    A message from the outbox goes out even so; if it is sent again, there was time for its last words.
    """
    for seen in history.seen:
        shows = seen.what != "message" and seen.text and not _is_last(seen)
        if shows and seen.current != seen.generation:
            yield (
                f"{seen.what} {seen.text!r} was shown for turn {seen.turn} under generation "
                f"{seen.generation}, when it had {seen.current or 'no owner'}"
            )


def one_notice(history: History) -> Iterator[str]:
    """R12: each session has one message that says that work goes on, none at rest, and one per run."""
    yield from _live_at_once(history)
    yield from _said_twice(history)


def _live_at_once(history: History) -> Iterator[str]:
    """Where messages cannot be edited, one stays as it was sent.

    A message that was sent again, marked as a possible repeat, replaces the first. A message without a known
    outcome has no id to edit it by.
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
    """A run sends one message about itself, whatever the platform can edit."""
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
