"""Rules about what belongs together: messages in one turn, a command and its effect."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator

from holdfast.model import BusyMode, StopKind, TurnId, TurnState, answer_key
from holdfast.testing.observation.history import History, InboxLine, PlatformEvent
from holdfast.testing.scripts import head_of

_JOINING = (BusyMode.COLLECT, BusyMode.STEER)
_OVERTAKING = (BusyMode.INTERRUPT,)
_ENDING = {
    StopKind.STOP: ("/stop",),
    StopKind.NEW: ("/new",),
    StopKind.FORGET: ("/forget",),
    "stop_asked": ("/stop", "/new", "/forget"),
}
"""Why a turn ended, and the commands that end one for that reason."""


def joined_where_wanted(history: History) -> Iterator[str]:
    """Messages share a turn only where people chose that, or one joined a resume or answered a question."""
    chats = {(event.account, event.event_id): event.chat for event in history.events}
    joining = {(event.account, event.chat) for event in history.events if _chooses(event, _JOINING)}
    taken = _taken(history)
    for turn in history.ledger.turns:
        rows = taken[turn.id]
        if history.busy in _JOINING or any((row.account, chats.get(_event(row))) in joining for row in rows):
            continue
        unasked = [row for row in rows if row.question is None]
        if len(unasked) > 1 + turn.interruptions:
            texts = ", ".join(repr(row.text) for row in unasked)
            yield f"turn {turn.id} was interrupted {turn.interruptions} times and holds {texts}"


def all_are_answered(history: History) -> Iterator[str]:
    """A model saw everything that a done turn has taken before it answered, and answered all of it."""
    replies: dict[str, str] = defaultdict(str)
    for line in history.ledger.outbox:
        replies[line.dedupe] += f" {line.text}"
    taken = _taken(history)
    for turn in history.ledger.turns:
        if turn.state == TurnState.DONE:
            reply = replies[answer_key(TurnId(turn.id))]
            for row in taken[turn.id]:
                if head_of(row.text) not in reply:
                    yield f"turn {turn.id} has taken {row.text!r}, but answers without it: {reply!r}"


def said_in_order(history: History) -> Iterator[str]:
    """A transcript has the words of people in the order they came.

    An answer has the place of its question; a wake-up waits for its own turn.
    """
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    for turn, rows in _taken(history).items():
        for row in rows:
            apart = row.question or row.kind == "wakeup"
            places[turn, row.text].append(0 if apart else row.position)
    newest: dict[str, int] = {}
    for line in history.ledger.entries:
        found = (
            places.get((line.turn, json.loads(line.body)["text"]))
            if line.kind == "said" and line.body
            else None
        )
        place = found.pop(0) if found else 0
        if place and place < newest.get(line.session, 0):
            yield f"inbox row {place} is in {line.session} after row {newest[line.session]}"
        newest[line.session] = max(place, newest.get(line.session, 0))


def commands_once(history: History) -> Iterator[str]:
    """However often a process dies over a command, it ends one turn, undoes one, restarts once."""
    said = {_event(event): event.text for event in history.events}
    commands: dict[str, Counter[str]] = defaultdict(Counter)
    for row in history.ledger.inbox:
        word = said.get(_event(row), row.text).partition(" ")[0]
        # A refused command did nothing; one that became a message acted through that message.
        if word.startswith("/") and row.state != "refused":
            commands[row.key][word] += 1
    ended = Counter((turn.key, turn.why) for turn in history.ledger.turns if turn.why in _ENDING)
    overtaking = history.busy == BusyMode.INTERRUPT or any(
        _chooses(event, _OVERTAKING) for event in history.events
    )
    for (key, why), count in ended.items():
        may = sum(commands[key][word] for word in _ENDING[why or ""])
        # Where a message overtakes work, the message stopped it.
        if count > may and not (why == "stop_asked" and overtaking):
            yield f"{count} turns of {key} ended by {why}, but {may} commands asked for that"
    yield from _undone(history, commands)
    restarts = sum(event.text.startswith("/restart") for event in history.events)
    if history.ends > history.stops + restarts:
        yield (
            f"{history.ends} processes ended in order, but only {history.stops} were asked to "
            f"and {restarts} commands did"
        )


def _undone(history: History, commands: dict[str, Counter[str]]) -> Iterator[str]:
    """Forgetting is also undoing, as often as there are sessions."""
    keys = {turn.session: turn.key for turn in history.ledger.turns}
    undone = Counter(keys.get(line.session, "") for line in history.ledger.entries if line.kind == "undone")
    for key, count in undone.items():
        words = commands[key]
        if not words["/forget"] and count > words["/undo"] + words["/retry"]:
            yield f"{count} turns of {key} were undone by {words['/undo'] + words['/retry']} commands"


def _chooses(event: PlatformEvent, modes: tuple[BusyMode, ...]) -> bool:
    return event.text.startswith(tuple(f"/queue {mode}" for mode in modes))


def _taken(history: History) -> dict[str, list[InboxLine]]:
    """The rows that turns have taken and that are not erased."""
    taken: dict[str, list[InboxLine]] = defaultdict(list)
    for row in history.ledger.inbox:
        if row.state == "taken" and row.turn is not None and row.text:
            taken[row.turn].append(row)
    return taken


def _event(one: PlatformEvent | InboxLine) -> tuple[str, str]:
    return one.account, one.event_id
