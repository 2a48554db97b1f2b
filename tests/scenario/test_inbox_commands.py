"""Commands on the real ledger: past the queue, once, in words that say what happened and what was kept."""

import asyncio
from typing import Any

import pytest

from holdfast.errors import ConstraintBroken, DiskFull, WrongState
from holdfast.inbox import CommandContext, Commands, Receiver
from holdfast.inbox.replies import MODES
from holdfast.model import (
    BusyMode,
    CallState,
    EffectClass,
    InboxState,
    OwedKind,
    PersonId,
    Position,
    StopKind,
    Tail,
    TurnState,
)
from holdfast.policy.intake.access import Access
from holdfast.policy.intake.admission import Drain
from holdfast.policy.recovery.strikes import SafeMode
from holdfast.policy.settings import DAY, HOUR
from holdfast.store import ArrivalSettings, Store
from tests.support.ledger import ANN, BOB, Ledger, answers, key, result
from tests.support.platforms import FakePlatform, HalfRng, Reports, arrival, failing, watch

ACCESS = Access(owners=frozenset({ANN}), people=frozenset({BOB}))


def commands(
    ledger: Ledger, store: Store | None = None, report: Reports | None = None, **more: Any
) -> Commands:
    given = {"access": lambda: ACCESS, **more}
    desk = CommandContext(store or ledger.store, ledger.clock, **given)
    return Commands(desk, HalfRng(), report or Reports())


async def said(ledger: Ledger, text: str, chat: str = "c1", **more: Any) -> str:
    """A command is given and carried out; what it answers."""
    answer, _ = await told(ledger, text, chat, **more)
    return answer


async def told(
    ledger: Ledger, text: str, chat: str = "c1", sender: PersonId = ANN, **more: Any
) -> tuple[str, Position]:
    position = await ledger.command(text, chat, sender=sender)
    await commands(ledger, **more).carry_out_all()
    parts = [part for part in await ledger.outbox(chat) if part.dedupe == f"command:{position}"]
    assert len(parts) == 1, "one answer per command"
    return parts[0].text, position


async def state_of(ledger: Ledger, position: Position) -> InboxState:
    return (await ledger.store.row(position)).state


@pytest.mark.guards("R9.2", "D9")
async def test_commands_do_not_wait_behind_a_turn_that_hangs(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.say("waits")
    answer = await said(ledger, "/stop")
    assert (await ledger.turn(claimed.session.id)).stop is StopKind.STOP
    assert answer.startswith("Stopped.")
    assert "1 message waits; I'll answer it next" in answer
    assert [row.text for row in await ledger.store.waiting(key())] == ["waits"]


@pytest.mark.guards("R1.4", "A10")
async def test_stop_keeps_the_session_and_says_when_there_was_nothing_to_stop(ledger: Ledger) -> None:
    claimed = await ledger.complete()
    assert (await said(ledger, "/stop")).startswith("Nothing was unfinished here")
    live = await ledger.store.live_session(key())
    assert live is not None
    assert live.id == claimed.session.id


@pytest.mark.guards("R1.4")
@pytest.mark.parametrize("how", ["waiting", "interrupted", "held"])
async def test_stop_ends_what_nobody_runs_and_no_restart_brings_it_back(ledger: Ledger, how: str) -> None:
    claimed = await ledger.begin()
    if how == "waiting":
        await ledger.ask(claimed.fence)
    else:
        await ledger.recover("platform_down" if how == "held" else "quarantine")
    assert (await said(ledger, "/stop")).startswith("Stopped.")
    await ledger.crash()
    assert (await ledger.turn(claimed.session.id)).state is TurnState.CANCELLED


@pytest.mark.guards("R1.4")
async def test_new_says_which_waiting_messages_it_withdrew_and_keeps_what_came_after(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.say("first")
    await ledger.say("second")
    position = await ledger.command("/new")
    await ledger.say("after")
    await commands(ledger).carry_out_all()
    (answer,) = [p.text for p in await ledger.outbox() if p.dedupe == f"command:{position}"]
    assert "“first”" in answer
    assert "“second”" in answer
    assert "after" not in answer.replace("afterwards", "")
    assert "I stopped the unfinished work" in answer
    assert [row.text for row in await ledger.store.waiting(key())] == ["after"]
    await ledger.store.finish(claimed.fence, TurnState.CANCELLED)
    assert (await ledger.claim()).session.id != claimed.session.id


async def test_a_stop_whose_turn_ended_meanwhile_says_so_in_its_own_commit(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    position = await ledger.command("/stop")
    real = ledger.store.stop

    class Late:
        def __getattr__(self, verb: str) -> Any:
            return getattr(ledger.store, verb)

        async def stop(self, *args: Any) -> Any:
            await ledger.finish(claimed.fence)
            return await real(*args)

    await commands(ledger, Late()).carry_out_all()
    (answer,) = [p.text for p in await ledger.outbox() if p.dedupe.startswith(f"command:{position}")]
    assert answer.startswith("Nothing was unfinished here")


async def test_a_redelivered_command_does_nothing_more(ledger: Ledger) -> None:
    platform = FakePlatform()
    platform.cursor = None
    platform.updates.append(arrival("/new", "e9"))
    for _ in range(2):
        await Receiver(ledger.store, platform, ledger.clock, HalfRng(), lambda: ACCESS).read_once()
        await commands(ledger).carry_out_all()
        await ledger.crash()
    assert len([part for part in await ledger.outbox() if part.dedupe.startswith("command:")]) == 1


async def test_a_restart_is_an_owners_request_and_asked_for_once(ledger: Ledger) -> None:
    platform = FakePlatform()
    platform.cursor = None
    platform.updates.append(arrival("/restart", "e9"))
    for _ in range(2):
        await Receiver(ledger.store, platform, ledger.clock, HalfRng(), lambda: ACCESS).read_once()
        await commands(ledger).carry_out_all()
        for request in await ledger.store.requests():
            assert (request.what, request.asked_by) == ("restart", ANN)
            await ledger.store.settle_request(request.id, "restarted")
        await ledger.crash()
    assert len(ledger.dump()["requests"]) == 1


async def test_a_crash_between_a_restarts_request_and_its_row_asks_for_no_second(ledger: Ledger) -> None:
    position = await ledger.command("/restart")
    store = failing(ledger.store, settle_row=[DiskFull("full")])
    with pytest.raises(DiskFull):
        await commands(ledger, store).carry_out_all()
    await ledger.crash()
    await commands(ledger).carry_out_all()
    assert len(ledger.dump()["requests"]) == 1
    assert await state_of(ledger, position) is InboxState.EXECUTED


async def test_a_restart_asked_of_the_process_before_this_one_has_happened(ledger: Ledger) -> None:
    position = await ledger.command("/restart")
    ledger.clock.advance(1)
    await commands(ledger, began_at=ledger.clock.now()).carry_out_all()
    assert await ledger.store.requests() == ()
    (answer,) = [p.text for p in await ledger.outbox() if p.dedupe == f"command:{position}"]
    assert answer.startswith("The gateway has already restarted")


@pytest.mark.guards("R3.5")
async def test_a_restart_is_asked_for_also_after_the_clock_was_set_back(ledger: Ledger) -> None:
    at_work = commands(ledger, began_at=ledger.clock.now())
    await at_work.carry_out_all()
    ledger.clock.jump(-HOUR)
    position = await ledger.command("/restart")
    await at_work.carry_out_all()
    (answer,) = [p.text for p in await ledger.outbox() if p.dedupe == f"command:{position}"]
    assert answer.startswith("I asked for a restart.")
    assert [request.what for request in await ledger.store.requests()] == ["restart"]


async def test_who_is_no_owner_restarts_nothing(ledger: Ledger) -> None:
    position = await ledger.say("/restart", kind="command", sender=BOB)
    await commands(ledger).carry_out_all()
    assert await ledger.store.requests() == ()
    assert (await ledger.store.row(position)).reason == "not_owner"


@pytest.mark.parametrize("access", [Access(), None])
async def test_who_is_allowed_no_more_when_it_is_their_turn_is_refused(
    ledger: Ledger, access: Access | None
) -> None:
    claimed = await ledger.begin()
    answer, position = await told(ledger, "/stop", access=lambda: access)
    assert await state_of(ledger, position) is InboxState.REFUSED
    assert answer.startswith("Not done")
    assert (await ledger.turn(claimed.session.id)).stop is None


async def test_a_list_of_people_that_cannot_be_read_lets_no_command_through_and_is_reported(
    ledger: Ledger,
) -> None:
    def broken() -> Access:
        raise OSError("access.toml cannot be read")

    reports = Reports()
    answer, position = await told(ledger, "/stop", access=broken, report=reports)
    assert "I cannot check just now who is allowed here" in answer
    assert await state_of(ledger, position) is InboxState.REFUSED
    assert reports.doing == ["reading who may talk"]


async def test_a_command_from_long_ago_is_not_carried_out(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    sent_at = ledger.clock.now() - DAY - 1
    position = await ledger.say("/new", kind="command", sent_at=sent_at)
    await commands(ledger).carry_out_all()
    assert (await ledger.store.row(position)).reason == "too_old"
    assert (await ledger.turn(claimed.session.id)).stop is None


async def test_an_unknown_command_is_refused_with_a_hint(ledger: Ledger) -> None:
    answer, position = await told(ledger, "/frobnicate now")
    assert "/help" in answer
    assert await state_of(ledger, position) is InboxState.REFUSED


async def test_help_names_every_command(ledger: Ledger) -> None:
    answer = await said(ledger, "/help")
    for name in ("new", "stop", "retry", "undo", "status", "sessions", "resume", "queue", "restart", "help"):
        assert f"/{name}" in answer


async def test_status_says_what_runs_what_waits_and_safe_mode(ledger: Ledger) -> None:
    quiet = await said(ledger, "/status")
    assert "Nothing runs here." in quiet
    assert "No messages wait." in quiet
    assert "Safe mode: off." in quiet
    await ledger.begin()
    ledger.clock.advance(120_000)
    await ledger.say("waits")
    mode = SafeMode(True, 0, "5 unclean exits in 10 minutes", ledger.clock.now() + 60_000)
    draining = ArrivalSettings(draining=Drain.RESTART)
    busy = await said(ledger, "/status", safe_mode=lambda: mode, arrival=lambda: draining)
    assert "Running for 2 min" in busy
    assert "Waiting: 1 message." in busy
    assert "Safe mode: on (5 unclean exits in 10 minutes), for 1 min more" in busy
    assert "restarting" in busy


async def test_status_says_why_work_is_held(ledger: Ledger) -> None:
    await ledger.begin()
    await ledger.recover("platform_down")
    assert "held until its platform is connected" in await said(ledger, "/status")


@pytest.mark.guards("A13")
async def test_sessions_lists_this_chats_own_and_no_others(ledger: Ledger) -> None:
    first = await ledger.complete()
    await ledger.complete(chat="c2")
    await said(ledger, "/new")
    second = await ledger.complete()
    await ledger.crash()
    answer = await said(ledger, "/sessions")
    assert answer.splitlines()[0].startswith(f"- {second.session.id[:12]}  this one")
    assert answer.splitlines()[1].startswith(f"- {first.session.id[:12]}  ended")
    assert len(answer.splitlines()) == 3


async def test_queue_shows_the_modes_and_sets_that_of_this_chat(ledger: Ledger) -> None:
    shown = await said(ledger, "/queue")
    for mode in BusyMode:
        assert f"/queue {mode}:" in shown
    assert shown.splitlines()[0] == f"Now: {MODES[BusyMode.QUEUE]} (the default)."
    assert "reaches me at my next step" in await said(ledger, "/queue STEER")
    assert (await said(ledger, "/queue")).splitlines()[0] == f"Now: {MODES[BusyMode.STEER]}."
    await ledger.say("hello")
    assert (await ledger.claim()).settings.busy is BusyMode.STEER
    answer, position = await told(ledger, "/queue sideways")
    assert "collect" in answer
    assert await state_of(ledger, position) is InboxState.REFUSED


@pytest.mark.guards("R9.6")
async def test_undo_takes_turn_after_turn_out_of_sight_and_names_what_stays_done(ledger: Ledger) -> None:
    await ledger.complete("kept")
    claimed = await ledger.begin("undone")
    await ledger.start(claimed.fence, "paid", "unsure", "broke")
    await ledger.append(claimed.fence, result("paid"), result("broke", CallState.FAILED))
    await ledger.append(claimed.fence, result("unsure", CallState.UNKNOWN))
    await ledger.start(claimed.fence, "looked", effect=EffectClass.READ)
    await ledger.append(claimed.fence, result("looked"))
    await ledger.finish(claimed.fence)
    answer = await said(ledger, "/undo")
    assert "tool_paid {}: it happened" in answer
    assert "tool_unsure {}: it may or may not have happened" in answer
    assert "tool_broke {}: it failed" in answer
    assert "looked" not in answer
    entries = await ledger.store.transcript(claimed.session.id)
    again = await said(ledger, "/undo")
    assert "not undone" not in again
    assert "no finished turn here" in await said(ledger, "/undo")
    assert len(entries) == len(await ledger.store.transcript(claimed.session.id)) - 1


@pytest.mark.guards("R7.2", "R9.6")
@pytest.mark.parametrize("command", ["/undo", "/retry"])
async def test_a_reply_with_effects_inside_that_was_cut_off_is_named_as_what_may_have_happened(
    ledger: Ledger, command: str
) -> None:
    claimed = await ledger.begin("pay the bill")
    await ledger.append(claimed.fence, tail=Tail.REPLYING)
    await ledger.finish(claimed.fence, TurnState.CANCELLED)
    answer = await said(ledger, command)
    assert "not undone" in answer
    assert "what the agent did by itself in its reply: it may or may not have happened" in answer


@pytest.mark.guards("R9.6")
@pytest.mark.parametrize("command", ["/undo", "/retry"])
async def test_nothing_is_taken_back_while_a_turn_is_unfinished(ledger: Ledger, command: str) -> None:
    await ledger.complete()
    claimed = await ledger.begin()
    answer, position = await told(ledger, command)
    assert "/stop first" in answer
    assert await state_of(ledger, position) is InboxState.REFUSED
    before = len(await ledger.store.transcript(claimed.session.id))
    await ledger.finish(claimed.fence)
    assert len(await ledger.store.transcript(claimed.session.id)) == before + 1


async def test_an_undo_that_loses_the_race_to_a_new_turn_is_refused_in_words(ledger: Ledger) -> None:
    await ledger.complete()
    await ledger.say("next")
    position = await ledger.command("/undo")
    real = ledger.store.mark

    class Late:
        def __getattr__(self, verb: str) -> Any:
            return getattr(ledger.store, verb)

        async def mark(self, *args: Any) -> Any:
            await ledger.claim()
            return await real(*args)

    carrying = commands(ledger, Late())
    await carrying.carry_out_all()
    await carrying.carry_out_all()
    assert (await ledger.store.row(position)).reason == "unfinished"


async def test_a_command_that_cannot_be_read_keeps_no_other_waiting(ledger: Ledger) -> None:
    await ledger.command("/stop", "bad")
    ledger.damage("UPDATE inbox SET chat = 'gibberish'")
    assert (await said(ledger, "/status")) != ""


@pytest.mark.parametrize("command", ["/stop", "/new", "/undo", "/status"])
async def test_what_was_written_after_a_command_begins_once_that_is_carried_out(
    ledger: Ledger, command: str
) -> None:
    first = await ledger.complete("before")
    await ledger.command(command)
    later = await ledger.say("after")
    assert await ledger.try_claim() is None
    seen = ledger.store.version("turns")
    await commands(ledger).carry_out_all()
    assert ledger.store.version("turns") != seen, "whoever waits for a turn is told"
    claimed = await ledger.claim()
    assert (claimed.cause.position, claimed.turn.stop) == (later, None)
    assert (claimed.session.id == first.session.id) is (command != "/new")


async def test_what_is_collected_or_resumed_reaches_no_further_than_the_next_command(ledger: Ledger) -> None:
    before = await ledger.say("before")
    await ledger.command("/new")
    after = await ledger.say("after")
    claimed = await ledger.claim(busy=BusyMode.COLLECT)
    assert [row.position for row in await ledger.store.waiting(key())] == [after]
    assert claimed.cause.position == before
    await ledger.recover()
    again = await ledger.claim()
    assert again.take == ()
    recorded = await ledger.append(again.fence, consume=(after,))
    assert (recorded.entries, recorded.waiting) == ((), 1), "nor does what steers a turn"


@pytest.mark.guards("R9.6")
async def test_retry_answers_the_same_message_again_in_a_turn_of_its_own(ledger: Ledger) -> None:
    claimed = await ledger.begin("what is it?")
    await ledger.start(claimed.fence, "paid")
    await ledger.append(claimed.fence, result("paid"))
    await ledger.append(claimed.fence, answers(), tail=Tail.ANSWER)
    await ledger.finish(claimed.fence)
    answer, position = await told(ledger, "/retry")
    assert "“what is it?”" in answer
    assert "tool_paid {}: it happened" in answer
    again = await ledger.claim()
    assert (again.cause.position, again.session.id) == (position, claimed.session.id)
    assert again.cause.text == "what is it?"
    assert len(await ledger.store.turns(claimed.session.id)) == 2


async def test_resume_lets_held_work_go_on(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.recover("safe_mode")
    assert (await said(ledger, "/resume")).startswith("The conversation goes on.")
    (stale,) = await ledger.store.stale_turns()
    assert (stale.turn, stale.stands.consented) == (claimed.turn.id, True)


async def test_resume_takes_a_parked_conversation_up_again(ledger: Ledger) -> None:
    session = await ledger.die(3)
    await ledger.settle("too_many_strikes")
    assert (await said(ledger, "/resume")).startswith("The conversation goes on.")
    again = await ledger.claim()
    assert (again.session.id, again.session.strikes) == (session, 1)


async def test_resume_goes_back_to_an_earlier_conversation(ledger: Ledger) -> None:
    first = await ledger.complete()
    await said(ledger, "/new")
    await ledger.complete()
    answer = await said(ledger, f"/resume {first.session.id[:14]}")
    assert "Your next message goes on with" in answer
    assert (await ledger.begin()).session.id == first.session.id


@pytest.mark.parametrize(
    ("text", "hint"), [("/resume", "There is no unfinished work here"), ("/resume zzz", "/sessions")]
)
async def test_resume_says_when_there_is_nothing_to_go_on_with(ledger: Ledger, text: str, hint: str) -> None:
    await ledger.complete()
    answer, position = await told(ledger, text)
    assert hint in answer
    assert await state_of(ledger, position) is InboxState.REFUSED


@pytest.mark.parametrize("running", [True, False])
async def test_resume_says_that_work_goes_on_already(ledger: Ledger, running: bool) -> None:
    claimed = await ledger.begin()
    if not running:
        await ledger.recover("resume")
    answer, position = await told(ledger, "/resume")
    assert answer == "I am already going on with the work here."
    assert await state_of(ledger, position) is InboxState.REFUSED
    assert (await ledger.turn(claimed.session.id)).state in (TurnState.RUNNING, TurnState.QUEUED)


async def test_resume_leaves_the_models_question_to_its_answer(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.ask(claimed.fence)
    assert "Answer the question to go on" in await said(ledger, "/resume")
    assert (await ledger.turn(claimed.session.id)).state is TurnState.WAITING


@pytest.mark.guards("R13", "R14")
@pytest.mark.parametrize(("owners", "goes_on"), [(frozenset({BOB}), True), (frozenset(), False)])
async def test_resume_answers_for_another_person_only_if_an_owner_says_it(
    ledger: Ledger, owners: frozenset[PersonId], goes_on: bool
) -> None:
    claimed = await ledger.begin()
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    await ledger.settle("chat_says_ask", ask=ledger.question("go on?", None))
    access = Access(owners=owners, people=frozenset({ANN, BOB}))
    answer = await said(ledger, "/resume", sender=BOB, access=lambda: access)
    assert answer.startswith(
        "The conversation goes on." if goes_on else "The work waits for the person who asked for it"
    )
    state = (await ledger.turn(claimed.session.id)).state
    assert state is (TurnState.QUEUED if goes_on else TurnState.WAITING)


async def test_a_command_the_ledger_keeps_refusing_ends_in_words_and_blocks_no_other(ledger: Ledger) -> None:
    bad, reports = await ledger.command("/stop"), Reports()
    good = await ledger.command("/help")
    store = failing(ledger.store, stop=[WrongState("it", "so", "otherwise")] * 9)
    carrying = commands(ledger, store, reports)
    while await carrying.carry_out_all():
        pass
    assert await state_of(ledger, good) is InboxState.EXECUTED
    assert (await ledger.store.row(bad)).reason == "WrongState"
    assert reports.doing == [f"carrying out command {bad}"]


async def test_a_command_that_breaks_ends_in_words_and_blocks_no_other(ledger: Ledger) -> None:
    bad = await ledger.command("/stop")
    good = await ledger.command("/help")
    await commands(ledger, failing(ledger.store, stop=[KeyError("bug")])).carry_out_all()
    assert [await state_of(ledger, bad), await state_of(ledger, good)] == [
        InboxState.REFUSED,
        InboxState.EXECUTED,
    ]
    assert [part.kind for part in await ledger.outbox()] == [OwedKind.NOTICE] * 2


async def test_a_full_disk_delays_commands_and_loses_none(ledger: Ledger) -> None:
    slept = watch(ledger.clock)
    store = failing(ledger.store, settle_row=[DiskFull("full")], stop=[ConstraintBroken("not asked for")])
    working = asyncio.ensure_future(commands(ledger, store).work())
    position = await ledger.command("/help")
    await slept.since(0)
    assert await state_of(ledger, position) is InboxState.WAITING
    seen = ledger.store.version("outbox")
    ledger.clock.advance(30_000)
    await ledger.store.changed("outbox", seen)
    assert await state_of(ledger, position) is InboxState.EXECUTED
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
