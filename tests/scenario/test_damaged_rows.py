"""Damage in one row of any table that recovery and senders read: that row alone is mended or set aside."""

import asyncio
from collections.abc import Iterator
from typing import cast

import pytest

from holdfast.errors import StoreFault
from holdfast.model import DeliveryState, QuestionId, SessionId, Stopped, TurnState
from holdfast.recovery import Outside, Reconciler
from holdfast.store import LEDGER_ACCOUNT
from holdfast.store.sqlite.store import SqliteStore, _commit
from holdfast.store.verbs.optional_fields import OPTIONAL
from holdfast.store.verbs.tx import Tx
from tests.scenario.test_outbox_sending import send_for, sender
from tests.support.ledger import ANN, PLATFORM, SERVED, SETTINGS, Ledger, key, owed
from tests.support.platforms import FakePlatform, Reports

WHERE = {
    "conversations": f"key = '{key('c1')}'",
    "inbox": f"key = '{key('c1')}'",
    "questions": "id = 'q3'",
    "tool_calls": "id = 'x1'",
    "outbox": "dedupe = 'first'",
    "instances": "id = (SELECT min(id) FROM instances)",
    "requests": "1",
}
"""The row of each table that is damaged; the rows of the chats c1 and c3, and of no chat."""


def damage() -> Iterator[tuple[str, str, str]]:
    for table in WHERE:
        about = OPTIONAL[table]
        for column, field in about.fields.items():
            yield table, column, "x'ff'" if field.kind is str else "'a word'"
        if about.machine is not None:
            yield table, "state", "'gone mad'"


def reconciler(ledger: Ledger, reports: Reports) -> Reconciler:
    outside = Outside(frozenset({ledger.store.instance}), frozenset({PLATFORM}), SERVED, lambda _: True)
    return Reconciler(ledger.store, ledger.clock, SETTINGS.recovery, lambda: outside, report=reports)


async def reasons(ledger: Ledger) -> list[str]:
    return [one.reason for one in await ledger.store.set_aside(account=LEDGER_ACCOUNT)]


async def work_in_every_table(ledger: Ledger) -> None:
    """c1 runs a tool, is being sent something and has a message waiting; c3 is asked; safe mode is ended."""
    running = await ledger.begin(chat="c1")
    await ledger.start(running.fence, "x1")
    asking = await ledger.begin(chat="c3")
    await ledger.ask(asking.fence, "q3", owed=owed("question:q3", chat="c3"))
    await ledger.store.owe(owed("first", chat="c1"))
    await ledger.store.owe(owed("second", chat="c1"))
    await ledger.send()
    await ledger.store.request("safe_mode_off", "r1")
    await ledger.store.end_instance(Stopped.STOPPED)


@pytest.mark.guards("R1.5", "R16")
@pytest.mark.parametrize(("table", "column", "value"), list(damage()))
async def test_damage_in_one_row_of_any_table_keeps_recovery_from_no_other_chat(
    ledger: Ledger, table: str, column: str, value: str
) -> None:
    await work_in_every_table(ledger)
    ledger.clock.advance(3 * 3_600_000)
    healthy = await ledger.begin(chat="c2")
    await ledger.crash()
    ledger.spoil(table, f"UPDATE {table} SET {column} = {value} WHERE {WHERE[table]}")
    reports = Reports()
    await reconciler(ledger, reports).boot()
    assert (await ledger.turn(healthy.session.id)).state is TurnState.QUEUED
    assert reports.doing == []
    assert any(f"{table}.{column}" in reason or "ended alone" in reason for reason in await reasons(ledger))
    left = [words for words in await ledger.store.verify() if "nobody knows" not in words]
    assert left == [], "nothing of it is left in the ledger"


FIRST = "WHERE dedupe = 'a'"
REPLACED = ("state", "dedupe", "part", "parts")
"""Nobody can tell what the part is or where it stands."""
NOT_AS_IT_IS = (*REPLACED, "body", "repeated")
COLUMNS = (
    "not_before",
    "created_at",
    "attempts",
    "repeats",
    "reply_to",
    "options",
    "files",
    "reason",
    "number",
)
MORE_COLUMNS = ("kind", "failing_since", "turn", "aside_at")


def sent_damage() -> Iterator[tuple[str, str]]:
    for column in (*COLUMNS, *MORE_COLUMNS, *NOT_AS_IT_IS):
        field = OPTIONAL["outbox"].fields.get(column)
        yield column, "'odd'" if column in ("state", "kind") or (field and field.kind is int) else "x'ff'"


@pytest.mark.guards("R1.5", "R10.1")
@pytest.mark.parametrize(("column", "value"), list(sent_damage()))
async def test_a_damaged_part_mutes_neither_its_own_chat_nor_another(
    ledger: Ledger, column: str, value: str
) -> None:
    """While the gateway runs: no start comes between the damage and the claim."""
    for chat in ("c1", "c2"):
        await ledger.complete(chat=chat)
    for dedupe, text, chat in (("a", "first", "c1"), ("b", "second", "c1"), ("c", "other", "c2")):
        await ledger.store.owe(owed(dedupe, text, chat=chat))
    ledger.spoil("outbox", f"UPDATE outbox SET {column} = {value} {FIRST}")
    platform = FakePlatform()
    await send_for(ledger, sender(ledger, platform), 60_000)
    assert {"second", "other"} <= set(platform.shown)
    assert ("first" in platform.shown) is (column not in NOT_AS_IT_IS)
    lines = [text for text in platform.shown if "could not be read" in text]
    assert len(lines) == (column in REPLACED), "a line takes its place"
    states = {part.state for part in await ledger.outbox()}
    assert states == {DeliveryState.SENT, *([DeliveryState.FAILED] if column in REPLACED else [])}
    assert await ledger.store.verify() == ()


@pytest.mark.guards("R1.5", "R10.1")
async def test_a_part_whose_chat_cannot_be_read_stops_no_other(ledger: Ledger) -> None:
    """Nobody knows where it belongs: it is passed over, and listed once."""
    await ledger.complete(chat="c1")
    await ledger.complete(chat="c2")
    await ledger.store.owe(owed("a", "first", chat="c1"))
    await ledger.store.owe(owed("c", "other", chat="c2"))
    await ledger.send()
    await ledger.crash()
    ledger.spoil("outbox", "UPDATE outbox SET chat = x'ff' WHERE dedupe = 'a'")
    reports = Reports()
    for _ in range(2):
        await reconciler(ledger, reports).boot()
    assert [part.state for part in await ledger.outbox("c2")] == [DeliveryState.UNKNOWN]
    assert reports.doing == []
    (reason,) = await reasons(ledger)
    assert "of outbox cannot be changed" in reason


@pytest.mark.guards("R1.5")
async def test_a_question_whose_turn_cannot_be_read_keeps_no_other_open(ledger: Ledger) -> None:
    asked: dict[str, SessionId] = {}
    for chat, id_ in (("c1", "q1"), ("c2", "q2")):
        claimed = await ledger.begin(chat=chat)
        asked[chat] = claimed.session.id
        await ledger.ask(claimed.fence, id_, owed=owed(f"question:{id_}", chat=chat))
    ledger.clock.advance(3 * 3_600_000)
    ledger.spoil("questions", "UPDATE questions SET turn = x'ff' WHERE id = 'q1'")
    reports = Reports()
    await reconciler(ledger, reports).boot()
    assert (await ledger.turn(asked["c2"])).state is TurnState.EXPIRED
    assert reports.doing == []
    (reason,) = await reasons(ledger)
    assert "row q1 of questions" in reason


@pytest.mark.guards("R1.5", "R16")
@pytest.mark.parametrize("state", ["CAST('running' AS BLOB)", "'done'", "'parked'"])
async def test_an_open_turn_without_a_readable_or_open_state_ends_and_frees_its_chat(
    ledger: Ledger, state: str
) -> None:
    claimed = await ledger.begin()
    await ledger.crash()
    ledger.spoil("turns", f"UPDATE turns SET state = {state}")
    await ledger.say("and now?")
    await reconciler(ledger, Reports()).boot()
    assert (await ledger.claim()).cause.text == "and now?"
    assert any(f"{claimed.turn.id}" in reason for reason in await reasons(ledger))
    assert any("its record is damaged" in part.text for part in await ledger.outbox())
    assert await ledger.store.verify() == ()


@pytest.mark.guards("R1.5")
async def test_a_closed_question_of_an_unreadable_kind_locks_no_chat(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.ask(claimed.fence, "q1")
    await ledger.store.answer(QuestionId("q1"), await ledger.word("yes"), "yes", ANN)
    await ledger.crash()
    ledger.damage("UPDATE questions SET kind = 'gibberish'")
    await reconciler(ledger, Reports()).boot()
    assert (await ledger.claim()).turn.id == claimed.turn.id


def is_no_json(tx: Tx) -> None:
    tx.all("take_seqs", counts="{")


@pytest.mark.guards("R16")
async def test_a_verb_that_fails_with_nothing_to_mend_takes_no_other_with_it(ledger: Ledger) -> None:
    """One verb meets the same error of SQLite each time; what is written beside it is kept."""
    await ledger.begin()
    fails = _commit(is_no_json)(cast(SqliteStore, ledger.store))
    beside = [ledger.store.owe(owed(f"n{number}")) for number in range(8)]
    failed, *kept = await asyncio.gather(fails, *beside, return_exceptions=True)
    assert type(failed) is StoreFault
    assert kept == [True] * 8
