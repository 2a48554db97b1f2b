"""The reconciler as it runs: again and again, told once, and never stopped by one fault or one bad row."""

import asyncio
import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from holdfast.errors import ConstraintBroken, DiskFull, StoreClosed, StoreUnavailable
from holdfast.model import (
    DeliveryState,
    QuestionState,
    Stopped,
    Tail,
    TurnId,
    TurnState,
)
from holdfast.policy.recovery.outcome import Outcome
from holdfast.policy.settings import DAY, HOUR, MINUTE, RecoverySettings
from holdfast.recovery import SAFE_MODE_OFF, Care, Outside, Reconciler
from holdfast.store import Store
from tests.support.ledger import PLATFORM, SERVED, Ledger, address, answers, owed
from tests.support.platforms import Reports, failing, watch

OWNER = address("owner")


def reconciler(ledger: Ledger, store: Store | None = None, **more: Any) -> Reconciler:
    def outside() -> Outside:
        return Outside(frozenset({ledger.store.instance}), frozenset({PLATFORM}), SERVED, lambda _: True)

    return Reconciler(store or ledger.store, ledger.clock, RecoverySettings(), outside, **more)


async def crash_loop(ledger: Ledger, times: int, every: int = MINUTE) -> None:
    for _ in range(times):
        ledger.clock.advance(every)
        await ledger.store.heartbeat()
        await ledger.crash()


async def told(ledger: Ledger, chat: str) -> list[str]:
    return [part.text for part in await ledger.outbox(chat)]


async def run(working: Reconciler) -> asyncio.Task[None]:
    return asyncio.ensure_future(working.work())


async def end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.guards("R4.1", "O3")
async def test_it_looks_at_boot_when_poked_and_every_few_seconds_and_rounds_keep_apart(
    ledger: Ledger,
) -> None:
    slept = watch(ledger.clock)
    at_work = reconciler(ledger)
    rounds = 0
    real = at_work.round

    async def counted() -> Counter[Outcome]:
        nonlocal rounds
        rounds += 1
        return await real()

    at_work.round = counted  # type: ignore[method-assign]
    working = await run(at_work)
    await slept.since(0)
    assert rounds == 1
    for _ in range(50):
        at_work.poke()
    await slept.since(1)  # it woke, and keeps its distance
    assert rounds == 1
    ledger.clock.advance(200)
    await slept.since(2)
    assert rounds == 2
    ledger.clock.advance(5_000)
    await slept.since(3)
    ledger.clock.advance(200)
    await slept.since(4)
    assert rounds == 3
    await end(working)


async def test_work_of_a_platform_that_was_down_at_boot_goes_on_when_it_connects(ledger: Ledger) -> None:
    slept = watch(ledger.clock)
    claimed = await ledger.begin()
    await ledger.crash()
    connected: set[str] = set()
    outside = Outside(frozenset({ledger.store.instance}), frozenset(), SERVED, lambda _: True)
    at_work = Reconciler(
        ledger.store,
        ledger.clock,
        RecoverySettings(),
        lambda: replace(outside, connected=frozenset(connected)),
    )
    working = await run(at_work)
    await slept.since(0)
    assert (await ledger.turn(claimed.session.id)).held == "platform_down"
    connected.add(PLATFORM)
    at_work.poke()
    await slept.since(1)
    seen = ledger.store.version("turns")
    ledger.clock.advance(200)
    await ledger.store.changed("turns", seen)
    assert (await ledger.claim()).turn.id == claimed.turn.id
    await end(working)


@pytest.mark.guards("R4.1", "O14")
async def test_a_ledger_that_fails_during_recovery_strands_nothing_and_is_not_hammered(
    ledger: Ledger,
) -> None:
    slept, reports = watch(ledger.clock), Reports()
    claimed = await ledger.begin()
    await ledger.crash()
    faults: list[Exception] = [DiskFull("full"), StoreUnavailable("restarting"), DiskFull("full again")]
    store = failing(ledger.store, settle_stale=faults)
    working = await run(reconciler(ledger, store, report=reports))
    for n, wait in enumerate((375, 750, 1_500)):
        await slept.since(n)
        assert len(faults) == 2 - n
        ledger.clock.advance(wait)
    await slept.since(3)
    assert slept.asked[:3] == [0.375, 0.75, 1.5]
    assert (await ledger.turn(claimed.session.id)).state is TurnState.QUEUED
    assert reports.doing == ["recovering"] * 3
    await end(working)


@pytest.mark.guards("R1.5", "R16")
@pytest.mark.parametrize("step", ["interrupt_orphans", "doubt_orphans", "requests", "expire_questions"])
async def test_a_step_that_fails_is_reported_once_and_skips_none_of_the_next(
    ledger: Ledger, step: str
) -> None:
    reports = Reports()
    claimed = await ledger.begin()
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    faults: list[Exception] = [KeyError("bug")] * 4
    at_work = reconciler(ledger, failing(ledger.store, **{step: faults}), report=reports)
    await at_work.boot()
    await at_work.boot()
    assert (await ledger.turn(claimed.session.id)).state is TurnState.QUEUED
    assert len(reports.doing) == len(set(reports.doing)) > 0
    assert at_work.continuity is not None


@pytest.mark.guards("R1.5")
async def test_damage_that_comes_while_the_gateway_runs_is_mended_before_the_next_round(
    ledger: Ledger,
) -> None:
    at_work = reconciler(ledger, failing(ledger.store, doubt_orphans=[KeyError("bug")] * 2))
    await at_work.boot()
    await ledger.begin()
    ledger.spoil("turns", "UPDATE turns SET claimed_at = 'a word'")
    await at_work.boot()
    assert await ledger.store.verify() == ()


@pytest.mark.guards("R1.5")
async def test_damage_that_no_step_has_met_is_mended_with_the_next_upkeep(ledger: Ledger) -> None:
    at_work = reconciler(ledger, ledger.store)
    await at_work.boot()
    await at_work.upkeep()
    await ledger.begin()
    ledger.spoil("turns", "UPDATE turns SET state = 'gone mad'")
    await ledger.say("and now?")
    await at_work.boot()
    assert await ledger.try_claim() is None
    ledger.clock.advance(HOUR)
    await at_work.upkeep()
    assert (await ledger.claim()).cause.text == "and now?"


@pytest.mark.guards("R4.5")
async def test_the_report_of_a_boot_tells_what_a_step_did_at_its_second_try(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.crash()
    at_work = reconciler(ledger, failing(ledger.store, stale_turns=[KeyError("met damage")]))
    report = await at_work.boot()
    assert report.counts == (("resume", 1),)
    assert (await ledger.turn(claimed.session.id)).state is TurnState.QUEUED


async def test_a_closed_ledger_ends_it(ledger: Ledger) -> None:
    with pytest.raises(StoreClosed):
        await reconciler(ledger, failing(ledger.store, doubt_orphans=[StoreClosed("closed")])).work()


async def test_one_row_the_ledger_refuses_keeps_back_no_other(ledger: Ledger) -> None:
    bad = await ledger.begin(chat="c1")
    good = await ledger.begin(chat="c2")
    await ledger.crash()
    real, reports = ledger.store.settle_stale, Reports()

    class Picky:
        def __getattr__(self, verb: str) -> Any:
            return getattr(ledger.store, verb)

        async def settle_stale(self, page: Any, judge: Any) -> Any:
            if any(stale.turn == bad.turn.id for stale in page):
                raise ConstraintBroken("a rule of the schema")
            return await real(page, judge)

    at_work = reconciler(ledger, Picky(), report=reports)
    assert await at_work.round() == {Outcome.RESUME: 1}
    assert (await ledger.claim()).turn.id == good.turn.id
    assert f"deciding about turn {bad.turn.id}" in reports.doing


async def test_the_first_that_was_found_goes_on_before_the_last_is_looked_for(ledger: Ledger) -> None:
    left = {(await ledger.begin(chat=f"c{n}")).turn.id for n in range(3)}
    await ledger.crash()
    could_go_on: list[TurnId | None] = []

    class OneAtATime:
        def __getattr__(self, verb: str) -> Any:
            return getattr(ledger.store, verb)

        async def interrupt_orphans(self, limit: int = 1, running: Any = None) -> int:
            claimed = await ledger.try_claim()
            could_go_on.append(claimed.turn.id if claimed else None)
            return limit if await ledger.store.interrupt_orphans(1, running) else 0

    at_work = reconciler(ledger, OneAtATime())
    assert await at_work.round() == {Outcome.RESUME: 3}
    first = could_go_on[1]
    assert could_go_on == [None, first, None, None]
    assert {first, (await ledger.claim()).turn.id, (await ledger.claim()).turn.id} == left


@pytest.mark.guards("D10")
async def test_a_turn_that_is_ours_and_that_nobody_runs_is_taken_up_again(ledger: Ledger) -> None:
    claimed = await ledger.begin(chat="c1")
    running = await ledger.begin(chat="c2")
    at_work = reconciler(ledger, running=lambda: (running.turn.id,))
    assert await at_work.round() == {Outcome.RESUME: 1}
    again = await ledger.claim(at_work.judge)
    assert again.turn.id == claimed.turn.id
    assert (await ledger.turn(running.session.id)).state is TurnState.RUNNING


async def test_while_a_turn_is_being_claimed_none_of_ours_counts_as_left(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await reconciler(ledger, running=lambda: None).round()
    assert (await ledger.turn(claimed.session.id)).state is TurnState.RUNNING


async def test_a_turn_its_living_owner_has_marked_and_still_tears_down_is_held(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.store.interrupt(claimed.fence, "restart_timeout")
    running: tuple[TurnId, ...] = (claimed.turn.id,)
    at_work = reconciler(ledger, running=lambda: running)
    assert await at_work.round() == {Outcome.HOLD: 1}
    running = ()
    assert await at_work.round() == {Outcome.RESUME: 1}


async def test_questions_past_their_time_are_closed_and_sends_of_the_dead_are_in_doubt(
    ledger: Ledger,
) -> None:
    claimed = await ledger.begin()
    await ledger.ask(claimed.fence)
    await ledger.send()
    await ledger.crash()
    ledger.clock.advance(HOUR)
    await reconciler(ledger).round()
    (question,) = (await ledger.store.journal(claimed.turn.id, 0)).questions
    assert question.state is QuestionState.EXPIRED
    assert [part.state for part in await ledger.outbox()] == [DeliveryState.UNKNOWN]


@pytest.mark.guards("R21")
async def test_a_parked_conversation_is_told_there_and_to_the_owner_once(ledger: Ledger) -> None:
    await ledger.complete(chat="owner")
    session = await ledger.die(3)
    at_work = reconciler(ledger, care=Care(owner=OWNER))
    assert await at_work.round() == {Outcome.PARK: 1}
    await at_work.round()
    await ledger.crash()
    await reconciler(ledger, care=Care(owner=OWNER)).round()
    assert len(await told(ledger, "c1")) == 1
    (line,) = await told(ledger, "owner")
    assert session in line


async def test_an_owner_who_never_wrote_keeps_no_conversation_from_being_parked(ledger: Ledger) -> None:
    session = await ledger.die(3)
    await ledger.begin(chat="c2")
    await ledger.crash()
    await reconciler(ledger, care=Care(owner=OWNER)).round()
    assert (await ledger.turn(session)).state is TurnState.PARKED
    assert len(await told(ledger, "c1")) == 1


@pytest.mark.guards("R8.3", "R21")
async def test_after_many_crashes_nothing_resumes_by_itself_and_the_owner_hears_it_once(
    ledger: Ledger,
) -> None:
    await ledger.complete(chat="owner")
    await crash_loop(ledger, 4)
    claimed = await ledger.begin()
    await crash_loop(ledger, 1)
    at_work = reconciler(ledger, care=Care(owner=OWNER))
    assert await at_work.round() == {Outcome.HOLD: 1}
    assert at_work.safe_mode.active
    for _ in range(2):
        await at_work.round()
        await reconciler(ledger, care=Care(owner=OWNER)).round()
    (line,) = await told(ledger, "owner")
    assert "5 unclean exits in 10 minutes" in line
    ledger.clock.advance(10 * MINUTE)
    assert await at_work.round() == {Outcome.RESUME: 1}
    assert (await ledger.claim(at_work.judge)).turn.id == claimed.turn.id


@pytest.mark.guards("R8.3")
async def test_safe_mode_ends_by_command_and_stays_ended_after_a_restart(ledger: Ledger) -> None:
    await crash_loop(ledger, 4)
    claimed = await ledger.begin()
    await crash_loop(ledger, 1)
    at_work = reconciler(ledger)
    assert await at_work.round() == {Outcome.HOLD: 1}
    await ledger.store.request(SAFE_MODE_OFF, "cli:1")
    assert await at_work.round() == {Outcome.RESUME: 1}
    await ledger.store.end_instance(Stopped.RESTART)
    await ledger.crash()
    again = reconciler(ledger)
    await again.round()
    assert not again.safe_mode.active
    assert (await ledger.claim(again.judge)).turn.id == claimed.turn.id
    ledger.clock.advance(10 * MINUTE)
    await again.round()
    assert await ledger.store.requests() == ()


async def test_crashes_whose_culprit_is_parked_put_nobody_else_on_hold(ledger: Ledger) -> None:
    await crash_loop(ledger, 2)
    innocent = await ledger.begin(chat="c2")
    await ledger.store.interrupt(innocent.fence, "restart_timeout")
    await ledger.die(3)
    outcomes = await reconciler(ledger).round()
    assert outcomes[Outcome.PARK] == 1
    assert (await ledger.turn(innocent.session.id)).state is TurnState.QUEUED


async def test_before_the_first_look_nothing_resumes_by_itself(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.recover()
    at_work = reconciler(ledger)
    assert await ledger.try_claim(at_work.judge) is None
    await at_work.round()
    assert (await ledger.claim(at_work.judge)).turn.id == claimed.turn.id


@pytest.mark.guards("R10.1")
async def test_the_answer_of_a_turn_that_was_complete_replies_to_the_message_that_began_it(
    ledger: Ledger,
) -> None:
    await ledger.say("hello", message_id="m7")
    claimed = await ledger.claim()
    await ledger.append(claimed.fence, answers("forty-two"), tail=Tail.ANSWER)
    await ledger.crash()
    await reconciler(ledger).round()
    (part,) = await ledger.outbox()
    assert (part.text, part.reply_to) == ("forty-two", "m7")


async def test_the_answer_of_a_turn_that_was_complete_is_owed_in_parts_its_platform_takes(
    ledger: Ledger,
) -> None:
    claimed = await ledger.begin()
    await ledger.append(claimed.fence, answers("word " * 30), tail=Tail.ANSWER)
    await ledger.crash()
    await reconciler(ledger, care=Care(longest=lambda chat: 88)).round()
    parts = await ledger.outbox()
    assert [part.part for part in parts] == [1, 2, 3, 4]
    assert " ".join(part.text for part in parts).split() == ["word"] * 30


async def test_what_is_old_and_finished_is_forgotten_once_an_hour(ledger: Ledger) -> None:
    retained: list[int] = []

    class Counting:
        def __getattr__(self, verb: str) -> Any:
            return getattr(ledger.store, verb)

        async def retain(self, keep: Any) -> int:
            retained.append(ledger.clock.now())
            return 0

    at_work = reconciler(ledger, Counting())  # type: ignore[arg-type]
    for _ in range(3):
        await at_work.upkeep()
        ledger.clock.advance(HOUR // 2)
    assert len(retained) == 2


@pytest.mark.guards("R4.5", "R13")
async def test_the_continuity_report_says_that_a_question_got_no_answer_while_no_gateway_ran(
    ledger: Ledger,
) -> None:
    asking = await ledger.begin()
    await ledger.ask(asking.fence)
    await ledger.crash()
    ledger.clock.advance(3 * DAY)
    (fate,) = (await reconciler(ledger).boot()).fates
    assert (fate.found, fate.became, fate.row) == (TurnState.WAITING, "expire", "unanswered")
    assert "got no answer in time" in fate.why


@pytest.mark.guards("R4.5")
async def test_the_continuity_report_says_what_was_open_what_became_of_it_and_why(ledger: Ledger) -> None:
    asking = await ledger.begin(chat="c1")
    await ledger.ask(asking.fence)
    working = await ledger.begin(chat="c2")
    theirs = await ledger.begin(chat="c3")
    await ledger.say("waits", chat="c3")
    await ledger.store.owe(owed("a", chat="c2"))
    await ledger.send()
    await ledger.crash()
    at_work = reconciler(ledger)
    report = await at_work.boot()
    assert report.previous_ended == "crashed"
    fates = {fate.turn: (fate.found, fate.became, fate.row) for fate in report.fates}
    assert fates == {
        asking.turn.id: (TurnState.WAITING, "waiting", None),
        working.turn.id: (TurnState.RUNNING, "resume", "resume"),
        theirs.turn.id: (TurnState.RUNNING, "resume", "resume"),
    }
    assert report.counts == (("resume", 2),)
    assert (report.owed, report.waiting) == (3, 1)  # the word that it waits is owed as well
    text = "\n".join(report.lines())
    assert "recorded no end: a crash" in text
    assert f"{working.turn.id}, running: resume (resume): It goes on where it was cut off." in text
    assert "Messages waiting: 1." in text
    assert await at_work.boot() is report
    (kept,) = await ledger.store.continuity_reports()
    said = json.loads(kept.report)
    assert (kept.instance, said["lines"]) == (ledger.store.instance, list(report.lines()))
    assert {fate["turn"]: fate["became"] for fate in said["fates"]}[working.turn.id] == "resume"


async def test_a_report_that_cannot_be_kept_is_made_again(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.crash()
    at_work = reconciler(ledger, failing(ledger.store, keep_continuity=[DiskFull("full")]))
    with pytest.raises(DiskFull):
        await at_work.boot()
    assert at_work.continuity is None
    (fate,) = (await at_work.boot()).fates
    assert (fate.turn, fate.became) == (claimed.turn.id, "resume")
    assert len(await ledger.store.continuity_reports()) == 1


async def test_the_report_is_of_what_was_there_before_the_first_round_changed_it(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.crash()
    store = failing(ledger.store, lane_taken=[DiskFull("full")])
    at_work = reconciler(ledger, store)
    with pytest.raises(DiskFull):
        await at_work.boot()
    (fate,) = (await at_work.boot()).fates
    assert (fate.turn, fate.found, fate.became) == (claimed.turn.id, TurnState.RUNNING, "resume")


async def test_a_first_boot_reports_that_there_was_nothing_before(ledger: Ledger) -> None:
    report = await reconciler(ledger).boot()
    assert report.lines()[0] == "There was no run before this one."
    assert report.fates == ()


async def test_what_was_written_back_is_counted_for_people(ledger: Ledger) -> None:
    for n in range(3):
        await ledger.begin(chat=f"c{n}")
    await ledger.crash()
    at_work = reconciler(ledger)
    await at_work.boot()
    await at_work.boot()
    assert at_work.outcomes == {Outcome.RESUME: 3}
