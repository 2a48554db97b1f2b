"""What people saw of an answer or of a tool's output that was cut off: recorded in time, and kept."""

import pytest

from holdfast.errors import DiskFull
from holdfast.model import CallState, EffectClass, Entry, Replied, StopKind, StopReason, TurnState
from holdfast.policy.turn.views import STOPPED_TEXT, Role
from tests.support.ledger import Ledger, key
from tests.support.stage import Deed, Stage, hangs, says, soon, wants

RECORDED = 2_000
EARLY = 1.5
"""Seconds after which what was shown is being recorded: the rest of the time is the commit's."""
HALF = "The answer has two halves. The first"


async def writes(stage: Stage, text: str = HALF) -> None:
    await soon(stage.model.asked.wait())
    stage.model.on_text(text)


async def is_recorded(stage: Stage, ledger: Ledger) -> None:
    """Let the time pass in which what was shown has to be recorded."""
    written = stage.store.log.count("progress")
    await stage.clock.nap(EARLY)
    ledger.clock.advance(RECORDED)
    await stage.store.logged("progress", written + 1)


async def transcript(ledger: Ledger, stage: Stage) -> list[Entry]:
    return list(await ledger.store.transcript((await stage.turn()).session))


async def replies(ledger: Ledger, stage: Stage) -> list[Replied]:
    return [one.body for one in await transcript(ledger, stage) if isinstance(one.body, Replied)]


@pytest.mark.guards("R24.3")
async def test_a_stop_keeps_what_was_written_for_the_person_and_for_the_model(ledger: Ledger) -> None:
    await ledger.say("tell me")
    async with Stage(ledger, hangs, says("next")) as stage:
        await writes(stage)
        await ledger.store.stop(key(), StopKind.STOP, None)
        await stage.quiet()
        assert (await stage.turn()).state is TurnState.CANCELLED
        assert await replies(ledger, stage) == [Replied(HALF, StopReason.STOPPED)]
        assert await stage.told() == [f"{HALF}\n\n[Stopped here.]"]
        await ledger.say("and now?")
        await stage.leave_after_answer("next")
    shown = stage.model.shown[-1]
    assert [(message.role, message.text) for message in shown] == [
        (Role.USER, "tell me"),
        (Role.ASSISTANT, HALF),
        (Role.NOTE, STOPPED_TEXT),
        (Role.USER, "and now?"),
    ]


@pytest.mark.guards("R24.3")
@pytest.mark.parametrize("kind", [StopKind.NEW, StopKind.INTERRUPT])
async def test_every_way_to_stop_keeps_it(ledger: Ledger, kind: StopKind) -> None:
    await ledger.say()
    async with Stage(ledger, hangs) as stage:
        await writes(stage)
        await ledger.store.stop(key(), kind, None)
        await stage.quiet()
        assert await stage.told() == [f"{HALF}\n\n[Stopped here.]"]


async def test_what_is_to_be_forgotten_is_not_sent_once_more(ledger: Ledger) -> None:
    await ledger.say()
    async with Stage(ledger, hangs) as stage:
        await writes(stage)
        await ledger.store.stop(key(), StopKind.FORGET, None)
        await stage.quiet()
        assert await stage.told() == []
        assert await replies(ledger, stage) == [Replied(HALF, StopReason.STOPPED)]
        assert (await ledger.store.session((await stage.turn()).session)).ended_at is not None


async def test_a_code_block_that_was_stopped_is_closed_before_the_mark(ledger: Ledger) -> None:
    await ledger.say()
    async with Stage(ledger, hangs) as stage:
        await writes(stage, "So:\n```python\nx = 1")
        await ledger.store.stop(key(), StopKind.STOP, None)
        await stage.quiet()
        assert await stage.told() == ["So:\n```python\nx = 1\n```\n\n[Stopped here.]"]


async def test_a_stop_that_finds_nothing_written_keeps_and_says_nothing(ledger: Ledger) -> None:
    await ledger.say()
    async with Stage(ledger, hangs) as stage:
        await soon(stage.model.asked.wait())
        await ledger.store.stop(key(), StopKind.STOP, None)
        await stage.quiet()
        assert await replies(ledger, stage) == []
        assert await stage.told() == []


async def test_a_reply_with_calls_that_a_stop_finds_unsaved_keeps_its_words(ledger: Ledger) -> None:
    deed = Deed(held=False)
    await ledger.say()
    stage = Stage(ledger, wants("deed", text="I look it up"), tools=[deed])
    stage.store.before["record"] = lambda: ledger.store.stop(key(), StopKind.STOP, None)
    await stage.run()
    assert deed.runs == []
    assert await replies(ledger, stage) == [Replied("I look it up", StopReason.STOPPED)]
    assert await stage.told() == ["I look it up\n\n[Stopped here.]"]


@pytest.mark.guards("R24.3")
async def test_what_people_see_is_recorded_within_two_seconds_and_not_without_need(ledger: Ledger) -> None:
    await ledger.say()
    async with Stage(ledger, hangs) as stage:
        await writes(stage)
        turn = (await stage.turn()).id
        assert await ledger.store.partials(turn) == ()
        await is_recorded(stage, ledger)
        assert [(one.call, one.text) for one in await ledger.store.partials(turn)] == [(None, HALF)]
        ledger.clock.advance(10 * RECORDED)
        assert stage.store.log.count("progress") == 1
        stage.model.on_text(f"{HALF} and")
        stage.model.on_text(f"{HALF} and more")
        await is_recorded(stage, ledger)
        assert [one.text for one in await ledger.store.partials(turn)] == [f"{HALF} and more"]
        assert stage.store.log.count("progress") == 2


async def test_a_reply_that_is_done_in_time_costs_no_commit_of_its_own(ledger: Ledger) -> None:
    await ledger.say()
    stage = Stage(ledger, says("quick"))
    await stage.run()
    ledger.clock.advance(10 * RECORDED)
    assert "progress" not in stage.store.log


async def test_a_disk_that_is_full_for_a_moment_loses_nothing_of_it(ledger: Ledger) -> None:
    await ledger.say()
    async with Stage(ledger, hangs) as stage:
        stage.store.faults["progress"] = [DiskFull("no room")]
        await writes(stage)
        await stage.clock.nap(EARLY)
        ledger.clock.advance(RECORDED)
        await is_recorded(stage, ledger)
        (partial,) = await ledger.store.partials((await stage.turn()).id)
        assert partial.text == HALF


@pytest.mark.guards("R24.3", "R2.3")
async def test_an_answer_cut_by_a_crash_is_kept_until_the_resumed_one_takes_its_place(ledger: Ledger) -> None:
    await ledger.say()
    async with Stage(ledger, hangs) as stage:
        await writes(stage)
        await is_recorded(stage, ledger)
    turn = await stage.turn()
    await ledger.recover()
    (partial,) = await ledger.store.partials(turn.id)
    assert (partial.text, partial.generation) == (HALF, turn.generation)
    again = Stage(ledger, says("The whole answer"))
    await again.run()
    assert await ledger.store.partials(turn.id) == ()
    assert await replies(ledger, again) == [Replied("The whole answer", StopReason.COMPLETE)]
    assert await again.told() == ["The whole answer"]


@pytest.mark.guards("R24.3")
async def test_an_answer_cut_by_a_drain_is_recorded_before_the_process_ends(ledger: Ledger) -> None:
    await ledger.say()
    async with Stage(ledger, hangs) as stage:
        await writes(stage)
        await soon(stage.pool.cut("restart_timeout"))
        turn = await stage.turn()
        assert turn.state is TurnState.INTERRUPTED
        assert [one.text for one in await ledger.store.partials(turn.id)] == [HALF]


@pytest.mark.guards("R24.3")
async def test_a_resume_that_fails_before_it_writes_keeps_what_was_seen(ledger: Ledger) -> None:
    await ledger.say()
    async with Stage(ledger, hangs) as stage:
        await writes(stage)
        await is_recorded(stage, ledger)
    await ledger.recover()
    again = Stage(ledger, ValueError("it breaks"))
    again.model.before_failing = ""
    await again.run()
    turn = await again.turn()
    assert turn.state is TurnState.FAILED
    told = await again.told()
    assert told[0] == f"{HALF}\n\n[Cut off here.]"
    assert len(told) == 2
    assert await replies(ledger, again) == [Replied(HALF, StopReason.STOPPED)]


@pytest.mark.guards("R24.3", "R7.2")
async def test_output_of_a_command_cut_by_a_crash_stands_beside_unknown(ledger: Ledger) -> None:
    deed = Deed()
    await ledger.say()
    async with Stage(ledger, wants("deed"), tools=[deed]) as stage:
        await soon(deed.running.wait())
        deed.runs[0].output("copied 1 of 3\n")
        deed.runs[0].output("copied 2 of 3\n")
        await is_recorded(stage, ledger)
    await ledger.recover()
    again = Stage(ledger, says("I looked"), tools=[deed])
    await again.run()
    assert len(deed.runs) == 1
    ((state, text),) = await again.results()
    assert state is CallState.UNKNOWN
    assert text.startswith("unknown: the call to deed was cut off.")
    assert text.endswith("before the cut:\ncopied 1 of 3\ncopied 2 of 3\n")
    shown = [message.text for message in again.model.shown[0] if message.role is Role.TOOL]
    assert shown == [text]
    assert await ledger.store.partials((await again.turn()).id) == ()


@pytest.mark.guards("R24.3", "R7.4")
async def test_output_of_a_command_that_a_stop_ends_is_kept_to_the_last_line(ledger: Ledger) -> None:
    deed = Deed()
    await ledger.say()
    async with Stage(ledger, wants("deed"), tools=[deed]) as stage:
        await soon(deed.running.wait())
        deed.runs[0].output("half way\n")
        await ledger.store.stop(key(), StopKind.STOP, None)
        await stage.quiet()
        ((state, text),) = await stage.results()
        assert state is CallState.UNKNOWN
        assert text.endswith("half way\n")


async def test_output_of_a_call_that_may_run_again_is_replaced_by_its_result(ledger: Ledger) -> None:
    deed = Deed(effect=EffectClass.READ)
    await ledger.say()
    async with Stage(ledger, wants("deed"), tools=[deed]) as stage:
        await soon(deed.running.wait())
        deed.runs[0].output("reading\n")
        await is_recorded(stage, ledger)
    await ledger.recover()
    deed.release.set()
    again = Stage(ledger, says("read"), tools=[deed])
    await again.run()
    assert await again.results() == [(CallState.DONE, "deed is done")]
    assert await ledger.store.partials((await again.turn()).id) == ()


async def test_a_tool_that_puts_out_without_end_is_recorded_by_its_last_lines(ledger: Ledger) -> None:
    deed = Deed()
    await ledger.say()
    async with Stage(ledger, wants("deed"), tools=[deed]) as stage:
        await soon(deed.running.wait())
        for number in range(5_000):
            deed.runs[0].output(f"line {number}\n")
        await is_recorded(stage, ledger)
        (partial,) = await ledger.store.partials((await stage.turn()).id)
        assert len(partial.text) <= 8_000
        assert partial.text.endswith("line 4998\nline 4999\n")


async def test_a_stop_of_work_that_waits_to_be_resumed_keeps_what_was_written(ledger: Ledger) -> None:
    await ledger.say()
    async with Stage(ledger, hangs) as stage:
        await writes(stage)
        await soon(stage.pool.cut("restart_timeout"))
    found = await ledger.store.stop(key(), StopKind.STOP, None)
    assert found.partial == HALF
    assert await replies(ledger, stage) == [Replied(HALF, StopReason.STOPPED)]
    assert await ledger.store.partials((await stage.turn()).id) == ()
