"""`/stop` and `/new`: what they end stays ended, what came after them is kept."""

import pytest

from holdfast.errors import StaleWrite, WrongState
from holdfast.model import Began, Claimed, InboxKind, InboxState, QuestionState, StopKind, TurnState
from holdfast.store import StopOutcome
from tests.support.ledger import Ledger, key, never_asked, owed

FOUND = ("waiting", "interrupted", "held", "queued", "put back")


async def unfinished(ledger: Ledger, how: str) -> Claimed:
    """A turn that nobody runs, in one of the ways there are."""
    claimed = await ledger.begin("the work")
    match how:
        case "waiting":
            await ledger.ask(claimed.fence)
        case "put back":
            await ledger.store.put_back(claimed.fence)
        case _:
            await ledger.store.interrupt(claimed.fence, "restart_timeout")
    if how == "queued":
        await ledger.settle("resume")
    if how == "held":
        await ledger.settle("platform_down")
    return claimed


@pytest.mark.parametrize("kind", list(StopKind))
async def test_with_nothing_to_stop_nothing_is_stopped(ledger: Ledger, kind: StopKind) -> None:
    command = await ledger.command()
    stop = await ledger.store.stop(key(), kind, command, lambda found: (owed("told"),))
    assert (stop.outcome, stop.turn, stop.session) == (StopOutcome.NOTHING, None, None)
    assert (await ledger.store.row(command)).state is InboxState.EXECUTED
    assert [sent.dedupe for sent in await ledger.outbox()] == ["told"]


@pytest.mark.parametrize("how", FOUND)
async def test_stop_ends_what_nobody_runs_and_keeps_session_and_messages(ledger: Ledger, how: str) -> None:
    claimed = await unfinished(ledger, how)
    before = await ledger.store.session(claimed.session.id)
    await ledger.word("waits")
    stop = await ledger.store.stop(key(), StopKind.STOP, await ledger.command())
    assert (stop.outcome, stop.turn, stop.withdrawn) == (StopOutcome.ENDED, claimed.turn.id, ())
    turn = await ledger.turn(claimed.session.id)
    assert (turn.state, turn.why, turn.held) == (TurnState.CANCELLED, StopKind.STOP, None)
    session = await ledger.store.session(claimed.session.id)
    assert (session.generation, session.incarnation) == (before.generation + 1, before.incarnation)
    following = await ledger.claim(never_asked)
    assert (following.session.id, following.fresh, len(following.entries)) == (session.id, False, 1)
    assert following.cause.text == "waits"


@pytest.mark.parametrize("how", FOUND)
async def test_new_ends_the_session_and_withdraws_what_waited_before_it(ledger: Ledger, how: str) -> None:
    claimed = await unfinished(ledger, how)
    before = await ledger.store.session(claimed.session.id)
    waited = [await ledger.word("one"), await ledger.word("two")]
    command = await ledger.command("/new")
    after = await ledger.say("after")
    stop = await ledger.store.stop(key(), StopKind.NEW, command)
    assert (stop.outcome, stop.turn, stop.session) == (
        StopOutcome.ENDED,
        claimed.turn.id,
        claimed.session.id,
    )
    assert stop.withdrawn == ("one", "two")
    assert {(await ledger.store.row(position)).state for position in waited} == {InboxState.WITHDRAWN}
    ended = await ledger.store.session(claimed.session.id)
    assert (ended.ended_why, ended.incarnation) == ("new", before.incarnation + 1)
    assert ended.generation > before.generation

    following = await ledger.claim(never_asked)
    assert (following.cause.position, following.session.began) == (after, Began.NEW)
    assert len(following.entries) == 1, "what was ended leaves no note"


@pytest.mark.parametrize("kind", [StopKind.STOP, StopKind.INTERRUPT])
async def test_stop_asks_a_running_turn_and_its_owner_ends_it(ledger: Ledger, kind: StopKind) -> None:
    claimed = await ledger.begin()
    await ledger.say("waits")
    stop = await ledger.store.stop(key(), kind, await ledger.command())
    assert (stop.outcome, stop.turn) == (StopOutcome.ASKED, claimed.turn.id)
    assert (await ledger.turn(claimed.session.id)).stop is kind
    assert await ledger.try_claim() is None
    await ledger.finish(claimed.fence, TurnState.CANCELLED, owed("stopped"))
    following = await ledger.claim(never_asked)
    assert (following.cause.text, following.session.id) == ("waits", claimed.session.id)


async def test_new_asks_a_running_turn_and_the_session_ends_with_it(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    waited = await ledger.say("waits")
    stop = await ledger.store.stop(key(), StopKind.NEW, await ledger.command("/new"))
    assert (stop.outcome, stop.withdrawn) == (StopOutcome.ASKED, ("waits",))
    assert (await ledger.store.row(waited)).state is InboxState.WITHDRAWN
    after = await ledger.say("after")
    assert await ledger.try_claim() is None

    await ledger.finish(claimed.fence, TurnState.CANCELLED)
    assert (await ledger.store.session(claimed.session.id)).ended_why == "new"
    following = await ledger.claim(never_asked)
    assert (following.cause.position, following.session.began) == (after, Began.NEW)


@pytest.mark.parametrize("kind", [StopKind.STOP, StopKind.NEW])
async def test_a_stop_whose_owner_died_is_carried_out_by_recovery(ledger: Ledger, kind: StopKind) -> None:
    claimed = await ledger.begin()
    await ledger.store.stop(key(), kind, await ledger.command())
    after = await ledger.say("after")
    await ledger.recover("stop_asked")
    assert (await ledger.turn(claimed.session.id)).state is TurnState.CANCELLED
    following = await ledger.claim(never_asked)
    assert following.cause.position == after
    assert following.fresh is (kind is StopKind.NEW)
    assert len(following.entries) == 1


@pytest.mark.parametrize("later", [StopKind.STOP, StopKind.INTERRUPT])
async def test_a_later_stop_does_not_take_a_new_beginning_back(ledger: Ledger, later: StopKind) -> None:
    claimed = await ledger.begin()
    await ledger.store.stop(key(), StopKind.NEW, None)
    await ledger.store.stop(key(), later, None)
    await ledger.finish(claimed.fence, TurnState.CANCELLED)
    assert (await ledger.store.session(claimed.session.id)).ended_why == "new"


@pytest.mark.parametrize("kind", [StopKind.STOP, StopKind.NEW])
async def test_a_redelivered_command_stops_nothing_a_second_time(ledger: Ledger, kind: StopKind) -> None:
    await ledger.begin("first")
    command = await ledger.command()
    await ledger.store.stop(key(), kind, command)
    await ledger.recover("stop_asked")
    await ledger.begin("second")
    async with ledger.refused(WrongState):
        await ledger.store.stop(key(), kind, command, lambda found: (owed("told again"),))


@pytest.mark.parametrize("kind", [StopKind.STOP, StopKind.NEW])
@pytest.mark.parametrize("how", FOUND)
async def test_what_was_ended_stays_ended_after_any_restart(ledger: Ledger, how: str, kind: StopKind) -> None:
    claimed = await unfinished(ledger, how)
    await ledger.store.stop(key(), kind, None)
    for _ in range(2):
        await ledger.crash()
        assert await ledger.store.interrupt_orphans() == 0
        assert await ledger.store.stale_turns() == ()
        assert await ledger.try_claim() is None
    assert (await ledger.turn(claimed.session.id)).state is TurnState.CANCELLED


async def test_stop_cancels_the_question_that_is_open(ledger: Ledger) -> None:
    claimed = await unfinished(ledger, "waiting")
    await ledger.store.stop(key(), StopKind.STOP, None)
    (question,) = (await ledger.store.journal(claimed.turn.id, 1)).questions
    assert question.state is QuestionState.CANCELLED
    assert await ledger.expired() == ()


async def test_new_on_a_finished_conversation_ends_its_session(ledger: Ledger) -> None:
    claimed = await ledger.complete()
    stop = await ledger.store.stop(key(), StopKind.NEW, None)
    assert (stop.outcome, stop.session) == (StopOutcome.NOTHING, claimed.session.id)
    assert await ledger.store.live_session(key()) is None
    again = await ledger.store.stop(key(), StopKind.NEW, None)
    assert (again.outcome, again.session) == (StopOutcome.NOTHING, None)


async def test_new_before_any_session_withdraws_what_waits(ledger: Ledger) -> None:
    await ledger.say("never mind")
    stop = await ledger.store.stop(key(), StopKind.NEW, await ledger.command("/new"))
    assert stop.withdrawn == ("never mind",)
    assert await ledger.try_claim() is None


async def test_stop_reaches_only_its_own_conversation(ledger: Ledger) -> None:
    one = await ledger.begin(chat="c1")
    two = await ledger.begin(chat="c2")
    await ledger.store.stop(key("c1"), StopKind.NEW, None)
    await ledger.finish(one.fence, TurnState.CANCELLED)
    await ledger.finish(two.fence)


async def test_a_wakeup_that_comes_while_a_new_beginning_is_asked_for_dies_with_the_session(
    ledger: Ledger,
) -> None:
    claimed = await ledger.begin()
    early = await ledger.say("early", kind=InboxKind.WAKEUP, incarnation=claimed.session.incarnation)
    stop = await ledger.store.stop(key(), StopKind.NEW, await ledger.command("/new"))
    assert stop.withdrawn == (), "a wake-up is not a message a person wrote"
    late = await ledger.say("late", kind=InboxKind.WAKEUP, incarnation=claimed.session.incarnation)
    await ledger.finish(claimed.fence, TurnState.CANCELLED)
    for position in (early, late):
        assert (await ledger.store.row(position)).state is InboxState.DROPPED
    async with ledger.unchanged():
        assert await ledger.try_claim() is None


async def test_the_owner_of_a_stopped_turn_writes_nothing_after_its_end(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.store.stop(key(), StopKind.STOP, None)
    await ledger.finish(claimed.fence, TurnState.CANCELLED)
    async with ledger.refused(StaleWrite):
        await ledger.finish(claimed.fence, TurnState.CANCELLED)


async def test_what_was_asked_to_stop_is_listed_while_this_process_runs_it(ledger: Ledger) -> None:
    running = [await ledger.begin(chat=f"c{n}") for n in range(3)]
    assert await ledger.store.stops() == ()
    for chat in ("c2", "c0"):
        seen = ledger.store.version("stops")
        await ledger.store.stop(key(chat), StopKind.STOP, None)
        assert ledger.store.version("stops") > seen
    assert await ledger.store.stops() == (running[0].turn.id, running[2].turn.id)
    await ledger.finish(running[0].fence, TurnState.CANCELLED)
    assert await ledger.store.stops() == (running[2].turn.id,)
    await ledger.crash()
    assert await ledger.store.stops() == (), "recovery carries out what a dead process was asked"
