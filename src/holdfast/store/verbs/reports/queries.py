"""Reads for people: pages of sessions, everything about one message, what a boot found."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.errors import NotFound
from holdfast.model import (
    ChatAddress,
    InboxRow,
    InstanceId,
    Key,
    Place,
    Position,
    Session,
    SessionId,
    Turn,
    TurnId,
    TurnState,
)
from holdfast.store.contract import ChatLine, Continuity, Happening, KeptReport, SessionLine
from holdfast.store.verbs import rows
from holdfast.store.verbs.codec import load_message
from holdfast.store.verbs.tx import Read, Row, Tx, Value

AFTER_EVERYTHING = "~"
_LISTED_TURNS = 1_000
_state = rows.reader(TurnState)


def sessions(
    read: Read,
    before: SessionId | None = None,
    limit: int = 50,
    live_only: bool = False,
    key: Key | None = None,
) -> tuple[SessionLine, ...]:
    page: dict[str, Value] = {"before": before or AFTER_EVERYTHING, "limit": limit, "live_only": live_only}
    if key is not None:
        return tuple(line(row) for row in read.all("sessions_of_key", key=key, **page))
    return tuple(line(row) for row in read.all("sessions_page", **page))


def line(row: Row) -> SessionLine:
    """A row of any list of sessions, as its record."""
    id_, key, began, began_at, ended_at, suspended, strikes, turn, state, held, completed_at, on_hold = row
    return SessionLine(
        SessionId(id_),
        Key(key),
        began,
        began_at,
        ended_at,
        bool(suspended),
        strikes,
        TurnId(turn) if turn else None,
        _state(state),
        held,
        completed_at,
        bool(on_hold),
    )


def chats(
    read: Read, platform: str, account: str, before: TurnId | None = None, limit: int = 100
) -> tuple[ChatLine, ...]:
    here = Place(platform, account, "").address
    found = read.all("chats_live", account=here, before=before or AFTER_EVERYTHING, limit=limit)
    return tuple(
        ChatLine(
            ChatAddress(chat), SessionId(session), TurnId(turn), at, _state(state), load_message(body)[0]
        )
        for chat, session, turn, at, state, body in found
    )


def session(read: Read, id: SessionId) -> Session:
    row = read.one("session", id=id)
    if row is None:
        raise NotFound("session", id)
    return rows.session(row)


def turns(read: Read, session: SessionId, limit: int = 100) -> tuple[Turn, ...]:
    found = read.all("turns_of_session", session=session, limit=limit)
    return rows.readable(rows.turn, found)


def row(read: Read, position: Position) -> InboxRow:
    found = read.one("row", position=position)
    if found is None:
        raise NotFound("inbox row", position)
    return rows.inbox_row(found)


def arrivals_of(read: Read, session: SessionId) -> tuple[InboxRow, ...]:
    return rows.readable(rows.inbox_row, read.all("arrivals_of", session=session))


def session_of(read: Read, turn: TurnId) -> SessionId:
    found = read.one("session_of", turn=turn)
    if found is None:
        raise NotFound("turn", turn)
    return SessionId(found[0])


def trace(read: Read, position: Position) -> tuple[Happening, ...]:
    message = row(read, position)
    found = read.all("rows_of_story", position=position, turn=message.turn)
    for subject in _subjects(read, message):
        found += read.all("events_of", subject=subject)
    return tuple(
        Happening(at, what, subject, InstanceId(instance) if instance else None, detail)
        for at, _, _, what, subject, instance, detail in sorted(found)
    )


def _subjects(read: Read, message: InboxRow) -> Iterator[str]:
    yield f"inbox:{message.position}"
    if message.question:
        yield f"question:{message.question}"
    if message.turn:
        yield f"turn:{message.turn}"
        for (question,) in read.all("questions_asked_in", turn=message.turn):
            yield f"question:{question}"
        for (delivery,) in read.all("deliveries_of_turn", turn=message.turn):
            yield f"delivery:{delivery}"


def continuity(read: Read, instance: InstanceId) -> Continuity:
    found = read.one("previous_instance", instance=instance)
    previous = rows.instance(found) if found else None
    ended = "none" if previous is None else previous.stopped or "crashed"
    return Continuity(
        ended,
        previous.started_at if previous else None,
        (previous.stopped_at or previous.heartbeat_at) if previous else None,
        tuple(
            (TurnId(id_), known, interruption)
            for id_, state, interruption in read.all("open_turns", limit=_LISTED_TURNS)
            if (known := _state(state)) is not None
        ),
        count(read, "count_owed"),
        count(read, "count_unknown"),
        count(read, "count_waiting"),
    )


def keep_continuity(tx: Tx, report: str) -> bool:
    return tx.run("keep_continuity", instance=tx.instance, report=report, now=tx.now) == 1


def continuity_reports(read: Read, limit: int = 10) -> tuple[KeptReport, ...]:
    found = read.all("continuity_reports", limit=limit)
    return tuple(KeptReport(InstanceId(instance), at, report) for instance, at, report in found)


def count(read: Read, name: str, **values: Value) -> int:
    """The single number that a query returns."""
    row = read.one(name, **values)
    return int(row[0]) if row else 0
