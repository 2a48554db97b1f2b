"""Retention removes only what is over; `verify` is silent on a sound ledger and names every damage."""

import pytest

from holdfast.model import Batch, Position, SetAside, Stopped, TurnState
from holdfast.policy.settings import DAY
from holdfast.store import Keep
from tests.support.ledger import ACCOUNT, Ledger, owed, result, spawned

KEEP_A_DAY = Keep(events=DAY, set_aside=DAY, instances=DAY)


def sizes(ledger: Ledger) -> dict[str, int]:
    return {table: len(rows) for table, rows in ledger.dump().items()}


async def test_what_is_young_is_kept(ledger: Ledger) -> None:
    await ledger.store.accept(Batch(ACCOUNT, unreadable=(SetAside("x", "bad", "{"),)))
    await ledger.complete()
    ledger.clock.advance(DAY)
    await ledger.crash()
    ledger.clock.jump(-1)
    async with ledger.unchanged():
        assert await ledger.store.retain(KEEP_A_DAY) == 0


async def test_what_is_old_and_over_is_removed(ledger: Ledger) -> None:
    await ledger.store.accept(Batch(ACCOUNT, unreadable=(SetAside("x", "bad", "{"),)))
    claimed = await ledger.complete()
    await ledger.store.end_instance(Stopped.STOPPED)
    await ledger.crash()
    ledger.clock.advance(DAY + 1)
    await ledger.say("young")
    before = sizes(ledger)
    removed = await ledger.store.retain(KEEP_A_DAY)
    after = sizes(ledger)
    assert removed == sum(before.values()) - sum(after.values())
    assert {table for table in after if after[table] != before[table]} == {
        "events",
        "set_aside",
        "instances",
    }
    assert (after["set_aside"], after["instances"], after["events"]) == (0, 1, 0)
    assert (await ledger.turn(claimed.session.id)).state is TurnState.DONE
    assert [line.what for line in await ledger.store.trace(Position(2))] == ["accepted"]


async def test_a_run_that_open_work_still_names_is_kept(ledger: Ledger) -> None:
    await ledger.begin(chat="c1")
    first = ledger.store.instance
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    await ledger.complete(chat="c2")
    await ledger.store.owe(owed("n", chat="c2"))
    await ledger.send()
    second = ledger.store.instance
    await ledger.crash()
    ledger.clock.advance(2 * DAY)
    await ledger.store.retain(KEEP_A_DAY)
    assert {run.id for run in await ledger.store.instances()} == {first, second, ledger.store.instance}
    await ledger.store.doubt_orphans()
    await ledger.settle("too_old")
    await ledger.store.retain(KEEP_A_DAY)
    assert {run.id for run in await ledger.store.instances()} == {ledger.store.instance}


async def test_removal_goes_by_bounded_batches(ledger: Ledger) -> None:
    for n in range(5):
        await ledger.store.accept(Batch(ACCOUNT, refused=((f"s{n}", "not allowed"),)))
    ledger.clock.advance(2 * DAY)
    removed = []
    while n := await ledger.store.retain(KEEP_A_DAY, limit=2):
        removed.append(n)
    assert max(removed) <= 2
    assert sum(removed) == 6


async def test_a_clock_set_back_removes_nothing(ledger: Ledger) -> None:
    await ledger.complete()
    ledger.clock.jump(-30 * DAY)
    async with ledger.unchanged():
        assert await ledger.store.retain(KEEP_A_DAY) == 0


DAMAGE: dict[str, tuple[str, ...]] = {
    "turn with unsettled calls has ended": (
        "UPDATE tool_calls SET state = 'started', settled_at = NULL, result = NULL WHERE id = 'c1'",
    ),
    "settled call without a result": ("DELETE FROM entries WHERE kind = 'returned'",),
    "result of a call that is not settled": ("DELETE FROM tool_calls WHERE id = 'c1'",),
    "result that does not match the state of its call": (
        "UPDATE tool_calls SET state = 'failed' WHERE id = 'c1'",
    ),
    "open question of an ended turn": (
        "UPDATE questions SET state = 'open', closed_at = NULL WHERE id = 'q0'",
    ),
    "waiting turn without an open question": (
        "UPDATE questions SET state = 'cancelled', closed_at = 1 WHERE id = 'q1'",
    ),
    "turn of a generation its session never had": ("UPDATE sessions SET generation = 0",),
    "open turn of an ended session": ("UPDATE sessions SET ended_at = 1, ended_why = 'x'",),
    "open turn that is not its session's last": ("UPDATE sessions SET last_turn = NULL",),
    "cause not consumed by its turn": ("UPDATE inbox SET turn = NULL",),
    "gap in the outbox": ("DELETE FROM outbox WHERE number = 1",),
    "outbox counter": ("UPDATE chats SET last_number = 7",),
    "gap in the transcript": ("DELETE FROM entries WHERE seq = 1",),
    "transcript counter": ("UPDATE turns SET last_seq = last_seq + 1",),
    "conversation is ready and should not be": (
        "UPDATE conversations SET ready_at = 1 WHERE key LIKE '%c1'",
    ),
    "chat is due and should not be": ("UPDATE chats SET send_at = NULL",),
    "points to a missing row of": ("UPDATE turns SET session = 'none' WHERE state = 'done'",),
    "unreadable state of turn": ("UPDATE turns SET state = 'gibberish'",),
    "unreadable state of call": ("UPDATE tool_calls SET state = 'gibberish'",),
    "unreadable state of delivery": ("UPDATE outbox SET state = 'gibberish'",),
    "unreadable state of inbox row": ("UPDATE inbox SET state = 'gibberish'",),
    "unreadable state of question": ("UPDATE questions SET state = 'gibberish'",),
    "unreadable state of process": ("UPDATE processes SET state = 'gibberish'",),
    "owned by an unknown process run": ("UPDATE turns SET owner = 'none' WHERE state = 'running'",),
    "sent by an unknown process run": (
        "UPDATE outbox SET state = 'sending', owner = 'none' WHERE number = 1",
        "UPDATE chats SET send_at = NULL",
    ),
    "wake-up that outlived its conversation": (
        "UPDATE inbox SET state = 'waiting', settled_at = NULL, incarnation = 99 WHERE kind = 'wakeup'",
    ),
    "unreadable body": ("UPDATE entries SET body = '{' WHERE seq = 1",),
    "unreadable message": ("UPDATE inbox SET body = '{' WHERE position = 1",),
    "unreadable time on turn": ("UPDATE turns SET progress_at = -1",),
    "unreadable time on session": ("UPDATE sessions SET completed_at = 9000000000000000",),
    "unreadable time on inbox row": ("UPDATE inbox SET sent_at = -1",),
    "unreadable word on turn": ("UPDATE turns SET tail = 'gibberish'",),
    "unreadable word on session": ("UPDATE sessions SET began = 'gibberish'",),
    "unreadable word on chat": ("UPDATE chats SET busy = 'gibberish'",),
    "unreadable word on instance": ("UPDATE instances SET stopped = 'gibberish', stopped_at = 1",),
}


async def furnish(ledger: Ledger) -> None:
    """A ledger with something of everything in it."""
    claimed = await ledger.begin(chat="c1")
    await ledger.start(claimed.fence, "c1")
    await ledger.append(claimed.fence, ask=(ledger.question("q0"),), spawn=(spawned(),))
    await ledger.append(claimed.fence, result("c1"))
    await ledger.finish(claimed.fence, TurnState.DONE, owed("one"), owed("two"))
    waiting = await ledger.begin(chat="c2")
    await ledger.ask(waiting.fence, "q1", owed=owed("q1", chat="c2"))
    await ledger.begin(chat="c3")
    await ledger.store.match_process("p1", 1, "error", 5)
    await ledger.store.consume_process("p1")


async def test_a_furnished_ledger_is_sound(ledger: Ledger) -> None:
    await furnish(ledger)
    assert await ledger.store.verify() == ()


@pytest.mark.parametrize("words", DAMAGE)
async def test_every_kind_of_damage_is_found_and_named(ledger: Ledger, words: str) -> None:
    await furnish(ledger)
    ledger.damage(*DAMAGE[words])
    found = await ledger.store.verify()
    assert any(words in finding for finding in found), found
