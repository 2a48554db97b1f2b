"""Claiming: all of it in one commit, or nothing at all; the longest ready first; one suspect at a time."""

from holdfast.errors import StaleWrite
from holdfast.model import (
    BusyMode,
    CallId,
    CallState,
    ChatSettings,
    Claimed,
    EffectClass,
    InboxState,
    Noted,
    NoteKind,
    PersonId,
    Position,
    Said,
    Tail,
    TurnState,
)
from holdfast.policy.recovery.outcome import Decision
from holdfast.policy.settings import HOUR, MINUTE
from holdfast.store import StaleTurn
from tests.support.judging import rule
from tests.support.ledger import (
    ANN,
    BOB,
    SETTINGS,
    Ledger,
    address,
    asks,
    key,
    never_asked,
    result,
    resume_all,
)


def texts(claimed: Claimed) -> list[str]:
    return [entry.body.text for entry in claimed.entries if isinstance(entry.body, Said)]


def notes(claimed: Claimed) -> list[tuple[NoteKind, int]]:
    return [(entry.body.note, entry.body.count) for entry in claimed.entries if isinstance(entry.body, Noted)]


async def test_an_empty_claim_moves_nothing(ledger: Ledger) -> None:
    async with ledger.unchanged():
        assert await ledger.try_claim() is None
    await ledger.complete()
    await ledger.command()
    async with ledger.unchanged():
        assert await ledger.try_claim() is None


async def test_a_claim_is_one_commit(ledger: Ledger) -> None:
    position = await ledger.say("hello", message_id="m1")
    before = ledger.dump()
    claimed = await ledger.claim(never_asked)
    turn, session = claimed.turn, claimed.session
    assert (session.generation, session.strikes) == (1, 1)
    assert (turn.state, turn.generation, turn.attempt, turn.cause) == (TurnState.RUNNING, 1, 1, position)
    assert (turn.owner, turn.tail, turn.progress_at) == (
        ledger.store.instance,
        Tail.MESSAGE,
        ledger.clock.now(),
    )
    assert claimed.cause.message_id == "m1"
    assert [entry.body for entry in claimed.entries] == [Said("hello", ANN)]
    assert (claimed.resumed, claimed.journal.calls, claimed.journal.generation) == (False, (), 1)

    assert await ledger.store.session(session.id) == session
    assert await ledger.turn(session.id) == turn
    row = await ledger.store.row(position)
    assert (row.state, row.turn) == (InboxState.TAKEN, turn.id)
    assert await ledger.store.transcript(session.id) == claimed.entries
    after = ledger.dump()
    grew = {table: len(after[table]) - len(before[table]) for table in after}
    assert {table: n for table, n in grew.items() if n} == {
        "sessions": 1,
        "turns": 1,
        "entries": 1,
        "events": 1,
    }


async def test_a_running_conversation_is_not_claimed_again(ledger: Ledger) -> None:
    await ledger.begin()
    await ledger.say("second")
    async with ledger.unchanged():
        assert await ledger.try_claim() is None


async def test_turns_of_one_conversation_start_in_arrival_order(ledger: Ledger) -> None:
    for n in range(5):
        await ledger.say(f"{n}")
    answered = []
    while claimed := await ledger.try_claim():
        answered += texts(claimed)
        await ledger.finish(claimed.fence)
    assert answered == ["0", "1", "2", "3", "4"]


async def test_every_claim_raises_generation_attempt_and_strikes_by_one(ledger: Ledger) -> None:
    first = await ledger.begin()
    await ledger.recover()
    second = await ledger.claim()
    assert (second.turn.id, second.resumed) == (first.turn.id, True)
    assert (second.turn.attempt, second.turn.generation, second.session.strikes) == (2, 2, 2)
    assert second.session == await ledger.store.session(first.session.id)
    assert second.turn == await ledger.turn(first.session.id)
    assert second.cause == await ledger.store.row(first.turn.cause)


async def test_a_turn_queued_again_goes_before_the_rows_that_wait(ledger: Ledger) -> None:
    first = await ledger.begin("first")
    await ledger.say("second")
    await ledger.store.put_back(first.fence)
    again = await ledger.claim(never_asked)
    assert (again.turn.id, again.turn.attempt, texts(again)) == (first.turn.id, 2, ["first"])


async def test_the_conversation_that_has_been_ready_longest_is_first(ledger: Ledger) -> None:
    for n in (3, 1, 2):
        await ledger.say(chat=f"c{n}")
        ledger.clock.advance(1)
    assert [(await ledger.claim()).place.chat for _ in range(3)] == ["c3", "c1", "c2"]


async def test_a_busy_conversation_goes_to_the_end_of_the_line(ledger: Ledger) -> None:
    for _ in range(3):
        await ledger.say(chat="chatty")
    ledger.clock.advance(1)
    await ledger.say(chat="quiet")
    served = []
    while claimed := await ledger.try_claim():
        served.append(claimed.place.chat)
        ledger.clock.advance(1)
        await ledger.finish(claimed.fence)
    assert served == ["chatty", "quiet", "chatty", "chatty"]


async def test_waiting_messages_do_not_lose_their_place_by_more_coming(ledger: Ledger) -> None:
    await ledger.say(chat="c1")
    ledger.clock.advance(1)
    await ledger.say(chat="c2")
    ledger.clock.advance(1)
    await ledger.say(chat="c1")
    assert (await ledger.claim()).place.chat == "c1"


async def test_resumes_wait_when_they_hold_their_share_of_the_workers(ledger: Ledger) -> None:
    await ledger.begin(chat="cut")
    await ledger.recover()
    async with ledger.unchanged():
        assert await ledger.try_claim(resumes=False) is None
    await ledger.say(chat="new")
    assert (await ledger.claim(resumes=False)).place.chat == "new"
    assert (await ledger.claim()).place.chat == "cut"


async def test_several_are_claimed_in_the_order_of_the_line_and_fewer_mean_that_nothing_is_left(
    ledger: Ledger,
) -> None:
    for n in (3, 1, 2):
        await ledger.say(chat=f"c{n}")
        ledger.clock.advance(1)
    two = await ledger.store.claim_ready(SETTINGS, resume_all, limit=2, resumes=0)
    assert [one.place.chat for one in two] == ["c3", "c1"]
    (left,) = await ledger.store.claim_ready(SETTINGS, resume_all, limit=2, resumes=0)
    assert left.place.chat == "c2"
    assert len({one.fence for one in (*two, left)}) == 3
    async with ledger.unchanged():
        assert await ledger.store.claim_ready(SETTINGS, resume_all, limit=2, resumes=0) == ()


async def test_of_several_no_more_than_their_share_are_resumes(ledger: Ledger) -> None:
    for n in range(3):
        await ledger.begin(chat=f"cut{n}")
    await ledger.recover()
    ledger.clock.advance(1)
    await ledger.say(chat="new")
    claimed = await ledger.store.claim_ready(SETTINGS, resume_all, limit=9, resumes=2)
    assert [one.place.chat for one in claimed] == ["cut0", "cut1", "new"]


async def test_of_several_one_is_a_suspect(ledger: Ledger) -> None:
    for chat in ("bad", "worse"):
        await ledger.die(2, chat)
    await ledger.settle("resume")
    (claimed,) = await ledger.store.claim_ready(SETTINGS, resume_all, limit=9, resumes=9)
    assert claimed.suspect


async def test_a_turn_put_back_unbegun_is_no_resume(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.store.put_back(claimed.fence)
    assert (await ledger.claim(never_asked, resumes=False)).turn.id == claimed.turn.id


async def test_resumed_and_new_work_stand_in_one_line(ledger: Ledger) -> None:
    await ledger.begin(chat="cut")
    await ledger.recover()
    ledger.clock.advance(1)
    await ledger.say(chat="new")
    assert [(await ledger.claim()).place.chat for _ in range(2)] == ["cut", "new"]


async def test_in_collect_mode_all_that_waits_joins_one_turn(ledger: Ledger) -> None:
    positions = [await ledger.say(text) for text in ("one", "two", "three")]
    claimed = await ledger.claim(busy=BusyMode.COLLECT)
    assert texts(claimed) == ["one", "two", "three"]
    assert claimed.turn.cause == positions[0]
    rows = [await ledger.store.row(position) for position in positions]
    assert {(row.state, row.turn) for row in rows} == {(InboxState.TAKEN, claimed.turn.id)}
    await ledger.finish(claimed.fence)
    assert await ledger.try_claim() is None


async def test_a_chats_own_mode_goes_before_the_configured_one(ledger: Ledger) -> None:
    await ledger.say("one")
    await ledger.say("two")
    await ledger.store.configure_chat(address(), ChatSettings(BusyMode.QUEUE))
    claimed = await ledger.claim(busy=BusyMode.COLLECT)
    assert texts(claimed) == ["one"]
    await ledger.store.configure_chat(address(), ChatSettings(BusyMode.COLLECT))
    await ledger.say("three")
    await ledger.finish(claimed.fence)
    assert texts(await ledger.claim()) == ["two", "three"]


async def test_interrupted_work_is_judged_once_more_before_it_runs(ledger: Ledger) -> None:
    claimed = await ledger.begin("work")
    await ledger.recover()
    await ledger.say("a new message")
    seen: list[StaleTurn] = []

    def judge(stale: StaleTurn, now: int) -> Decision:
        assert now == ledger.clock.now()
        seen.append(stale)
        return rule("resume")

    assert (await ledger.claim(judge)).turn.id == claimed.turn.id
    (stale,) = seen
    assert (stale.turn, stale.key, stale.sender, stale.waiting_sender) == (claimed.turn.id, key(), ANN, ANN)
    assert (stale.stands.strikes, stale.stands.interruptions, stale.stands.noted) == (1, 1, 0)
    assert stale.stands.last_owner is None, "nobody has to let go of what is in line again"


async def test_work_not_to_be_resumed_any_more_goes_back_to_recovery(ledger: Ledger) -> None:
    claimed = await ledger.begin(chat="cut")
    await ledger.recover()
    ledger.clock.advance(1)
    await ledger.say(chat="other")
    before = await ledger.turn(claimed.session.id)
    other = await ledger.claim(lambda stale, now: rule("too_old"))
    assert other.place.chat == "other", "one refused resume keeps no other conversation waiting"
    turn = await ledger.turn(claimed.session.id)
    assert (before.state, turn.state) == (TurnState.QUEUED, TurnState.INTERRUPTED)
    assert (turn.interruptions, turn.attempt) == (1, 1)
    session = await ledger.store.session(claimed.session.id)
    assert (session.generation, session.strikes) == (1, 1)
    assert [stale.turn for stale in await ledger.store.stale_turns()] == [turn.id]
    async with ledger.unchanged():
        assert await ledger.try_claim() is None


async def test_a_suspect_waits_while_another_runs_and_the_unsuspected_never_wait(ledger: Ledger) -> None:
    for chat in ("s1", "s2"):
        await ledger.die(2, chat)
    await ledger.settle("resume")
    first = await ledger.claim()
    assert first.session.strikes == 3
    assert await ledger.store.lane_taken()
    async with ledger.unchanged():
        assert await ledger.try_claim() is None
    innocents = [await ledger.begin(chat=f"c{n}") for n in range(3)]
    assert {one.session.strikes for one in innocents} == {1}

    await ledger.finish(first.fence)
    second = await ledger.claim()
    assert {first.place.chat, second.place.chat} == {"s1", "s2"}


async def test_a_new_message_does_not_jump_the_quarantine_lane(ledger: Ledger) -> None:
    await ledger.die(2, "s2")
    await ledger.settle("chat_says_never")
    await ledger.die(2, "s1")
    await ledger.settle("resume")
    runs = await ledger.claim()
    await ledger.say("go on", chat="s2")
    async with ledger.unchanged():
        assert await ledger.try_claim() is None
    await ledger.store.interrupt(runs.fence, "shutdown_timeout")
    assert (await ledger.claim()).place.chat == "s2"


async def test_a_suspect_that_survived_is_cleared_and_frees_the_lane(ledger: Ledger) -> None:
    for chat in ("s1", "s2"):
        await ledger.die(2, chat)
    await ledger.settle("resume")
    first = await ledger.claim()
    await ledger.store.clear_suspect(first.fence)
    assert (await ledger.store.session(first.session.id)).strikes == 0
    second = await ledger.claim()
    assert second.session.id != first.session.id
    assert (await ledger.turn(first.session.id)).state is TurnState.RUNNING


async def test_one_strike_makes_no_suspect(ledger: Ledger) -> None:
    for chat in ("s1", "s2"):
        await ledger.die(1, chat)
    await ledger.settle("resume")
    assert {(await ledger.claim()).place.chat for _ in range(2)} == {"s1", "s2"}
    assert not await ledger.store.lane_taken()


async def test_a_resumed_turn_finds_its_entries_and_its_journal(ledger: Ledger) -> None:
    await ledger.complete("before")
    claimed = await ledger.begin("work")
    await ledger.start(claimed.fence, "c1", "c2", effect=EffectClass.READ)
    await ledger.append(claimed.fence, result("c1"))
    await ledger.recover()
    again = await ledger.claim()
    assert [entry.body for entry in again.entries] == [Said("work", ANN), asks("c1", "c2"), result("c1")]
    assert [(call.id, call.state, call.generation) for call in again.journal.calls] == [
        (CallId("c1"), CallState.DONE, 2),
        (CallId("c2"), CallState.STARTED, 2),
    ]
    assert again.journal.generation == 3
    assert again.journal == await ledger.store.journal(again.turn.id, 3)


async def test_a_taken_over_owner_keeps_nothing_but_its_old_fence(ledger: Ledger) -> None:
    first = await ledger.begin()
    await ledger.recover()
    await ledger.claim()
    async with ledger.refused(StaleWrite):
        await ledger.append(first.fence, asks("c1"))


async def test_a_new_turn_after_an_expired_one_opens_with_one_note_then_the_message(ledger: Ledger) -> None:
    await ledger.begin("old work")
    ledger.clock.advance(2 * HOUR)
    await ledger.recover("too_old")
    claimed = await ledger.begin("new message")
    assert notes(claimed) == [(NoteKind.LEFT_BEHIND, 0)]
    assert isinstance(claimed.entries[0].body, Noted)
    assert texts(claimed) == ["new message"]


async def test_a_new_turn_after_an_ordinary_one_gets_no_note(ledger: Ledger) -> None:
    await ledger.complete()
    assert notes(await ledger.begin()) == []


async def test_a_new_turn_after_a_failed_resume_is_told_so_within_the_window(ledger: Ledger) -> None:
    for wait, kinds in ((MINUTE, [(NoteKind.RESUME_FAILED, 0)]), (2 * HOUR, [])):
        claimed = await ledger.begin(chat=f"c{wait}")
        await ledger.recover()
        claimed = await ledger.claim()
        await ledger.finish(claimed.fence, TurnState.FAILED)
        ledger.clock.advance(wait)
        assert notes(await ledger.begin(chat=f"c{wait}")) == kinds


async def test_messages_that_wait_behind_unfinished_work_stay_waiting(ledger: Ledger) -> None:
    await ledger.begin("work")
    await ledger.say("meanwhile")
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    async with ledger.unchanged():
        assert await ledger.try_claim() is None
    assert [row.text for row in await ledger.store.waiting(key())] == ["meanwhile"]


async def test_what_waits_of_somebody_not_allowed_any_more_is_refused_and_the_rest_goes_on(
    ledger: Ledger,
) -> None:
    of_bob = await ledger.say("bob's", sender=BOB)
    await ledger.say("ann's")
    claimed = await ledger.claim(never_asked, allowed=lambda person: person == ANN)
    assert texts(claimed) == ["ann's"]
    row = await ledger.store.row(of_bob)
    assert (row.state, row.reason) == (InboxState.REFUSED, "not_allowed")
    assert await ledger.try_claim(allowed=lambda person: person == ANN) is None


async def test_a_resumed_turn_takes_nothing_in_of_somebody_not_allowed_any_more(ledger: Ledger) -> None:
    await ledger.begin("ann's")
    await ledger.say("bob's", sender=BOB)
    of_ann = await ledger.say("ann's second")
    await ledger.recover()
    assert (await ledger.claim(allowed=lambda person: person == ANN)).take == (of_ann,)


async def test_a_turn_put_back_is_cancelled_when_who_began_it_is_not_allowed_any_more(ledger: Ledger) -> None:
    put_back = await ledger.begin("ann's")
    await ledger.store.put_back(put_back.fence)
    of_bob = await ledger.say("bob's", sender=BOB)
    claimed = await ledger.claim(allowed=lambda person: person == BOB)
    assert (claimed.cause.position, claimed.session.id) == (of_bob, put_back.session.id)
    before = (await ledger.store.turns(put_back.session.id))[1]
    assert (before.state, before.why) == (TurnState.CANCELLED, "not_allowed")


def but_bob(person: PersonId) -> bool:
    return person != BOB


async def refused(ledger: Ledger, *positions: Position) -> bool:
    found = [await ledger.store.row(position) for position in positions]
    return all((row.state, row.reason) == (InboxState.REFUSED, "not_allowed") for row in found)


async def test_who_is_allowed_no_more_begins_no_turn_and_holds_up_nobody(ledger: Ledger) -> None:
    gone = [await ledger.say("out", sender=BOB), await ledger.say("out", sender=BOB)]
    await ledger.say("in")
    await ledger.say("also in")
    claimed = await ledger.claim(allowed=but_bob)
    assert texts(claimed) == ["in"]
    assert await refused(ledger, *gone)
    assert await ledger.try_claim(allowed=but_bob) is None, "one turn at a time"
    await ledger.finish(claimed.fence)
    assert texts(await ledger.claim(allowed=but_bob)) == ["also in"]


async def test_a_conversation_where_nobody_is_allowed_leaves_the_line_to_the_next(ledger: Ledger) -> None:
    gone = await ledger.say("out", "c1", sender=BOB)
    ledger.clock.advance(1)
    await ledger.say("in", "c2")
    assert texts(await ledger.claim(allowed=but_bob)) == ["in"]
    assert await refused(ledger, gone)
    async with ledger.unchanged():
        assert await ledger.try_claim(allowed=but_bob) is None


async def test_who_cannot_be_checked_begins_no_turn(ledger: Ledger) -> None:
    def broken(person: PersonId) -> bool:
        raise OSError("the list cannot be read")

    gone = await ledger.say()
    assert await ledger.try_claim(allowed=broken) is None
    assert await refused(ledger, gone)


async def test_what_is_collected_is_of_people_who_are_allowed(ledger: Ledger) -> None:
    await ledger.say("one")
    gone = await ledger.say("out", sender=BOB)
    await ledger.say("two")
    claimed = await ledger.claim(allowed=but_bob, busy=BusyMode.COLLECT)
    assert texts(claimed) == ["one", "two"]
    assert await refused(ledger, gone)


async def test_the_oldest_message_taken_into_a_resume_is_of_somebody_allowed(ledger: Ledger) -> None:
    await ledger.begin("work")
    gone = await ledger.say("out", sender=BOB)
    taken = await ledger.say("in")
    await ledger.recover()
    assert (await ledger.claim(allowed=but_bob)).take == (taken,)
    assert await refused(ledger, gone)
