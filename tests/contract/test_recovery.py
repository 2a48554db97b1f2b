"""What dead owners left: found by a fresh process, decided elsewhere, written back only if nothing moved."""

from collections.abc import Sequence

import pytest

from holdfast.errors import StaleWrite
from holdfast.model import (
    UNREADABLE,
    CallState,
    ChatSettings,
    Entry,
    InboxKind,
    InboxState,
    Interruption,
    Noted,
    NoteKind,
    OnInterruption,
    OwedKind,
    QuestionId,
    QuestionKind,
    QuestionState,
    Replied,
    Returned,
    StopKind,
    Stopped,
    StopReason,
    Tail,
    TurnId,
    TurnState,
)
from holdfast.policy.recovery.outcome import LEADS_TO, Decision, Outcome, table
from holdfast.policy.settings import DAY, HOUR, MINUTE
from holdfast.store import EntriesOf, Judged, StaleTurn, Step, Verdict
from tests.support.judging import rule
from tests.support.ledger import ANN, BOB, Ledger, address, key, never_asked, owed

ENDINGS = [
    row.name for row in table() if LEADS_TO[row.outcome].value in ("done", "cancelled", "expired", "parked")
]


async def left_behind(ledger: Ledger, chat: str = "c1") -> TurnId:
    """A turn whose process has died."""
    claimed = await ledger.begin(chat=chat)
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    return claimed.turn.id


async def test_what_was_running_is_known_however_long_it_ran(ledger: Ledger) -> None:
    long = await ledger.begin(chat="long")
    ledger.clock.advance(5 * HOUR)
    short = await ledger.begin(chat="short")
    idle = await ledger.complete(chat="idle")
    waiting = await ledger.begin(chat="asks")
    await ledger.ask(waiting.fence, owed=owed("q", chat="asks"))
    dead = ledger.store.instance
    await ledger.crash()
    ledger.clock.advance(MINUTE)
    assert await ledger.store.interrupt_orphans() == 2
    for claimed in (long, short):
        turn = await ledger.turn(claimed.session.id)
        assert (turn.state, turn.interruption, turn.interruptions) == (
            TurnState.INTERRUPTED,
            Interruption.RESTART_INTERRUPTED,
            1,
        )
        assert (turn.interrupted_at, turn.owner) == (ledger.clock.now(), None)
        assert (await ledger.store.session(claimed.session.id)).strikes == 1
    assert (await ledger.turn(idle.session.id)).state is TurnState.DONE
    assert (await ledger.turn(waiting.session.id)).state is TurnState.WAITING
    assert {stale.stands.last_owner for stale in await ledger.store.stale_turns()} == {dead}


@pytest.mark.guards("R2.1", "R8.1", "R8.6", "R16")
@pytest.mark.parametrize(
    ("how", "reason"),
    [(Stopped.STOPPED, "shutdown_timeout"), (Stopped.RESTART, "restart_timeout")],
)
async def test_what_an_orderly_stop_could_not_mark_was_cut_by_it_and_died_of_nothing(
    ledger: Ledger, how: Stopped, reason: str
) -> None:
    """A full disk may keep a mark from being made; how the run ended is written beside the ledger."""
    silent = await ledger.begin(chat="silent")
    busy = await ledger.begin(chat="busy")
    await ledger.start(busy.fence, "c1")
    await ledger.store.end_instance(how)
    await ledger.crash()
    assert await ledger.store.interrupt_orphans() == 2
    found = {stale.session: stale.stands for stale in await ledger.store.stale_turns()}
    for claimed, strikes, cuts in ((silent, 1, 1), (busy, 0, 0)):
        stands = found[claimed.session.id]
        assert (stands.interruption, stands.interruptions) == (reason, 1)
        assert (stands.strikes, stands.record.cuts) == (strikes, cuts)
        assert (stands.record.deaths, stands.record.turn_deaths) == (0, 0)


async def test_looking_twice_changes_nothing_more(ledger: Ledger) -> None:
    await left_behind(ledger)
    async with ledger.unchanged():
        assert await ledger.store.interrupt_orphans() == 0
        await ledger.store.stale_turns()


async def test_the_living_are_left_alone(ledger: Ledger) -> None:
    await ledger.begin()
    async with ledger.unchanged():
        assert await ledger.store.interrupt_orphans() == 0
        assert await ledger.store.stale_turns() == ()


async def test_orphans_are_taken_a_batch_at_a_time(ledger: Ledger) -> None:
    for n in range(5):
        await ledger.begin(chat=f"c{n}")
    await ledger.crash()
    assert [await ledger.store.interrupt_orphans(limit=2) for _ in range(4)] == [2, 2, 1, 0]


async def test_stale_turns_come_page_by_page_in_order(ledger: Ledger) -> None:
    for n in range(5):
        await ledger.begin(chat=f"c{n}")
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    everything = [stale.turn for stale in await ledger.store.stale_turns()]
    assert everything == sorted(everything)
    pages, after = [], None
    while page := await ledger.store.stale_turns(after, limit=2):
        pages.append([stale.turn for stale in page])
        after = page[-1].turn
    assert pages == [everything[:2], everything[2:4], everything[4:]]


async def test_a_stale_turn_carries_the_facts_of_its_turn_session_and_chat(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    dead = ledger.store.instance
    await ledger.store.configure_chat(address(), ChatSettings(on_interruption=OnInterruption.ASK))
    await ledger.start(claimed.fence, "c1")
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    await ledger.say("first", sender=BOB)
    await ledger.say("second", sender=ANN)
    (stale,) = await ledger.store.stale_turns()
    assert (stale.turn, stale.session, stale.key, stale.chat) == (
        claimed.turn.id,
        claimed.session.id,
        key(),
        address(),
    )
    assert (stale.generation, stale.incarnation, stale.stands.suspended, stale.stands.stop) == (
        1,
        0,
        False,
        None,
    )
    assert (stale.sender, stale.waiting_sender, stale.stands.tail, stale.stands.question) == (
        ANN,
        BOB,
        Tail.WORK,
        None,
    )
    assert (stale.stands.noted, stale.stands.strikes, stale.stands.interruptions) == (0, 1, 1)
    assert (stale.stands.interruption, stale.stands.last_owner) == (Interruption.RESTART_INTERRUPTED, dead)
    assert (stale.progress_at, stale.stands.held) == (claimed.turn.progress_at, None)
    assert (stale.stands.on_interruption, stale.stands.consented) == (OnInterruption.ASK, False)


@pytest.mark.parametrize(
    ("passes", "close", "state"),
    [
        (MINUTE, False, QuestionState.OPEN),
        (HOUR, False, QuestionState.EXPIRED),
        (HOUR, True, QuestionState.EXPIRED),
    ],
)
async def test_a_question_whose_time_is_up_counts_as_expired_whoever_wrote_that_down(
    ledger: Ledger, passes: int, close: bool, state: QuestionState
) -> None:
    claimed = await ledger.begin()
    await ledger.start(claimed.fence, "c1")
    await ledger.append(claimed.fence, ask=(ledger.question(),), tail=Tail.QUESTION)
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    ledger.clock.advance(passes)
    if close:
        await ledger.store.expire_questions()
    (stale,) = await ledger.store.stale_turns()
    assert stale.stands.question is state


async def test_a_resume_is_the_same_turn_queued_again(ledger: Ledger) -> None:
    turn = await left_behind(ledger)
    assert await ledger.settle("resume") == (turn,)
    before = len(ledger.dump()["turns"])
    again = await ledger.claim()
    assert (again.turn.id, again.turn.attempt, again.resumed) == (turn, 2, True)
    assert len(ledger.dump()["turns"]) == before


async def test_a_hold_is_written_once_and_shown(ledger: Ledger) -> None:
    turn = await left_behind(ledger)
    assert await ledger.settle("platform_down") == (turn,)
    async with ledger.unchanged():
        assert await ledger.settle("platform_down") == ()
    (stale,) = await ledger.store.stale_turns()
    assert stale.stands.held == "platform_down"
    assert await ledger.settle("safe_mode") == (turn,)
    assert await ledger.settle("resume") == (turn,)
    assert (await ledger.turn(stale.session)).held is None


async def test_time_in_the_quarantine_lane_is_added_up(ledger: Ledger) -> None:
    await left_behind(ledger)
    await ledger.settle("quarantine")
    ledger.clock.advance(MINUTE)
    assert (await ledger.store.stale_turns())[0].quarantined == MINUTE
    await ledger.settle("quarantine")
    ledger.clock.advance(MINUTE)
    await ledger.settle("platform_down")
    ledger.clock.advance(MINUTE)
    assert (await ledger.store.stale_turns())[0].quarantined == 2 * MINUTE
    await ledger.settle("quarantine")
    ledger.clock.advance(MINUTE)
    await ledger.settle("resume")
    seen: list[int] = []
    await ledger.claim(lambda stale, now: (seen.append(stale.quarantined), rule("resume"))[1])  # type: ignore[func-returns-value]
    assert seen == [3 * MINUTE]


async def test_a_question_still_open_makes_the_turn_wait_without_a_note(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.start(claimed.fence, "c1")
    await ledger.append(claimed.fence, ask=(ledger.question(),), tail=Tail.QUESTION)
    await ledger.recover("question_open")
    turn = await ledger.turn(claimed.session.id)
    assert (turn.state, turn.noted) == (TurnState.WAITING, turn.interruptions)
    (question,) = (await ledger.store.journal(turn.id, 1)).questions
    await ledger.store.answer(question.id, await ledger.word("red"), "red", ANN)
    assert (await ledger.claim(never_asked)).turn.id == turn.id


@pytest.mark.guards("R5", "R18")
async def test_a_limit_that_was_asked_about_just_before_the_end_makes_the_turn_wait(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.append(claimed.fence, ask=(ledger.question(call=None),), tail=Tail.WORK)
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    (stale,) = await ledger.store.stale_turns()
    assert (stale.stands.question, stale.stands.asked) == (QuestionState.OPEN, QuestionKind.CONTINUE)
    ledger.clock.advance(HOUR)
    (late,) = await ledger.store.stale_turns()
    assert (late.stands.question, late.stands.asked) == (None, None), "its time is up"
    await ledger.settle("question_open")
    turn = await ledger.turn(claimed.session.id)
    assert (turn.state, turn.noted) == (TurnState.WAITING, turn.interruptions)


async def test_a_turn_is_not_made_to_wait_for_an_answer_that_came_meanwhile(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.start(claimed.fence, "c1")
    await ledger.append(claimed.fence, ask=(ledger.question(),), tail=Tail.QUESTION)
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    stale = await ledger.store.stale_turns()
    (question,) = (await ledger.store.journal(claimed.turn.id, 1)).questions
    await ledger.store.answer(question.id, await ledger.word("red"), "red", ANN)
    async with ledger.unchanged():
        assert await ledger.give(Verdict(stale[0], rule("question_open"))) == ()


@pytest.mark.parametrize("name", ENDINGS)
async def test_an_ending_is_written_with_its_reason_and_what_is_told(ledger: Ledger, name: str) -> None:
    turn = await left_behind(ledger)
    (stale,) = await ledger.store.stale_turns()
    waits = await ledger.word("waits")
    before = await ledger.store.session(stale.session)
    assert await ledger.settle(name, owe=(owed("told"),)) == (turn,)
    decision = rule(name)
    ended = await ledger.turn(stale.session)
    assert (ended.state, ended.why, ended.ended_at) == (
        LEADS_TO[decision.outcome],
        name,
        ledger.clock.now(),
    )
    session = await ledger.store.session(stale.session)
    assert session.generation == before.generation + 1
    (told,) = await ledger.outbox()
    assert (told.dedupe, told.turn) == ("told", turn)
    following = await ledger.claim(never_asked)
    assert following.cause.position == waits
    assert following.fresh is (decision.outcome is Outcome.PARK)


async def test_what_is_told_is_told_once_over_boots(ledger: Ledger) -> None:
    await left_behind(ledger)
    stale = await ledger.store.stale_turns()
    verdict = Verdict(stale[0], rule("too_old"), (owed("too_old:1"),))
    assert len(await ledger.give(verdict)) == 1
    await ledger.crash()
    async with ledger.unchanged():
        assert await ledger.give(verdict) == ()
    assert len(await ledger.outbox()) == 1


async def test_what_is_told_of_work_that_is_held_is_owed_once(ledger: Ledger) -> None:
    await left_behind(ledger)
    for _ in range(2):
        await ledger.settle("platform_down", owe=(owed("held"),))
    assert [sent.dedupe for sent in await ledger.outbox()] == ["held"]


async def test_work_that_was_answered_is_done_without_another_run(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.recover("answered")
    session = await ledger.store.session(claimed.session.id)
    assert (session.strikes, session.completed_at) == (0, ledger.clock.now())
    assert await ledger.try_claim() is None


@pytest.mark.parametrize("name", ["too_old", "not_allowed"])
async def test_ending_interrupted_work_takes_no_strike_back(ledger: Ledger, name: str) -> None:
    session = await ledger.die(2)
    await ledger.settle(name)
    assert (await ledger.store.session(session)).strikes == 2


@pytest.mark.parametrize("name", ["too_many_strikes", "too_many_interruptions"])
async def test_a_park_suspends_the_session_and_names_the_run_it_killed(ledger: Ledger, name: str) -> None:
    claimed = await ledger.begin()
    killed = ledger.store.instance
    await ledger.recover(name)
    assert (await ledger.turn(claimed.session.id)).state is TurnState.PARKED
    session = await ledger.store.session(claimed.session.id)
    assert (session.suspended_at, session.suspended_why, session.ended_at) == (
        ledger.clock.now(),
        name,
        None,
    )
    assert session.incarnation == claimed.session.incarnation + 1
    blamed = {run.id: run.led_to_park for run in await ledger.store.instances()}
    assert blamed == {killed: True, ledger.store.instance: False}


async def test_a_park_takes_the_wakeups_of_its_session_along(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    wake = await ledger.say("wake", kind=InboxKind.WAKEUP, incarnation=claimed.session.incarnation)
    message = await ledger.say("a person")
    await ledger.recover("too_many_strikes")
    assert (await ledger.store.row(wake)).state is InboxState.DROPPED
    assert (await ledger.claim()).cause.position == message


async def test_a_turn_of_a_suspended_session_joins_it_and_blames_nobody(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.recover("suspended")
    assert (await ledger.turn(claimed.session.id)).state is TurnState.PARKED
    assert not any(run.led_to_park for run in await ledger.store.instances())


MOVED = ("requeued", "claimed", "stopped", "ended", "suspended", "interrupted again")


async def moves(ledger: Ledger, how: str, stale: StaleTurn) -> None:
    """Something happens to interrupted work after recovery has looked at it."""
    if how == "suspended":
        ledger.damage(f"UPDATE sessions SET incarnation = incarnation + 1 WHERE id = '{stale.session}'")
    elif how == "stopped":
        await ledger.store.stop(key(), StopKind.STOP, None)
    elif how == "ended":
        await ledger.settle("too_old")
    else:
        await ledger.settle("resume")
    if how in ("claimed", "interrupted again"):
        again = await ledger.claim()
        if how == "interrupted again":
            await ledger.store.interrupt(again.fence, "restart_timeout")


@pytest.mark.parametrize("moved", MOVED)
@pytest.mark.parametrize("name", [row.name for row in table() if row.outcome is not Outcome.RESUME])
async def test_a_decision_about_what_moved_on_is_not_written(ledger: Ledger, name: str, moved: str) -> None:
    await left_behind(ledger)
    (stale,) = await ledger.store.stale_turns()
    await moves(ledger, moved, stale)
    ask = ledger.question(call=None) if rule(name).outcome is Outcome.ASK else None
    async with ledger.unchanged():
        assert await ledger.give(Verdict(stale, rule(name), (owed("told"),), ask)) == ()


@pytest.mark.parametrize("moved", [how for how in MOVED if how != "suspended"])
async def test_what_was_claimed_or_ended_meanwhile_is_not_put_in_line(ledger: Ledger, moved: str) -> None:
    turn = await left_behind(ledger)
    (stale,) = await ledger.store.stale_turns()
    await moves(ledger, moved, stale)
    async with ledger.unchanged():
        in_line = await ledger.give(Verdict(stale, rule("resume")))
    assert in_line == ((turn,) if moved == "requeued" else ())


async def test_what_goes_on_is_asked_about_once_more_before_it_runs(ledger: Ledger) -> None:
    turn = await left_behind(ledger)
    (before,) = await ledger.store.stale_turns()
    await moves(ledger, "suspended", before)
    assert await ledger.give(Verdict(before, rule("resume"))) == (turn,)
    seen: list[StaleTurn] = []

    def judge(stale: StaleTurn, now: int) -> Decision:
        seen.append(stale)
        return rule("too_many_strikes")

    assert await ledger.try_claim(judge) is None
    assert seen[0].incarnation == before.incarnation + 1
    assert (await ledger.turn(before.session)).state is TurnState.INTERRUPTED
    assert await ledger.store.verify() == ()


async def test_one_that_went_on_meanwhile_keeps_no_other_from_going_on(ledger: Ledger) -> None:
    for n in range(3):
        await ledger.begin(chat=f"c{n}")
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    stale = await ledger.store.stale_turns()
    await ledger.settle("too_old", chat="c1")
    going = {one.turn for one in stale if one.key != key("c1")}
    assert set(await ledger.give(*(Verdict(one, rule("resume")) for one in stale))) == going
    assert await ledger.store.verify() == ()
    assert {(await ledger.claim()).turn.id, (await ledger.claim()).turn.id} == going


async def test_one_that_moved_on_keeps_no_other_from_being_written(ledger: Ledger) -> None:
    for n in range(3):
        await ledger.begin(chat=f"c{n}")
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    stale = await ledger.store.stale_turns()
    await ledger.store.stop(key("c1"), StopKind.STOP, None)
    verdicts = [Verdict(one, rule("resume" if one.key == key("c0") else "too_old")) for one in stale]
    assert set(await ledger.give(*verdicts)) == {one.turn for one in stale if one.key != key("c1")}


async def test_a_hung_owner_alive_elsewhere_is_only_seen_as_interrupted_once_it_let_go(
    ledger: Ledger,
) -> None:
    claimed = await ledger.begin()
    await ledger.store.interrupt(claimed.fence, "shutdown_timeout")
    (stale,) = await ledger.store.stale_turns()
    assert stale.stands.last_owner == ledger.store.instance


CUT = "WHERE state = 'interrupted'"
HELD = "held = 'quarantine', held_since ="
MOST = 2**63 - 1
NO_TEXT = "CAST(x'61ff62' AS TEXT)"
DAMAGE = {
    "a time before 1970": "UPDATE turns SET progress_at = -1",
    "a time beyond all bounds": "UPDATE turns SET progress_at = 9000000000000000",
    "no time": "UPDATE turns SET progress_at = NULL",
    "an unreadable tail": "UPDATE turns SET tail = 'gibberish'",
    "no reason": "UPDATE turns SET interruption = NULL",
    "an unreadable choice of the chat": "UPDATE chats SET on_interruption = 'gibberish', busy = 'gibberish'",
    "an unreadable beginning": "UPDATE sessions SET began = 'gibberish'",
    "an unreadable body": "UPDATE entries SET body = '{' WHERE kind = 'said'",
    "an unreadable message": "UPDATE inbox SET body = 'gibberish'",
    "an unreadable end of a process": "UPDATE instances SET stopped = 'gibberish', stopped_at = 1",
    "no time since which it is held": f"UPDATE turns SET {HELD} NULL {CUT}",
    "held since before all time": f"UPDATE turns SET {HELD} {-MOST} {CUT}",
    "held since after all time": f"UPDATE turns SET {HELD} {MOST} {CUT}",
    "longer in quarantine than can be counted": f"UPDATE turns SET quarantined = {MOST} {CUT}",
    "less in quarantine than none": f"UPDATE turns SET quarantined = {-MOST} {CUT}",
    "a reason that is no text": f"UPDATE turns SET interruption = {NO_TEXT} {CUT}",
    "a hold that is no text": f"UPDATE turns SET held = {NO_TEXT} {CUT}",
    "a last owner that is no text": f"UPDATE turns SET last_owner = {NO_TEXT} {CUT}",
    "a choice of the chat that is no text": f"UPDATE chats SET on_interruption = {NO_TEXT}",
}


@pytest.mark.parametrize("statement", DAMAGE.values(), ids=DAMAGE)
async def test_a_damaged_optional_field_counts_as_absent_and_the_interruption_holds(
    ledger: Ledger, statement: str
) -> None:
    turn = await left_behind(ledger)
    other = await ledger.begin(chat="sound")
    ledger.damage(statement)
    (stale,) = await ledger.store.stale_turns()
    assert (stale.turn, stale.stands.interruptions, stale.quarantined) == (turn, 1, 0)
    assert await ledger.settle("safe_mode") == (turn,)
    assert stale.progress_at is None or "progress_at" not in statement
    assert await ledger.settle("resume") == (turn,)
    again = await ledger.claim()
    assert again.turn.id == turn
    await ledger.store.sessions()
    await ledger.store.turns(again.session.id)
    await ledger.store.transcript(again.session.id)
    await ledger.store.instances()
    await ledger.store.continuity()
    await ledger.finish(again.fence)
    await ledger.finish(other.fence)


async def test_an_unreadable_kind_of_stop_is_still_a_stop(ledger: Ledger) -> None:
    await left_behind(ledger)
    ledger.damage("UPDATE turns SET stop = 'gibberish'")
    (stale,) = await ledger.store.stale_turns()
    assert stale.stands.stop is StopKind.STOP


async def test_a_row_whose_state_cannot_be_read_is_set_aside_alone(ledger: Ledger) -> None:
    bad = await ledger.begin(chat="bad")
    good = await ledger.begin(chat="good")
    ledger.damage(f"UPDATE turns SET state = 'gibberish' WHERE id = '{bad.turn.id}'")
    await ledger.say("more", chat="bad")
    await ledger.crash()
    assert await ledger.store.interrupt_orphans() == 1
    assert await ledger.settle("resume") == (good.turn.id,)
    assert (await ledger.claim()).turn.id == good.turn.id
    assert {line.id for line in await ledger.store.sessions()} == {bad.session.id, good.session.id}
    assert await ledger.store.turns(bad.session.id) == ()
    assert await ledger.try_claim() is None


UNCOUNTABLE = {
    "more interruptions than can be counted": "UPDATE turns SET interruptions = 9223372036854775807",
    "fewer interruptions than none": "UPDATE turns SET interruptions = -5",
    "a claim before all time": "UPDATE turns SET claimed_at = -9223372036854775807",
    "a claim after all time": "UPDATE turns SET claimed_at = 9223372036854775807",
}


@pytest.mark.parametrize("statement", UNCOUNTABLE.values(), ids=UNCOUNTABLE)
async def test_a_damaged_count_keeps_neither_its_own_turn_nor_another_from_being_found(
    ledger: Ledger, statement: str
) -> None:
    bad = await ledger.begin(chat="bad")
    good = await ledger.begin(chat="good")
    ledger.damage(f"{statement} WHERE id = '{bad.turn.id}'")
    await ledger.crash()
    assert await ledger.store.interrupt_orphans() == 2
    found = {stale.turn: stale.stands.interruptions for stale in await ledger.store.stale_turns()}
    assert found.keys() == {bad.turn.id, good.turn.id}
    assert found[good.turn.id] == 1
    assert found[bad.turn.id] >= 1
    assert set(await ledger.settle("resume")) == found.keys()


DAMAGED_CONTENT = {
    "a finish": ('{"finish": "gibberish", "text": "so far"}', Replied("so far", StopReason.CUT)),
    "no object": ("5", Replied(UNREADABLE, StopReason.COMPLETE)),
    "calls of no shape": ('{"text": "x", "calls": [["c1"], 7]}', Replied("x", StopReason.COMPLETE)),
}


@pytest.mark.parametrize(("content", "read_as"), DAMAGED_CONTENT.values(), ids=DAMAGED_CONTENT)
async def test_damaged_content_reads_as_absent_and_blocks_nobody(
    ledger: Ledger, content: str, read_as: Replied
) -> None:
    claimed = await ledger.begin()
    await ledger.start(claimed.fence, "c1")
    await ledger.recover()
    ledger.damage(f"UPDATE entries SET body = '{content}' WHERE kind = 'replied'")
    again = await ledger.claim()
    assert again.turn.id == claimed.turn.id
    assert again.entries[1].body == read_as
    assert (await ledger.store.transcript(claimed.session.id))[1].body == read_as


MENDED = {
    "a call": "UPDATE tool_calls SET state = 'gibberish'",
    "the class of a call": "UPDATE tool_calls SET effect = 'gibberish'",
    "a question": "UPDATE questions SET state = 'gibberish'",
    "the kind of a question": "UPDATE questions SET kind = 'gibberish'",
    "the kind of a message": "UPDATE inbox SET kind = 'gibberish' WHERE chat LIKE '%bad'",
}


@pytest.mark.guards("R1.5")
@pytest.mark.parametrize("statement", MENDED.values(), ids=MENDED)
async def test_a_call_or_a_question_that_cannot_be_read_ends_alone_and_its_turn_goes_on(
    ledger: Ledger, statement: str
) -> None:
    claimed = await ledger.begin(chat="bad")
    await ledger.start(claimed.fence, "c1")
    await ledger.append(claimed.fence, ask=(ledger.question(owed=owed("q", chat="bad")),))
    await ledger.recover()
    ledger.damage(statement)
    again = await ledger.claim()
    assert again.turn.id == claimed.turn.id
    assert {call.state for call in again.journal.calls} <= {CallState.STARTED, CallState.UNKNOWN}
    assert await ledger.store.verify() == ()


UNREADABLE_FIELDS = {
    "an address": "UPDATE inbox SET chat = 'gibberish' WHERE chat LIKE '%bad'",
    "the chat of a conversation": "UPDATE conversations SET chat = 'gibberish' WHERE chat LIKE '%bad'",
    "the cause of a turn": "UPDATE turns SET cause = -1",
    "a count": "UPDATE sessions SET generation = 9223372036854775807",
}


@pytest.mark.parametrize("statement", UNREADABLE_FIELDS.values(), ids=UNREADABLE_FIELDS)
async def test_a_conversation_that_cannot_be_read_keeps_no_other_waiting(
    ledger: Ledger, statement: str
) -> None:
    claimed = await ledger.begin(chat="bad")
    await ledger.start(claimed.fence, "c1")
    await ledger.append(claimed.fence, ask=(ledger.question(owed=owed("q", chat="bad")),))
    await ledger.recover()
    ledger.clock.advance(1)
    await ledger.say(chat="good")
    ledger.damage(statement)
    assert (await ledger.claim()).place.chat == "good"
    assert await ledger.try_claim() is None
    turn = await ledger.turn(claimed.session.id)
    assert (turn.state, turn.attempt) == (TurnState.QUEUED, 1), "left as it is, for somebody to look at"


async def test_what_several_turns_left_open_is_settled_for_each_of_them(ledger: Ledger) -> None:
    started = await ledger.begin(chat="c1")
    await ledger.start(started.fence, "a", "b")
    planned = await ledger.begin(chat="c2")
    await ledger.start(planned.fence, "a", start=False)
    await ledger.recover("too_old")
    for claimed, states in ((started, [CallState.UNKNOWN] * 2), (planned, [CallState.SKIPPED])):
        journal = await ledger.store.journal(claimed.turn.id, 1)
        assert [call.state for call in journal.calls] == states
        entries = await ledger.store.transcript(claimed.session.id)
        results = [entry.body for entry in entries if isinstance(entry.body, Returned)]
        assert [result.state for result in results] == states
        assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    assert await ledger.store.verify() == ()


async def test_several_are_asked_in_one_commit_each_their_own_question(ledger: Ledger) -> None:
    for chat in ("c1", "c2"):
        await ledger.begin(chat=chat)
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    stale = await ledger.store.stale_turns()
    asks = [
        ledger.question(f"q{n}", None, owed=owed(f"q{n}", chat=f"c{n}", kind=OwedKind.QUESTION))
        for n in (1, 2)
    ]
    verdicts = [Verdict(one, rule("chat_says_ask"), ask=ask) for one, ask in zip(stale, asks, strict=True)]
    assert len(await ledger.give(*verdicts)) == 2
    for one, ask in zip(stale, asks, strict=True):
        (sent,) = await ledger.outbox(one.chat.rpartition("/")[2])
        assert (sent.dedupe, sent.turn) == (ask.owed.dedupe, one.turn)
        (question,) = (await ledger.store.journal(one.turn, 1)).questions
        assert (question.id, question.state) == (ask.id, QuestionState.OPEN)


async def test_who_judges_can_read_what_a_turn_has_in_the_transcript_and_nothing_else(ledger: Ledger) -> None:
    before = await ledger.complete("first")
    after = await ledger.begin("second")
    answer = (Replied("here it is", StopReason.COMPLETE),)
    await ledger.store.record(after.fence, Step(answer, Tail.ANSWER))
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    found: list[tuple[Entry, ...]] = []

    def judge(page: Sequence[StaleTurn], now: int, entries_of: EntriesOf) -> Judged:
        assert now == ledger.clock.now()
        found.extend(entries_of(stale.turn) for stale in page)
        return Judged()

    async with ledger.unchanged():
        assert await ledger.store.settle_stale(await ledger.store.stale_turns(), judge) == {}
    transcript = await ledger.store.transcript(before.session.id)
    assert found == [tuple(entry for entry in transcript if entry.turn == after.turn.id)]


async def test_what_new_was_asked_of_ends_every_conversation_it_was_asked_in(ledger: Ledger) -> None:
    begun = [await ledger.begin(chat=chat) for chat in ("c1", "c2")]
    for chat in ("c1", "c2"):
        await ledger.store.stop(key(chat), StopKind.NEW, None)
    await ledger.recover("stop_asked")
    for claimed in begun:
        session = await ledger.store.session(claimed.session.id)
        assert (session.ended_why, session.ended_at) == ("new", ledger.clock.now())
        assert session.incarnation == 1


async def test_a_turn_this_process_has_lost_is_found_and_goes_on(ledger: Ledger) -> None:
    lost, kept = await ledger.begin(chat="c1"), await ledger.begin(chat="c2")
    async with ledger.unchanged():
        assert await ledger.store.interrupt_orphans() == 0
        assert await ledger.store.interrupt_orphans(running=(lost.turn.id, kept.turn.id)) == 0
    assert await ledger.store.interrupt_orphans(running=(kept.turn.id,)) == 1
    (stale,) = await ledger.store.stale_turns()
    assert (stale.turn, stale.stands.interruption, stale.stands.strikes) == (
        lost.turn.id,
        "restart_interrupted",
        1,
    )
    assert stale.stands.last_owner is None, "nobody has to let go of it any more"
    async with ledger.refused(StaleWrite):
        await ledger.finish(lost.fence)
    await ledger.finish(kept.fence)
    await ledger.settle("resume")
    assert (await ledger.claim()).turn.id == lost.turn.id


async def test_with_nothing_running_everything_of_this_process_is_lost(ledger: Ledger) -> None:
    for n in range(3):
        await ledger.begin(chat=f"c{n}")
    assert await ledger.store.interrupt_orphans(running=()) == 3


async def test_a_session_remembers_its_longest_run_that_ended_in_a_death(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    for ran in (5 * MINUTE, 2 * MINUTE):
        ledger.clock.advance(ran)
        await ledger.store.heartbeat()
        await ledger.recover()
        claimed = await ledger.claim()
    assert (claimed.suspect, claimed.longest_fatal) == (True, 5 * MINUTE)
    ledger.clock.advance(DAY)
    await ledger.store.heartbeat()
    await ledger.store.interrupt_orphans(running=())
    await ledger.settle("resume")
    assert (await ledger.claim()).longest_fatal == 5 * MINUTE, "this process is alive"


async def test_a_fresh_session_has_no_deaths_to_answer_for(ledger: Ledger) -> None:
    await ledger.begin()
    ledger.clock.advance(MINUTE)
    await ledger.store.heartbeat()
    await ledger.recover("too_old")
    await ledger.store.stop(key(), StopKind.NEW, None)
    claimed = await ledger.begin("next")
    assert (claimed.fresh, claimed.suspect, claimed.longest_fatal) == (True, False, 0)


async def test_the_oldest_message_that_waits_is_answered_in_the_resumed_turn(ledger: Ledger) -> None:
    first = await ledger.begin()
    await ledger.say("wake", kind=InboxKind.WAKEUP, incarnation=first.session.incarnation)
    oldest, later = await ledger.say("oldest"), await ledger.say("later")
    await ledger.recover()
    again = await ledger.claim()
    assert (again.turn.id, again.take) == (first.turn.id, (oldest,))
    await ledger.store.put_back(again.fence)
    assert (await ledger.claim()).take == (oldest,)
    waiting = await ledger.store.waiting(key())
    assert [row.position for row in waiting][-1] == later


async def test_a_turn_that_was_not_interrupted_takes_nothing_along(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.say("waits")
    assert claimed.take == ()
    await ledger.store.put_back(claimed.fence)
    assert (await ledger.claim()).take == ()


async def test_a_turn_whose_interruption_was_noted_takes_nothing_more(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.say("oldest")
    await ledger.say("later")
    await ledger.recover()
    again = await ledger.claim()
    note = Noted(NoteKind.INTERRUPTED, 1, "note")
    await ledger.append(again.fence, note, consume=again.take, tail=Tail.NOTE)
    await ledger.ask(again.fence)
    await ledger.store.answer(QuestionId("q1"), await ledger.word("red"), "red", ANN)
    third = await ledger.claim(never_asked)
    assert (third.turn.id, third.take) == (claimed.turn.id, ())
