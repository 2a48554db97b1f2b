"""Damage below the schema: an optional field counts as absent, and a fault hurts one chat alone."""

import logging
import sqlite3
from contextlib import closing

import pytest

from holdfast.config.settings import AlertSettings
from holdfast.gateway.owner_alerts import OwnerAlerts
from holdfast.model import (
    UNREADABLE,
    CallState,
    OwedKind,
    Partial,
    QuestionState,
    SessionId,
    StopKind,
    Tail,
    TurnState,
)
from holdfast.recovery import Outside, Reconciler
from holdfast.store import LEDGER_ACCOUNT
from holdfast.store.sqlite.database import migrate
from holdfast.store.verbs.optional_fields import OPTIONAL
from tests.support.ledger import PLATFORM, SERVED, SETTINGS, Ledger, address, answers, key, resume_all
from tests.support.platforms import Reports
from tests.support.stage import Stage, says

CLAIMED = ("turns", "sessions", "chats")
"""What every claim reads; `test_damaged_rows` is about the others."""
DAMAGED = [
    (table, column, value)
    for table, about in OPTIONAL.items()
    if table in CLAIMED
    for column, field in about.fields.items()
    for value in (("'a word'", "x'ff'") if field.kind is int else ("x'ff'",))
]
ENDED = {("turns", "stop"), ("sessions", "suspended_at")}
"""A stop that was asked for, and a park, hold whatever their words and times are."""
CAUSE = "UPDATE turns SET first_seq = x'ff' WHERE id = (SELECT last_turn FROM sessions WHERE key = '{}')"
"""Nothing can be done about where a turn's entries begin."""


NEEDED = {
    "turns": {"id", "session", "cause", "state", "generation", "first_seq", "last_seq", "ended_at"},
    "sessions": {"id", "key", "chat", "generation", "incarnation", "last_turn", "ended_at", "ended_why"},
    "chats": {"address", "platform"},
    "conversations": {"key", "chat"},
    "inbox": {"position", "key", "chat", "state", "settled_at"},
    "tool_calls": {"turn", "id", "state", "settled_at"},
    "questions": {"id", "session", "turn", "state", "closed_at"},
    "outbox": {"id", "chat", "state", "settled_at"},
    "instances": {"id"},
    "requests": {"id", "done_at"},
}
"""What says which row it is, where it stands and who may write to it."""


@pytest.mark.guards("R1.5")
@pytest.mark.parametrize("table", OPTIONAL)
def test_every_column_is_either_needed_or_counts_as_absent_when_it_is_damaged(table: str) -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        migrate(db)
        columns = {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
    assert columns - set(OPTIONAL[table].fields) == NEEDED[table]


def reconciler(ledger: Ledger) -> Reconciler:
    outside = Outside(frozenset({ledger.store.instance}), frozenset({PLATFORM}), SERVED, lambda _: True)
    return Reconciler(ledger.store, ledger.clock, SETTINGS.recovery, lambda: outside)


async def reasons(ledger: Ledger) -> list[str]:
    return [one.reason for one in await ledger.store.set_aside(account=LEDGER_ACCOUNT)]


async def session(ledger: Ledger, chat: str) -> SessionId:
    found = await ledger.store.live_session(key(chat))
    assert found is not None
    return found.id


async def told(ledger: Ledger, chat: str) -> list[str]:
    return [part.text for part in await ledger.outbox(chat) if part.kind is OwedKind.NOTICE]


@pytest.mark.guards("R1.5", "R16")
@pytest.mark.parametrize(("table", "column", "value"), DAMAGED)
async def test_interrupted_work_with_a_damaged_optional_field_goes_on_and_the_damage_is_reported(
    ledger: Ledger, table: str, column: str, value: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Each column that a claim and recovery read and can do without."""
    await ledger.begin()
    await ledger.crash()
    spoil(ledger, table, column, value)
    await reconciler(ledger).boot()
    (reason,) = await reasons(ledger)
    assert f"{table}.{column}" in reason and "counts as absent" in reason
    assert [one.levelno for one in caplog.records if reason in one.getMessage()] == [logging.ERROR]
    if (table, column) in ENDED:
        assert (await ledger.turn(await session(ledger, "c1"))).ended_at is not None
        return
    async with Stage(ledger, says("went on"), judge=resume_all) as stage:
        await stage.leave_after_answer("went on")
    assert (await ledger.turn(await session(ledger, "c1"))).state is TurnState.DONE


@pytest.mark.guards("R1.5", "R16")
@pytest.mark.parametrize(("table", "column", "value"), DAMAGED)
async def test_a_claim_that_meets_a_damaged_optional_field_succeeds(
    ledger: Ledger, table: str, column: str, value: str
) -> None:
    """Of work that is ready, before recovery looks for damage; what the claim replaces anyway is over."""
    await ledger.begin()
    await ledger.recover()
    spoil(ledger, table, column, value)
    if (table, column) in ENDED:
        return
    await ledger.claim()
    found = await reasons(ledger)
    assert len(found) <= 1 and all(f"{table}.{column}" in reason for reason in found)
    # What a chat chose is not written by a claim; the next start finds it.
    assert table == "chats" or await ledger.store.verify() == ()


def spoil(ledger: Ledger, table: str, column: str, value: str) -> None:
    which = {
        "chats": f"address = '{address()}'",
        "sessions": f"key = '{key()}'",
        "turns": f"id = (SELECT last_turn FROM sessions WHERE key = '{key()}')",
    }
    ledger.spoil(table, f"UPDATE {table} SET {column} = {value} WHERE {which[table]}")


@pytest.mark.guards("R5", "R16")
async def test_an_answer_that_quotes_the_words_for_damage_is_delivered_as_it_is(ledger: Ledger) -> None:
    """The model was shown them, and tells the person so."""
    claimed = await ledger.begin("what did I say before?")
    await ledger.append(claimed.fence, answers(f"I only see: {UNREADABLE}"), tail=Tail.ANSWER)
    await ledger.crash()
    await reconciler(ledger).boot()
    assert (await ledger.turn(claimed.session.id)).state is TurnState.DONE
    assert [part.text for part in await ledger.outbox()] == [f"I only see: {UNREADABLE}"]


@pytest.mark.guards("R1.5", "R16")
async def test_a_row_that_recovery_cannot_work_on_keeps_no_other_waiting(ledger: Ledger) -> None:
    for chat in ("c0", "c1", "c2"):
        await ledger.begin(chat=chat)
    await ledger.crash()
    ledger.spoil("turns", CAUSE.format(key("c1")))
    await reconciler(ledger).boot()
    states = {chat: (await ledger.turn(await session(ledger, chat))).state for chat in ("c0", "c2")}
    assert set(states.values()) == {TurnState.QUEUED}
    (reason,) = await reasons(ledger)
    assert str(key("c1")) in reason and "could not be worked on" in reason


@pytest.mark.guards("R9.3", "R16")
async def test_a_chat_whose_claim_fails_is_listed_told_and_never_told_queued(ledger: Ledger) -> None:
    await ledger.begin(chat="c1")
    await ledger.recover()
    await ledger.say("hello", chat="owner")
    ledger.spoil("turns", CAUSE.format(key("c1")))
    async with Stage(ledger, says("hello owner"), judge=resume_all) as stage:
        await stage.leave_after_answer("hello owner", "owner")
    (reason,) = await reasons(ledger)
    assert str(key("c1")) in reason
    (line,) = await told(ledger, "c1")
    assert "cannot go on in this chat" in line and "kept" in line
    await ledger.say("and now?", chat="c1")
    assert "Queued" not in " ".join(await told(ledger, "c1"))
    assert "an error stopped me" in (await told(ledger, "c1"))[-1]
    assert any("could not be worked on" in words for words in await ledger.store.verify())
    await watched(ledger)
    (alarm,) = [words for words in await told(ledger, "owner") if "ledger" in words]
    assert reason in alarm and "holdfast set-aside" in alarm
    await watched(ledger)
    assert len([words for words in await told(ledger, "owner") if "ledger" in words]) == 1


@pytest.mark.guards("R1.5", "R16")
@pytest.mark.parametrize("state", ["'gone mad'", "x'ff'", "7"])
async def test_a_turn_in_no_state_there_is_ends_alone_and_its_chat_is_told_once_and_goes_on(
    ledger: Ledger, state: str
) -> None:
    """Nobody would ever claim or recover it, and its messages would wait without a word."""
    for chat in ("c1", "c2"):
        await ledger.begin(chat=chat)
    bad = await ledger.turn(await session(ledger, "c1"))
    await ledger.crash()
    ledger.spoil("turns", f"UPDATE turns SET state = {state} WHERE id = '{bad.id}'")
    for _ in range(2):
        await reconciler(ledger).boot()
    (reason,) = await reasons(ledger)
    assert bad.id in reason and "ended alone as failed" in reason
    (line,) = await told(ledger, "c1")
    assert "its record is damaged" in line and "will not run it again" in line
    ended = await ledger.turn(bad.session)
    assert (ended.state, ended.why) == (TurnState.FAILED, "unreadable")
    assert (await ledger.turn(await session(ledger, "c2"))).state is TurnState.QUEUED
    assert await ledger.store.verify() == ()
    await ledger.say("and now?", chat="c1")
    async with Stage(ledger, says("fine"), says("fine"), judge=resume_all) as stage:
        await stage.leave_after_answer("fine")


@pytest.mark.guards("R1.5")
async def test_what_a_turn_in_no_state_there_is_left_open_is_settled_with_it(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.start(claimed.fence, "x1")
    await ledger.append(claimed.fence, ask=(ledger.question(call="x1"),))
    await ledger.store.progress(claimed.fence, (Partial("so far I have", after=await last_seq(ledger)),))
    await ledger.crash()
    ledger.spoil("turns", "UPDATE turns SET state = 'gone mad'")
    await reconciler(ledger).boot()
    journal = await ledger.store.journal(claimed.turn.id, 1)
    assert [call.state for call in journal.calls] == [CallState.UNKNOWN]
    assert [question.state for question in journal.questions] == [QuestionState.CANCELLED]
    assert any("so far I have" in part.text for part in await ledger.outbox()), "what the person saw is kept"
    assert await ledger.store.verify() == ()


async def last_seq(ledger: Ledger) -> int:
    return (await ledger.turn(await session(ledger, "c1"))).last_seq


@pytest.mark.guards("R1.4", "R1.5", "R20")
@pytest.mark.parametrize("kind", StopKind)
async def test_a_turn_in_no_state_there_is_can_be_stopped_while_the_gateway_runs(
    ledger: Ledger, kind: StopKind
) -> None:
    """Before recovery has looked at it: no command says "try again" for ever."""
    bad = await ledger.begin()
    await ledger.crash()
    ledger.spoil("turns", "UPDATE turns SET state = 'gone mad'")
    await ledger.store.stop(key(), kind, await ledger.command())
    ended = await ledger.turn(bad.session.id)
    assert (ended.state, ended.why) == (TurnState.FAILED, "unreadable")
    assert (await ledger.store.live_session(key()) is None) is kind.ends_session
    assert await ledger.store.verify() == ()


@pytest.mark.guards("R1.5")
async def test_a_turn_that_has_ended_in_no_state_there_is_locks_no_chat(ledger: Ledger) -> None:
    await ledger.complete()
    ledger.spoil("turns", "UPDATE turns SET state = 'gone mad'")
    await ledger.say("and now?")
    async with Stage(ledger, says("fine")) as stage:
        await stage.leave_after_answer("fine")
    assert await told(ledger, "c1") == [], "its answer had been given"


@pytest.mark.guards("R16")
async def test_a_chat_that_can_be_worked_on_again_is_listed_no_more(ledger: Ledger) -> None:
    await ledger.begin()
    await ledger.recover()
    ledger.spoil("turns", CAUSE.format(key()))
    assert await ledger.store.claim(SETTINGS, resume_all) is None
    ledger.spoil("turns", CAUSE.format(key()).replace("x'ff'", "1"))
    await ledger.store.mend()
    await ledger.claim()
    assert await reasons(ledger) == []
    assert not any("could not be worked on" in words for words in await ledger.store.verify())


@pytest.mark.guards("R16")
@pytest.mark.parametrize(
    "body", ["'no JSON any more'", "'[1]'", '\'{"sender":"x"}\'', "CAST(x'7b22ff' AS TEXT)"]
)
async def test_an_entry_that_cannot_be_read_is_shown_as_that_and_listed(
    ledger: Ledger, body: str, caplog: pytest.LogCaptureFixture
) -> None:
    await ledger.complete()
    ledger.damage(f"UPDATE entries SET body = {body} WHERE kind = 'said'")
    for number in range(2):
        await ledger.say(f"and then {number}?")
        async with Stage(ledger, says(f"then {number}")) as stage:
            await stage.leave_after_answer(f"then {number}")
        shown = " ".join(message.text for message in stage.model.shown[-1])
        assert UNREADABLE in shown and "erased" not in shown
    transcript = await ledger.store.transcript(await session(ledger, "c1"))
    assert [getattr(entry.body, "text", "") for entry in transcript].count(UNREADABLE) == 1
    (reason,) = await reasons(ledger)
    assert "cannot be read" in reason and "entry 1 of session" in reason
    assert len([one for one in caplog.records if reason in one.getMessage()]) == 1, "it is logged once"


@pytest.mark.guards("R16")
@pytest.mark.parametrize("damage", ["body = x'ff00'", "kind = 'odd'", "kind = 'odd', body = NULL"])
async def test_an_entry_of_a_wrong_type_or_kind_keeps_nobody_from_an_answer_and_is_listed(
    ledger: Ledger, damage: str
) -> None:
    await ledger.complete()
    ledger.spoil("entries", f"UPDATE entries SET {damage} WHERE kind = 'said'")
    await ledger.say("and then?")
    async with Stage(ledger, says("then")) as stage:
        await stage.leave_after_answer("then")
    assert UNREADABLE in " ".join(message.text for message in stage.model.shown[-1])
    (reason,) = await reasons(ledger)
    assert "cannot be read" in reason and "entry 1 of session" in reason


@pytest.mark.guards("R16", "R1.5")
async def test_an_entry_without_a_readable_time_is_shown_all_the_same(ledger: Ledger) -> None:
    await ledger.complete()
    ledger.spoil("entries", "UPDATE entries SET at = 'a word' WHERE kind = 'said'")
    first, *_ = await ledger.store.transcript(await session(ledger, "c1"))
    assert first.at == 0, "it counts as absent, and so as old"


@pytest.mark.guards("R16")
async def test_what_was_erased_on_request_is_not_taken_for_damage(ledger: Ledger) -> None:
    await ledger.complete()
    ledger.damage("UPDATE entries SET body = NULL WHERE kind = 'said'")
    await ledger.say("and then?")
    async with Stage(ledger, says("then")) as stage:
        await stage.leave_after_answer("then")
    shown = " ".join(message.text for message in stage.model.shown[-1])
    assert "(erased)" in shown and UNREADABLE not in shown
    assert await reasons(ledger) == []


async def watched(ledger: Ledger) -> None:
    alerts = OwnerAlerts(
        ledger.store,
        ledger.clock,
        address("owner"),
        AlertSettings(),
        lambda: (),
        None,
        lambda silent: 0,
        Reports(),
    )
    await alerts.look()
