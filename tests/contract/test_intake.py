"""What comes in: kept once for ever, with its read position, or not at all."""

from collections import Counter

import pytest

from holdfast.errors import ConstraintBroken, NotFound, WrongState
from holdfast.model import (
    Accepted,
    Attachment,
    Batch,
    BusyMode,
    ChatAddress,
    ChatSettings,
    Cursor,
    InboxKind,
    InboxState,
    OnInterruption,
    Position,
    SetAside,
    StopKind,
    Stopped,
    TurnId,
)
from holdfast.policy.settings import DAY, HOUR, QueueSettings
from holdfast.store import ArrivalSettings, Edit
from tests.support.ledger import ACCOUNT, ANN, BOB, Ledger, address, key, owed


async def test_an_accepted_message_is_kept_as_it_came(ledger: Ledger) -> None:
    file = Attachment("sha256:1", "ünï.txt", "text/plain", 3)
    sent_at = ledger.clock.now() - 5
    position = await ledger.say(
        "grüße\n\0", event_id="x", message_id="m1", sent_at=sent_at, attachments=(file,), sender=BOB
    )
    row = await ledger.store.row(position)
    assert (row.account, row.event_id, row.key, row.place.address) == (ACCOUNT, "x", key(), address())
    assert (row.text, row.attachments, row.sender, row.kind) == (
        "grüße\n\0",
        (file,),
        BOB,
        InboxKind.MESSAGE,
    )
    assert (row.message_id, row.sent_at, row.accepted_at) == ("m1", sent_at, ledger.clock.now())
    assert (row.state, row.turn, row.question) == (InboxState.WAITING, None, None)


async def test_positions_follow_the_order_of_arrival(ledger: Ledger) -> None:
    batch = Batch(ACCOUNT, tuple(ledger.message(f"{n}", chat=f"c{n % 2}") for n in range(6)))
    positions = [one.position for one in await ledger.store.accept(batch)]
    assert positions == sorted(positions)
    assert [row.text for row in await ledger.store.waiting(key("c0"))] == ["0", "2", "4"]


async def test_a_known_event_adds_nothing_and_is_reported_with_its_first_position(ledger: Ledger) -> None:
    batch = Batch(ACCOUNT, (ledger.message(event_id="x"),), cursor=Cursor("updates", "1"))
    first = await ledger.store.accept(batch)
    async with ledger.unchanged():
        again = await ledger.store.accept(batch)
    assert again == (Accepted("x", first[0].position, fresh=False),)


@pytest.mark.parametrize("first", ["message", "set aside", "refused"])
@pytest.mark.parametrize("again", ["message", "set aside", "refused"])
async def test_an_event_has_one_home_for_ever_however_it_is_read_later(
    ledger: Ledger, first: str, again: str
) -> None:
    await ledger.say("so that the conversation is there")
    batches = {
        "message": Batch(ACCOUNT, (ledger.message(event_id="x"),)),
        "set aside": Batch(ACCOUNT, (), (SetAside("x", "taken back", ""),)),
        "refused": Batch(ACCOUNT, (), (), (("x", "not_allowed"),)),
    }
    await ledger.store.accept(batches[first])
    async with ledger.unchanged():
        accepted = await ledger.store.accept(batches[again])
    assert len(accepted) == (first == again == "message")


async def test_a_known_event_adds_nothing_though_it_would_belong_elsewhere_by_now(ledger: Ledger) -> None:
    position = await ledger.say(event_id="x")
    async with ledger.unchanged():
        assert await ledger.say(chat="elsewhere", event_id="x") == position


async def test_a_known_event_is_known_to_every_later_process(ledger: Ledger) -> None:
    position = await ledger.say(event_id="x")
    claimed = await ledger.claim()
    await ledger.finish(claimed.fence)
    for _ in range(3):
        await ledger.crash()
        async with ledger.unchanged():
            assert await ledger.say("again", event_id="x") == position
        assert await ledger.try_claim() is None


async def test_the_same_event_twice_in_one_batch_is_one_row(ledger: Ledger) -> None:
    batch = Batch(ACCOUNT, (ledger.message("a", event_id="x"), ledger.message("b", event_id="x")))
    one, two = await ledger.store.accept(batch)
    assert (one.position, one.fresh, two.fresh) == (two.position, True, False)
    assert [row.text for row in await ledger.store.waiting(key())] == ["a"]


async def test_two_accounts_may_use_the_same_event_id(ledger: Ledger) -> None:
    message = ledger.message(event_id="x")
    (one,) = await ledger.store.accept(Batch("bot", (message,)))
    (two,) = await ledger.store.accept(Batch("other", (message,)))
    assert one.position != two.position and two.fresh


async def test_messages_read_position_and_unreadable_input_are_one_commit(ledger: Ledger) -> None:
    broken = ledger.message(kind="no such kind")
    batch = Batch(
        ACCOUNT,
        (ledger.message(), broken),
        (SetAside("bad", "no text", "{}"),),
        (("stranger", "not allowed"),),
        Cursor("updates", "9"),
    )
    async with ledger.refused(ConstraintBroken):
        await ledger.store.accept(batch)
    assert await ledger.store.cursor(ACCOUNT, "updates") is None


async def test_the_read_position_moves_with_what_it_covers(ledger: Ledger) -> None:
    bad = SetAside("bad", "no text", "{")
    batch = Batch(ACCOUNT, (ledger.message(),), (bad,), (("s1", "not allowed"),), Cursor("updates", "9"))
    await ledger.store.accept(batch)
    assert await ledger.store.cursor(ACCOUNT, "updates") == "9"
    assert await ledger.store.cursor(ACCOUNT, "other") is None
    assert await ledger.store.cursor("other", "updates") is None
    assert len(ledger.dump()["set_aside"]) == 1
    await ledger.store.accept(Batch(ACCOUNT, cursor=Cursor("updates", "10")))
    assert await ledger.store.cursor(ACCOUNT, "updates") == "10"


async def test_unreadable_and_refused_input_that_comes_again_adds_nothing(ledger: Ledger) -> None:
    batch = Batch(
        ACCOUNT,
        unreadable=(SetAside("bad", "no text", "{"),),
        refused=(("s1", "not allowed"),),
        cursor=Cursor("updates", "9"),
    )
    await ledger.store.accept(batch)
    async with ledger.unchanged():
        await ledger.store.accept(batch)
    what = Counter(row[3] for row in ledger.dump()["events"])
    assert (what["set_aside"], what["refused"]) == (1, 1)


async def test_unreadable_input_without_an_id_is_kept_each_time(ledger: Ledger) -> None:
    batch = Batch(ACCOUNT, unreadable=(SetAside(None, "no id", "{"),))
    await ledger.store.accept(batch)
    await ledger.store.accept(batch)
    assert len(ledger.dump()["set_aside"]) == 2


async def test_a_wakeup_is_accepted_only_by_the_incarnation_it_was_made_in(ledger: Ledger) -> None:
    claimed = await ledger.complete()
    living = claimed.session.incarnation
    current = await ledger.say("wake", kind=InboxKind.WAKEUP, incarnation=living)
    past = await ledger.say("wake", kind=InboxKind.WAKEUP, incarnation=living - 1)
    nobody = await ledger.say("wake", "c2", kind=InboxKind.WAKEUP, incarnation=0)
    states = [(await ledger.store.row(position)).state for position in (current, past, nobody)]
    assert states == [InboxState.WAITING, InboxState.DROPPED, InboxState.DROPPED]
    assert (await ledger.claim()).cause.position == current
    async with ledger.unchanged():
        assert await ledger.try_claim() is None


async def test_a_wakeup_for_an_ended_session_never_reaches_the_one_after_it(ledger: Ledger) -> None:
    old = (await ledger.complete()).session
    await ledger.store.stop(key(), StopKind.NEW, await ledger.command("/new"))
    fresh = (await ledger.complete("after")).session
    assert fresh.incarnation > old.incarnation
    late = await ledger.say("late", kind=InboxKind.WAKEUP, incarnation=old.incarnation)
    assert (await ledger.store.row(late)).state is InboxState.DROPPED
    assert await ledger.try_claim() is None


async def test_a_waiting_message_can_be_changed_until_it_is_taken(ledger: Ledger) -> None:
    position = await ledger.say("old", message_id="m1")
    file = Attachment("sha256:1", "a", "text/plain", 1)
    assert await ledger.store.revise(Edit(address(), "m1", "new", (file,))) == position
    claimed = await ledger.claim()
    assert (claimed.cause.text, claimed.cause.attachments) == ("new", (file,))
    async with ledger.unchanged():
        assert await ledger.store.revise(Edit(address(), "m1", "too late")) is None
        assert await ledger.store.revise(Edit(address(), "m1", None)) is None
        assert await ledger.store.revise(Edit(address(), "unknown", "x")) is None


async def test_an_edit_that_is_too_long_changes_nothing_and_is_told_once(ledger: Ledger) -> None:
    settings = ArrivalSettings(QueueSettings(longest=5))
    position = await ledger.say("old", message_id="m1")
    assert await ledger.store.revise(Edit(address(), "m1", "x" * 6), settings) == position
    assert (await ledger.store.row(position)).text == "old"
    (told,) = await ledger.outbox()
    assert (told.reply_to, "5 at most" in told.text) == ("m1", True)
    async with ledger.unchanged():
        assert await ledger.store.revise(Edit(address(), "m1", "y" * 7), settings) == position
        assert await ledger.store.revise(Edit(address(), "unknown", "z" * 7), settings) is None
    assert await ledger.store.revise(Edit(address(), "m1", "x" * 5), settings) == position
    assert (await ledger.claim()).cause.text == "x" * 5
    async with ledger.unchanged():
        assert await ledger.store.revise(Edit(address(), "m1", "x" * 6), settings) is None


async def test_a_waiting_message_can_be_taken_back(ledger: Ledger) -> None:
    position = await ledger.say(message_id="m1")
    assert await ledger.store.revise(Edit(address(), "m1", None)) == position
    row = await ledger.store.row(position)
    assert (row.state, row.reason) == (InboxState.WITHDRAWN, "withdrawn by its sender")
    assert await ledger.try_claim() is None


async def test_an_edit_reaches_only_its_own_chat(ledger: Ledger) -> None:
    await ledger.say("a", "c1", message_id="m1")
    other = await ledger.say("b", "c2", message_id="m1")
    await ledger.store.revise(Edit(address("c1"), "m1", "changed"))
    assert (await ledger.store.row(other)).text == "b"


async def test_commands_wait_apart_from_messages_and_are_carried_out_once(ledger: Ledger) -> None:
    first = await ledger.command("/one")
    await ledger.say("a message")
    second = await ledger.command("/two")
    assert [row.position for row in await ledger.store.commands()] == [first, second]
    assert [row.text for row in await ledger.store.waiting(key())] == ["a message"]

    await ledger.store.settle_row(first, InboxState.EXECUTED, "one", (owed("done one"),))
    assert [row.position for row in await ledger.store.commands()] == [second]
    async with ledger.refused(WrongState):
        await ledger.store.settle_row(first, InboxState.EXECUTED, "one", (owed("done twice"),))
    assert [sent.dedupe for sent in await ledger.outbox()] == ["done one"]


async def test_a_command_alone_gives_a_worker_nothing_to_claim(ledger: Ledger) -> None:
    await ledger.command("/help")
    async with ledger.unchanged():
        assert await ledger.try_claim() is None


@pytest.mark.parametrize("state", [InboxState.REFUSED, InboxState.DROPPED])
async def test_a_closed_row_is_never_claimed(ledger: Ledger, state: InboxState) -> None:
    position = await ledger.say()
    await ledger.store.settle_row(position, state, "because", (owed("told"),))
    assert await ledger.try_claim() is None
    row = await ledger.store.row(position)
    assert (row.state, row.reason) == (state, "because")
    async with ledger.refused(WrongState):
        await ledger.store.take_up(position)


async def test_an_offered_message_waits_for_the_persons_word(ledger: Ledger) -> None:
    early = await ledger.say("early")
    await ledger.say("later")
    await ledger.store.settle_row(early, InboxState.OFFERED, "backlog", (owed("offer"),))
    assert [row.text for row in await ledger.store.waiting(key())] == ["later"]

    await ledger.store.take_up(early)
    assert [row.text for row in await ledger.store.waiting(key())] == ["early", "later"]
    async with ledger.refused(WrongState):
        await ledger.store.take_up(early)
    assert (await ledger.claim()).cause.position == early


async def test_an_offered_message_can_be_declined_and_then_is_gone(ledger: Ledger) -> None:
    position = await ledger.say()
    await ledger.store.settle_row(position, InboxState.OFFERED, "backlog")
    async with ledger.refused(WrongState):
        await ledger.store.settle_row(position, InboxState.EXECUTED)
    await ledger.store.settle_row(position, InboxState.DROPPED, "declined")
    async with ledger.refused(WrongState):
        await ledger.store.take_up(position)
    assert (await ledger.store.row(position)).reason == "declined"


async def test_a_row_that_does_not_exist_is_named_as_absent(ledger: Ledger) -> None:
    with pytest.raises(WrongState) as caught:
        await ledger.store.settle_row(Position(99), InboxState.EXECUTED)
    assert caught.value.found is None
    position = await ledger.say()
    await ledger.claim()
    with pytest.raises(WrongState) as caught:
        await ledger.store.settle_row(position, InboxState.EXECUTED)
    assert caught.value.found == InboxState.TAKEN
    with pytest.raises(NotFound):
        await ledger.store.row(Position(99))


async def test_a_chat_keeps_each_choice_until_it_is_changed(ledger: Ledger) -> None:
    await ledger.say()
    await ledger.store.configure_chat(address(), ChatSettings(BusyMode.COLLECT, model="big"))
    await ledger.store.configure_chat(address(), ChatSettings(on_interruption=OnInterruption.ASK))
    await ledger.crash()
    claimed = await ledger.claim()
    assert claimed.settings == ChatSettings(BusyMode.COLLECT, OnInterruption.ASK, None, "big")
    assert await ledger.store.chat_settings(address()) == claimed.settings
    assert await ledger.store.chat_settings(ChatAddress("fake/bot/none")) == ChatSettings()
    async with ledger.refused(NotFound):
        await ledger.store.configure_chat(ChatAddress("fake/bot/none"), ChatSettings())


async def test_a_request_is_carried_out_once_over_all_processes(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    assert await ledger.store.request("restart", "cmd:1", ANN, claimed.turn.id)
    await ledger.crash()
    async with ledger.unchanged():
        assert not await ledger.store.request("restart", "cmd:1", ANN)
    (request,) = await ledger.store.requests()
    assert (request.what, request.asked_by, request.after_turn) == ("restart", ANN, claimed.turn.id)

    await ledger.store.settle_request(request.id, "restarted")
    assert await ledger.store.requests() == ()
    async with ledger.refused(WrongState):
        await ledger.store.settle_request(request.id, "restarted")
    async with ledger.unchanged():
        assert not await ledger.store.request("restart", "cmd:1")
    async with ledger.refused(ConstraintBroken):
        await ledger.store.request("restart", "cmd:2", after_turn=TurnId("none"))


async def test_a_process_run_without_a_last_word_has_crashed(ledger: Ledger) -> None:
    first = ledger.store.instance
    ledger.clock.advance(HOUR)
    await ledger.store.heartbeat()
    beat = ledger.clock.now()
    await ledger.crash()
    await ledger.store.end_instance(Stopped.RESTART)
    async with ledger.unchanged():
        await ledger.store.end_instance(Stopped.STOPPED)
    newest, oldest = await ledger.store.instances()
    assert (newest.id, newest.stopped, newest.stopped_at) == (
        ledger.store.instance,
        Stopped.RESTART,
        ledger.clock.now(),
    )
    assert (oldest.id, oldest.stopped, oldest.heartbeat_at) == (first, None, beat)


async def test_a_change_wakes_who_waits_for_it_and_a_refusal_wakes_nobody(ledger: Ledger) -> None:
    turns, inbox = ledger.store.version("turns"), ledger.store.version("inbox")
    await ledger.say()
    assert await ledger.store.changed("turns", turns) > turns
    assert ledger.store.version("inbox") == inbox
    await ledger.command()
    assert await ledger.store.changed("inbox", inbox) > inbox

    seen = [ledger.store.version(topic) for topic in ("turns", "inbox")]
    with pytest.raises(WrongState):
        await ledger.store.take_up(Position(1))
    assert [ledger.store.version(topic) for topic in ("turns", "inbox")] == seen


async def test_a_clock_set_back_orders_by_arrival_all_the_same(ledger: Ledger) -> None:
    await ledger.say("first")
    ledger.clock.jump(-DAY)
    await ledger.say("second")
    assert [row.text for row in await ledger.store.waiting(key())] == ["first", "second"]
