"""What a drill with default settings says of messages that were kept and not answered."""

from pathlib import Path

from holdfast.cli.drill.count import PersonLog
from holdfast.cli.drill.fates import look_for
from holdfast.clock import SystemClock, SystemIds
from holdfast.model import (
    Batch,
    Inbound,
    Key,
    Owed,
    OwedKind,
    PersonId,
    Place,
    Stopped,
    StrikeRecord,
    TurnState,
)
from holdfast.policy.recovery.outcome import decide, told_once
from holdfast.policy.settings import RecoverySettings, ResetSettings
from holdfast.store import ClaimSettings, Verdict, open_ledger
from tests.support.judging import ANY_FACTS, judged
from tests.support.ledger import never_asked
from tests.support.loops import on_a_loop

PLACE = Place("web", "main", "p1")


@on_a_loop
async def test_waiting_visibly_is_told_from_waiting_in_silence_and_from_being_gone(tmp_path: Path) -> None:
    clock = SystemClock()
    store = await open_ledger(tmp_path, clock, SystemIds(clock))
    settings = ClaimSettings(ResetSettings(), RecoverySettings())

    async def say(name: str) -> None:
        row = Inbound(name, Key(PLACE.address), PLACE, PersonId("web:local"), name)
        await store.accept(Batch("web/main", (row,)))

    await say("dropped")
    claimed = await store.claim(settings, never_asked)
    assert claimed is not None
    await say("queued")
    await store.finish(claimed.fence, TurnState.CANCELLED, why="dropped_by_other_message")
    claimed = await store.claim(settings, never_asked)
    assert claimed is not None
    seen = PersonLog("p1", sent=["dropped", "queued", "unknown"], kept={"dropped", "queued", "unknown"})
    found = await look_for(tmp_path, clock, [seen])
    assert (found.parked, found.excused) == ([], frozenset({"queued"}))
    assert found.wrong == [
        "p1: dropped is cancelled (dropped_by_other_message)",
        "p1: unknown was kept, and the ledger does not know it",
    ]
    await store.finish(claimed.fence, TurnState.DONE)
    await say("silent")
    claimed = await store.claim(settings, never_asked)
    assert claimed is not None
    silent = PersonLog("p1", sent=["silent"], kept={"silent"})
    assert (await look_for(tmp_path, clock, [silent])).wrong == [
        "p1: silent waits, and the chat was not told"
    ]
    told = Owed(PLACE.address, f"safe_mode:{claimed.turn.id}:1", ("paused",), OwedKind.NOTICE)
    await store.owe(told)
    assert (await look_for(tmp_path, clock, [silent])).waiting == ["silent"]
    await store.end_instance(Stopped.STOPPED)
    await store.close()


@on_a_loop
async def test_work_that_was_dropped_counts_as_dropped_also_when_later_work_answered_its_message(
    tmp_path: Path,
) -> None:
    clock = SystemClock()
    store = await open_ledger(tmp_path, clock, SystemIds(clock))
    settings = ClaimSettings(ResetSettings(), RecoverySettings())
    for name, state in (("p1-1", TurnState.CANCELLED), ("p1-2", TurnState.DONE)):
        row = Inbound(name, Key(PLACE.address), PLACE, PersonId("web:local"), name)
        await store.accept(Batch("web/main", (row,)))
        claimed = await store.claim(settings, never_asked)
        assert claimed is not None
        await store.finish(claimed.fence, state, why="safe_mode" if state is TurnState.CANCELLED else None)
    replies = [(1, "answer to p1-1, p1-2")]
    seen = PersonLog("p1", sent=["p1-1", "p1-2"], kept={"p1-1", "p1-2"}, replies=replies)
    found = await look_for(tmp_path, clock, [seen])
    assert found.wrong == ["p1: p1-1 is cancelled (safe_mode), and later work answered it"]
    assert (seen.unanswered(), found.excused) == ([], frozenset())
    await store.end_instance(Stopped.STOPPED)
    await store.close()


@on_a_loop
async def test_a_message_that_waits_for_an_owner_is_told_by_the_words_of_the_park(tmp_path: Path) -> None:
    clock = SystemClock()
    store = await open_ledger(tmp_path, clock, SystemIds(clock))
    settings = RecoverySettings()
    for name in ("fatal", "next"):
        row = Inbound(name, Key(PLACE.address), PLACE, PersonId("web:local"), name)
        await store.accept(Batch("web/main", (row,)))
    claimed = await store.claim(ClaimSettings(ResetSettings(), settings), never_asked)
    assert claimed is not None
    await store.interrupt(claimed.fence, "restart_interrupted")
    (stale,) = await store.stale_turns()
    third = decide(ANY_FACTS._replace(strikes=3, record=StrikeRecord(deaths=3, parks=2)), 0, settings)
    once = told_once(third.row, stale.turn, 1)
    told = Owed(PLACE.address, once, ("your messages now wait",), OwedKind.NOTICE)
    seen = PersonLog("p1", sent=["fatal", "next"], kept={"fatal", "next"})
    verdict = Verdict(stale, third, (told,))
    await store.settle_stale((), lambda page, now, entries_of: judged(verdict))
    found = await look_for(tmp_path, clock, [seen])
    assert (found.parked, found.waiting, found.wrong) == (["fatal"], ["next"], [])
    await store.end_instance(Stopped.STOPPED)
    await store.close()
