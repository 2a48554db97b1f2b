"""What is shown of a reply while it is written: gone with its commit, and never of a run that is over."""

from holdfast.agents import ModelError
from holdfast.model import StopKind
from tests.support.ledger import Ledger, key
from tests.support.stage import Deed, Stage, hangs, says, soon, wants


async def test_text_is_shown_while_it_is_written_and_gone_once_its_step_is_committed(ledger: Ledger) -> None:
    await ledger.say()
    stage = Stage(ledger, wants("deed", text="I begin"), says("done"), tools=[Deed(held=False)])
    await stage.run()
    assert stage.previews == [
        ("I begin", ("claim_ready",)),
        ("", ("record",)),
        ("done", ("record",)),
        ("", ("finish",)),
    ]


async def test_a_model_that_is_asked_again_leaves_nothing_shown_meanwhile(ledger: Ledger) -> None:
    await ledger.say()
    async with Stage(ledger, ModelError("busy", transient=True), says()) as stage:
        stage.model.before_failing = "half a"
        await stage.clock.nap(1.0)
        assert [text for text, _ in stage.previews] == ["half a", ""]


async def test_a_run_that_was_cut_off_shows_nothing_any_more(ledger: Ledger) -> None:
    await ledger.say()
    async with Stage(ledger, hangs) as stage:
        await soon(stage.model.asked.wait())
        stage.model.on_text("half a sen")
        await ledger.store.stop(key(), StopKind.STOP, None)
        await stage.quiet()
        stage.model.on_text("half a sentence")
    assert [text for text, _ in stage.previews] == ["half a sen", ""]
