"""R7.3 on the real ledger: no call that needs consent runs without it, and consent is for one call, once."""

import json

import pytest

from holdfast.errors import DiskFull
from holdfast.model import (
    CallId,
    CallState,
    EffectClass,
    InboxState,
    PlannedCall,
    QuestionId,
    QuestionKind,
    QuestionRecord,
    QuestionState,
    Replied,
    StopKind,
    StopReason,
    ToolCall,
    TurnState,
)
from holdfast.policy.consent.argument_text import call_hash
from holdfast.policy.settings import HOUR, ApprovalSettings, Rule, Ruling, TurnSettings
from tests.support.ledger import ANN, BOB, Ledger, address, key
from tests.support.stage import Deed, Line, Stage, says, soon

ASK = TurnSettings(approvals=ApprovalSettings((Rule(Ruling.ASK, ("deed",)),)))
DENY = TurnSettings(approvals=ApprovalSettings((Rule(Ruling.DENY, ("deed",)),)))


def wants(*files: str, tool: str = "deed") -> Replied:
    calls = tuple(ToolCall(CallId("x"), tool, json.dumps({"file": file})) for file in files)
    return Replied("", StopReason.CALLS, calls)


class House:
    """A ledger with a deed that needs consent, over any number of processes."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.deed = Deed(held=False)
        self.stage: Stage

    async def runs(self, *lines: Line, settings: TurnSettings = ASK) -> None:
        self.stage = Stage(self.ledger, *lines, tools=[self.deed], settings=settings)
        await self.stage.run()

    @property
    async def questions(self) -> tuple[QuestionRecord, ...]:
        turn = await self.stage.turn()
        return await self.ledger.store.questions((turn.id,))

    @property
    async def state(self) -> TurnState:
        return (await self.stage.turn()).state

    @property
    async def results(self) -> list[tuple[CallState, str]]:
        return await self.stage.results()


async def told(ledger: Ledger) -> House:
    """Ann has said what she wants done."""
    await ledger.say("do it")
    return House(ledger)


@pytest.mark.guards("R7.3")
async def test_the_call_is_asked_about_in_the_commit_that_plans_it_and_runs_once_after_a_yes(
    ledger: Ledger,
) -> None:
    house = await told(ledger)
    await house.runs(wants("a.txt"))
    written = [verb for verb in house.stage.store.log if verb != "allowed_calls"]
    assert written == ["claim_ready", "record", "wait", "claim_ready"], "one commit holds it all"
    (asked,) = await house.questions
    (sent,) = await ledger.outbox()
    assert (asked.kind, asked.asked_of, asked.expires_at) == (
        QuestionKind.APPROVAL,
        ANN,
        ledger.clock.now() + HOUR,
    )
    assert (asked.id, asked.call_hash) == (sent.dedupe, call_hash("deed", '{"file": "a.txt"}'))
    assert "May I run `deed`?" in sent.text and "file: a.txt" in sent.text
    assert sent.options == ("allow once", "deny", "always allow this")
    assert (house.deed.runs, await house.state) == ([], TurnState.WAITING)
    row = await ledger.say("yes")
    assert (await ledger.store.row(row)).state is InboxState.ANSWERED, (
        "it reaches the question, not the queue"
    )
    await house.runs(says("done"))
    assert (len(house.deed.runs), await house.state) == (1, TurnState.DONE)
    assert await house.results == [(CallState.DONE, "deed is done")]


@pytest.mark.guards("R7.3", "R13", "F11")
@pytest.mark.parametrize(("answer", "ran"), [("yes", 1), ("1", 1), ("allow once", 1), ("no", 0), ("2", 0)])
async def test_after_restarts_the_same_words_work_once(ledger: Ledger, answer: str, ran: int) -> None:
    house = await told(ledger)
    await house.runs(wants("a.txt"))
    for _ in range(2):
        await ledger.crash()
        await house.runs()
        assert house.deed.runs == []
    await ledger.say(answer)
    await ledger.crash()
    await house.runs(says("done"))
    assert len(house.deed.runs) == ran
    ((state, text),) = await house.results
    assert state is (CallState.DONE if ran else CallState.SKIPPED)
    assert ran or "the person did not allow it" in text
    assert len(await house.questions) == 1


@pytest.mark.guards("R7.3", "R13")
async def test_a_button_works_after_a_restart_and_only_once(ledger: Ledger) -> None:
    house = await told(ledger)
    await house.runs(wants("a.txt"))
    pressed = QuestionId((await ledger.outbox())[0].dedupe)
    await ledger.crash()
    first = await ledger.say("allow once", pressed=pressed)
    second = await ledger.say("deny", pressed=pressed)
    states = [(await ledger.store.row(row)).state for row in (first, second)]
    assert states == [InboxState.ANSWERED, InboxState.REFUSED]
    await house.runs(says())
    assert len(house.deed.runs) == 1
    (asked,) = await house.questions
    assert (asked.answer, asked.answered_by, asked.closed_at) == ("yes", ANN, ledger.clock.now())


@pytest.mark.guards("R7.3", "R13")
async def test_another_persons_yes_does_not_count(ledger: Ledger) -> None:
    house = await told(ledger)
    await house.runs(wants("a.txt"), says("done"))
    typed = await ledger.say("yes", sender=BOB)
    pressed = QuestionId((await ledger.outbox())[0].dedupe)
    button = await ledger.say("allow once", sender=BOB, pressed=pressed)
    assert (await ledger.store.row(typed)).state is InboxState.WAITING
    assert (await ledger.store.row(button)).state is InboxState.REFUSED
    await house.stage.run()
    assert house.deed.runs == []
    assert (await house.questions)[0].state is QuestionState.OPEN


@pytest.mark.guards("R7.3", "R13", "R17")
async def test_what_works_for_somebody_by_itself_asks_them_and_nobody_else(ledger: Ledger) -> None:
    began = await ledger.command("/goal tidy up")
    await ledger.store.set_goal(key(), address(), "tidy up", 3, ANN, began)
    house = House(ledger)
    await house.runs(wants("a.txt"), says("done"), says("and done"), says("over"))
    (asked,) = await house.questions
    assert asked.asked_of == ANN
    await ledger.say("yes", sender=BOB)
    await house.stage.run()
    assert house.deed.runs == []
    await ledger.say("yes", sender=ANN)
    await house.stage.run()
    assert len(house.deed.runs) == 1


@pytest.mark.guards("R7.3", "C10")
async def test_a_yes_is_for_one_call_and_the_same_call_again_is_asked_about_again(ledger: Ledger) -> None:
    house = await told(ledger)
    await house.runs(wants("a.txt"), wants("a.txt"), says())
    await ledger.say("yes")
    await house.stage.run()
    assert (len(house.deed.runs), await house.state) == (1, TurnState.WAITING)
    assert len(await house.questions) == 2
    await ledger.say("no")
    await house.stage.run()
    assert (len(house.deed.runs), await house.state) == (1, TurnState.DONE)


@pytest.mark.guards("R7.3")
async def test_of_two_calls_each_is_asked_about_by_itself(ledger: Ledger) -> None:
    house = await told(ledger)
    await house.runs(wants("a.txt", "b.txt"), says())
    assert ["a.txt" in part.text for part in await ledger.outbox()] == [True]
    await ledger.say("no")
    await house.stage.run()
    assert ["b.txt" in part.text for part in await ledger.outbox()] == [False, True]
    await ledger.say("yes")
    await house.stage.run()
    assert [state for state, _ in await house.results] == [CallState.SKIPPED, CallState.DONE]


@pytest.mark.guards("R7.3")
async def test_what_is_denied_never_runs_and_the_model_reads_why(ledger: Ledger) -> None:
    house = await told(ledger)
    await house.runs(wants("a.txt"), says("I may not"), settings=DENY)
    assert house.deed.runs == []
    ((state, text),) = await house.results
    assert state is CallState.SKIPPED and "forbids it" in text
    assert await house.stage.told() == ["I may not"]


@pytest.mark.guards("R7.3", "R13")
async def test_nobody_answers_and_the_model_goes_on_without_it(ledger: Ledger) -> None:
    house = await told(ledger)
    await house.runs(wants("a.txt"), says("without it then"))
    ledger.clock.advance(HOUR)
    late = await ledger.say("allow once", pressed=(await house.questions)[0].id)
    assert (await ledger.store.row(late)).state is InboxState.REFUSED
    await ledger.store.expire_questions()
    await house.stage.run()
    ((state, text),) = await house.results
    assert state is CallState.SKIPPED and "not answered in time" in text
    assert (house.deed.runs, await house.state) == ([], TurnState.DONE)


@pytest.mark.guards("R7.3", "C10")
async def test_a_yes_that_found_nobody_to_act_on_it_for_too_long_is_no_consent(ledger: Ledger) -> None:
    house = await told(ledger)
    await house.runs(wants("a.txt"))
    await ledger.say("yes")
    ledger.clock.advance(HOUR)
    await ledger.crash()
    await house.runs(says())
    ((state, text),) = await house.results
    assert state is CallState.SKIPPED and "too long ago" in text
    assert house.deed.runs == []


@pytest.mark.guards("R7.3")
async def test_who_writes_something_else_has_not_consented(ledger: Ledger) -> None:
    house = await told(ledger)
    await house.runs(wants("a.txt"), says("as you like"))
    await ledger.say("what is in that file?")
    await house.stage.run()
    ((state, text),) = await house.results
    assert state is CallState.SKIPPED and "something else instead" in text
    assert house.stage.model.shown[-1][-1].text == "what is in that file?"
    assert house.deed.runs == []


@pytest.mark.guards("R7.3", "R13")
async def test_a_stop_withdraws_what_was_asked_and_nothing_runs(ledger: Ledger) -> None:
    house = await told(ledger)
    await house.runs(wants("a.txt"))
    await ledger.store.stop(key(), StopKind.STOP, None)
    assert await house.state is TurnState.CANCELLED
    assert (await house.questions)[0].state is QuestionState.CANCELLED
    await house.stage.run()
    assert house.deed.runs == []


@pytest.mark.guards("R7.3")
async def test_rules_count_up_to_the_moment_a_call_starts(ledger: Ledger) -> None:
    """Planned while it was allowed, and the process died: a stricter rule of the next one is heeded."""
    house = await told(ledger)
    claimed = await ledger.claim()
    reply = wants("a.txt")
    (call,) = reply.calls
    plan = PlannedCall(call.id, call.name, call.arguments, EffectClass.EFFECT)
    await ledger.append(claimed.fence, reply, plan=(plan,))
    await ledger.recover()
    await house.runs()
    assert (house.deed.runs, await house.state) == ([], TurnState.WAITING)
    await ledger.crash()
    await house.runs(says(), settings=DENY)
    await ledger.say("yes")
    await house.stage.run()
    assert house.deed.runs == []
    ((_, text),) = await house.results
    assert "forbids it" in text


@pytest.mark.guards("R7.3", "R3.2")
async def test_a_drain_in_the_middle_of_asking_leaves_nothing_that_runs_unasked(ledger: Ledger) -> None:
    house = await told(ledger)
    house.stage = Stage(ledger, wants("a.txt"), tools=[house.deed], settings=ASK)
    house.stage.store.faults["record"] = [DiskFull("no room for call and question")]
    async with house.stage:
        await house.stage.clock.nap(1.0)
        await soon(house.stage.pool.cut("restart_timeout"))
    (asked,) = await house.questions
    assert asked.state is QuestionState.OPEN, "what was planned and what was asked about it are kept together"
    await ledger.recover()
    await house.runs()
    assert (house.deed.runs, await house.state) == ([], TurnState.WAITING)
