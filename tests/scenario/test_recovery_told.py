"""What recovery tells, asks and keeps, and what it does while the ledger or an operator acts beside it."""

from typing import Any

import pytest

from holdfast.errors import ConstraintBroken, DiskFull, WrongState
from holdfast.model import (
    AskedBy,
    ChatSettings,
    OnInterruption,
    OwedKind,
    Partial,
    QuestionState,
    StopKind,
    Tail,
    TurnState,
)
from holdfast.policy.recovery.outcome import Outcome
from holdfast.policy.settings import HOUR, MINUTE
from holdfast.recovery import SAFE_MODE_OFF, SAFE_MODE_ON, Care
from holdfast.recovery.verdicts import UNREADABLE_ANSWER
from tests.scenario.test_recovery_loop import OWNER, end, reconciler, run, told
from tests.support.ledger import ANN, Ledger, address, answers, key
from tests.support.platforms import Reports, failing, watch
from tests.support.stage import soon

HALF = "The answer has two halves. The first"


async def cut_in_a_reply(ledger: Ledger, stop: StopKind | None = None, chat: str = "c1") -> None:
    """Work whose reply the person saw half of when the process died, asked to stop or not."""
    claimed = await ledger.begin(chat=chat)
    await ledger.store.progress(claimed.fence, (Partial(HALF, after=claimed.entries[-1].seq),))
    if stop is not None:
        await ledger.store.stop(key(chat), stop, None)
    await ledger.crash()
    await ledger.store.interrupt_orphans()


@pytest.mark.guards("R24.3")
@pytest.mark.parametrize(("stop", "mark"), [(None, "[Cut off here.]"), (StopKind.STOP, "[Stopped here.]")])
async def test_the_half_of_a_reply_that_a_person_saw_stays_when_its_work_does_not_go_on(
    ledger: Ledger, stop: StopKind | None, mark: str
) -> None:
    await cut_in_a_reply(ledger, stop)
    if stop is None:
        ledger.clock.advance(5 * HOUR)
        ledger.clock.reboot()
    await reconciler(ledger).round()
    assert (await told(ledger, "c1"))[0] == f"{HALF}\n\n{mark}"


@pytest.mark.guards("R24.3", "R8.4")
async def test_the_half_of_a_reply_that_a_person_saw_stays_when_its_conversation_is_parked(
    ledger: Ledger,
) -> None:
    claimed = await ledger.begin()
    for _ in range(3):
        await ledger.store.progress(claimed.fence, (Partial(HALF, after=claimed.entries[-1].seq),))
        await ledger.crash()
        await ledger.store.interrupt_orphans()
        if (await reconciler(ledger).round())[Outcome.PARK]:
            break
        claimed = await ledger.claim()
    assert f"{HALF}\n\n[Cut off here.]" in await told(ledger, "c1")
    assert (await ledger.turn(claimed.session.id)).state is TurnState.PARKED


@pytest.mark.guards("R20")
async def test_of_a_reply_that_is_to_be_forgotten_nothing_is_sent_once_more(ledger: Ledger) -> None:
    await cut_in_a_reply(ledger, StopKind.FORGET)
    await reconciler(ledger).round()
    assert [text for text in await told(ledger, "c1") if HALF in text] == []


@pytest.mark.guards("R16")
async def test_an_answer_of_which_nothing_is_left_is_told_as_such(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.append(claimed.fence, answers(""), tail=Tail.ANSWER)
    await ledger.crash()
    await reconciler(ledger).round()
    assert await told(ledger, "c1") == [UNREADABLE_ANSWER]


@pytest.mark.guards("R8.4", "R21")
async def test_the_notices_of_a_park_have_a_button_that_resumes_it(ledger: Ledger) -> None:
    await ledger.complete(chat="owner")
    session = await ledger.die(3)
    await reconciler(ledger, care=Care(owner=OWNER)).round()
    for chat in ("c1", "owner"):
        (part,) = await ledger.outbox(chat)
        assert (part.kind, part.options) == (OwedKind.NOTICE, (f"/resume {session}",))


@pytest.mark.guards("R13", "R8.3")
async def test_continue_or_drop_is_asked_of_the_person_whose_work_it_is(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.recover()
    again = await ledger.claim()
    await ledger.store.request(SAFE_MODE_ON, "cli:1")
    await ledger.crash()
    assert await reconciler(ledger).round() == {Outcome.ASK: 1}
    (asked,) = await ledger.store.questions((again.turn.id,))
    assert (asked.state, asked.asked_of, asked.options) == (QuestionState.OPEN, ANN, ("continue", "drop"))
    (part,) = await ledger.outbox()
    assert (part.kind, part.options, part.turn) == (
        OwedKind.QUESTION,
        ("continue", "drop"),
        claimed.turn.id,
    )
    ledger.clock.advance(5 * HOUR)
    assert await reconciler(ledger).round() == {}
    (asked,) = await ledger.store.questions((again.turn.id,))
    assert asked.state is QuestionState.OPEN, "no time is up while safe mode is on"


@pytest.mark.guards("R8.3", "R6.4")
async def test_what_recovery_asked_before_safe_mode_stays_open_as_long_as_safe_mode_lasts(
    ledger: Ledger,
) -> None:
    claimed = await ledger.begin()
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    await ledger.settle("chat_says_ask", ask=ledger.question("go on?", None, asked_by=AskedBy.CHAT))
    await ledger.store.request(SAFE_MODE_ON, "cli:1")
    at_work = reconciler(ledger)
    for _ in range(18):
        await at_work.round()
        ledger.clock.advance(10 * MINUTE)
    (asked,) = await ledger.store.questions((claimed.turn.id,))
    assert asked.state is QuestionState.OPEN
    await ledger.store.request(SAFE_MODE_OFF, "cli:2")
    await at_work.round()
    assert (await ledger.turn(claimed.session.id)).state is not TurnState.CANCELLED


# Safe mode, as operators ask for it.


@pytest.mark.guards("R8.3")
async def test_the_owner_is_told_once_however_often_safe_mode_is_put_on(ledger: Ledger) -> None:
    await ledger.complete(chat="owner")
    for n in range(3):
        await ledger.store.request(SAFE_MODE_ON, f"cli:{n}")
        await reconciler(ledger, care=Care(owner=OWNER)).round()
        ledger.clock.advance(MINUTE)
    assert len(await told(ledger, "owner")) == 1


async def test_a_request_that_somebody_else_has_settled_is_reported_and_holds_up_nothing(
    ledger: Ledger,
) -> None:
    reports = Reports()
    await ledger.store.request(SAFE_MODE_OFF, "cli:1")
    (request,) = await ledger.store.requests()
    store = failing(ledger.store, settle_request=[WrongState("request", "settled", "open")])
    at_work = reconciler(ledger, store, report=reports)
    await at_work.round()
    assert reports.doing == [f"settling request {request.id}"]
    await at_work.round()
    assert await ledger.store.requests() == ()


async def test_before_the_first_look_safe_mode_says_why_it_is_on(ledger: Ledger) -> None:
    at_work = reconciler(ledger)
    assert (at_work.safe_mode.active, at_work.safe_mode.why) == (
        True,
        "the gateway has not read the ledger yet",
    )
    await at_work.round()
    assert not at_work.safe_mode.active


@pytest.mark.guards("R5")
@pytest.mark.parametrize("jump", [5 * HOUR, -5 * HOUR])
async def test_work_is_as_old_as_the_machine_says_whatever_the_wall_clock_was_set_to(
    ledger: Ledger, jump: int
) -> None:
    await ledger.begin()
    await ledger.crash()
    ledger.clock.jump(jump)
    assert await reconciler(ledger).round() == {Outcome.RESUME: 1}


# At work.


async def test_after_a_round_that_went_well_the_next_fault_is_the_first_one_again(ledger: Ledger) -> None:
    slept = watch(ledger.clock)
    full = DiskFull("full")
    faults: list[Exception] = [full, full]
    working = await run(reconciler(ledger, failing(ledger.store, doubt_orphans=faults)))
    waits = (0.375, 0.75)
    for _ in range(2):
        for wait in waits:
            await soon(slept.until(wait))
            slept.asked.clear()
            ledger.clock.advance(round(wait * 1_000))
        await soon(slept.until(5.0))
        faults += [full, full]
        ledger.clock.advance(5_000)
        await soon(slept.until(0.2))
        ledger.clock.advance(200)
    await end(working)


async def test_what_is_old_is_forgotten_by_a_reconciler_that_runs(ledger: Ledger) -> None:
    retained: list[Any] = []

    class Counting:
        def __getattr__(self, verb: str) -> Any:
            return getattr(ledger.store, verb)

        async def retain(self, keep: Any) -> int:
            retained.append(keep)
            return 0

    slept, care = watch(ledger.clock), Care(every=1_000)
    working = await run(reconciler(ledger, Counting(), care=care))  # type: ignore[arg-type]
    await soon(slept.until(1.0))
    assert retained == [care.keep]
    await end(working)


async def test_a_page_that_the_ledger_refuses_is_reported(ledger: Ledger) -> None:
    await ledger.begin()
    await ledger.crash()
    reports = Reports()
    store = failing(ledger.store, settle_stale=[ConstraintBroken("a rule of the schema")])
    assert await reconciler(ledger, store, report=reports).round() == {Outcome.RESUME: 1}
    assert reports.doing == ["writing a page of decisions"]


async def test_a_park_behind_other_work_of_its_page_is_found_before_chats_hear_of_safe_mode(
    ledger: Ledger,
) -> None:
    """Five crashes would put safe mode on; the park of the turn that caused three of them keeps it off."""
    innocent = [await ledger.begin(chat=f"c{n}") for n in range(2, 5)]
    for claimed in innocent:
        await ledger.store.interrupt(claimed.fence, "restart_timeout")
    for _ in range(2):
        ledger.clock.advance(MINUTE)
        await ledger.store.heartbeat()
        await ledger.crash()
    await ledger.die(3)
    outcomes = await reconciler(ledger).round()
    assert (outcomes[Outcome.PARK], outcomes[Outcome.HOLD]) == (1, 0)
    for n in range(2, 5):
        assert await told(ledger, f"c{n}") == []


@pytest.mark.guards("R6.4", "R13")
async def test_in_a_chat_that_wants_to_be_asked_work_without_an_answer_is_dropped_after_a_while(
    ledger: Ledger,
) -> None:
    claimed = await ledger.begin()
    await ledger.store.configure_chat(address(), ChatSettings(on_interruption=OnInterruption.ASK))
    await ledger.crash()
    at_work = reconciler(ledger)
    assert await at_work.round() == {Outcome.ASK: 1}
    ledger.clock.advance(2 * HOUR)
    await at_work.round()
    (asked,) = await ledger.store.questions((claimed.turn.id,))
    assert asked.state is QuestionState.EXPIRED
    assert (await ledger.turn(claimed.session.id)).state is TurnState.CANCELLED
