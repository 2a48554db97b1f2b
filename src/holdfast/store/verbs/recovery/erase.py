"""Erasing: end what runs, set the content to null, and overwrite what is left of it in the file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from holdfast.errors import WrongState
from holdfast.model import InboxKind, Key, PersonId, SessionId, StopKind, TurnId, TurnState, Undone
from holdfast.store.contract import BEGUN, FORGOTTEN, Scope
from holdfast.store.verbs.codec import load_files, load_message
from holdfast.store.verbs.delivery.outbox_insert import refresh_chat
from holdfast.store.verbs.intake.allowed_calls import erase_rules
from holdfast.store.verbs.intake.intake import refresh_conversation
from holdfast.store.verbs.turn.endings import ask_to_stop, end_session, end_turn
from holdfast.store.verbs.turn.steps import append_entries
from holdfast.store.verbs.tx import Read, Tx

_ALWAYS = 2**63 - 1
"""A position after every message, for files of tools: no message brings those."""


class _Found(NamedTuple):
    """The rows of a scope, as JSON lists of their ids."""

    sessions: str
    positions: str


def _find(tx: Tx, scope: Scope) -> _Found:
    sessions = json.dumps([row[0] for row in _sessions(tx, scope)])
    positions = tx.all(
        "rows_to_erase", key=scope.key, session=scope.session, before=scope.before, sessions=sessions
    )
    return _Found(sessions, json.dumps([row[0] for row in positions]))


def _sessions(tx: Tx, scope: Scope) -> list[tuple[str, str | None]]:
    return [(row[0], row[1]) for row in tx.all("sessions_to_erase", key=scope.key, session=scope.session)]


def quiet(tx: Tx, scope: Scope) -> bool:
    tx.run("begin_command", position=scope.before, reason=BEGUN)
    if scope.session is None:
        tx.all("withdraw_waiting", key=scope.key, before=scope.before, reason=FORGOTTEN, now=tx.now)
        tx.run("drop_offered", key=scope.key, before=scope.before, now=tx.now)
    row = tx.one("session_with_last_turn", key=scope.key)
    if row is not None and scope.session in (None, row[0]):
        session, turn, state, stop, ended_at = SessionId(row[0]), row[13], row[16], row[28], row[30]
        if turn is not None and ended_at is None:
            if state == TurnState.RUNNING:
                if stop != StopKind.FORGET:
                    ask_to_stop(tx, TurnId(turn), StopKind.FORGET)
                return False
            end_turn(tx, session, TurnId(turn), TurnState.CANCELLED, StopKind.FORGET)
        end_session(tx, session, FORGOTTEN)
    refresh_conversation(tx, scope.key)
    return all(state != "sending" for _, _, state in _parts(tx, _find(tx, scope)))


def _parts(tx: Tx, found: _Found) -> list[tuple[int, str, str]]:
    rows = tx.all("parts_to_erase", sessions=found.sessions, positions=found.positions)
    return [(id_, chat, state) for id_, chat, state in rows]


def _forget_files(tx: Tx, found: _Found, parts: Sequence[tuple[int, str, str]]) -> None:
    """Forget the files that no other row names; a file that came again after its last mention here stays."""
    ids = json.dumps([id_ for id_, _, _ in parts])
    named: dict[str, int] = {}
    for body, position in tx.all("bodies_with_files", **found._asdict()):
        for file in load_message(body)[1]:
            named[file.digest] = max(position, named.get(file.digest, 0))
    for (files,) in tx.all("files_in_parts", parts=ids):
        named |= {file.digest: _ALWAYS for file in load_files(files)}
    for digest, last in named.items():
        if tx.one("named_elsewhere", digest=digest, parts=ids, **found._asdict()) is None:
            tx.run("forget_blob", digest=digest, last=last)


def erase(tx: Tx, scope: Scope) -> int:
    found, sessions = _find(tx, scope), _sessions(tx, scope)
    parts = _parts(tx, found)
    _require_rest(tx, scope, parts)
    _forget_files(tx, found, parts)
    kinds = [row[0] for row in tx.all("erase_rows", positions=found.positions)]
    told = {row[0] for row in tx.all("erase_entries", sessions=found.sessions)}
    for session, turn in sessions:
        if session in told and turn is not None:
            _empty_view(tx, SessionId(session), TurnId(turn))
    for name in ("erase_calls", "erase_questions", "erase_processes", "erase_goals", "mark_forgotten"):
        tx.run(name, sessions=found.sessions)
    erase_rules(tx, found.sessions)
    _erase_parts(tx, parts)
    if told or kinds:
        for session, _ in sessions:
            tx.event("erased", f"session:{session}")
    return sum(kind == InboxKind.MESSAGE for kind in kinds)


def _require_rest(tx: Tx, scope: Scope, parts: Sequence[tuple[int, str, str]]) -> None:
    live = tx.one("session_with_last_turn", key=scope.key)
    if live is not None and scope.session in (None, live[0]):
        raise WrongState(f"session {live[0]}", "live", "ended")
    if any(state == "sending" for _, _, state in parts):
        raise WrongState("a part to erase", "sending", "at rest")


def _empty_view(tx: Tx, session: SessionId, turn: TurnId) -> None:
    """Undo the whole transcript, so that neither a person nor a model sees the empty entries."""
    ((_, last_seq),) = tx.all("take_seqs", counts=json.dumps([(turn, 1)]))
    append_entries(tx, session, turn, (Undone(1, last_seq - 1),), last_seq)


def _erase_parts(tx: Tx, parts: Sequence[tuple[int, str, str]]) -> None:
    ids = json.dumps([id_ for id_, _, _ in parts])
    for (id_,) in tx.all("expire_parts", parts=ids, now=tx.now):
        tx.event("expired", f"delivery:{id_}", reason=FORGOTTEN)
    tx.run("erase_parts", parts=ids)
    for chat in sorted({chat for _, chat, _ in parts}):
        refresh_chat(tx, chat)


def scrub(tx: Tx) -> bool:
    """Ask for the rewrite; the writer does it after this commit and then returns the outcome."""
    tx.scrub = True
    return False


def others_spoke(read: Read, key: Key, person: PersonId) -> bool:
    return read.one("others_spoke", key=key, person=person) is not None
