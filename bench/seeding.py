"""Ledgers to start from: any number of sessions with a finished turn each, written by whole sets."""

from __future__ import annotations

import json
import sqlite3
from math import gcd
from pathlib import Path

from holdfast.store.sqlite.database import PAGE_BYTES, migrate
from holdfast.store.sqlite.store import LEDGER

from .turn import ACCOUNT, PLATFORM

LONG_AGO = 1_600_000_000_000
OLD_INSTANCE = "00old"
_TEXT = "Something that was said or answered in a conversation some time ago, of middling length."

_NUMBERS = "WITH RECURSIVE n (i) AS (SELECT :first UNION ALL SELECT i + 1 FROM n WHERE i < :last) "

# Ids that sort before all fresh ones, and the address `turn.place` gives the same number.
_SESSION, _TURN = (f"printf('00{letter}%023d', i)" for letter in "st")
_CHAT = f"printf('{PLATFORM}/{ACCOUNT}/c%08d', i)"

_FINISHED = (
    f"INSERT INTO chats (address, platform, last_number) SELECT {_CHAT}, '{PLATFORM}', 1 FROM n",
    f"INSERT INTO conversations (key, chat) SELECT {_CHAT}, {_CHAT} FROM n",
    f"""INSERT INTO sessions (id, key, chat, began, began_at, generation, last_turn, completed_at)
        SELECT {_SESSION}, {_CHAT}, {_CHAT}, 'first', :at, 1, {_TURN}, :at FROM n""",
    f"""INSERT INTO inbox (position, account, event_id, key, chat, sender, kind, body, message_id,
                           accepted_at, state, turn, settled_at)
        SELECT i, '{ACCOUNT}', printf('seed-%08d', i), {_CHAT}, {_CHAT}, '{PLATFORM}:bench', 'message',
               :message_body, printf('m%08d', i), :at, 'taken', {_TURN}, :at FROM n""",
    f"""INSERT INTO turns (id, session, cause, state, generation, last_owner, productive, begun_at,
                           claimed_at, progress_at, tail, first_seq, last_seq, ended_at)
        SELECT {_TURN}, {_SESSION}, i, 'done', 1, :owner, 1, :at, :at, :at, 'answer', 1, :entries, :at
        FROM n""",
    f"""INSERT INTO entries (session, seq, turn, kind, body, at)
        SELECT {_SESSION}, seq, {_TURN}, iif(seq % 2, 'said', 'replied'),
               iif(seq % 2, :said_body, :replied_body), :at
        FROM n, (WITH RECURSIVE e (seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM e WHERE seq < :entries)
                 SELECT seq FROM e)""",
    f"""INSERT INTO outbox (id, chat, number, session, turn, kind, dedupe, part, parts, body, state, attempts,
                            created_at, claimed_at, settled_at, platform_id)
        SELECT i, {_CHAT}, 1, {_SESSION}, {_TURN}, 'reply', 'reply:' || {_TURN}, 1, 1, :answer,
               'sent', 1, :at, :at, :at, printf('p%08d', i) FROM n""",
    """INSERT INTO events (at, instance, what, subject, detail)
        SELECT :at, :owner, 'accepted', printf('inbox:%08d', i), NULL FROM n""",
    f"""INSERT INTO events (at, instance, what, subject, detail)
        SELECT :at, :owner, 'done', 'turn:' || {_TURN}, NULL FROM n""",
)


def session_id(number: int) -> str:
    return f"00s{number:023d}"


def turn_id(number: int) -> str:
    return f"00t{number:023d}"


def seed(home: Path, sessions: int, entries: int = 2) -> Path:
    """A ledger of `sessions` sessions, each with one finished turn of this many entries; returns its file."""
    home.mkdir(parents=True, exist_ok=True)
    path = home / LEDGER
    db = sqlite3.connect(path, isolation_level=None)
    for pragma in (
        f"page_size = {PAGE_BYTES}",
        "journal_mode = OFF",
        "synchronous = OFF",
        "cache_size = -200000",
        "temp_store = MEMORY",
    ):
        db.execute(f"PRAGMA {pragma}")
    migrate(db)
    indexes = db.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
    ).fetchall()
    db.execute("BEGIN")
    for name, _ in indexes:
        db.execute(f"DROP INDEX {name}")
    _add_old_instance(db)
    values = {
        "first": 1,
        "last": sessions,
        "entries": entries,
        "at": LONG_AGO,
        "owner": OLD_INSTANCE,
        "message_body": json.dumps({"text": _TEXT}),
        "said_body": json.dumps({"text": _TEXT, "sender": f"{PLATFORM}:bench"}),
        "replied_body": json.dumps({"text": _TEXT, "finish": "complete"}),
        "answer": _TEXT,
    }
    for statement in _FINISHED if sessions else ():
        db.execute(_with_numbers(statement), values)
    for _, sql in indexes:
        db.execute(sql)
    db.execute("COMMIT")
    db.execute("PRAGMA journal_mode = WAL")
    db.close()
    return path


def _with_numbers(statement: str) -> str:
    head, select, rest = statement.partition("SELECT")
    return head + _NUMBERS + select + rest


def _add_old_instance(db: sqlite3.Connection) -> None:
    db.execute(
        "INSERT INTO instances (id, host, pid, boot, version, started_at, heartbeat_at, stopped, stopped_at) "
        "VALUES (?, 'bench', 1, 'bench', '0', ?, ?, 'stopped', ?)",
        (OLD_INSTANCE, LONG_AGO, LONG_AGO, LONG_AGO),
    )


def spread(sessions: int, count: int) -> tuple[int, ...]:
    """`count` session numbers, far apart from each other, in an order that no cache can predict."""
    if count >= sessions:
        return tuple(range(1, sessions + 1))
    step = next(step for step in range(int(sessions * 0.618), sessions + 1) if gcd(step, sessions) == 1)
    return tuple(1 + (number * step) % sessions for number in range(count))
