"""What goes into a turn besides what began it: the note of a resume, messages that wait, steering."""

from dataclasses import replace

import pytest

from holdfast.agents import Message, Role
from holdfast.model import (
    BusyMode,
    CallId,
    ChatSettings,
    InboxKind,
    InboxState,
    Noted,
    NoteKind,
    Returned,
    Said,
    Tail,
    TurnState,
)
from holdfast.policy.recovery.notes import resume_text
from holdfast.store import Edit
from tests.support.ledger import BOB, SETTINGS, Ledger, address, asks, planned, result
from tests.support.stage import Deed, Stage, hangs, says, soon, wants


def after_the_first(messages: tuple[Message, ...]) -> list[tuple[Role, str]]:
    return [(message.role, message.text) for message in messages[1:]]


async def interrupted(ledger: Ledger, *more: str) -> None:
    """Work cut off after a tool's result, and messages that came meanwhile; ready to go on."""
    claimed = await ledger.begin("do it")
    await ledger.start(claimed.fence, "a")
    await ledger.append(claimed.fence, result("a"))
    for text in more:
        await ledger.say(text, message_id=text)
    await ledger.recover()


@pytest.mark.guards("R6.1", "C11")
async def test_a_resume_gets_one_note_and_no_message_nobody_sent(ledger: Ledger) -> None:
    await interrupted(ledger)
    stage = Stage(ledger, wants("b"), says(), tools=[Deed("b", held=False)])
    await stage.run()
    bodies = [entry.body for entry in await stage.entries()]
    assert [body.text for body in bodies if isinstance(body, Noted)] == [
        resume_text(NoteKind.INTERRUPTED, message_follows=False, results_left=True)
    ]
    assert sum(isinstance(body, Said) for body in bodies) == 1


@pytest.mark.guards("R6.1")
async def test_work_cut_in_its_first_model_call_is_not_sent_looking_for_results(ledger: Ledger) -> None:
    await ledger.begin("do it")
    await ledger.recover()
    stage = Stage(ledger, says())
    await stage.run()
    note = resume_text(NoteKind.INTERRUPTED, message_follows=False, results_left=False)
    assert (stage.model.shown[0][-1].text, "results" in note) == (note, False)


@pytest.mark.guards("R6.1")
async def test_a_second_cut_finds_the_results_behind_the_first_note(ledger: Ledger) -> None:
    await interrupted(ledger)
    async with Stage(ledger, hangs) as stage:
        await soon(stage.model.asked.wait())
    await ledger.recover()
    again = Stage(ledger, says())
    await again.run()
    assert "unfinished results" in again.model.shown[0][-1].text


@pytest.mark.guards("R6.2")
@pytest.mark.parametrize("results", [True, False])
async def test_after_a_resume_that_failed_results_are_named_only_if_there_are_any(
    ledger: Ledger, results: bool
) -> None:
    if results:
        await interrupted(ledger)
    else:
        await ledger.begin("do it")
        await ledger.recover()
    stage = Stage(ledger, says(""), says("hello"))
    await stage.run()
    assert (await stage.turn()).state is TurnState.FAILED
    await ledger.say("and now?")
    await stage.run()
    note = stage.model.shown[-1][-2]
    assert note.role is Role.NOTE and "resumed, and failed" in note.text
    assert ("unfinished results" in note.text) is results


@pytest.mark.guards("R6.3")
async def test_the_oldest_message_that_waited_is_answered_in_the_resumed_turn(ledger: Ledger) -> None:
    await interrupted(ledger, "how far?", "and the rest?")
    stage = Stage(ledger, says("all done"), says("the rest"))
    await stage.run()
    note = resume_text(NoteKind.INTERRUPTED, message_follows=True, results_left=True)
    assert after_the_first(stage.model.shown[0])[-2:] == [(Role.NOTE, note), (Role.USER, "how far?")]
    assert after_the_first(stage.model.shown[1])[-1] == (Role.USER, "and the rest?")
    assert await stage.told() == ["all done", "the rest"]


@pytest.mark.guards("R6.3")
async def test_note_and_message_come_after_the_calls_are_paired_in_one_commit(ledger: Ledger) -> None:
    claimed = await ledger.begin("do it")
    await ledger.start(claimed.fence, "a", start=False)
    await ledger.say("how far?")
    await ledger.recover()
    stage = Stage(ledger, says(), tools=[Deed("tool_a", held=False)])
    await stage.run()
    kinds = [type(entry.body) for entry in (await stage.entries())[2:5]]
    assert kinds == [Returned, Noted, Said]
    assert len({entry.at for entry in (await stage.entries())[3:5]}) == 1


async def test_a_message_edited_or_withdrawn_before_it_is_taken_counts_as_it_is_then(ledger: Ledger) -> None:
    await interrupted(ledger, "how far?")
    await ledger.store.revise(Edit(address(), "how far?", "never mind"))
    stage = Stage(ledger, says())
    await stage.run()
    assert after_the_first(stage.model.shown[0])[-1] == (Role.USER, "never mind")

    await interrupted(ledger, "wait!")
    again = Stage(ledger, says())
    again.store.after["claim_ready"] = lambda: ledger.store.revise(Edit(address(), "wait!", None))
    await again.run()
    shown = again.model.shown[0][-1]
    assert (shown.role, shown.text) == (
        Role.NOTE,
        resume_text(NoteKind.INTERRUPTED, message_follows=False, results_left=True),
    )


@pytest.mark.guards("R2.3", "R6.1")
async def test_a_resume_that_is_cut_again_gets_one_more_note_and_the_message_once(ledger: Ledger) -> None:
    await interrupted(ledger, "how far?")
    async with Stage(ledger, hangs) as stage:
        await soon(stage.model.asked.wait())
    await ledger.recover()
    last = Stage(ledger, says())
    await last.run()
    bodies = [entry.body for entry in await last.entries()]
    assert [body.count for body in bodies if isinstance(body, Noted)] == [1, 2]
    assert [body.text for body in bodies if isinstance(body, Said)] == ["do it", "how far?"]
    assert sum(message.role is Role.NOTE for message in last.model.shown[0]) == 1


async def steering(ledger: Ledger) -> None:
    await ledger.store.configure_chat(address(), ChatSettings(busy=BusyMode.STEER))


@pytest.mark.guards("R9.1", "R7.4")
async def test_a_message_in_steer_mode_reaches_the_model_at_the_next_step_and_cancels_no_tool(
    ledger: Ledger,
) -> None:
    deed = Deed()
    await ledger.say("do it")
    await steering(ledger)
    async with Stage(ledger, wants("deed"), says("as you wish"), says("woken"), tools=[deed]) as stage:
        await soon(deed.running.wait())
        turn = await stage.turn()
        position = await ledger.say("but quickly")
        await ledger.say("", kind=InboxKind.WAKEUP)
        deed.release.set()
        await stage.leave_after_answer("as you wish")
        assert not deed.cancelled
        assert after_the_first(stage.model.shown[1])[-1] == (Role.USER, "but quickly")
        row = await ledger.store.row(position)
        assert (row.state, row.turn) == (InboxState.TAKEN, turn.id)


@pytest.mark.guards("R14", "D14")
async def test_who_is_allowed_no_more_steers_nothing(ledger: Ledger) -> None:
    deed = Deed()
    await ledger.say("do it")
    await steering(ledger)
    claim = replace(SETTINGS, allowed=lambda person: person != BOB)
    async with Stage(ledger, wants("deed"), says("as you wish"), tools=[deed], claim=claim) as stage:
        await soon(deed.running.wait())
        gone = await ledger.say("no, stop that", sender=BOB)
        await ledger.say("but quickly")
        deed.release.set()
        await stage.leave_after_answer("as you wish")
    assert after_the_first(stage.model.shown[1])[-1] == (Role.USER, "but quickly")
    assert "no, stop that" not in [text for _, text in after_the_first(stage.model.shown[1])]
    assert await ledger.try_claim(allowed=claim.allowed) is None
    assert (await ledger.store.row(gone)).reason == "not_allowed"


@pytest.mark.guards("R9.1")
async def test_steering_that_comes_too_late_is_the_next_turn(ledger: Ledger) -> None:
    await ledger.say("do it")
    await steering(ledger)
    stage = Stage(ledger, says("done"), says("that too"))
    stage.store.before["finish"] = lambda: ledger.say("one more thing")
    await stage.run()
    assert await stage.told() == ["done", "that too"]
    assert [entry.body.text for entry in await stage.entries() if isinstance(entry.body, Said)] == [
        "do it",
        "one more thing",
    ]


async def test_without_steer_a_message_waits_for_the_next_turn(ledger: Ledger) -> None:
    deed = Deed()
    await ledger.say("do it")
    async with Stage(ledger, wants("deed"), says("done"), says("later"), tools=[deed]) as stage:
        await soon(deed.running.wait())
        await ledger.say("another thing")
        deed.release.set()
        await stage.leave_after_answer("later")
        assert [message.text for message in stage.model.shown[1] if message.role is Role.USER] == ["do it"]


@pytest.mark.guards("R9.2")
async def test_what_was_written_instead_of_an_answer_goes_into_the_same_turn(ledger: Ledger) -> None:
    claimed = await ledger.begin("book it")
    await ledger.ask(claimed.fence, options=("yes", "no"))
    await ledger.say("actually, make it Friday")
    stage = Stage(ledger, says("Friday it is"))
    await stage.run()
    assert after_the_first(stage.model.shown[0])[-1] == (Role.USER, "actually, make it Friday")
    assert (await stage.turn()).id == claimed.turn.id
    assert await stage.told() == ["text of question:q1", "Friday it is"]


async def test_a_question_set_aside_before_the_turn_is_laid_down_keeps_it_running(ledger: Ledger) -> None:
    claimed = await ledger.begin("book it")
    ask = ledger.question("q1", "c1", options=("yes", "no"))
    await ledger.append(
        claimed.fence,
        asks("c1"),
        plan=(planned("c1"),),
        start=(CallId("c1"),),
        ask=(ask,),
        tail=Tail.QUESTION,
    )
    await ledger.recover("resume")
    stage = Stage(ledger, says("Friday it is"))
    stage.store.before["wait"] = lambda: ledger.say("make it Friday")
    await stage.run()
    assert stage.model.shown[0][-1].text == "make it Friday"
    assert (await stage.turn()).state is TurnState.DONE
