"""Background processes: one completion wakes once, and nobody is woken for what was seen or is over."""

import pytest

from holdfast.model import Claimed, InboxKind, InboxState, ProcessState, StopKind, TurnId, TurnState
from holdfast.store import Spawned
from tests.support.ledger import ANN, Ledger, key, spawned

CAP = 5


async def start(ledger: Ledger, *, notify: bool = True, chat: str = "c1", id: str = "p1") -> Claimed:
    """A finished turn that left a process running."""
    claimed = await ledger.begin(chat=chat)
    number = int(id[1:])
    await ledger.append(claimed.fence, spawn=(spawned(id, 100 + number, notify),))
    await ledger.finish(claimed.fence)
    return claimed


async def match(ledger: Ledger, number: int, id: str = "p1") -> bool:
    return await ledger.store.match_process(id, number, f"error {number}", CAP)


async def wakeups(ledger: Ledger, chat: str = "c1") -> list[str]:
    return [row.event_id for row in await ledger.store.waiting(key(chat)) if row.kind is InboxKind.WAKEUP]


async def test_a_completion_wakes_its_session_once(ledger: Ledger) -> None:
    claimed = await start(ledger)
    assert await ledger.store.end_process("p1", ProcessState.EXITED, 2)
    async with ledger.unchanged():
        assert not await ledger.store.end_process("p1", ProcessState.EXITED, 2)
        assert not await ledger.store.end_process("p1", ProcessState.KILLED, None)
    (process,) = await ledger.store.processes(claimed.session.id)
    assert (process.state, process.exit_code, process.ended_at) == (
        ProcessState.EXITED,
        2,
        ledger.clock.now(),
    )
    woken = await ledger.claim()
    assert (woken.session.id, woken.cause.kind, woken.cause.sender) == (
        claimed.session.id,
        InboxKind.WAKEUP,
        ANN,
    )
    await ledger.finish(woken.fence)
    await ledger.crash()
    assert not await ledger.store.end_process("p1", ProcessState.LOST, None)
    assert await ledger.try_claim() is None


async def test_a_process_outlives_the_gateway_and_is_found_again(ledger: Ledger) -> None:
    await start(ledger)
    await ledger.crash()
    (process,) = await ledger.store.processes()
    assert (process.pid, process.started_ticks) == (101, 1)
    assert await ledger.store.end_process("p1", ProcessState.EXITED, 0)
    assert await wakeups(ledger) == ["process:p1:ended"]
    assert await ledger.store.processes() == ()


async def test_without_notify_nobody_is_woken(ledger: Ledger) -> None:
    await start(ledger, notify=False)
    assert await ledger.store.end_process("p1", ProcessState.EXITED, 0)
    assert await ledger.try_claim() is None


async def test_a_completion_during_a_turn_waits_for_its_end(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.append(claimed.fence, spawn=(spawned(),))
    await ledger.store.end_process("p1", ProcessState.EXITED, 0)
    assert await ledger.try_claim() is None
    await ledger.finish(claimed.fence)
    assert (await ledger.claim()).cause.kind is InboxKind.WAKEUP


async def test_who_has_seen_the_end_is_not_woken_for_it(ledger: Ledger) -> None:
    await start(ledger)
    assert await ledger.store.consume_process("p1")
    async with ledger.unchanged():
        assert not await ledger.store.consume_process("p1")
    assert await ledger.store.end_process("p1", ProcessState.EXITED, 0)
    assert await ledger.try_claim() is None


async def test_consumption_drops_a_wakeup_that_still_waits(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.append(claimed.fence, spawn=(spawned("p1", 1), spawned("p11", 2)))
    for id in ("p1", "p11"):
        await ledger.store.end_process(id, ProcessState.EXITED, 0)
    (first, _) = await ledger.store.waiting(key())
    await ledger.append(claimed.fence, consume_processes=("p1",))
    assert await wakeups(ledger) == ["process:p11:ended"]
    row = await ledger.store.row(first.position)
    assert (row.state, row.reason) == (InboxState.DROPPED, "seen already")


async def test_a_kill_consumes(ledger: Ledger) -> None:
    claimed = await start(ledger)
    await match(ledger, 1)
    await ledger.store.end_process("p1", ProcessState.KILLED, None)
    (process,) = await ledger.store.processes(claimed.session.id)
    assert (process.state, process.consumed) == (ProcessState.KILLED, True)
    assert await wakeups(ledger) == []
    assert await ledger.try_claim() is None


async def test_a_kill_that_finds_the_process_gone_consumes_its_completion(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.append(claimed.fence, spawn=(spawned(),))
    await ledger.store.end_process("p1", ProcessState.EXITED, 0)
    await ledger.append(claimed.fence, consume_processes=("p1",))
    await ledger.finish(claimed.fence)
    assert await ledger.try_claim() is None


@pytest.mark.parametrize("asked", [False, True])
async def test_an_ended_conversation_is_not_woken(ledger: Ledger, asked: bool) -> None:
    claimed = await ledger.begin()
    await ledger.append(claimed.fence, spawn=(spawned(),))
    if not asked:
        await ledger.finish(claimed.fence)
    await ledger.store.stop(key(), StopKind.NEW, None)
    if asked:
        await ledger.finish(claimed.fence, TurnState.CANCELLED)
    await ledger.complete("a fresh conversation")
    assert await ledger.store.end_process("p1", ProcessState.EXITED, 0)
    assert not await match(ledger, 1)
    assert await ledger.try_claim() is None


async def test_a_suspended_conversation_is_not_woken_nor_the_one_after_it(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.append(claimed.fence, spawn=(spawned("p1", 1), spawned("p2", 2)))
    await ledger.store.end_process("p1", ProcessState.EXITED, 0)
    await ledger.recover("too_many_strikes")
    assert await ledger.try_claim() is None, "the wake-up went with the session"
    rows = len(ledger.dump()["inbox"])
    await ledger.store.end_process("p2", ProcessState.EXITED, 0)
    assert await ledger.try_claim() is None
    assert len(ledger.dump()["inbox"]) == rows


async def test_a_stopped_turn_leaves_its_process_the_right_to_report(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.append(claimed.fence, spawn=(spawned(),))
    await ledger.store.stop(key(), StopKind.STOP, None)
    await ledger.finish(claimed.fence, TurnState.CANCELLED)
    await ledger.store.end_process("p1", ProcessState.EXITED, 0)
    assert (await ledger.claim()).session.id == claimed.session.id


async def test_a_current_match_wakes_a_session_at_rest_once(ledger: Ledger) -> None:
    claimed = await start(ledger)
    assert await match(ledger, 1)
    async with ledger.unchanged():
        assert not await match(ledger, 1)
    await ledger.crash()
    assert not await match(ledger, 1)
    woken = await ledger.claim()
    assert (woken.session.id, woken.cause.text) == (claimed.session.id, "error 1")


async def test_a_match_that_was_skipped_over_counts_as_the_number_it_has(ledger: Ledger) -> None:
    claimed = await start(ledger)
    assert await match(ledger, 3)
    async with ledger.unchanged():
        assert not await match(ledger, 3)
        assert not await match(ledger, 2)
    assert (await ledger.store.processes(claimed.session.id))[0].matches == 3


async def test_a_match_during_a_turn_wakes_nothing_then_or_later(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.append(claimed.fence, spawn=(spawned(),))
    assert not await match(ledger, 1)
    await ledger.finish(claimed.fence)
    assert not await match(ledger, 1)
    assert await match(ledger, 2)


async def test_a_match_of_an_older_generation_wakes_nothing(ledger: Ledger) -> None:
    await start(ledger)
    await ledger.complete("a newer turn that did not look at it")
    assert not await match(ledger, 1)
    assert await ledger.try_claim() is None


async def test_a_resumed_turn_takes_its_processes_along(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.append(claimed.fence, spawn=(spawned(),))
    await ledger.recover()
    again = await ledger.claim()
    (process,) = await ledger.store.processes(claimed.session.id)
    assert process.generation == again.fence.generation
    await ledger.finish(again.fence)
    assert await match(ledger, 1)


async def test_matches_of_other_sessions_are_unaffected(ledger: Ledger) -> None:
    await start(ledger, chat="c1", id="p1")
    await start(ledger, chat="c2", id="p2")
    await ledger.complete(chat="c1")
    assert not await match(ledger, 1, "p1")
    assert await match(ledger, 1, "p2")


async def test_a_process_wakes_no_more_often_than_the_cap(ledger: Ledger) -> None:
    await start(ledger)
    assert [await match(ledger, n) for n in range(1, CAP + 3)] == [True] * CAP + [False, False]


async def test_there_is_never_a_second_notice_beside_the_completion(ledger: Ledger) -> None:
    await start(ledger)
    assert await match(ledger, 1)
    await ledger.store.end_process("p1", ProcessState.EXITED, 1)
    assert await wakeups(ledger) == ["process:p1:ended"]
    assert not await match(ledger, 2)


async def test_the_last_words_of_a_process_that_does_not_report_its_end_still_wake(ledger: Ledger) -> None:
    await start(ledger, notify=False)
    await ledger.store.end_process("p1", ProcessState.EXITED, 1)
    assert await match(ledger, 1)


async def test_a_process_nobody_knows_is_nothing(ledger: Ledger) -> None:
    async with ledger.unchanged():
        assert not await ledger.store.end_process("none", ProcessState.EXITED, 0)
        assert not await match(ledger, 1, "none")
        assert not await ledger.store.consume_process("none")


async def test_a_reused_pid_is_another_process(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.append(claimed.fence, spawn=(Spawned("p1", 7, 1, "a", "a.log"),))
    await ledger.append(claimed.fence, spawn=(Spawned("p2", 7, 2, "b", "b.log"),))
    await ledger.store.end_process("p1", ProcessState.LOST, None)
    assert [process.id for process in await ledger.store.processes()] == ["p2"]


@pytest.mark.guards("R11.3", "F4")
async def test_a_match_of_a_turn_that_has_ended_since_the_last_look_wakes_nothing(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.append(claimed.fence, spawn=(spawned(),))
    looked_at = ledger.clock.now()
    ledger.clock.advance(500)
    await ledger.finish(claimed.fence)
    assert not await ledger.store.match_process("p1", 1, "error", CAP, 10, looked_at)
    assert await ledger.try_claim() is None
    ledger.clock.advance(500)
    assert await ledger.store.match_process("p1", 2, "error", CAP, 20, ledger.clock.now())


async def test_what_woke_nobody_is_missed_until_somebody_looks(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.append(claimed.fence, spawn=(spawned(),))
    assert not await ledger.store.match_process("p1", 1, "error", CAP, 40)
    (process,) = await ledger.store.processes(claimed.session.id)
    assert (process.missed, process.watched) == (1, 40)
    await ledger.append(claimed.fence, looked_at=("p1",))
    (process,) = await ledger.store.processes(claimed.session.id)
    assert (process.missed, process.watched) == (0, 40)


async def test_how_far_output_was_looked_through_is_kept_and_never_goes_back(ledger: Ledger) -> None:
    claimed = await start(ledger)
    await ledger.store.match_process("p1", 1, "error", CAP, 500)
    await ledger.crash()
    await ledger.store.match_process("p1", 2, "error", CAP, 300)
    (process,) = await ledger.store.processes(claimed.session.id)
    assert (process.matches, process.watched) == (2, 500)


@pytest.mark.guards("R11.3")
async def test_who_looks_at_a_process_is_woken_by_what_comes_next(ledger: Ledger) -> None:
    await start(ledger)
    later = await ledger.begin("a newer turn that looks at it")
    await ledger.append(later.fence, looked_at=("p1",))
    await ledger.finish(later.fence)
    assert await match(ledger, 1)


@pytest.mark.guards("R11.3")
async def test_a_resumed_turn_takes_along_what_it_had_looked_at(ledger: Ledger) -> None:
    await start(ledger)
    later = await ledger.begin("looks at it")
    await ledger.append(later.fence, looked_at=("p1",))
    await ledger.recover()
    again = await ledger.claim()
    await ledger.finish(again.fence)
    assert await match(ledger, 1)


async def test_another_session_cannot_take_a_process_over_by_looking(ledger: Ledger) -> None:
    await start(ledger)
    other = await ledger.begin(chat="c2")
    await ledger.append(other.fence, looked_at=("p1",))
    await ledger.finish(other.fence)
    assert await match(ledger, 1)


async def test_a_process_its_turn_could_not_write_down_is_taken_in_once(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    assert await ledger.store.adopt_process(spawned(), claimed.turn.id)
    async with ledger.unchanged():
        assert not await ledger.store.adopt_process(spawned(), claimed.turn.id)
    await ledger.append(claimed.fence, spawn=(spawned(),))
    await ledger.finish(claimed.fence)
    (process,) = await ledger.store.processes(claimed.session.id)
    assert (process.turn, process.generation) == (claimed.turn.id, claimed.fence.generation)
    assert await ledger.store.end_process("p1", ProcessState.EXITED, 0)
    assert await wakeups(ledger) == ["process:p1:ended"]


async def test_a_process_of_a_turn_nobody_knows_is_not_taken_in(ledger: Ledger) -> None:
    async with ledger.unchanged():
        assert not await ledger.store.adopt_process(spawned(), TurnId("nobody"))


async def test_the_same_pid_and_time_after_a_restart_of_the_machine_is_another_process(
    ledger: Ledger,
) -> None:
    claimed = await ledger.begin()
    await ledger.append(claimed.fence, spawn=(Spawned("p1", 7, 1, "a", "a", boot="monday"),))
    await ledger.append(claimed.fence, spawn=(Spawned("p2", 7, 1, "b", "b", boot="tuesday"),))
    assert [process.boot for process in await ledger.store.processes()] == ["monday", "tuesday"]


async def test_processes_are_found_by_their_ids(ledger: Ledger) -> None:
    await start(ledger)
    await ledger.store.end_process("p1", ProcessState.EXITED, 0)
    assert [one.id for one in await ledger.store.known_processes(["p1", "p2"])] == ["p1"]


async def test_the_word_of_an_end_has_its_last_words(ledger: Ledger) -> None:
    await start(ledger)
    await ledger.store.end_process("p1", ProcessState.EXITED, 2, "The end of its output:\nboom")
    (row,) = await ledger.store.waiting(key())
    assert row.text == (
        "The background process p1 (make) is ended, exit code 2.\nThe end of its output:\nboom"
    )
