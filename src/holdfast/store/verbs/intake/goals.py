"""Goals: people set and stop them."""

from __future__ import annotations

from holdfast.errors import WrongState
from holdfast.model import (
    ChatAddress,
    Goal,
    GoalState,
    InboxState,
    Key,
    Owed,
    PersonId,
    Position,
    SessionId,
)
from holdfast.store.verbs import rows
from holdfast.store.verbs.delivery.outbox_insert import owe_all
from holdfast.store.verbs.turn.claims import session_to_go_on
from holdfast.store.verbs.turn.processes import ACCOUNT
from holdfast.store.verbs.tx import Read, Tx

from .goal_turns import end_goal, queue_goal_turn
from .intake import settle_row


def set_goal(
    tx: Tx,
    key: Key,
    chat: ChatAddress,
    text: str,
    budget: int,
    person: PersonId,
    by: Position,
    owe: tuple[Owed, ...] = (),
) -> Goal:
    settle_row(tx, by, InboxState.EXECUTED)
    session = session_to_go_on(tx, key, chat)
    end_goal(tx, session, GoalState.STOPPED)
    tx.run("set_goal", session=session, text=text, budget=budget, person=person, now=tx.now)
    tx.event("goal_set", f"session:{session}", by=by)
    queue_goal_turn(tx, session, f"{session}:{by}")
    owe_all(tx, owe)
    found = goal(tx, key)
    assert found is not None
    return found


def stop_goal(tx: Tx, key: Key, by: Position, owe: tuple[Owed, ...] = ()) -> None:
    found = goal(tx, key)
    if found is None or end_goal(tx, SessionId(found.session), GoalState.STOPPED) is None:
        raise WrongState(f"the goal of {key}", found.state if found else None, GoalState.ACTIVE)
    settle_row(tx, by, InboxState.EXECUTED)
    owe_all(tx, owe)


def goal(read: Read | Tx, key: Key) -> Goal | None:
    row = read.one("goal_of", key=key, account=ACCOUNT)
    return rows.goal(row) if row else None
