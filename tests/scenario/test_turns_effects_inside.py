"""A model whose reply has effects inside (`replies = EFFECT`): cut off, it is unknown and not repeated."""

from collections.abc import Mapping, Sequence

import pytest

from holdfast.agents import Message, Replied
from holdfast.model import EffectClass, Noted, NoteKind, StopKind, Tail, TurnState
from holdfast.policy.recovery.outcome import Outcome
from holdfast.policy.settings import RecoverySettings
from holdfast.recovery import Outside, Reconciler
from tests.support.ledger import PLATFORM, SERVED, Ledger, key
from tests.support.stage import Deed, Stage, hangs, says, soon, wants

ROW = "reply_unknown"


def inside(ledger: Ledger, *lines: object, **more: object) -> Stage:
    """A stage whose model pays bills in its reply."""
    stage = Stage(ledger, *lines, **more)  # type: ignore[arg-type] # as the stage has them
    stage.model.replies = EffectClass.EFFECT
    return stage


async def recovered(ledger: Ledger, crash: bool = True) -> Mapping[Outcome, int]:
    """A crash, and what recovery makes of it."""
    if crash:
        await ledger.crash()
    outside = Outside(frozenset({ledger.store.instance}), frozenset({PLATFORM}), SERVED, lambda _: True)
    return await Reconciler(ledger.store, ledger.clock, RecoverySettings(), lambda: outside).round()


async def notes(stage: Stage) -> list[Noted]:
    return [one.body for one in await stage.entries() if isinstance(one.body, Noted)]


@pytest.mark.guards("R2.3", "R7.2")
async def test_a_reply_with_effects_that_a_crash_cut_off_is_told_and_not_asked_for_again(
    ledger: Ledger,
) -> None:
    await ledger.say("pay the bill")
    async with inside(ledger, hangs) as stage:
        await soon(stage.model.asked.wait())
        assert (await stage.turn()).tail is Tail.REPLYING
    outcomes = await recovered(ledger)
    assert outcomes[Outcome.EXPIRE] == 1
    again = inside(ledger, says("never asked for"))
    await again.run()
    assert again.model.shown == []
    turn = await again.turn()
    assert (turn.state, turn.why) == (TurnState.EXPIRED, ROW)
    (told,) = await again.told()
    assert "may or may not have happened" in told
    assert await recovered(ledger, crash=False) == {}
    assert len(await again.told()) == 1
    await ledger.say("and now?")
    await again.run()
    assert [note.note for note in await notes(again)] == [NoteKind.REPLY_UNKNOWN]
    assert (await again.told())[-1] == "never asked for"


async def test_the_start_is_committed_before_the_model_is_asked(ledger: Ledger) -> None:
    found: list[Tail] = []

    async def looks(_: Sequence[Message]) -> Replied:
        found.append((await stage.turn()).tail)
        return says("paid")

    await ledger.say()
    stage = inside(ledger, looks)
    await stage.run()
    assert found == [Tail.REPLYING]
    assert (await stage.turn()).tail is Tail.ANSWER
    assert await stage.told() == ["paid"]


async def test_each_step_of_such_a_model_is_journaled_for_itself(ledger: Ledger) -> None:
    deed = Deed(effect=EffectClass.READ)
    await ledger.say()
    async with inside(ledger, wants("deed"), tools=[deed]) as stage:
        await soon(deed.running.wait())
        assert (await stage.turn()).tail is Tail.WORK
    # Cut off between two replies, nothing is unknown: the work goes on.
    deed.release.set()
    assert (await recovered(ledger))[Outcome.RESUME] == 1
    again = inside(ledger, says("done"), tools=[deed])
    await again.run()
    assert await again.told() == ["done"]


@pytest.mark.guards("R1.4")
async def test_a_stop_in_the_middle_of_such_a_reply_leaves_what_was_written_and_no_note(
    ledger: Ledger,
) -> None:
    await ledger.say()
    async with inside(ledger, hangs, says("next")) as stage:
        await soon(stage.model.asked.wait())
        stage.model.on_text("Paying")
        await ledger.store.stop(key(), StopKind.STOP, None)
        await stage.quiet()
        await ledger.say("well?")
        await stage.leave_after_answer("next")
    assert await notes(stage) == []
    assert "Paying" in [message.text for message in stage.model.shown[-1]]


async def test_a_drain_that_cuts_such_a_reply_leaves_it_unknown_as_well(ledger: Ledger) -> None:
    await ledger.say()
    async with inside(ledger, hangs) as stage:
        await soon(stage.model.asked.wait())
        await soon(stage.pool.cut("restart_timeout"))
    assert (await recovered(ledger))[Outcome.EXPIRE] == 1
    assert (await stage.turn()).why == ROW


async def test_a_model_that_may_be_asked_again_is_resumed_as_ever(ledger: Ledger) -> None:
    await ledger.say()
    async with Stage(ledger, hangs) as stage:
        await soon(stage.model.asked.wait())
        assert (await stage.turn()).tail is Tail.MESSAGE
    assert (await recovered(ledger))[Outcome.RESUME] == 1


async def test_a_reply_has_a_key_that_is_the_same_when_it_is_asked_for_again(ledger: Ledger) -> None:
    await ledger.say()
    async with Stage(ledger, hangs) as stage:
        await soon(stage.model.asked.wait())
    await ledger.recover()
    again = Stage(ledger, wants("deed"), says(), tools=[Deed(held=False)])
    await again.run()
    first, (second, third) = stage.model.keys[0], again.model.keys
    assert first == second
    assert third != second
