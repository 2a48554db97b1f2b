"""Repair of damage below the schema: only the damaged field or row is affected, and each is reported.

An optional field that cannot be read counts as absent. The schema would refuse every later change of a row
with a value of a wrong type, so the repair replaces the value and sets the old one aside. A row whose state
or key cannot be read ends alone, as its state table says; its chat is told, and everything else goes on.

A conversation that the gateway still cannot work on is set aside: its chat is told so, `set-aside` lists it,
and the gateway tries again with the next message and at the next start.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from holdfast.model import (
    OPEN_TURN_STATES,
    CallId,
    CallState,
    ChatAddress,
    Key,
    Owed,
    OwedKind,
    Returned,
    SessionId,
    ToolCall,
    TurnId,
)
from holdfast.policy.delivery.parts import usual
from holdfast.policy.delivery.retry import unreadable_line
from holdfast.policy.turn.partials import CUT_OFF_HERE, kept_reply
from holdfast.policy.turn.synthetic_results import unknown_text

from .delivery.outbox_insert import owe_all, refresh_chat
from .intake.intake import refresh_conversation
from .optional_fields import OPTIONAL, Table
from .set_aside import clear_fault, set_conversation_aside, set_part_aside, set_row_aside
from .turn.steps import add_result, settle_open_work
from .tx import PartUndone, Tx, Value

UNREADABLE_ROW = "unreadable"
"""The reason of a row that ended because its state or key could not be read."""

_LOST_TURN = (
    "I cannot read how far I got with the task I was working on here: its record is damaged. I ended the "
    "task and will not run it again. The conversation and your other messages are kept. Write to me to go on."
)

_Values = dict[str, Value]


def _known_words() -> Mapping[str, str]:
    """The words that each table allows for states and kinds, for the query that looks for others."""
    known: dict[str, str] = {}
    for name, table in OPTIONAL.items():
        if table.machine is not None:
            known[name] = f",{','.join(table.machine.arrows)},"
        for field in table.fields.values():
            if field.words:
                known[f"{name}_kinds"] = f",{','.join(sorted(field.words))},"
    # The query reads turns that have not ended: for these a final state is damage, like an unknown word.
    known["turns"] = f",{','.join(OPEN_TURN_STATES)},"
    return MappingProxyType(known)


_WORDS = _known_words()


def mend(tx: Tx) -> int:
    """Mend all open work and line up the conversations that were set aside; returns the mended rows."""
    mended = mend_open_work(tx)
    for (key,) in tx.all("conversations_set_aside"):
        try:
            if tx.apart(partial(refresh_conversation, tx, key)):
                tx.changed("turns")
        except PartUndone as undone:
            set_row_aside(tx, "conversations", key, undone.fault)
    return mended


def mend_open_work(tx: Tx) -> int:
    """Mend the rows that claims, senders and recovery read; returns how many it mended."""
    return _mend_rows(tx, [(table, id_) for table, id_ in tx.all("damaged_work", **_WORDS)])


def mend_conversation(tx: Tx, key: Key) -> bool:
    """Mend the rows that a claim of this conversation reads; True if any was damaged."""
    return _mend_rows(tx, [(table, id_) for table, id_ in tx.all("rows_of_conversation", key=key)]) > 0


def mend_line(tx: Tx, chat: str) -> bool:
    """Mend the rows that a sender reads of a chat; True if any was damaged."""
    return _mend_rows(tx, [(table, id_) for table, id_ in tx.all("rows_of_line", chat=chat)]) > 0


def _mend_rows(tx: Tx, rows: list[tuple[str, str]]) -> int:
    """Mend each row apart; a row that failed is tried once more after the others, as it may depend on one."""
    mended, left = 0, []
    for row in rows:
        try:
            mended += tx.apart(partial(_mend, tx, *row))
        except PartUndone:
            left.append(row)
    for table, id_ in left:
        try:
            mended += tx.apart(partial(_mend, tx, table, id_))
        except PartUndone as undone:
            set_row_aside(tx, table, id_, undone.fault)
            _set_turn_aside(tx, table, id_, undone.fault)
    return mended


def _set_turn_aside(tx: Tx, table: str, id_: str, fault: Exception) -> None:
    for (key,) in tx.all("key_of_turn", turn=id_) if table == "turns" else ():
        set_conversation_aside(tx, Key(key), fault)


def _mend(tx: Tx, table: str, id_: str) -> int:
    """Take the damage out of one row; returns 1 if there was any."""
    about = OPTIONAL[table]
    row = tx.one(about.read, id=id_)
    if row is None:
        return 0
    found = dict(zip(_columns(about), row, strict=True))
    damaged = [name for name, field in about.fields.items() if not field.holds(found[name])]
    ends = _ends(about, found, damaged)
    unended = table == "turns" and not ends and _is_unended(tx, id_, found["state"])
    if not damaged and not ends and not unended:
        return 0
    values = found | {name: about.fields[name].absent for name in damaged}
    if ends and about.machine is not None:
        values |= {"state": about.machine.unreadable, "why": UNREADABLE_ROW, "reason": UNREADABLE_ROW}
    _WRITERS.get(table, _write)(tx, about, id_, values, ends or unended)
    for name in damaged:
        reason = f"{table}.{name} of {id_} cannot be read, so it counts as absent; the rest of the row holds"
        set_part_aside(tx, f"{table}/{id_}/{name}", reason, str(found[name]))
    if ends:
        reason = f"row {id_} of {table} has no readable state or key, so it ended alone as {values['state']}"
        set_part_aside(tx, f"{table}/{id_}/state", reason, str(found["state"]))
    if unended:
        reason = f"turn {id_} is {found['state']} and has no readable time of its end, so it ended now"
        set_part_aside(tx, f"{table}/{id_}/ended_at", reason, str(found["state"]))
    return 1


def _columns(about: Table) -> list[str]:
    return [*about.fields, "state"] if about.machine is not None else [*about.fields]


def _ends(about: Table, found: Mapping[str, object], damaged: list[str]) -> bool:
    """Whether the row has to end: its state or what it is cannot be read."""
    if about.machine is None:
        return False
    if found["state"] not in about.machine.arrows:
        return True
    return found["state"] not in about.machine.finals and not about.key.isdisjoint(damaged)


def _is_unended(tx: Tx, turn: str, state: object) -> bool:
    """Whether a turn in a final state has no time of its end: its conversation would wait for it for ever."""
    return state not in OPEN_TURN_STATES and tx.one("unreadable_turn", turn=turn) is not None


def _write(tx: Tx, about: Table, id_: str, values: _Values, ends: bool) -> None:
    tx.run(about.write, id=id_, now=tx.now, **values)


def _write_turn(tx: Tx, about: Table, id_: str, values: _Values, ends: bool) -> None:
    """Write a turn; if it ends, settle its calls and questions, free its conversation, tell the chat once."""
    was_open = tx.one("unreadable_turn", turn=id_) if ends else None
    _write(tx, about, id_, values, ends)
    if was_open is None:
        return
    turn, session, key, chat = TurnId(id_), SessionId(was_open[0]), Key(was_open[1]), ChatAddress(was_open[2])
    text = settle_open_work(tx, {turn: session}).get(turn, "")
    if tx.run("cancel_questions", turn=turn, now=tx.now):
        tx.changed("questions")
    # A run of this turn and its helpers may still go on: the new generation fences them off.
    tx.run("bump_generation", session=session)
    owe_all(tx, kept_reply(chat, turn, text, usual, CUT_OFF_HERE, was_open[3]), session, turn)
    owe_all(tx, (Owed(chat, f"unreadable:{turn}", (_LOST_TURN,), OwedKind.NOTICE),), session, turn)
    tx.event(str(values["state"]), f"turn:{turn}", why=UNREADABLE_ROW)
    clear_fault(tx, key)
    _refresh(tx, key)


def _write_call(tx: Tx, about: Table, id_: str, values: _Values, ends: bool) -> None:
    """Write a call; one that ends gets a result which says that its outcome is unknown."""
    _write(tx, about, id_, values, ends)
    for session, turn, call, seq in tx.all("unreadable_call", id=id_):
        tx.all("take_seqs", counts=json.dumps([(turn, 1)]))
        text = unknown_text(ToolCall(CallId(call), str(values["name"]), ""), "")
        add_result(tx, SessionId(session), TurnId(turn), Returned(CallId(call), CallState.UNKNOWN, text), seq)


def _write_question(tx: Tx, about: Table, id_: str, values: _Values, ends: bool) -> None:
    """Write a question; if it ends, its turn no longer waits for an answer."""
    _write(tx, about, id_, values, ends)
    for turn, key in tx.all("turn_of_question", id=id_) if ends else ():
        tx.run("wake_waiting_turn", turn=turn, anyway=False)
        _refresh(tx, key)
        tx.changed("questions")
        tx.changed("recovery")


def _write_part(tx: Tx, about: Table, id_: str, values: _Values, ends: bool) -> None:
    """Write a part; if it ends, a visible line takes its place and the chat goes on."""
    _write(tx, about, id_, values, ends)
    for (chat,) in tx.all("chat_of_part", id=id_):
        if ends:
            line = Owed(ChatAddress(chat), f"line:unreadable:{id_}", (unreadable_line(),), OwedKind.NOTICE)
            owe_all(tx, (line,))
        refresh_chat(tx, chat)


def _write_chat(tx: Tx, about: Table, id_: str, values: _Values, ends: bool) -> None:
    _write(tx, about, id_, values, ends)
    refresh_chat(tx, id_)


def _write_conversation(tx: Tx, about: Table, id_: str, values: _Values, ends: bool) -> None:
    _write(tx, about, id_, values, ends)
    _refresh(tx, id_)


def _write_row(tx: Tx, about: Table, id_: str, values: _Values, ends: bool) -> None:
    _write(tx, about, id_, values, ends)
    for (key,) in tx.all("key_of_row", id=id_):
        _refresh(tx, key)


def _refresh(tx: Tx, key: str) -> None:
    if refresh_conversation(tx, key):
        tx.changed("turns")


_WRITERS: Mapping[str, Callable[[Tx, Table, str, _Values, bool], None]] = MappingProxyType(
    {
        "turns": _write_turn,
        "chats": _write_chat,
        "conversations": _write_conversation,
        "inbox": _write_row,
        "tool_calls": _write_call,
        "questions": _write_question,
        "outbox": _write_part,
    }
)
"""The tables where a change of a row has further effects, each with its writer."""
