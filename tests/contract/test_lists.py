"""What people look at: pages of sessions, one message's whole life, what a boot found."""

import pytest

from holdfast.errors import NotFound
from holdfast.model import (
    CallId,
    DeliveryState,
    EffectClass,
    InboxState,
    Lost,
    PlannedCall,
    Position,
    SendResult,
    Sent,
    SessionId,
    StopKind,
    Stopped,
    TryAgain,
    TurnState,
)
from holdfast.store import KeptReport
from tests.support.ledger import ANN, Ledger, answers, asks, key, owed, result


async def test_sessions_come_newest_first_page_by_page(ledger: Ledger) -> None:
    made = []
    for n in range(5):
        made.append((await ledger.complete(chat=f"c{n}")).session.id)
        ledger.clock.advance(1)
    newest_first = made[::-1]
    pages, before = [], None
    while page := await ledger.store.sessions(before, limit=2):
        pages.append([line.id for line in page])
        before = page[-1].id
    assert pages == [newest_first[:2], newest_first[2:4], newest_first[4:]]


async def test_the_sessions_of_one_conversation_come_by_themselves(ledger: Ledger) -> None:
    first = await ledger.complete(chat="c1")
    await ledger.complete(chat="c2")
    await ledger.store.stop(key("c1"), StopKind.NEW, None)
    second = await ledger.complete(chat="c1")
    await ledger.complete(chat="c3")
    listed = await ledger.store.sessions(key=key("c1"))
    assert [line.id for line in listed] == [second.session.id, first.session.id]
    (before,) = await ledger.store.sessions(second.session.id, key=key("c1"))
    assert before.id == first.session.id
    (live,) = await ledger.store.sessions(key=key("c1"), live_only=True)
    assert live.id == second.session.id
    assert await ledger.store.sessions(key=key("nobody")) == ()


async def test_a_line_says_how_its_session_stands(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    (line,) = await ledger.store.sessions()
    assert (line.id, line.key, line.began, line.strikes) == (claimed.session.id, key(), "first", 1)
    assert (line.turn, line.state, line.held) == (claimed.turn.id, TurnState.RUNNING, None)
    await ledger.recover("platform_down")
    (line,) = await ledger.store.sessions()
    assert (line.state, line.held, line.suspended) == (TurnState.INTERRUPTED, "platform_down", False)
    await ledger.settle("too_many_strikes")
    (line,) = await ledger.store.sessions()
    assert (line.state, line.suspended, line.ended_at) == (TurnState.PARKED, True, None)


async def test_the_ended_can_be_left_out(ledger: Ledger) -> None:
    await ledger.complete()
    await ledger.store.stop(key(), StopKind.NEW, None)
    live = await ledger.complete()
    assert [line.id for line in await ledger.store.sessions(live_only=True)] == [live.session.id]
    assert len(await ledger.store.sessions()) == 2


async def test_turns_come_newest_first(ledger: Ledger) -> None:
    claims = []
    for _ in range(3):
        claims.append(await ledger.complete())
        ledger.clock.advance(1)
    session = claims[0].session.id
    newest_first = [claimed.turn.id for claimed in reversed(claims)]
    assert [turn.id for turn in await ledger.store.turns(session)] == newest_first
    assert len(await ledger.store.turns(session, limit=2)) == 2


async def test_what_does_not_exist_is_named(ledger: Ledger) -> None:
    with pytest.raises(NotFound):
        await ledger.store.session(SessionId("none"))
    with pytest.raises(NotFound):
        await ledger.store.row(Position(1))
    with pytest.raises(NotFound):
        await ledger.store.trace(Position(1))
    assert await ledger.store.live_session(key()) is None
    assert await ledger.store.turns(SessionId("none")) == ()
    assert await ledger.store.transcript(SessionId("none")) == ()


async def test_a_trace_is_one_messages_whole_life_across_restarts(ledger: Ledger) -> None:
    first = ledger.store.instance
    position = await ledger.say("hello")
    claimed = await ledger.claim()
    await ledger.start(claimed.fence, "c1")
    ledger.clock.advance(1)
    await ledger.append(claimed.fence, ask=(ledger.question(),))
    await ledger.recover()
    second = ledger.store.instance
    again = await ledger.claim()
    reply = await ledger.word("red")
    (question,) = again.journal.questions
    await ledger.store.answer(question.id, reply, "red", ANN)
    ledger.clock.advance(1)
    await ledger.store.finish(again.fence, TurnState.DONE, (answers(),), (owed("reply", "a", "b"),))
    results: list[SendResult] = [Sent(), Lost("timeout"), Sent()]
    for outcome in results:
        ledger.clock.advance(1)
        (delivery,) = await ledger.send()
        await ledger.store.record_delivery(delivery.id, outcome)
        if isinstance(outcome, Lost):
            await ledger.store.settle_delivery(delivery.id, TryAgain(0, "again"), repeated=True)
    ledger.clock.advance(1)
    (delivery,) = await ledger.send()
    await ledger.store.record_delivery(delivery.id, Sent())

    other = await ledger.say("another chat", chat="c2")

    trace = await ledger.store.trace(position)
    assert [(line.what, line.subject.partition(":")[0], line.instance) for line in trace] == [
        ("accepted", "inbox", first),
        ("taken", "inbox", first),
        ("claimed", "turn", first),
        ("planned", "call", first),
        ("started", "call", first),
        ("asked", "question", first),
        ("interrupted", "turn", second),
        ("claimed", "turn", second),
        ("answered", "question", second),
        ("unknown", "call", second),
        ("done", "turn", second),
        ("sent", "delivery", second),
        ("unknown", "delivery", second),
        ("try_again", "delivery", second),
        ("sent", "delivery", second),
        ("sent", "delivery", second),
    ]
    assert [line.at for line in trace] == sorted(line.at for line in trace)
    assert [line.what for line in await ledger.store.trace(other)] == ["accepted"]
    assert [line.what for line in await ledger.store.trace(reply)][:2] == ["asked", "accepted"]


async def test_what_happened_within_one_millisecond_is_traced_in_order(ledger: Ledger) -> None:
    position = await ledger.say("hello")
    claimed = await ledger.claim()
    await ledger.start(claimed.fence, "c1")
    await ledger.append(claimed.fence, ask=(ledger.question(),))
    await ledger.finish(claimed.fence, TurnState.DONE, owed("reply"))
    for _ in range(2):
        (delivery,) = await ledger.send()
        await ledger.store.record_delivery(delivery.id, Sent("p1"))
    trace = await ledger.store.trace(position)
    assert {line.at for line in trace} == {ledger.clock.now()}
    calls = ["planned", "started", "asked", "unknown"]
    assert [line.what for line in trace] == ["accepted", "taken", "claimed", *calls, "done", "sent", "sent"]
    assert "p1" in (trace[-1].detail or "")


async def test_a_trace_tells_of_a_call_its_name_and_never_what_it_was_given(ledger: Ledger) -> None:
    position = await ledger.say("hello")
    claimed = await ledger.claim()
    secret = PlannedCall(CallId("c1"), "write_file", '{"text": "secret"}', EffectClass.READ)
    skipped = PlannedCall(CallId("c2"), "tool_c2", "secret", EffectClass.EFFECT)
    await ledger.append(claimed.fence, asks("c1", "c2"), plan=(secret, skipped), start=(secret.id,))
    await ledger.recover()
    again = await ledger.claim()
    await ledger.append(again.fence, start=(secret.id,))
    await ledger.append(again.fence, result("c1", text="secret"))
    await ledger.finish(again.fence)
    found = [line for line in await ledger.store.trace(position) if line.subject.startswith("call:")]
    told = [(line.subject, line.what, line.detail) for line in found]
    assert told == [
        ("call:c1", "planned", '{"tool":"write_file","class":"read"}'),
        ("call:c1", "started", '{"tool":"write_file","runs":2}'),
        ("call:c2", "planned", '{"tool":"tool_c2","class":"effect"}'),
        ("call:c1", "done", '{"tool":"write_file"}'),
        ("call:c2", "skipped", '{"tool":"tool_c2"}'),
    ]


async def test_an_end_that_an_event_explains_is_told_once(ledger: Ledger) -> None:
    position = await ledger.say("hello")
    await ledger.claim()
    await ledger.recover("too_old")
    ends = [line for line in await ledger.store.trace(position) if line.what == "expired"]
    assert ["too_old" in (line.detail or "") for line in ends] == [True]


async def test_a_trace_tells_why_a_message_was_never_run(ledger: Ledger) -> None:
    position = await ledger.say()
    await ledger.store.settle_row(position, InboxState.REFUSED, "queue_full", (owed("told"),))
    last = (await ledger.store.trace(position))[-1]
    assert (last.what, "queue_full" in (last.detail or "")) == ("refused", True)


async def test_a_first_boot_finds_nothing(ledger: Ledger) -> None:
    found = await ledger.store.continuity()
    assert (found.previous_ended, found.previous_started_at, found.open_turns) == ("none", None, ())
    assert (found.owed, found.unknown, found.waiting) == (0, 0, 0)


@pytest.mark.parametrize("how", [None, Stopped.STOPPED, Stopped.RESTART, Stopped.FAILED])
async def test_a_boot_finds_how_the_last_run_ended(ledger: Ledger, how: Stopped | None) -> None:
    started = ledger.clock.now()
    ledger.clock.advance(1_000)
    if how:
        await ledger.store.end_instance(how)
    else:
        await ledger.store.heartbeat()
    seen = ledger.clock.now()
    await ledger.crash()
    found = await ledger.store.continuity()
    assert (found.previous_ended, found.previous_started_at, found.previous_seen_at) == (
        how or "crashed",
        started,
        seen,
    )


async def test_a_boots_report_is_kept_once_and_outlives_it(ledger: Ledger) -> None:
    assert await ledger.store.continuity_reports() == ()
    first, at = ledger.store.instance, ledger.clock.now()
    assert await ledger.store.keep_continuity('{"lines":["one"]}')
    async with ledger.unchanged():
        assert not await ledger.store.keep_continuity('{"lines":["another"]}')
    await ledger.crash()
    second = ledger.store.instance
    assert await ledger.store.keep_continuity('{"lines":["two"]}')
    assert await ledger.store.continuity_reports() == (
        KeptReport(second, ledger.clock.now(), '{"lines":["two"]}'),
        KeptReport(first, at, '{"lines":["one"]}'),
    )
    assert [one.instance for one in await ledger.store.continuity_reports(limit=1)] == [second]


async def test_a_boot_finds_what_was_open_owed_in_doubt_and_waiting(ledger: Ledger) -> None:
    running = await ledger.begin(chat="c1")
    cut = await ledger.begin(chat="c2")
    await ledger.store.interrupt(cut.fence, "shutdown_timeout")
    await ledger.complete(chat="c3")
    for n in range(3):
        await ledger.store.owe(owed(f"n{n}", chat="c3"))
    (delivery,) = await ledger.send()
    await ledger.store.record_delivery(delivery.id, Lost("?"))
    await ledger.word("meanwhile", chat="c1")
    await ledger.command("/help")
    await ledger.crash()
    found = await ledger.store.continuity()
    assert found.open_turns == (
        (running.turn.id, TurnState.RUNNING, None),
        (cut.turn.id, TurnState.INTERRUPTED, "shutdown_timeout"),
    )
    assert (found.owed, found.unknown, found.waiting) == (2, 1, 1)
    (doubt,) = await ledger.store.in_doubt()
    assert doubt.state is DeliveryState.UNKNOWN
