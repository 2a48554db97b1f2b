"""One ledger, seen from outside at one instant: by a connection of its own that can only read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from holdfast.store.sqlite.database import connect_reader
from holdfast.store.verbs.codec import load_files

from .history import (
    CallLine,
    EntryLine,
    GoalLine,
    InboxLine,
    Ledger,
    OutboxLine,
    ProcessLine,
    QuestionLine,
    RuleLine,
    TurnLine,
)

Dump = dict[str, list[tuple[object, ...]]]
_INBOX = """SELECT position, account, event_id, key, kind, coalesce(body ->> 'text', ''), state, turn,
                   question, reason, accepted_at - coalesce(sent_at, accepted_at), sender, message_id
            FROM inbox ORDER BY position"""
_TURNS = """SELECT t.id, t.session, s.key, t.cause, t.state, t.generation, t.held, t.why,
                   t.interruptions, t.ended_at
            FROM turns t JOIN sessions s ON s.id = t.session ORDER BY t.id"""
_ENTRIES = "SELECT session, seq, turn, kind, call, count, body, at FROM entries ORDER BY session, seq"
_CALLS = "SELECT turn, id, name, arguments, effect, state FROM tool_calls ORDER BY turn, place"
_OUTBOX = """SELECT id, chat, number, turn, kind, dedupe, part, coalesce(body, ''), state, reason,
                    coalesce(settled_at - created_at, 0), reply_to
             FROM outbox ORDER BY dedupe, part"""
_UNSETTLED = """
SELECT 'inbox row ' || i.position || ' is ' || i.state FROM inbox i
WHERE i.state = 'waiting' AND (i.kind = 'command' OR NOT EXISTS
      (SELECT 1 FROM questions q JOIN sessions s ON s.id = q.session
       WHERE q.state = 'open' AND s.key = i.key AND s.ended_at IS NULL)
      AND NOT EXISTS (SELECT 1 FROM conversations c WHERE c.key = i.key AND c.held_at IS NOT NULL))
UNION ALL
SELECT 'turn ' || t.id || ' is ' || t.state || coalesce(' (' || t.held || ')', '') FROM turns t
WHERE t.ended_at IS NULL AND NOT (t.state = 'waiting' AND EXISTS
      (SELECT 1 FROM questions q WHERE q.turn = t.id AND q.state = 'open' AND q.expires_at > :now))
UNION ALL
SELECT 'part ' || id || ' is ' || state FROM outbox WHERE settled_at IS NULL
UNION ALL
SELECT 'the notice of ' || turn || ' has not ended' FROM notices
LIMIT 20"""
_STATES = """
SELECT 'inbox', state, count(*) FROM inbox GROUP BY state
UNION ALL SELECT 'turn', state || interruptions, count(*) FROM turns GROUP BY state, interruptions
UNION ALL SELECT 'call', state, count(*) FROM tool_calls GROUP BY state
UNION ALL SELECT 'part', state, count(*) FROM outbox GROUP BY state
UNION ALL SELECT 'entry', kind, count(*) FROM entries GROUP BY kind"""
_STANDING = """
SELECT DISTINCT 'inbox ' || state FROM inbox UNION ALL SELECT DISTINCT 'turn ' || state FROM turns
UNION ALL SELECT DISTINCT 'call ' || state FROM tool_calls
UNION ALL SELECT DISTINCT 'delivery ' || state FROM outbox
UNION ALL SELECT DISTINCT 'question ' || state FROM questions
UNION ALL SELECT DISTINCT 'process ' || state FROM processes
UNION ALL SELECT DISTINCT 'goal ' || state FROM goals"""
_DECIDED = """
SELECT DISTINCT detail ->> 'row' FROM events
WHERE subject >= 'turn:' AND subject < 'turn;' AND detail ->> 'row' IS NOT NULL"""
_CUT = """
SELECT DISTINCT substr(subject, 6) FROM events WHERE subject >= 'turn:' AND subject < 'turn;'
  AND what = 'interrupted' AND detail ->> 'reason' IN ('restart_timeout', 'shutdown_timeout')"""
_PAUSED = """
SELECT DISTINCT substr(subject, 6) FROM events
WHERE subject >= 'turn:' AND subject < 'turn;' AND what = 'held' AND detail ->> 'row' = 'safe_mode'"""
_AS_IT_WAS = """
SELECT body ->> 'text' FROM inbox
WHERE chat = :chat AND message_id = :message AND state IN ('waiting', 'offered') AND kind = 'message'
  AND reason IS NOT 'made from a command'"""
_QUESTIONS = (
    "SELECT id, kind, turn, call, state, answer, answered_by, asked_of, of_owner FROM questions ORDER BY id"
)
_PROCESSES = """
SELECT p.id, p.session, p.turn, p.state, p.notify, p.consumed,
       p.command IS NULL OR s.ended_at IS NOT NULL OR p.incarnation < s.incarnation, p.matches,
       s.ended_why IS 'forgotten' AND (p.command IS NOT NULL OR p.state = 'running')
FROM processes p JOIN sessions s ON s.id = p.session ORDER BY p.id"""
_GOALS = "SELECT session, state, budget, used FROM goals ORDER BY session"
_HOMES = """
SELECT (SELECT count(*) FROM inbox), (SELECT count(*) FROM set_aside), (SELECT count(*) FROM outbox),
       (SELECT count(*) FROM events WHERE subject >= 'event:' AND subject < 'event;'),
       (SELECT count(*) FROM entries), (SELECT count(*) FROM questions), (SELECT count(*) FROM processes)"""
_HOME_NAMES = (
    *("inbox rows", "rows set aside", "outbox rows", "refusals", "entries", "questions", "processes"),
)
_ASKER = """
SELECT i.sender FROM turns t JOIN inbox i ON i.position = t.cause
WHERE t.id = :turn AND i.kind <> 'operator'"""
_ALLOWED = """
SELECT r.allowed_by FROM tool_calls c JOIN turns t ON t.id = c.turn JOIN sessions s ON s.id = t.session
JOIN allowed_calls r ON r.chat = s.chat AND r.tool = :tool AND r.call_hash = :bound
WHERE c.turn || ':' || c.id = :key AND (r.revoked_at IS NULL OR EXISTS (
    SELECT 1 FROM events u JOIN events v ON v.subject = 'rule:' || r.id AND v.what = 'revoked' AND v.id > u.id
    WHERE u.subject = 'turn:' || t.id AND u.what = 'allowed_by_rule'
      AND u.detail ->> 'call' = c.id AND u.detail ->> 'rule' = r.id))"""
_RULES = """
SELECT r.id, r.allowed_by, q.state = 'answered' AND coalesce(q.answer, 'always') = 'always'
FROM allowed_calls r JOIN questions q ON q.id = r.question ORDER BY r.id"""
_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name"
_POINT = """
SELECT (SELECT count(*) FROM entries WHERE kind IN ('said', 'replied', 'returned')),
       (SELECT count(*) FROM tool_calls WHERE started_at IS NOT NULL)"""
_SAYING = """
SELECT e.session, e.turn, t.state = 'running' FROM entries e JOIN turns t ON t.id = e.turn
WHERE e.kind = 'said' AND e.body ->> 'text' = :text
ORDER BY t.state = 'running' DESC, e.turn DESC, e.seq DESC"""
_SAID = "SELECT body ->> 'text' FROM entries WHERE session = :session AND kind = 'said'"
_LAST_ENTRY = """
SELECT e.session, e.seq FROM entries e JOIN sessions s ON s.id = e.session
WHERE s.key = :key ORDER BY e.turn DESC, e.seq DESC LIMIT 1"""
_OPEN_TURN = """
SELECT t.id, t.state FROM turns t JOIN sessions s ON s.id = t.session
WHERE s.key = :key AND t.ended_at IS NULL"""
_NOT_HELD = """
SELECT 'turn ' || id || ' is ' || state FROM turns
WHERE ended_at IS NULL AND (state <> 'interrupted' OR held IS NULL)
UNION ALL SELECT 'part ' || id || ' is ' || state FROM outbox WHERE settled_at IS NULL AND state <> 'unknown'
UNION ALL SELECT 'inbox row ' || position || ' waits' FROM inbox WHERE state = 'waiting'"""
_KEPT = {
    # Times of boots and heartbeats differ; nothing else may.
    "inbox": "SELECT * FROM inbox",
    "turns": "SELECT * FROM turns",
    "entries": "SELECT * FROM entries",
    "tool_calls": "SELECT * FROM tool_calls",
    # But for cards and buttons, which change as soon as their platform lets them, once a question is over.
    "questions": """
        SELECT id, session, incarnation, turn, call, kind, call_hash, asked_of, text, options, state,
               asked_at, expires_at, closed_at, answer, answered_by, asked_by
        FROM questions""",
    "outbox": """
        SELECT id, chat, number, session, turn, kind, dedupe, part, parts, body, reply_to, state, attempts,
               repeated, not_before, owner, created_at, claimed_at, settled_at, platform_id, reason, tried,
               files
        FROM outbox""",
    "allowed_calls": "SELECT * FROM allowed_calls",
    "notices": "SELECT * FROM notices",
    "processes": "SELECT * FROM processes",
    "goals": "SELECT * FROM goals",
    "sessions": "SELECT * FROM sessions",
    "chats": "SELECT * FROM chats",
    "conversations": "SELECT * FROM conversations",
    "set_aside": "SELECT * FROM set_aside",
    "cursors": "SELECT account, name, value FROM cursors",
    "requests": "SELECT * FROM requests",
}


class LedgerView:
    """What a ledger holds at this instant: only what is committed."""

    def __init__(self, path: Path) -> None:
        self._db = connect_reader(path)

    def close(self) -> None:
        self._db.close()

    def _all(self, sql: str, **values: Any) -> list[Any]:
        return self._db.execute(sql, values).fetchall()

    def is_known(self, account: str, event_id: str) -> bool:
        """Whether an event has an inbox row, a set-aside row or a refusal."""
        where = "account = :account AND event_id = :event"
        found = self._all(
            f"SELECT 1 FROM inbox WHERE {where} UNION ALL SELECT 1 FROM set_aside WHERE {where} UNION ALL "
            "SELECT 1 FROM events WHERE subject = :subject AND what = 'refused'",
            account=account,
            event=event_id,
            subject=f"event:{account}/{event_id}",
        )
        return bool(found)

    def is_revised(self, chat: str, message: str, texts: Sequence[str | None]) -> bool:
        """Whether a message that nobody has taken yet says one of these; taken back, it waits no more."""
        return all(text in texts for (text,) in self._all(_AS_IT_WAS, chat=chat, message=message))

    def consented(self, key: str, bound: str, since: int) -> tuple[str, ...]:
        """Who has allowed the call with this key, with just these arguments, since then."""
        sql = """SELECT i.sender FROM questions q JOIN inbox i ON i.position = q.answered_by
                 WHERE q.kind = 'approval' AND q.turn || ':' || q.call = :key AND q.state = 'answered'
                 AND q.answer IN ('yes', 'always') AND q.call_hash = :bound AND q.closed_at >= :since"""
        return tuple(sender for (sender,) in self._all(sql, key=key, bound=bound, since=since))

    def allowed(self, key: str, tool: str, bound: str) -> tuple[str, ...]:
        """Who has given a rule for just this call to the chat where it runs, if it was in force at its start.

        What was revoked since had to be used before: the log has both in their order.
        """
        return tuple(who for (who,) in self._all(_ALLOWED, key=key, tool=tool, bound=bound))

    def processes(self) -> dict[str, str]:
        """The state of every background process."""
        return dict(self._all("SELECT id, state FROM processes"))

    def generation_of(self, turn: str) -> int | None:
        """The generation of a running turn's session."""
        sql = """SELECT s.generation FROM turns t JOIN sessions s ON s.id = t.session
                 WHERE t.id = :turn AND t.state = 'running'"""
        found = self._all(sql, turn=turn)
        return int(found[0][0]) if found else None

    def interruptions_of(self, turn: str) -> int:
        """How often a turn was interrupted so far."""
        found = self._all("SELECT interruptions FROM turns WHERE id = :turn", turn=turn)
        return int(found[0][0]) if found else 0

    def is_over(self, turn: str) -> bool:
        """Whether a turn has ended."""
        return bool(self._all("SELECT 1 FROM turns WHERE id = :turn AND ended_at IS NOT NULL", turn=turn))

    def homes(self) -> tuple[int, ...]:
        """How many rows there are of each kind that is never taken away."""
        (found,) = self._all(_HOMES)
        return tuple(found)

    def owed_for(self, dedupe: str, part: int, now: int) -> int | None:
        """For how long this part has stood in the outbox; None if it does not."""
        sql = "SELECT created_at FROM outbox WHERE dedupe = :dedupe AND part = :part"
        found = self._all(sql, dedupe=dedupe, part=part)
        return max(0, now - found[0][0]) if found else None

    def newest_of(self, chat: str) -> tuple[int, tuple[str, int], tuple[str, str] | None]:
        """The last number of a chat, the last entry of its conversation by its session, and its open turn."""
        ((number,),) = self._all("SELECT coalesce(max(number), 0) FROM outbox WHERE chat = :chat", chat=chat)
        entries, turns = self._all(_LAST_ENTRY, key=chat), self._all(_OPEN_TURN, key=chat)
        return number, entries[0] if entries else ("", 0), turns[0] if turns else None

    def part_named(self, id_: int) -> str:
        """The key of a part by its id."""
        ((dedupe, part),) = self._all("SELECT dedupe, part FROM outbox WHERE id = :id", id=id_)
        return f"{dedupe}/{part}"

    def is_sending(self, dedupe: str, part: int) -> bool:
        """Whether nothing is known yet of the send of this part."""
        sql = "SELECT 1 FROM outbox WHERE dedupe = :dedupe AND part = :part AND state = 'sending'"
        return bool(self._all(sql, dedupe=dedupe, part=part))

    def asker(self, turn: str) -> str | None:
        """Whose message a turn came from."""
        found = self._all(_ASKER, turn=turn)
        return str(found[0][0]) if found else None

    def rows(self) -> int:
        """All rows of all tables."""
        tables = [name for (name,) in self._all(_TABLES)]
        return sum(self._all(f"SELECT count(*) FROM {name}")[0][0] for name in tables)

    def holding(self, words: str) -> list[str]:
        """The tables in which these words stand anywhere."""
        tables = [name for (name,) in self._all(_TABLES)]
        return [
            name for name in tables if any(words in str(row) for row in self._all(f"SELECT * FROM {name}"))
        ]

    def has_reached(self, entries: int, started: int) -> bool:
        """Whether this much was said, replied and returned, and so many calls have been started."""
        ((said, begun),) = self._all(_POINT)
        return bool(said >= entries and begun >= started)

    def turn_saying(self, said: Sequence[str], key: str) -> tuple[str, str, bool] | None:
        """Session, turn and whether it runs, of the turn that holds the last of this.

        Where several people said the same, it is that of the conversation which holds the most of the rest,
        and of two such the one that the key of the reply names.
        """
        found = self._all(_SAYING, text=said[-1]) if said else []
        if not found:
            return None
        session, turn, running = max(
            found, key=lambda line: (self._holds(line[0], said), key.startswith(f"{line[1]}:"))
        )
        return session, turn, bool(running)

    def _holds(self, session: str, said: Sequence[str]) -> int:
        """How much of this was said in a session."""
        return len({text for (text,) in self._all(_SAID, session=session)} & set(said))

    def states(self) -> str:
        """How everything stands, by what it is and not by its name."""
        return ",".join(f"{what}:{state}={count}" for what, state, count in self._all(_STATES))

    def standing(self) -> list[str]:
        """Every state in which some row is."""
        return [str(row[0]) for row in self._all(_STANDING)]

    def unsettled(self, now: int) -> list[str]:
        """What keeps the gateway from rest; a question whose time is up does."""
        return [str(row[0]) for row in self._all(_UNSETTLED, now=now)]

    def damage(self) -> list[str]:
        """What SQLite's own checks say."""
        integrity = [str(row[0]) for row in self._all("PRAGMA integrity_check") if row[0] != "ok"]
        return integrity + [f"{row[0]} points to nothing" for row in self._all("PRAGMA foreign_key_check")]

    def kept_files(self) -> set[str]:
        """The files that the ledger says are kept."""
        return {str(row[0]) for row in self._all("SELECT digest FROM blobs")}

    def named_files(self) -> set[str]:
        """Those, and the files that are owed to somebody."""
        owed = self._all("SELECT files FROM outbox WHERE files <> '[]' AND settled_at IS NULL")
        return self.kept_files() | {file.digest for (files,) in owed for file in load_files(files)}

    def not_held(self) -> list[str]:
        """What would go on by itself in a ledger that was just restored."""
        return [str(row[0]) for row in self._all(_NOT_HELD)]

    def dump(self) -> Dump:
        """Every row that another boot may not change."""
        return {table: self._all(sql) for table, sql in _KEPT.items()}

    def ledger(self) -> Ledger:
        """The rows that invariants speak of."""
        refused = self._all(
            "SELECT substr(subject, 7) FROM events WHERE what = 'refused' AND subject LIKE 'event:%'"
        )
        return Ledger(
            tuple(InboxLine(*row) for row in self._all(_INBOX)),
            tuple(TurnLine(*row) for row in self._all(_TURNS)),
            tuple(EntryLine(*row) for row in self._all(_ENTRIES)),
            tuple(CallLine(*row) for row in self._all(_CALLS)),
            tuple(OutboxLine(*row) for row in self._all(_OUTBOX)),
            frozenset(self._all("SELECT account, event_id FROM set_aside")),
            frozenset(_event(row[0]) for row in refused),
            frozenset(row[0] for row in self._all("SELECT turn FROM questions WHERE state = 'open'")),
            frozenset(row[0] for row in self._all(_DECIDED)),
            frozenset(row[0] for row in self._all(_CUT)),
            tuple(QuestionLine(*row) for row in self._all(_QUESTIONS)),
            tuple(ProcessLine(*row) for row in self._all(_PROCESSES)),
            tuple(GoalLine(*row) for row in self._all(_GOALS)),
            frozenset(row[0] for row in self._all("SELECT id FROM sessions WHERE ended_at IS NOT NULL")),
            frozenset(row[0] for row in self._all(_PAUSED)),
            tuple(RuleLine(*row) for row in self._all(_RULES)),
        )


def vanished(before: tuple[int, ...], after: tuple[int, ...]) -> list[str]:
    """What there is less of than before, in words."""
    return [
        f"there were {more} {name}, and then {less}"
        for name, more, less in zip(_HOME_NAMES, before, after, strict=True)
        if less < more
    ]


def hash_of(tool: str, arguments: str) -> str:
    """What consent for a call is bound to, counted apart from who binds it."""
    form = json.dumps([tool, json.loads(arguments)], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(form.encode()).hexdigest()


def _event(subject: str) -> tuple[str, str]:
    account, _, event_id = subject.rpartition("/")
    return account, event_id
