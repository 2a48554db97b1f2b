"""Rules that owners gave for a chat: stored with the answer, checked at every start, revoked for good."""

from __future__ import annotations

from holdfast.errors import RuleRevoked, WrongState
from holdfast.model import (
    AllowedCall,
    CallId,
    ChatAddress,
    InboxState,
    Owed,
    PersonId,
    Position,
    QuestionId,
    TurnId,
)
from holdfast.store.contract import FORGOTTEN, RULE_USED
from holdfast.store.verbs.delivery.outbox_insert import owe_all
from holdfast.store.verbs.tx import Read, Row, Tx

from .intake import settle_row


def store_rule(tx: Tx, question: QuestionId, person: PersonId) -> None:
    """Store the rule that an answered question offered; if the same rule is in force, it stays as it is."""
    row = tx.one("add_allowed_call", question=question, person=person, now=tx.now)
    if row is not None:
        tx.event("allowed", f"rule:{row[0]}", by=person, question=question)
        tx.changed("questions")


def use_rule(tx: Tx, turn: TurnId, call: CallId, rule: int) -> None:
    """Record the rule under which a call starts; refuse a rule that is no longer in force in the chat."""
    row = tx.one("allowed_call_in_force", rule=rule, turn=turn, call=call)
    if row is None:
        raise RuleRevoked(rule, call)
    tx.event(RULE_USED, f"turn:{turn}", call=call, rule=rule, given_at=row[0])


def revoke_allowed_call(
    tx: Tx,
    rule: int,
    by: PersonId,
    chat: ChatAddress | None = None,
    row: Position | None = None,
    owe: tuple[Owed, ...] = (),
) -> None:
    if not tx.run("revoke_allowed_call", id=rule, by=by, chat=chat, now=tx.now):
        found = tx.one("state_of_allowed_call", id=rule)
        raise WrongState(f"rule {rule}", found[0] if found else None, "in force here")
    tx.event("revoked", f"rule:{rule}", by=by)
    tx.changed("questions")
    if row is not None:
        settle_row(tx, row, InboxState.EXECUTED)
    owe_all(tx, owe)


def erase_rules(tx: Tx, sessions: str) -> None:
    """Revoke the rules that were given in these sessions, and erase their content."""
    for (rule,) in tx.all("revoke_forgotten", sessions=sessions, by=FORGOTTEN, now=tx.now):
        tx.event("revoked", f"rule:{rule}", by=FORGOTTEN)
        tx.changed("questions")
    tx.run("erase_allowed_calls", sessions=sessions)


def allowed_calls(read: Read, chat: ChatAddress | None = None, limit: int = 1_000) -> tuple[AllowedCall, ...]:
    if chat is None:
        return tuple(map(_rule, read.all("allowed_calls", limit=limit)))
    return tuple(map(_rule, read.all("allowed_calls_of", chat=chat, limit=limit)))


def _rule(row: Row) -> AllowedCall:
    id_, chat, tool, agent, call_hash, prefix, arguments, by, at = row
    return AllowedCall(id_, ChatAddress(chat), tool, agent, call_hash, prefix, arguments, PersonId(by), at)
