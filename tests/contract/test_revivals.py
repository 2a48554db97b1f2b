"""Undo, retry, resume: a command is carried out once, whole, or not at all."""

import pytest

from holdfast.errors import NotFound, WrongState
from holdfast.model import (
    Attachment,
    Began,
    Claimed,
    InboxKind,
    InboxState,
    QuestionState,
    Said,
    SessionId,
    StopKind,
    Summed,
    TurnState,
    Undone,
)
from holdfast.policy.settings import DAY, HOUR, ResetSettings
from holdfast.store import Edit, Verdict
from tests.support.judging import rule
from tests.support.ledger import ANN, BOB, Ledger, address, key, never_asked, owed

TOLD = (owed("told"),)


async def at_rest(ledger: Ledger) -> tuple[Claimed, int]:
    """An answered turn, and the generation its session has now."""
    claimed = await ledger.complete("the question")
    return claimed, (await ledger.store.session(claimed.session.id)).generation


async def parked(ledger: Ledger) -> SessionId:
    session = await ledger.die(times=3)
    await ledger.settle("too_many_strikes")
    assert (await ledger.store.session(session)).suspended_at is not None
    return session


# Marks of a command


async def test_an_undo_carries_its_command_out_in_the_same_commit(ledger: Ledger) -> None:
    claimed, generation = await at_rest(ledger)
    by = await ledger.command("/undo")
    entry = await ledger.store.mark(claimed.session.id, generation, Undone(1, 2), 2, by, TOLD)
    assert (entry.seq, entry.body) == (3, Undone(1, 2))
    assert (await ledger.store.row(by)).state is InboxState.EXECUTED
    assert (await ledger.outbox())[-1].dedupe == "told"
    async with ledger.refused(WrongState):
        await ledger.store.mark(claimed.session.id, generation, Undone(1, 2), 3, by, (owed("again"),))


async def test_a_mark_that_is_refused_leaves_its_command_waiting(ledger: Ledger) -> None:
    claimed, generation = await at_rest(ledger)
    by = await ledger.command("/undo")
    async with ledger.refused(WrongState):
        await ledger.store.mark(claimed.session.id, generation + 1, Undone(1, 2), 2, by, TOLD)
    await ledger.store.mark(claimed.session.id, generation, Undone(1, 2), 2)
    async with ledger.refused(WrongState):
        await ledger.store.mark(claimed.session.id, generation, Summed(1, 2, "sum", 0), 2, by, TOLD)


# Retry


async def test_a_retry_undoes_and_makes_its_command_the_message_of_a_new_turn(ledger: Ledger) -> None:
    claimed, generation = await at_rest(ledger)
    by = await ledger.say("/retry", kind=InboxKind.COMMAND, message_id="m9", sender=BOB)
    file = Attachment("sha256:1", "a.txt", "text/plain", 3)
    seen = ledger.store.version("turns")
    entry = await ledger.store.retry(
        claimed.session.id, generation, Undone(1, 2), "the question", (file,), ANN, by, TOLD
    )
    assert entry.body == Undone(1, 2)
    assert ledger.store.version("turns") > seen
    assert await ledger.store.commands() == ()
    again = await ledger.claim(never_asked)
    assert (again.cause.position, again.cause.kind, again.cause.message_id) == (by, InboxKind.MESSAGE, "m9")
    assert again.session.id == claimed.session.id
    assert [entry.body for entry in again.entries] == [Said("the question", ANN, (file,))]
    assert (await ledger.outbox())[-1].dedupe == "told"


async def test_a_retry_is_carried_out_once(ledger: Ledger) -> None:
    claimed, generation = await at_rest(ledger)
    by = await ledger.command("/retry")
    args = (claimed.session.id, generation, Undone(1, 2), "the question", (), ANN)
    await ledger.store.retry(*args, by)
    async with ledger.refused(WrongState):
        await ledger.store.retry(*args, by, TOLD)


async def test_a_retry_without_a_command_of_its_conversation_undoes_nothing(ledger: Ledger) -> None:
    claimed, generation = await at_rest(ledger)
    args = (claimed.session.id, generation, Undone(1, 2), "the question", (), ANN)
    elsewhere = await ledger.command("/retry", chat="c2")
    message = await ledger.word("no command")
    for by in (elsewhere, message, claimed.turn.cause):
        async with ledger.refused(WrongState):
            await ledger.store.retry(*args, by, TOLD)


async def test_a_retry_is_refused_while_a_turn_is_unfinished(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    by = await ledger.command("/retry")
    for fence in (claimed.fence, None):
        if fence is None:
            await ledger.store.interrupt(claimed.fence, "restart_timeout")
        async with ledger.refused(WrongState):
            await ledger.store.retry(claimed.session.id, 1, Undone(1, 1), "x", (), ANN, by, TOLD)


async def test_an_edit_of_the_commands_text_leaves_what_is_retried_alone(ledger: Ledger) -> None:
    claimed, generation = await at_rest(ledger)
    by = await ledger.say("/retry", kind=InboxKind.COMMAND, message_id="m9")
    await ledger.store.retry(claimed.session.id, generation, Undone(1, 2), "the question", (), ANN, by)
    assert await ledger.store.revise(Edit(address(), "m9", "/retry!")) is None
    assert (await ledger.claim()).cause.text == "the question"


# Revive


async def test_a_parked_session_goes_on_with_nothing_held_against_it(ledger: Ledger) -> None:
    id = await parked(ledger)
    before = await ledger.store.session(id)
    by = await ledger.command("/resume")
    await ledger.store.revive(id, by, "Go on, please.", TOLD)
    session = await ledger.store.session(id)
    assert (session.suspended_at, session.suspended_why, session.strikes) == (None, None, 0)
    assert (session.generation, session.incarnation) == (before.generation + 1, before.incarnation)
    following = await ledger.claim(never_asked)
    assert (following.session.id, following.cause.position, following.cause.text) == (
        id,
        by,
        "Go on, please.",
    )
    assert (following.suspect, following.longest_fatal, following.cause.sender) == (False, 0, ANN)
    async with ledger.refused(WrongState):
        await ledger.store.revive(id, by, "Go on, please.", (owed("again"),))


async def test_the_operator_frees_a_parked_session_for_its_next_message(ledger: Ledger) -> None:
    id = await parked(ledger)
    await ledger.store.revive(id, None, "")
    assert await ledger.try_claim() is None
    assert (await ledger.begin("hello again")).session.id == id


async def test_a_revived_session_is_not_reset_for_its_age(ledger: Ledger) -> None:
    await ledger.complete("once")
    id = await parked(ledger)
    ledger.clock.advance(2 * DAY)
    await ledger.store.revive(id, await ledger.command("/resume"), "Go on.")
    assert (await ledger.claim(reset=ResetSettings(idle=DAY))).session.id == id


async def test_held_work_that_is_revived_is_consented_to(ledger: Ledger) -> None:
    claimed = await ledger.begin("the work")
    await ledger.recover("safe_mode")
    ledger.clock.advance(DAY)
    (before,) = await ledger.store.stale_turns()
    by = await ledger.command("/resume")
    seen = ledger.store.version("recovery")
    await ledger.store.revive(claimed.session.id, by, "unused", TOLD)
    assert ledger.store.version("recovery") > seen
    (stale,) = await ledger.store.stale_turns()
    assert (before.stands.consented, stale.stands.consented) == (False, True)
    assert stale.progress_at == ledger.clock.now()
    assert (await ledger.store.row(by)).state is InboxState.EXECUTED
    assert await ledger.store.waiting(key()) == ()
    await ledger.settle("resume")
    assert (await ledger.claim()).turn.id == claimed.turn.id


async def test_what_recovery_decided_before_the_person_said_continue_is_void(ledger: Ledger) -> None:
    claimed = await ledger.begin("the work")
    await ledger.recover("safe_mode")
    (before,) = await ledger.store.stale_turns()
    await ledger.store.revive(claimed.session.id, await ledger.command("/resume"), "")
    async with ledger.unchanged():
        assert await ledger.give(Verdict(before, rule("too_old"))) == ()


async def test_revive_answers_all_the_gateway_asked_about_the_work(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    limit = ledger.question("limit", None, options=("continue", "stop"), owed=owed("limit"))
    await ledger.append(claimed.fence, ask=(limit,))
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    await ledger.settle("chat_says_ask", ask=ledger.question("shall_i", None, owed=owed("shall_i")))
    by = await ledger.command("/resume")
    await ledger.store.revive(claimed.session.id, by, "", TOLD)
    closed = await ledger.store.questions((claimed.turn.id,))
    assert [(one.state, one.answer) for one in closed] == [(QuestionState.ANSWERED, "continue")] * 2
    assert (await ledger.store.row(by)).state is InboxState.EXECUTED


async def test_revive_answers_the_gateways_own_question(ledger: Ledger) -> None:
    claimed = await ledger.begin("the work")
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    await ledger.settle("chat_says_ask", ask=ledger.question("go on?", None))
    await ledger.store.revive(claimed.session.id, await ledger.command("/resume"), "", TOLD)
    again = await ledger.claim()
    assert again.turn.id == claimed.turn.id
    (question,) = again.journal.questions
    assert (question.state, question.answer) == (QuestionState.ANSWERED, "continue")


@pytest.mark.guards("R13", "R14")
async def test_revive_does_not_answer_for_another_person_nor_after_the_time_is_up(ledger: Ledger) -> None:
    claimed = await ledger.begin("the work")
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    await ledger.settle("chat_says_ask", ask=ledger.question("go on?", None))
    by = await ledger.command("/resume")
    async with ledger.refused(WrongState):
        await ledger.store.revive(claimed.session.id, by, "", TOLD, person=BOB)
    ledger.clock.advance(2 * HOUR)
    async with ledger.refused(WrongState):
        await ledger.store.revive(claimed.session.id, by, "", TOLD, person=ANN)


async def test_work_that_was_left_behind_is_taken_up_by_a_new_turn(ledger: Ledger) -> None:
    claimed = await ledger.begin("the work")
    await ledger.recover("too_old")
    by = await ledger.command("/resume")
    await ledger.store.revive(claimed.session.id, by, "Take it up again.", TOLD)
    following = await ledger.claim(never_asked)
    assert (following.session.id, following.cause.position) == (claimed.session.id, by)
    assert following.entries[-1].body == Said("Take it up again.", ANN)


async def test_there_is_nothing_to_revive_in_an_answered_busy_ended_or_asking_session(
    ledger: Ledger,
) -> None:
    answered = await ledger.complete(chat="answered")
    running = await ledger.begin(chat="running")
    asking = await ledger.begin(chat="asking")
    await ledger.ask(asking.fence, owed=owed("question", chat="asking"))
    await ledger.complete(chat="c1")
    stopped = await ledger.complete(chat="ended")
    await ledger.store.stop(key("ended"), StopKind.NEW, None)
    for claimed in (answered, running, asking, stopped):
        by = await ledger.command("/resume", claimed.place.chat)
        async with ledger.refused(WrongState):
            await ledger.store.revive(claimed.session.id, by, "x", TOLD)
    async with ledger.refused(NotFound):
        await ledger.store.revive(SessionId("none"), None, "x", TOLD)


async def test_a_revival_whose_command_was_carried_out_changes_nothing(ledger: Ledger) -> None:
    id = await parked(ledger)
    by = await ledger.command("/resume")
    await ledger.store.settle_row(by, InboxState.EXECUTED)
    async with ledger.refused(WrongState):
        await ledger.store.revive(id, by, "x", TOLD)


# Reopen


async def ended(ledger: Ledger) -> SessionId:
    claimed = await ledger.complete("long ago")
    await ledger.store.stop(key(), StopKind.NEW, None)
    return claimed.session.id


async def test_an_ended_session_is_live_again_and_the_other_one_ends(ledger: Ledger) -> None:
    id = await ended(ledger)
    other = await ledger.complete("lately")
    assert other.session.id != id
    waits = await ledger.word("waits")
    by = await ledger.command("/resume")
    before = await ledger.store.session(id)
    await ledger.store.reopen(id, by, TOLD)
    session = await ledger.store.session(id)
    assert (session.ended_at, session.ended_why, session.generation) == (None, None, before.generation + 1)
    assert (await ledger.store.session(other.session.id)).ended_why == "resumed_other"
    assert session.incarnation > (await ledger.store.session(other.session.id)).incarnation
    assert (await ledger.store.row(by)).state is InboxState.EXECUTED
    following = await ledger.claim(never_asked)
    assert (following.session.id, following.cause.position, following.fresh) == (id, waits, False)
    assert [entry.seq for entry in following.entries] == [3]


async def test_nobody_of_the_past_speaks_for_a_reopened_session(ledger: Ledger) -> None:
    id = await ended(ledger)
    other = await ledger.complete("lately")
    wake = await ledger.say("wake", kind=InboxKind.WAKEUP, incarnation=other.session.incarnation)
    past = set(range((await ledger.store.session(id)).incarnation + 1))
    await ledger.store.reopen(id, None)
    assert (await ledger.store.row(wake)).state is InboxState.DROPPED
    assert (await ledger.store.session(id)).incarnation not in past | {other.session.incarnation}
    late = await ledger.say("wake", kind=InboxKind.WAKEUP, incarnation=other.session.incarnation)
    assert (await ledger.store.row(late)).state is InboxState.DROPPED


async def test_a_reopened_session_is_neither_parked_nor_reset_for_its_age(ledger: Ledger) -> None:
    await ledger.complete("once")
    id = await parked(ledger)
    await ledger.complete("starts a fresh one")
    ledger.clock.advance(2 * DAY)
    await ledger.store.reopen(id, None)
    session = await ledger.store.session(id)
    assert (session.suspended_at, session.strikes) == (None, 0)
    await ledger.say("hello")
    assert (await ledger.claim(reset=ResetSettings(idle=DAY))).session.id == id


async def test_after_another_new_the_conversation_begins_afresh(ledger: Ledger) -> None:
    id = await ended(ledger)
    await ledger.complete("lately")
    await ledger.store.reopen(id, None)
    await ledger.store.stop(key(), StopKind.NEW, None)
    fresh = await ledger.begin("hello")
    assert (fresh.fresh, fresh.session.began) == (True, Began.NEW)


async def test_a_session_is_reopened_only_if_it_ended_and_nothing_is_under_way(ledger: Ledger) -> None:
    id = await ended(ledger)
    running = await ledger.begin("work")
    by = await ledger.command("/resume")
    for session in (id, running.session.id):
        async with ledger.refused(WrongState):
            await ledger.store.reopen(session, by, TOLD)
    async with ledger.refused(NotFound):
        await ledger.store.reopen(SessionId("none"), by, TOLD)
    await ledger.finish(running.fence, TurnState.DONE)
    await ledger.store.settle_row(by, InboxState.EXECUTED)
    async with ledger.refused(WrongState):
        await ledger.store.reopen(id, by, TOLD)


async def test_no_other_session_takes_over_a_message_that_a_resume_has_made(ledger: Ledger) -> None:
    """Its person was told that the parked work goes on, and nothing has taken it up yet."""
    first = await parked(ledger)
    second = (await ledger.complete("starts a fresh one")).session.id
    one = await ledger.command("/resume first")
    await ledger.store.reopen(first, one, TOLD, "Go on.")
    two = await ledger.command("/resume second")
    async with ledger.refused(WrongState):
        await ledger.store.reopen(second, two, ())
    following = await ledger.claim(never_asked)
    assert (following.session.id, following.cause.position) == (first, one)


# Find


async def test_a_session_is_found_by_the_beginning_of_its_id_in_its_own_conversation(ledger: Ledger) -> None:
    first = await ended(ledger)
    second = (await ledger.complete()).session.id
    elsewhere = (await ledger.complete(chat="c2")).session.id
    find = ledger.store.find_session
    found = await find(key(), first.upper())
    assert found is not None
    assert found.id == first
    shared = next(n for n in range(len(first)) if first[n] != second[n])
    assert await find(key(), first[:shared]) is None, "two begin like this"
    both = [await find(key(), id[: shared + 1]) for id in (first, second)]
    assert [one.id for one in both if one] == [first, second]
    assert await find(key(), elsewhere) is None
    assert await find(key(), f"{first}x") is None


@pytest.mark.parametrize("prefix", ["%", "*", "_", "~", "zz"])
async def test_a_prefix_means_itself(ledger: Ledger, prefix: str) -> None:
    await ledger.complete()
    assert await ledger.store.find_session(key(), prefix) is None
