"""Interrupted turns of every kind recovery knows, in a fixed mix, added to a ledger."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.policy.settings import DAY, MINUTE

from .seeding import LONG_AGO, OLD_INSTANCE, session_id, turn_id
from .turn import ACCOUNT, PLATFORM, place

_MARK = "11111111-2222-3333-4444-555555555555:123456789"
"""From another boot of the machine, so that the ages are those of the seed."""
GONE = f"{PLATFORM}:gone"
"""A sender who is no longer allowed."""
DOWN = "down"
"""A platform that is not connected."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of interrupted turn, and its share of a hundred."""

    row: str
    share: int
    tail: str = "work"
    suspended: bool = False
    stop: str | None = None
    sender: str = f"{PLATFORM}:bench"
    question: str | None = None
    noted: int = 0
    strikes: int = 1
    interruptions: int = 1
    reason: str = "restart_interrupted"
    age: int = MINUTE
    platform: str = PLATFORM
    on_interruption: str | None = None


MIX = (
    Kind("suspended", 1, suspended=True),
    Kind("stop_asked", 1, stop="stop"),
    Kind("stop_asked", 1, stop="new"),
    Kind("not_allowed", 1, sender=GONE),
    Kind("answered", 1, tail="answer"),
    Kind("resume_produced_nothing", 1, tail="note", noted=1),
    Kind("question_open", 1, tail="question", question="open"),
    Kind("unanswered", 1, tail="question", question="expired"),
    Kind("too_many_strikes", 1, strikes=3),
    Kind("too_many_interruptions", 1, interruptions=8),
    Kind("platform_down", 1, platform=DOWN),
    Kind("unknown_reason", 1, reason="a newer word"),
    Kind("too_old", 1, age=DAY),
    Kind("chat_says_never", 1, on_interruption="never"),
    Kind("chat_says_ask", 1, on_interruption="ask"),
    Kind("quarantine", 1, strikes=2),
    Kind("resume", 84),
)
"""Every other row once in a hundred, all nine outcomes; the rest is what a crash usually leaves."""

_LINE = tuple(kind for kind in MIX for _ in range(kind.share))


def add_interrupted(db: sqlite3.Connection, count: int, now: int, found: bool = True) -> None:
    """Add `count` sessions, numbered after every row of the inbox, each with one interrupted turn.

    Every turn whose tail is work has one settled call, and every second of them a started one as well.
    Without `found` the turns still run, owned by a dead process, as a kill leaves them.
    """
    (last,) = db.execute("SELECT max(position) FROM inbox").fetchone()
    kinds = [(number, _LINE[number % len(_LINE)]) for number in range(last + 1, last + 1 + count)]
    db.execute("BEGIN IMMEDIATE")
    db.execute("PRAGMA defer_foreign_keys = ON")
    for statement, rows in _tables(kinds, now, found):
        db.executemany(statement, rows)
    db.execute("COMMIT")


Rows = Iterator[tuple[object, ...]]


def _tables(kinds: list[tuple[int, Kind]], now: int, found: bool) -> Iterator[tuple[str, Rows]]:
    yield (
        "INSERT INTO chats (address, platform, on_interruption) VALUES (?, ?, ?)",
        ((_chat(n, k), k.platform, k.on_interruption) for n, k in kinds),
    )
    yield (
        "INSERT INTO conversations (key, chat) VALUES (?, ?)",
        ((_chat(n, k), _chat(n, k)) for n, k in kinds),
    )
    yield (
        "INSERT INTO sessions (id, key, chat, began, began_at, generation, last_turn, strikes, "
        "suspended_at, suspended_why) VALUES (?, ?, ?, 'first', ?, 1, ?, ?, ?, ?)",
        (
            (
                session_id(n),
                _chat(n, k),
                _chat(n, k),
                LONG_AGO,
                turn_id(n),
                k.strikes,
                now if k.suspended else None,
                "too_many_strikes" if k.suspended else None,
            )
            for n, k in kinds
        ),
    )
    yield (
        "INSERT INTO inbox (position, account, event_id, key, chat, sender, kind, body, accepted_at, state, "
        "turn, settled_at) VALUES (?, ?, ?, ?, ?, ?, 'message', '{\"text\":\"go\"}', ?, 'taken', ?, ?)",
        (
            (n, ACCOUNT, f"seed-{n:08d}", _chat(n, k), _chat(n, k), k.sender, now, turn_id(n), now)
            for n, k in kinds
        ),
    )
    yield (
        "INSERT INTO turns (id, session, cause, generation, last_owner, productive, begun_at, "
        "claimed_at, progress_at, progress_mark, tail, first_seq, last_seq, noted, interruptions, "
        "interrupted_at, interruption, stop, stop_at, state, owner) "
        "VALUES (?, ?, ?, 1, ?, 1, ?, ?, ?, ?, ?, 1, 3, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (
                turn_id(n),
                session_id(n),
                n,
                OLD_INSTANCE,
                now - k.age,
                now - k.age,
                now - k.age,
                _MARK,
                k.tail,
                k.noted,
                k.interruptions if found else k.interruptions - 1,
                now if found else None,
                k.reason if found else None,
                k.stop,
                now if k.stop else None,
                *(("interrupted", None) if found else ("running", OLD_INSTANCE)),
            )
            for n, k in kinds
        ),
    )
    yield from _contents(kinds, now)


def _contents(kinds: list[tuple[int, Kind]], now: int) -> Iterator[tuple[str, Rows]]:
    yield (
        "INSERT INTO tool_calls (turn, id, place, name, arguments, effect, state, generation, runs, "
        "planned_at, started_at, settled_at, result) "
        "VALUES (?, ?, ?, 'search', '{}', 'effect', ?, 1, 1, ?, ?, ?, ?)",
        (
            (turn_id(n), call, spot, state, now, now, now if spot == 1 else None, 3 if spot == 1 else None)
            for n, k in kinds
            for spot, call, state in ((1, "a", "done"), (2, "b", "started"))
            if spot == 1 or (k.tail == "work" and n % 2)
        ),
    )
    yield (
        "INSERT INTO entries (session, seq, turn, kind, call, body, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            (session_id(n), seq, turn_id(n), kind, call, body, now)
            for n, _ in kinds
            for seq, (kind, call, body) in enumerate(_ENTRIES, 1)
        ),
    )
    yield (
        "INSERT INTO questions (id, session, incarnation, turn, call, kind, text, state, asked_at, "
        "expires_at, closed_at) VALUES (?, ?, 0, ?, 'b', 'clarify', 'Which one?', ?, ?, ?, ?)",
        (
            (
                f"00q{n:023d}",
                session_id(n),
                turn_id(n),
                k.question,
                now,
                now + DAY,
                None if k.question == "open" else now,
            )
            for n, k in kinds
            if k.question
        ),
    )


_ENTRIES = (
    ("said", None, '{"text":"go","sender":"web:bench"}'),
    ("replied", None, '{"text":"","finish":"calls","calls":[["a","search","{}"],["b","search","{}"]]}'),
    ("returned", "a", '{"state":"done","text":"found it"}'),
)


def _chat(number: int, kind: Kind) -> str:
    address = place(number).address
    return address if kind.platform == PLATFORM else f"{kind.platform}{address[len(PLATFORM) :]}"


def clear_leftovers(db: sqlite3.Connection, now: int) -> None:
    """End what an earlier round left open or under suspicion, so that the next finds only its own."""
    db.execute("BEGIN IMMEDIATE")
    db.execute("UPDATE sessions SET strikes = 0 WHERE strikes > 1")
    db.execute("UPDATE conversations SET ready_at = NULL, resume = 0 WHERE ready_at IS NOT NULL")
    db.execute(
        "UPDATE turns SET state = 'cancelled', ended_at = ?, held = NULL "
        "WHERE ended_at IS NULL AND state <> 'running'",
        (now,),
    )
    db.execute("COMMIT")
