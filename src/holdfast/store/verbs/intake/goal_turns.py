"""The turns of a goal: each is queued in the commit that ends the one before, and dropped with the goal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from holdfast.model import (
    ChatAddress,
    GoalState,
    Inbound,
    InboxKind,
    Key,
    Owed,
    OwedKind,
    PersonId,
    Position,
    SessionId,
    place_at,
)
from holdfast.policy.goals import continuation, spent_words, written_words
from holdfast.store.verbs.codec import encode
from holdfast.store.verbs.delivery.outbox_insert import owe_all
from holdfast.store.verbs.turn.processes import ACCOUNT
from holdfast.store.verbs.tx import Tx

from .intake import accept_one, refresh_conversation


def queue_goal_turn(tx: Tx, session: SessionId, cause: str) -> None:
    """Queue the next turn of an active goal, once for this cause.

    If the turns of the goal are used up, end the goal and tell the chat.
    """
    used = tx.one("use_goal", session=session, account=ACCOUNT)
    if used is None:
        _spend(tx, session, cause)
        return
    key, chat = _place(tx, session)
    text, number, budget, person, incarnation = used
    accept_one(
        tx,
        ACCOUNT,
        Inbound(
            f"goal:{cause}",
            key,
            place_at(chat),
            PersonId(person),
            continuation(text or "", number, budget),
            InboxKind.WAKEUP,
            incarnation=incarnation,
        ),
    )


def queue_goal_turns(tx: Tx, causes: Mapping[SessionId, str]) -> None:
    """The same for many sessions, each with its cause; sessions without a goal are skipped."""
    for (session,) in tx.all("with_a_goal", sessions=encode(list(causes))):
        queue_goal_turn(tx, session, causes[session])


def _spend(tx: Tx, session: SessionId, cause: str) -> None:
    spent = tx.one("spend_goal", session=session, account=ACCOUNT, now=tx.now)
    if spent is not None:
        _, chat = _place(tx, session)
        _drop_queued_turn(tx, session, GoalState.SPENT)
        words = spent_words(spent[0] or "", spent[1])
        owe_all(tx, (Owed(chat, f"goal:{cause}:spent", (words,), OwedKind.NOTICE),), session)


def end_goal(tx: Tx, session: SessionId, state: GoalState, words: str = "") -> str | None:
    """End an active goal and withdraw its queued turn; returns its text, or None if there was no goal."""
    ended = tx.one("end_goal", session=session, state=state, words=words, now=tx.now)
    if ended is None:
        return None
    _drop_queued_turn(tx, session, state)
    return str(ended[0] or "")


def end_goals(tx: Tx, sessions: Iterable[SessionId]) -> None:
    """End the goals of sessions that end."""
    tx.run("end_goals", sessions=json.dumps(list(sessions)), now=tx.now)


def goal_was_interrupted(tx: Tx, session: SessionId, by: Position) -> None:
    """Stop the goal because a person wrote, and tell them: their message comes first now."""
    text = end_goal(tx, session, GoalState.STOPPED)
    if text is not None:
        _, chat = _place(tx, session)
        notice = Owed(chat, f"goal:{by}:written", (written_words(text),), OwedKind.NOTICE)
        owe_all(tx, (notice,), session)


def _drop_queued_turn(tx: Tx, session: SessionId, state: GoalState) -> None:
    key, _ = _place(tx, session)
    tx.event(f"goal_{state}", f"session:{session}")
    if tx.run("drop_goal_turns", key=key, account=ACCOUNT, now=tx.now):
        refresh_conversation(tx, key)


def _place(tx: Tx, session: SessionId) -> tuple[Key, ChatAddress]:
    row = tx.one("place_of_session", session=session)
    assert row is not None
    return Key(row[0]), ChatAddress(row[1])
