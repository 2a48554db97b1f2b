"""In a conversation that several people share: what the gateway asks about somebody's work, only they answer.

What a model asks and what needs consent is in tests/scenario/test_asking_people.py and test_approvals.py.
"""

from collections.abc import Awaitable, Callable

import pytest

from holdfast.agents import Metered, Usage
from holdfast.inbox import CommandContext, Commands
from holdfast.model import (
    InboxState,
    OnInterruption,
    ProcessId,
    ProcessState,
    QuestionId,
    QuestionRecord,
    QuestionState,
    StopKind,
    TurnState,
)
from holdfast.policy.intake.access import Access
from holdfast.policy.settings import LimitSettings, RecoverySettings, TurnSettings
from holdfast.recovery import Outside, Reconciler
from tests.support.ledger import ANN, BOB, PLATFORM, SERVED, Ledger, key, result, spawned
from tests.support.platforms import HalfRng
from tests.support.stage import Deed, Stage, says, wants

LIMITED = TurnSettings(limits=LimitSettings(steps=1))
DAILY = TurnSettings(limits=LimitSettings(steps=0, day_cost=1_000_000))
DEAR = Metered(wants("deed"), Usage("big", 0, 0, 1_000_000))


async def at_a_limit(ledger: Ledger, settings: TurnSettings = LIMITED) -> Stage:
    """Ann's work has reached a limit, and asks her."""
    await ledger.say("much", sender=ANN)
    lines = (DEAR, says("done"))
    stage = Stage(ledger, *lines, tools=[Deed(held=False)], settings=settings)
    await stage.run()
    return stage


async def cut_off(ledger: Ledger) -> Stage:
    """Ann's work was cut off where it is asked about before it goes on."""
    await ledger.say("much", sender=ANN)
    await ledger.claim()
    await ledger.crash()

    def outside() -> Outside:
        alive, connected = frozenset({ledger.store.instance}), frozenset({PLATFORM})
        return Outside(alive, connected, SERVED, lambda _: True, on_interruption=OnInterruption.ASK)

    await Reconciler(ledger.store, ledger.clock, RecoverySettings(), outside).round()
    return Stage(ledger, says("done"))


async def about_a_days_limit(ledger: Ledger) -> Stage:
    return await at_a_limit(ledger, DAILY)


async def question(stage: Stage) -> QuestionRecord:
    (found,) = await stage.ledger.store.questions(((await stage.turn()).id,))
    return found


async def carry_out(ledger: Ledger, owner: bool = False) -> None:
    people = frozenset({ANN, BOB})
    access = Access(owners=people if owner else frozenset(), people=people)
    await Commands(CommandContext(ledger.store, ledger.clock, lambda: access), HalfRng()).carry_out_all()


Asks = Callable[[Ledger], Awaitable[Stage]]
every_question = pytest.mark.parametrize("wondering", [at_a_limit, about_a_days_limit, cut_off])


@pytest.mark.guards("R13", "R18", "R6.4")
@every_question
@pytest.mark.parametrize("text", ["continue", "1", "yes", "stop", "drop", "2", "no", "what is it about?"])
async def test_what_another_person_writes_is_no_answer_and_drops_nothing(
    ledger: Ledger, wondering: Asks, text: str
) -> None:
    stage = await wondering(ledger)
    asked = await question(stage)
    said = await ledger.say(text, sender=BOB)
    assert (await ledger.store.row(said)).state is InboxState.WAITING
    assert (await question(stage)).state is QuestionState.OPEN
    assert (await stage.turn()).state is TurnState.WAITING
    assert "First I wait for an answer to:" in (await ledger.outbox())[-1].text
    await ledger.say("continue", sender=ANN)
    closed = await question(stage)
    assert (closed.id, closed.state, closed.answered_by) == (asked.id, QuestionState.ANSWERED, ANN)
    assert (await stage.turn()).state is TurnState.QUEUED


@pytest.mark.guards("R13", "R18", "R6.4")
@every_question
@pytest.mark.parametrize("label", [0, 1])
async def test_a_button_is_for_the_person_whose_work_it_is(
    ledger: Ledger, wondering: Asks, label: int
) -> None:
    stage = await wondering(ledger)
    asked = await question(stage)
    pressed = await ledger.say(asked.options[label], sender=BOB, pressed=QuestionId(asked.id))
    row = await ledger.store.row(pressed)
    assert (row.state, row.reason) == (InboxState.REFUSED, "not_asked")
    assert (await question(stage)).state is QuestionState.OPEN
    assert "for another person" in (await ledger.outbox())[-1].text
    await ledger.say(asked.options[1], sender=ANN, pressed=QuestionId(asked.id))
    assert (await stage.turn()).state is TurnState.CANCELLED


@pytest.mark.guards("R13", "R18", "R6.4")
@every_question
async def test_resume_answers_it_for_the_person_and_for_an_owner_only(
    ledger: Ledger, wondering: Asks
) -> None:
    stage = await wondering(ledger)
    await ledger.command("/resume", sender=BOB)
    await carry_out(ledger)
    assert (await question(stage)).state is QuestionState.OPEN
    assert "Only they or an owner" in (await ledger.outbox())[-1].text
    await ledger.command("/resume", sender=BOB)
    await carry_out(ledger, owner=True)
    assert (await question(stage)).state is QuestionState.ANSWERED


@pytest.mark.guards("R18")
async def test_a_days_limit_that_one_person_lifts_is_lifted_for_the_chat_and_only_by_who_was_asked(
    ledger: Ledger,
) -> None:
    """The count is the chat's. Each turn that reaches it asks the person whose turn it is."""
    stage = await about_a_days_limit(ledger)
    await ledger.say("stop", sender=ANN)
    await ledger.say("mine", sender=BOB)
    await stage.run()
    asked = await question(stage)
    assert (asked.asked_of, (await stage.turn()).state) == (BOB, TurnState.WAITING)
    await ledger.say("continue", sender=ANN)
    assert (await question(stage)).state is QuestionState.OPEN
    await ledger.store.stop(key(), StopKind.STOP, None)


@pytest.mark.guards("R11.2", "R18")
async def test_work_that_a_background_process_woke_is_the_work_of_who_had_it_started(ledger: Ledger) -> None:
    begun = await ledger.begin()
    assert begun.cause.person == ANN
    await ledger.start(begun.fence, "c1")
    await ledger.append(begun.fence, result("c1"), spawn=(spawned(),))
    await ledger.finish(begun.fence)
    await ledger.store.end_process(ProcessId("p1"), ProcessState.EXITED, 0)
    stage = Stage(ledger, DEAR, says("done"), tools=[Deed(held=False)], settings=LIMITED)
    await stage.run()
    assert ((await stage.turn()).state, (await question(stage)).asked_of) == (TurnState.WAITING, ANN)
    await ledger.say("continue", sender=BOB)
    assert (await question(stage)).state is QuestionState.OPEN
