"""What the schema refuses by itself, whatever a verb may have got wrong."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.model import CallId, QuestionId, QuestionKind, TurnState
from holdfast.policy.consent.allowed_calls import Coverage
from holdfast.store.sqlite import LEDGER
from holdfast.store.sqlite.database import connect_writer
from tests.support.backends import SqliteBackend
from tests.support.ledger import ANN, Ledger, owed, result


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A ledger with a finished turn, a waiting one and a running one that has started an effect."""

    async def furnish() -> None:
        ledger = Ledger(SqliteBackend(tmp_path))
        await ledger.open()
        done = await ledger.begin(chat="done")
        await ledger.start(done.fence, "c1")
        await ledger.append(done.fence, result("c1"))
        await ledger.finish(done.fence, TurnState.DONE, owed("reply", "one", "two", chat="done"))
        waiting = await ledger.begin(chat="waiting")
        await ledger.ask(waiting.fence, owed=owed("q", chat="waiting"))
        await revoke_a_rule(ledger)
        running = await ledger.begin(chat="running")
        await ledger.start(running.fence, "c1", start=False)
        await ledger.append(running.fence, start=(CallId("c1"),))
        await ledger.say("waits", chat="running")
        await ledger.store.close()

    asyncio.run(furnish())
    with closing(connect_writer(tmp_path / LEDGER)) as opened:
        yield opened


async def revoke_a_rule(ledger: Ledger) -> None:
    """An owner has allowed a call always, and taken that back."""
    claimed = await ledger.begin(chat="allowed")
    await ledger.start(claimed.fence, "c1", start=False)
    may_i = ledger.question("may", kind=QuestionKind.APPROVAL, call_hash="h", offers=Coverage(""))
    await ledger.append(claimed.fence, ask=(replace(may_i, owed=owed("may", chat="allowed")),))
    await ledger.store.wait(claimed.fence)
    await ledger.store.answer(QuestionId("may"), await ledger.word("a", "allowed"), "always", ANN, owner=True)
    await ledger.store.revoke_allowed_call(1, ANN)
    await ledger.finish((await ledger.claim()).fence, TurnState.FAILED)


COPY_TURN = """
INSERT INTO turns (id, session, cause, state, generation, owner, begun_at, claimed_at, first_seq)
SELECT 'copy', session, {cause}, 'running', generation, owner, begun_at, claimed_at, first_seq
FROM turns WHERE state = 'running'
"""

FORBIDDEN = {
    "a second open turn in one session": COPY_TURN.format(cause="(SELECT max(position) FROM inbox)"),
    "a second turn of one cause": COPY_TURN.format(cause="(SELECT min(position) FROM inbox)").replace(
        "SELECT 'copy', session", "SELECT 'copy', (SELECT session FROM turns WHERE state = 'done')"
    ),
    "a turn without a cause": COPY_TURN.format(cause="NULL"),
    "a second live session of one conversation": """
        INSERT INTO sessions (id, key, chat, began, began_at)
        SELECT 'copy', key, chat, began, began_at FROM sessions""",
    "a rule that no answer asked for": """
        INSERT INTO allowed_calls
            (chat, tool, agent, call_hash, arguments, session, question, allowed_by, allowed_at)
        SELECT s.chat, 'tool', '', 'h', '{}', s.id, q.id, 'fake:bob', 1
        FROM questions q JOIN sessions s ON s.id = q.session""",
    "a rule offered where no permission is asked for": "UPDATE questions SET offers = '{}'",
    "a revoked rule that is in force again": "UPDATE allowed_calls SET revoked_at = NULL, revoked_by = NULL",
    "a rule in force that says nothing": "UPDATE allowed_calls SET arguments = NULL, revoked_at = NULL",
    "an effect that runs a second time": "UPDATE tool_calls SET runs = runs + 1 WHERE state = 'started'",
    "a call settled without a time": "UPDATE tool_calls SET state = 'done' WHERE state = 'started'",
    "a call done that never started": "UPDATE tool_calls SET started_at = NULL WHERE state = 'started'",
    "two results of one call": """
        INSERT INTO entries (session, seq, turn, kind, call, body, at)
        SELECT session, seq + 50, turn, kind, call, body, at FROM entries WHERE kind = 'returned'""",
    "a result that is not the one its call names": """
        INSERT INTO entries (session, seq, turn, kind, call, body, at)
        SELECT session, 50, id, 'returned', 'c1', '{}', 1 FROM turns WHERE state = 'running'""",
    "a call that names another result": "UPDATE tool_calls SET result = result + 1 WHERE state = 'done'",
    "a call settled without a result": """
        UPDATE tool_calls SET state = 'done', settled_at = 1 WHERE state = 'started'""",
    "an entry rewritten": """UPDATE entries SET body = '{"text": "never said"}'""",
    "an entry moved": "UPDATE entries SET seq = seq + 50, body = NULL",
    "an entry deleted": "DELETE FROM entries",
    "a final state without an end": "UPDATE turns SET state = 'done', owner = NULL WHERE state = 'running'",
    "an owner of what does not run": "UPDATE turns SET owner = 'x' WHERE state = 'waiting'",
    "a running turn of nobody": "UPDATE turns SET owner = NULL WHERE state = 'running'",
    "a finished turn that runs again": """
        UPDATE turns SET state = 'running', ended_at = NULL, owner = 'x' WHERE state = 'done'""",
    "a generation that goes back": "UPDATE sessions SET generation = generation - 1",
    "an incarnation that goes back": "UPDATE sessions SET incarnation = -1",
    "a taken message that waits again": """
        UPDATE inbox SET state = 'waiting', settled_at = NULL, turn = NULL WHERE state = 'taken'""",
    "a message taken by no turn": "UPDATE inbox SET state = 'taken', settled_at = 1 WHERE state = 'waiting'",
    "the same event twice": """
        INSERT INTO inbox (account, event_id, key, chat, sender, kind, accepted_at)
        SELECT account, event_id, key, chat, sender, kind, accepted_at FROM inbox""",
    "the same thing told twice": """
        INSERT INTO outbox (id, chat, number, kind, dedupe, part, parts, created_at)
        SELECT id || 'x', chat, number + 50, kind, dedupe, part, parts, created_at FROM outbox""",
    "two parts of one number": "UPDATE outbox SET number = 1 WHERE number = 2",
    "a failure without a reason": "UPDATE outbox SET state = 'failed', settled_at = 1",
    "a send of nobody": "UPDATE outbox SET state = 'sending'",
    "one answer to two questions": """
        INSERT INTO questions (id, session, incarnation, turn, call, kind, asked_at, expires_at,
                               state, closed_at, answered_by)
        SELECT 'x' || n, session, incarnation, turn, call, kind, 1, 1, 'answered', 1, 1
        FROM questions, (SELECT 1 AS n UNION SELECT 2)""",
    "an approval for no call": "UPDATE questions SET kind = 'approval'",
    "a request done without an outcome": """
        INSERT INTO requests (what, dedupe, asked_at, done_at) VALUES ('restart', 'x', 1, 1)""",
    "a row of a conversation nobody knows": "UPDATE inbox SET key = 'nowhere'",
    "text where a number belongs": "UPDATE turns SET progress_at = 'yesterday'",
}


@pytest.mark.parametrize("statement", FORBIDDEN.values(), ids=FORBIDDEN)
def test_the_schema_refuses(db: sqlite3.Connection, statement: str) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        db.execute(statement)


def test_content_may_be_erased_and_the_skeleton_stays(db: sqlite3.Connection) -> None:
    assert db.execute("UPDATE entries SET body = NULL").rowcount > 0
