"""Recording a turn: one commit per step, one result per call, nothing begun before it is written down."""

import pytest

from holdfast.errors import ConstraintBroken, NotFound, StopAsked, WrongState
from holdfast.model import (
    Attachment,
    Body,
    CallId,
    CallState,
    EffectClass,
    InboxState,
    Noted,
    NoteKind,
    PlannedCall,
    Position,
    Replied,
    Said,
    StopKind,
    StopReason,
    Summed,
    Tail,
    ToolCall,
    TurnState,
    Undone,
    Usage,
    call_key,
)
from holdfast.policy.settings import MINUTE
from holdfast.store import Edit, Spawned, Step
from tests.support.ledger import ANN, BOB, Ledger, address, answers, asks, key, owed, planned, result, spawned

EVERY_BODY: tuple[Body, ...] = (
    Said("grüße", ANN, (Attachment("sha256:1", "a.txt", "text/plain", 3),)),
    Replied("partly", StopReason.CUT, (ToolCall(CallId("x"), "tool", '{"a": 1}'),), '{"sig": "…"}'),
    Noted(NoteKind.WATCHED, 7, "a word"),
    Undone(1, 2),
    Summed(1, 2, "summary", 5),
)


async def test_entries_come_back_as_they_were_appended(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    recorded = await ledger.append(claimed.fence, *EVERY_BODY, asks("c1"), plan=(planned("c1"),))
    assert [entry.body for entry in recorded.entries] == [*EVERY_BODY, asks("c1")]
    assert [entry.seq for entry in recorded.entries] == [2, 3, 4, 5, 6, 7]
    assert {(entry.turn, entry.at) for entry in recorded.entries} == {(claimed.turn.id, ledger.clock.now())}
    assert await ledger.store.transcript(claimed.session.id) == (*claimed.entries, *recorded.entries)


async def test_a_step_is_one_commit(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    waits = await ledger.word("meanwhile")
    await ledger.start(claimed.fence, "c1")
    step = Step(
        (result("c1"), asks("c2")),
        plan=(planned("c2"),),
        start=(CallId("c2"),),
        consume=(waits,),
        ask=(ledger.question(call="c2"),),
        owe=(owed("progress"),),
        spawn=(spawned(),),
        usage=(Usage("big", 10, 20, 3),),
    )
    impossible = Step(
        **{name: getattr(step, name) for name in step.__slots__} | {"ask": (*step.ask, *step.ask)}
    )
    async with ledger.refused(ConstraintBroken):
        await ledger.store.record(claimed.fence, impossible)

    recorded = await ledger.store.record(claimed.fence, step)
    assert (recorded.stop, recorded.waiting) == (None, 0)
    journal = await ledger.store.journal(claimed.turn.id, claimed.fence.generation)
    assert [(call.id, call.state) for call in journal.calls] == [
        ("c1", CallState.DONE),
        ("c2", CallState.STARTED),
    ]
    assert [question.call for question in journal.questions] == ["c2"]
    assert [sent.dedupe for sent in await ledger.outbox()] == ["question:q1", "progress"]
    assert (await ledger.store.row(waits)).turn == claimed.turn.id
    assert [process.id for process in await ledger.store.processes()] == ["p1"]
    assert len(ledger.dump()["usage"]) == 1


async def test_a_step_tells_what_waits_and_whether_a_stop_was_asked(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.say("one")
    await ledger.say("two")
    await ledger.command("/help")
    assert (await ledger.append(claimed.fence)).waiting == 2
    await ledger.store.stop(key(), StopKind.STOP, None)
    assert (await ledger.append(claimed.fence)).stop is StopKind.STOP


async def test_a_call_is_started_before_its_effect_and_settled_by_its_one_result(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    call = PlannedCall(CallId("c1"), "tool", '{"a": 1}', EffectClass.RECONCILABLE)
    await ledger.append(claimed.fence, asks("c1"), plan=(call,))
    (record,) = (await ledger.store.journal(claimed.turn.id, 1)).calls
    assert (record.name, record.arguments, record.effect, record.key, record.state, record.generation) == (
        "tool",
        '{"a": 1}',
        EffectClass.RECONCILABLE,
        call_key(claimed.turn.id, CallId("c1")),
        CallState.PLANNED,
        0,
    )
    await ledger.append(claimed.fence, start=(CallId("c1"),))
    (record,) = (await ledger.store.journal(claimed.turn.id, 1)).calls
    assert (record.state, record.generation) == (CallState.STARTED, 1)
    await ledger.append(claimed.fence, result("c1"))
    (record,) = (await ledger.store.journal(claimed.turn.id, 1)).calls
    assert record.state is CallState.DONE


@pytest.mark.parametrize("state", [CallState.DONE, CallState.FAILED, CallState.UNKNOWN])
async def test_a_second_result_is_refused(ledger: Ledger, state: CallState) -> None:
    claimed = await ledger.begin()
    await ledger.start(claimed.fence, "c1")
    await ledger.append(claimed.fence, result("c1", state))
    async with ledger.refused(WrongState):
        await ledger.append(claimed.fence, result("c1", CallState.DONE))
    async with ledger.refused(WrongState):
        await ledger.append(claimed.fence, start=(CallId("c1"),))


@pytest.mark.parametrize(
    ("started", "state"),
    [
        (False, CallState.DONE),
        (False, CallState.FAILED),
        (False, CallState.UNKNOWN),
        (True, CallState.SKIPPED),
    ],
)
async def test_a_result_fits_how_far_its_call_got(ledger: Ledger, started: bool, state: CallState) -> None:
    claimed = await ledger.begin()
    await ledger.start(claimed.fence, "c1", start=started)
    async with ledger.refused(WrongState):
        await ledger.append(claimed.fence, result("c1", state))


async def test_a_result_of_no_call_is_refused(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    async with ledger.refused(WrongState):
        await ledger.append(claimed.fence, result("none"))
    async with ledger.refused(WrongState):
        await ledger.append(claimed.fence, start=(CallId("none"),))


async def test_a_refusal_names_the_state_it_found(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.start(claimed.fence, "c1")
    with pytest.raises(WrongState) as caught:
        await ledger.append(claimed.fence, start=(CallId("c1"),))
    assert caught.value.found == CallState.STARTED
    with pytest.raises(WrongState) as caught:
        await ledger.append(claimed.fence, start=(CallId("none"),))
    assert caught.value.found is None


async def test_a_call_cannot_be_planned_twice(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.start(claimed.fence, "c1")
    async with ledger.refused(ConstraintBroken):
        await ledger.append(claimed.fence, plan=(planned("c1"),))


async def test_no_two_calls_share_a_key_and_a_call_keeps_its_own(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.append(claimed.fence, plan=(planned("c1"), planned("c2")))
    before = (await ledger.store.journal(claimed.turn.id, 1)).calls
    await ledger.recover()
    again = await ledger.claim()
    assert len({call.key for call in before}) == 2
    assert [call.key for call in again.journal.calls] == [call.key for call in before]


@pytest.mark.parametrize("effect", list(EffectClass))
async def test_what_was_started_may_start_again_only_in_a_later_run_and_only_if_harmless(
    ledger: Ledger, effect: EffectClass
) -> None:
    claimed = await ledger.begin()
    await ledger.start(claimed.fence, "c1", effect=effect)
    async with ledger.refused(WrongState):
        await ledger.append(claimed.fence, start=(CallId("c1"),))
    await ledger.recover()
    again = await ledger.claim()
    if effect in (EffectClass.READ, EffectClass.IDEMPOTENT):
        await ledger.append(again.fence, start=(CallId("c1"),))
        (call,) = (await ledger.store.journal(again.turn.id, 2)).calls
        assert (call.generation, call.key) == (2, call_key(claimed.turn.id, CallId("c1")))
    else:
        async with ledger.refused(WrongState):
            await ledger.append(again.fence, start=(CallId("c1"),))
    await ledger.append(again.fence, result("c1", CallState.UNKNOWN))


async def test_never_started_calls_of_a_cut_off_run_can_start(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.start(claimed.fence, "c1", start=False)
    await ledger.recover()
    again = await ledger.claim()
    await ledger.append(again.fence, start=(CallId("c1"),))


async def test_a_stopped_turn_begins_nothing_new_but_records_what_happened(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.start(claimed.fence, "c1")
    await ledger.start(claimed.fence, "c2", start=False)
    await ledger.store.stop(key(), StopKind.STOP, None)
    for step in (
        Step(plan=(planned("c3"),)),
        Step(start=(CallId("c2"),)),
        Step((result("c1"),), ask=(ledger.question(),)),
    ):
        async with ledger.refused(StopAsked):
            await ledger.store.record(claimed.fence, step)
    recorded = await ledger.append(claimed.fence, result("c1"))
    assert recorded.stop is StopKind.STOP


PROGRESS: list[tuple[str, tuple[Body, ...], bool, bool]] = [
    ("nothing", (), False, False),
    ("a person's message", (Said("more", ANN),), True, False),
    ("model text", (Replied("text", StopReason.CUT),), True, True),
    ("model calls", (asks("c9"),), True, True),
    ("an empty reply", (Replied("", StopReason.CUT),), False, False),
    ("a note", (Noted(NoteKind.RESTARTED, 1, "note"),), False, False),
    ("a result", (result("c1"),), True, True),
    ("a failure", (result("c1", CallState.FAILED),), True, True),
    ("an unknown outcome", (result("c1", CallState.UNKNOWN),), False, False),
    ("a skipped call", (result("c2", CallState.SKIPPED),), False, False),
    ("a summary", (Summed(1, 1, "s", 0),), False, False),
]


@pytest.mark.parametrize(("bodies", "moves"), [(p[1], p[2]) for p in PROGRESS], ids=[p[0] for p in PROGRESS])
async def test_progress_is_a_message_model_output_or_a_real_result_and_nothing_else(
    ledger: Ledger, bodies: tuple[Body, ...], moves: bool
) -> None:
    claimed = await ledger.begin()
    await ledger.start(claimed.fence, "c1")
    await ledger.start(claimed.fence, "c2", start=False)
    then = ledger.clock.now()
    ledger.clock.advance(MINUTE)
    await ledger.append(claimed.fence, *bodies, plan=(planned("c9"),) if asks("c9") in bodies else ())
    turn = await ledger.turn(claimed.session.id)
    assert turn.progress_at == (ledger.clock.now() if moves else then)


@pytest.mark.parametrize(
    ("bodies", "productive"), [(p[1], p[3]) for p in PROGRESS], ids=[p[0] for p in PROGRESS]
)
async def test_a_run_has_produced_something_by_model_output_or_a_real_result(
    ledger: Ledger, bodies: tuple[Body, ...], productive: bool
) -> None:
    claimed = await ledger.begin()
    await ledger.start(claimed.fence, "c1")
    await ledger.start(claimed.fence, "c2", start=False)
    await ledger.recover()
    again = await ledger.claim()
    await ledger.append(again.fence, *bodies, plan=(planned("c9"),) if asks("c9") in bodies else ())
    await ledger.store.interrupt(again.fence, "restart_timeout")
    session = await ledger.store.session(claimed.session.id)
    assert session.strikes == (1 if productive else 2)


async def test_tool_output_is_progress_and_claims_interruptions_and_boots_are_none(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    ledger.clock.advance(MINUTE)
    await ledger.store.progress(claimed.fence)
    then = ledger.clock.now()
    ledger.clock.advance(MINUTE)
    await ledger.recover()
    ledger.clock.advance(MINUTE)
    again = await ledger.claim()
    await ledger.store.interrupt(again.fence, "restart_timeout")
    await ledger.settle("resume")
    await ledger.store.put_back((await ledger.claim()).fence)
    assert (await ledger.turn(claimed.session.id)).progress_at == then


async def test_progress_never_goes_back_with_the_clock(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    then = ledger.clock.now()
    ledger.clock.jump(-MINUTE)
    await ledger.store.progress(claimed.fence)
    assert (await ledger.turn(claimed.session.id)).progress_at == then


async def test_a_note_about_an_interruption_is_given_once(ledger: Ledger) -> None:
    await ledger.begin()
    await ledger.recover()
    again = await ledger.claim()
    note = Noted(NoteKind.INTERRUPTED, 1, "note")
    await ledger.append(again.fence, note, tail=Tail.NOTE)
    turn = await ledger.turn(again.session.id)
    assert (turn.noted, turn.tail) == (1, Tail.NOTE)
    async with ledger.refused(ConstraintBroken):
        await ledger.append(again.fence, note)


async def test_an_opening_note_is_no_resume_note(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.append(claimed.fence, Noted(NoteKind.TOOL_TAIL, 1, "note"))
    assert (await ledger.turn(claimed.session.id)).noted == 0


async def test_a_row_is_consumed_by_one_turn_once_and_stands_after_all_else(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    waits = await ledger.say("steer", sender=BOB)
    note = Noted(NoteKind.GENERAL, 1, "note")
    recorded = await ledger.append(claimed.fence, note, consume=(waits,), tail=Tail.NOTE)
    assert [(entry.seq, entry.body) for entry in recorded.entries] == [(2, note), (3, Said("steer", BOB))]
    assert (await ledger.turn(claimed.session.id)).tail is Tail.MESSAGE
    row = await ledger.store.row(waits)
    assert (row.state, row.turn) == (InboxState.TAKEN, claimed.turn.id)
    again = await ledger.append(claimed.fence, consume=(waits, claimed.turn.cause))
    assert again.entries == ()
    assert await ledger.store.transcript(claimed.session.id) == (*claimed.entries, *recorded.entries)
    await ledger.finish(claimed.fence)
    assert await ledger.try_claim() is None


async def test_what_is_consumed_is_what_it_says_now_in_the_order_it_came(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    positions = [await ledger.say(f"{n}", message_id=f"m{n}") for n in range(3)]
    await ledger.store.revise(Edit(address(), "m0", "edited"))
    recorded = await ledger.append(claimed.fence, consume=(positions[2], positions[0], positions[2]))
    assert [entry.body for entry in recorded.entries] == [Said("edited", ANN), Said("2", ANN)]
    assert recorded.waiting == 1


async def test_a_row_that_was_withdrawn_meanwhile_is_passed_over(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    gone = await ledger.say("gone", message_id="m1")
    stays = await ledger.say("stays")
    await ledger.store.revise(Edit(address(), "m1", None))
    recorded = await ledger.append(claimed.fence, asks(), consume=(gone,), tail=Tail.PARTIAL)
    assert [entry.body for entry in recorded.entries] == [asks()]
    assert recorded.waiting == 1
    assert (await ledger.turn(claimed.session.id)).tail is Tail.PARTIAL
    recorded = await ledger.append(claimed.fence, consume=(gone, stays))
    assert [entry.body for entry in recorded.entries] == [Said("stays", ANN)]
    assert (await ledger.store.row(gone)).state is InboxState.WITHDRAWN


async def test_a_turn_takes_no_row_of_another_conversation_and_no_command(ledger: Ledger) -> None:
    claimed = await ledger.begin(chat="c1")
    other, command, here = await ledger.say(chat="c2"), await ledger.command(), await ledger.say("here")
    for position in (other, command, Position(99)):
        async with ledger.refused(WrongState):
            await ledger.append(claimed.fence, answers(), consume=(here, position))
    assert (await ledger.claim()).cause.position == other


async def test_a_message_taken_in_is_progress_and_nothing_to_show(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    waits = await ledger.say("steer")
    ledger.clock.advance(MINUTE)
    await ledger.append(claimed.fence, consume=(waits,))
    assert (await ledger.turn(claimed.session.id)).progress_at == ledger.clock.now()
    await ledger.store.interrupt(claimed.fence, "restart_timeout")
    assert (await ledger.store.session(claimed.session.id)).strikes == 1


async def test_a_process_is_known_by_pid_and_start_time_together(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.append(claimed.fence, spawn=(spawned(),))
    (process,) = await ledger.store.processes()
    assert (process.session, process.turn, process.generation) == (claimed.session.id, claimed.turn.id, 1)
    assert (process.command, process.log, process.notify, process.patterns) == (
        "make",
        "p1.log",
        True,
        ("error",),
    )
    async with ledger.refused(ConstraintBroken):
        await ledger.append(claimed.fence, spawn=(spawned("p2"),))
    await ledger.append(claimed.fence, spawn=(Spawned("p2", 100, 2, "make", "p2.log"),))


async def test_markers_go_between_turns_on_the_session_as_it_was_read(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    session = claimed.session
    async with ledger.refused(WrongState):
        await ledger.store.mark(session.id, session.generation, Undone(1, 2), 2)
    await ledger.finish(claimed.fence)
    entry = await ledger.store.mark(session.id, session.generation, Undone(1, 2), 2)
    assert (entry.seq, entry.body) == (3, Undone(1, 2))
    async with ledger.refused(WrongState):
        await ledger.store.mark(session.id, session.generation - 1, Undone(1, 2), 2)
    await ledger.complete("another turn")
    async with ledger.refused(WrongState):
        await ledger.store.mark(session.id, session.generation, Undone(1, 2), 2)


async def test_a_summary_is_refused_after_an_undo_it_has_not_seen(ledger: Ledger) -> None:
    session = (await ledger.complete()).session
    await ledger.store.mark(session.id, session.generation, Undone(1, 2), 2)
    async with ledger.refused(WrongState):
        await ledger.store.mark(session.id, session.generation, Summed(1, 2, "sum", 0), 2)
    await ledger.store.mark(session.id, session.generation, Summed(1, 2, "sum", 0), 3)


async def test_a_marker_for_an_ended_session_is_refused(ledger: Ledger) -> None:
    session = (await ledger.complete()).session
    await ledger.store.stop(key(), StopKind.NEW, None)
    ended = await ledger.store.session(session.id)
    async with ledger.refused(WrongState):
        await ledger.store.mark(session.id, ended.generation, Undone(1, 2), 2)


async def test_a_reply_to_a_chat_nobody_knows_is_refused(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    async with ledger.refused(NotFound):
        await ledger.store.finish(claimed.fence, TurnState.DONE, (answers(),), (owed("r", chat="nowhere"),))


async def test_a_transcript_is_read_from_where_one_has_read_to(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    recorded = await ledger.append(claimed.fence, answers("one"), answers("two"))
    read_up_to = recorded.entries[0].seq
    assert await ledger.store.transcript(claimed.session.id, read_up_to) == recorded.entries[1:]
