"""Conversations that outgrow their model: summed up by a call of its own, at no moment half."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from holdfast.agents import ContextOverflow, Message, Metered, Replied, Role
from holdfast.model import Entry, Said, StopReason, Summed, TurnState, Usage
from holdfast.policy.turn.compaction import ASK
from tests.support.ledger import Ledger, address
from tests.support.stage import Deed, Stage, hangs, says, wants

LONG = "word " * 800
"""A thousand tokens."""
ROOM = 3_000


async def grown(ledger: Ledger) -> None:
    """Three turns have been; a fourth would be too much."""
    for number in range(3):
        await ledger.say(f"{number} {LONG}")
        await Stage(ledger, says(f"answer {number}")).run()


def summaries(entries: Sequence[Entry]) -> list[Summed]:
    return [entry.body for entry in entries if isinstance(entry.body, Summed)]


async def test_the_past_is_summed_up_before_it_is_too_much_and_stays_in_the_record(ledger: Ledger) -> None:
    await grown(ledger)
    await ledger.say("and now?")
    stage = Stage(ledger, Metered(says("They spoke."), Usage("m", 7, 3, 5)), says("now this"), room=ROOM)
    await stage.run()
    asked, shown = stage.model.shown
    assert asked[0].text.startswith(ASK)
    assert [message.role for message in shown] == [Role.NOTE, Role.USER, Role.ASSISTANT, Role.USER]
    assert "They spoke." in shown[0].text
    assert (await stage.told())[-1] == "now this"
    entries = await stage.entries()
    (summary,) = summaries(entries)
    assert (summary.first, summary.last) == (1, 4)
    assert sum(LONG in entry.body.text for entry in entries if isinstance(entry.body, Said)) == 3
    assert [part for part, _ in stage.previews if "They spoke" in part] == [], "nobody is shown a summary"
    turn = await stage.turn()
    assert (await ledger.store.spent(turn.id, address(), 0)).tokens == 10


async def test_the_next_turn_reads_the_summary_and_asks_for_none(ledger: Ledger) -> None:
    await grown(ledger)
    await ledger.say("and now?")
    await Stage(ledger, says("They spoke."), says("now this"), room=ROOM).run()
    await ledger.say("and then?")
    stage = Stage(ledger, says("then that"), room=ROOM)
    await stage.run()
    (shown,) = stage.model.shown
    assert [message.text[:9] for message in shown if message.role is not Role.NOTE][2:] == [
        "and now?",
        "now this",
        "and then?",
    ]


async def test_killed_while_it_is_summed_up_nothing_has_happened_and_it_is_tried_again(
    ledger: Ledger,
) -> None:
    await grown(ledger)
    await ledger.say("and now?")
    async with Stage(ledger, hangs, room=ROOM) as stage:
        await stage.model.asked.wait()
    assert summaries(await stage.entries()) == []
    await ledger.recover()
    stage = Stage(ledger, says("They spoke."), says("now this"), room=ROOM)
    await stage.run()
    assert len(summaries(await stage.entries())) == 1
    assert (await stage.told())[-1] == "now this"


async def test_killed_after_the_summary_it_stands_and_is_not_made_again(ledger: Ledger) -> None:
    await grown(ledger)
    await ledger.say("and now?")
    async with Stage(ledger, says("They spoke."), hangs, room=ROOM) as stage:
        while len(stage.model.shown) < 2:
            stage.model.asked.clear()
            await asyncio.wait_for(stage.model.asked.wait(), 60)
    assert len(summaries(await stage.entries())) == 1
    await ledger.recover()
    stage = Stage(ledger, says("now this"), room=ROOM)
    await stage.run()
    assert len(summaries(await stage.entries())) == 1
    assert (await stage.told())[-1] == "now this"


async def test_a_provider_that_says_it_is_too_much_is_asked_again_with_less(ledger: Ledger) -> None:
    await grown(ledger)
    await ledger.say("and now?")
    stage = Stage(ledger, ContextOverflow("too long"), says("They spoke."), says("now this"))
    await stage.run()
    assert (await stage.told())[-1] == "now this"
    assert [len(shown) for shown in stage.model.shown] == [7, 1, 4]


async def test_where_nothing_can_be_left_out_the_turn_ends_in_words(ledger: Ledger) -> None:
    await ledger.say(LONG)
    stage = Stage(ledger, ContextOverflow("too long"), ContextOverflow("too long"))
    await stage.run()
    assert (await stage.turn()).state is TurnState.FAILED
    (words,) = await stage.told()
    assert "larger than the model can read at once" in words
    assert "(too long)" in words
    assert len(stage.model.shown) == 1, "the same again would be as long"


@pytest.mark.parametrize(
    "bad",
    [replace(says("half"), finish=StopReason.CUT), replace(says("no"), finish=StopReason.FILTERED), says("")],
)
async def test_a_summary_that_is_none_is_not_kept_and_the_turn_goes_on(ledger: Ledger, bad: Replied) -> None:
    await grown(ledger)
    await ledger.say("and now?")
    stage = Stage(ledger, bad, says("now this"), room=ROOM)
    await stage.run()
    assert summaries(await stage.entries()) == []
    assert (await stage.told())[-1] == "now this"


async def test_long_results_of_the_open_turn_are_shown_shortened_and_kept_whole(ledger: Ledger) -> None:
    class Talks(Deed):
        async def run(self, context: object, arguments: str) -> str:
            return LONG * 3

    await ledger.say("go")
    stage = Stage(ledger, wants("deed"), says("done"), tools=[Talks()], room=ROOM)
    await stage.run()
    shown: tuple[Message, ...] = stage.model.shown[-1]
    assert "characters are left out here" in shown[-1].text
    ((_, kept),) = await stage.results()
    assert kept == LONG * 3
    assert (await stage.turn()).state is TurnState.DONE
