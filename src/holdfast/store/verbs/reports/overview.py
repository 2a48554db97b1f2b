"""The reads behind the operator pages: each is bounded by the open work, by a limit or by a window."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from holdfast.clock import first_id_at
from holdfast.model import (
    CallId,
    CallState,
    ChatAddress,
    EffectClass,
    InstanceId,
    Key,
    SessionId,
    TurnId,
    TurnState,
    place_at,
)
from holdfast.store.contract import (
    MOST_COUNTED,
    FoundSessions,
    Happening,
    Inspection,
    JournalLine,
    KeptAside,
    KeptReport,
    OpenTurns,
    Overview,
    TurnsPerMinute,
    Wanted,
    Whereabouts,
)
from holdfast.store.verbs import rows, transcripts
from holdfast.store.verbs.intake import intake
from holdfast.store.verbs.turn import claims
from holdfast.store.verbs.tx import Read, Row, Value

from . import queries

MOST_TURNS = 20_000
"""How many turns of the asked time are counted at most: of a busier time only the newest ones are."""
WINDOW = 5_000
"""How many sessions, or parts sent to one chat, one page looks through at most."""
_MINUTE = 60_000
_LISTED = 500
_PARKED, _HELD = "parked", "held"
_BY_OPEN_TURN = frozenset({"queued", "running", "waiting", "interrupted", _HELD})
_state = rows.reader(TurnState)


def overview(read: Read, since: int, runs: int = 24) -> Overview:
    found = read.all("turns_by_minute", first=first_id_at(since), since=since, most=MOST_TURNS)
    instances = intake.instances(read, runs)
    newest = instances[0].id if instances else ""
    return Overview(
        tuple(
            OpenTurns(known, bool(held), count)
            for state, held, count in read.all("count_open_turns")
            if (known := _state(state)) is not None
        ),
        queries.count(read, "count_parked"),
        queries.count(read, "count_on_hold"),
        queries.count(read, "count_waiting"),
        queries.count(read, "count_owed"),
        queries.count(read, "count_unknown"),
        queries.count(read, "count_set_aside", most=MOST_COUNTED),
        tuple(
            TurnsPerMinute(minute * _MINUTE, known, count)
            for minute, state, count in found
            if (known := _state(state)) is not None
        ),
        instances,
        tuple(
            KeptReport(InstanceId(instance), at, report)
            for instance, at, report in read.all("reports_in_short", newest=newest, limit=runs)
        ),
    )


def find_sessions(
    read: Read, wanted: Wanted, before: SessionId | None = None, limit: int = 50
) -> FoundSessions:
    asked: dict[str, Value] = {
        "before": before or queries.AFTER_EVERYTHING,
        "limit": limit,
        "state": wanted.state,
        "platform": wanted.platform,
        "text": wanted.text.lower() if wanted.text else None,
        "live_only": wanted.live_only,
    }
    if wanted == Wanted():
        return _page(read.all("sessions_page", **asked), limit, None)
    if wanted.state == _PARKED:
        return _page(read.all("sessions_parked", **asked), limit, None)
    if wanted.state in _BY_OPEN_TURN:
        return _page(read.all("sessions_with_open_turn", **asked), limit, None)
    further = read.one("end_of_window", before=asked["before"], window=WINDOW)
    found = read.all("sessions_in_window", window=WINDOW, **asked)
    return _page(found, limit, SessionId(further[0]) if further else None)


def platforms(read: Read) -> tuple[str, ...]:
    return tuple(place_at(ChatAddress(address)).platform for (address,) in read.all("one_chat_of_each"))


def _page(found: list[Row], limit: int, further: SessionId | None) -> FoundSessions:
    lines = tuple(queries.line(row) for row in found)
    return FoundSessions(lines, lines[-1].id if lines and len(lines) >= limit else further)


def inspect(read: Read, session: SessionId, entries: int = 200, turns: int = 100) -> Inspection:
    found = queries.session(read, session)
    last = queries.turns(read, session, turns)
    end = last[0].last_seq if last else 0
    sent: dict[str, Value] = {"chat": found.chat, "session": session, "window": WINDOW, "limit": _LISTED}
    return Inspection(
        found,
        last,
        transcripts.transcript(read, session, max(0, end - entries)),
        claims.waiting(read, found.key),
        tuple(call for turn in last for call in _calls(read, turn.id)),
        rows.readable(rows.delivery, read.all("deliveries_of_session", **sent)),
        tuple(happening for turn in last for happening in _happenings(read, turn.id)),
        found.ended_at is None and read.one("is_on_hold", key=found.key) is not None,
    )


def _calls(read: Read, turn: TurnId) -> tuple[JournalLine, ...]:
    return rows.readable(_call, read.all("calls_in_turn", turn=turn))


def _happenings(read: Read, turn: TurnId) -> Iterator[Happening]:
    found = read.all("events_of", subject=f"turn:{turn}")
    for at, _, _, what, subject, instance, detail in reversed(found):
        yield Happening(at, what, subject, InstanceId(instance) if instance else None, detail)


def _call(row: Row) -> JournalLine:
    turn, id_, name, effect, state, runs, planned_at, started_at, settled_at = row
    return JournalLine(
        TurnId(turn),
        CallId(id_),
        name,
        EffectClass(effect),
        CallState(state),
        runs,
        planned_at,
        rows.time_or_none(started_at),
        rows.time_or_none(settled_at),
    )


def whereabouts(read: Read, turns: tuple[TurnId, ...]) -> Mapping[TurnId, Whereabouts]:
    found = {turn: read.one("session_of_turn", turn=turn) for turn in turns}
    return {
        turn: Whereabouts(SessionId(row[0]), Key(row[1]), _state(row[2]))
        for turn, row in found.items()
        if row
    }


def set_aside(
    read: Read, before: int | None = None, limit: int = 50, account: str | None = None
) -> tuple[KeptAside, ...]:
    start = _LAST if before is None else before
    found = read.all("set_aside_page", before=start, limit=limit, account=account)
    return tuple(KeptAside(*row) for row in found)


_LAST = 2**63 - 1
