"""Safe mode and parks, judged: held work is told and kept, poison comes to an end, and words are true."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from holdfast.model import TurnState
from holdfast.policy.recovery.notes import Dropped
from holdfast.policy.recovery.parks import MOST_PARKS, PARKS_WITHIN
from holdfast.testing.observation.history import History, TurnLine

PATIENCE = 60.0
"""Seconds after which a person's message has released work that safe mode holds."""
_ASKED = "safe_mode_suspect:"
_BY_ITSELF = frozenset({Dropped.WROTE_ELSE, Dropped.UNANSWERED})
_PARKS = ("too_many_strikes", "too_many_interruptions")
_CRASHES = re.compile(r"he gateway crashed or was killed (once|twice|\d+ times)")
_RESTARTS = re.compile(r"(a restart|\d+ restarts) of the gateway cut this work off")
_NUMBERS = {"once": 1, "twice": 2, "a restart": 1}


def r8_safe_mode(history: History) -> Iterator[str]:
    """R8.3: held work is told, a message releases it, and only the word drop drops it."""
    owed = {line.dedupe.rpartition(":")[0] for line in history.ledger.outbox}
    for turn in sorted(history.ledger.paused):
        if f"safe_mode:{turn}" not in owed:
            yield f"turn {turn} was held by safe mode, and its chat was not told"
    # Work that its person let go on is held no more; a later question of another kind may end it.
    questions = [one for one in history.ledger.questions if one.id.startswith(_ASKED)]
    asked = {one.turn for one in questions if one.answer != "continue"}
    for line in history.ledger.turns:
        if line.id in asked and line.why in _BY_ITSELF:
            yield f"turn {line.id}, which safe mode held, was dropped without an answer ({line.why})"
    yield from history.kept_waiting


def r8_poison(history: History) -> Iterator[str]:
    """R8.4: what follows a park kills once at most, and the third park of a day holds the conversation."""
    killed = Counter(death.turn for death in history.deaths if death.turn is not None)
    for key, turns in _by_conversation(history).items():
        parked: list[int] = []
        done = set[str]()
        suspected = False
        for turn in turns:
            recent = [at for at in parked if at > (turn.ended_at or 0) - PARKS_WITHIN]
            if len(recent) >= MOST_PARKS and not _was_released(history, key):
                yield f"turn {turn.id} began after {len(recent)} parks of {key} within a day"
            if suspected and not done and killed[turn.id] > 1:
                yield f"turn {turn.id} follows a park and killed the process {killed[turn.id]} times"
            if turn.state == TurnState.DONE:
                done.add(turn.session)
                suspected = False
            if turn.why in _PARKS:
                parked.append(turn.ended_at or 0)
                done, suspected = set(), True


def _by_conversation(history: History) -> dict[str, list[TurnLine]]:
    """The turns of each conversation, in the order they began."""
    found: dict[str, list[TurnLine]] = defaultdict(list)
    for turn in sorted(history.ledger.turns, key=lambda one: one.id):
        found[turn.key].append(turn)
    return found


def parked_too_often(history: History) -> set[str]:
    """Conversations whose messages may wait for an owner."""
    parks = Counter(turn.key for turn in history.ledger.turns if turn.why in _PARKS)
    return {key for key, count in parks.items() if count >= MOST_PARKS}


def _was_released(history: History, key: str) -> bool:
    """Whether an owner may have let the messages of this conversation go on."""
    said = (row.text for row in history.ledger.inbox if row.key == key)
    return any(text.startswith(("/release", "/resume", "Go on with what")) for text in said)


def r8_park_words(history: History) -> Iterator[str]:
    """R8.6: a park speaks of crashes and restarts that happened, and of no more than there were."""
    sessions = {turn.id: turn.session for turn in history.ledger.turns}
    crashes = Counter(sessions.get(turn, "") for death in history.deaths for turn in death.running)
    cuts = Counter(sessions.get(turn, "") for turn in history.ledger.cut)
    for line in history.ledger.outbox:
        row, _, turn = line.dedupe.rpartition(":")[0].partition(":")
        if row != "too_many_strikes":
            continue
        session = sessions.get(turn, "")
        told = _count(_CRASHES, line.text)
        if told > crashes[session]:
            yield f"{line.dedupe} speaks of {told} crashes, and there were {crashes[session]}"
        if _count(_RESTARTS, line.text) and not cuts[session]:
            yield f"{line.dedupe} speaks of restarts, and none has cut that work off"


def _count(words: re.Pattern[str], text: str) -> int:
    found = words.search(text)
    if found is None:
        return 0
    return _NUMBERS.get(found[1]) or int(found[1].split()[0])
