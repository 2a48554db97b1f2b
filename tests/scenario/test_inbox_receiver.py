"""Reading a platform on the real ledger: kept first, confirmed after, and nobody else's fault in the way."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from holdfast.errors import ConstraintBroken, DiskFull, StoreClosed, StoreUnavailable
from holdfast.inbox import Receiver
from holdfast.inbox.inbound_row import inbound_of
from holdfast.model import ChatKind, InboxKind, InboxState, PersonId, Position, SetAside, Sharing
from holdfast.platforms import Ack, Capabilities, Incoming, PlatformDown
from holdfast.policy.intake.access import Access
from holdfast.policy.intake.admission import Drain
from holdfast.policy.settings import QueueSettings
from holdfast.store import ArrivalSettings
from tests.support.ledger import ANN, Ledger, key, place
from tests.support.platforms import FakePlatform, HalfRng, Reports, arrival, failing, revision, watch

ACCESS = Access(people=frozenset({ANN}))


def receiver(ledger: Ledger, platform: FakePlatform, **more: Any) -> Receiver:
    access: Callable[[], Access | None] = more.pop("access", lambda: ACCESS)
    store = more.pop("store", ledger.store)
    return Receiver(store, platform, ledger.clock, HalfRng(), access, **more)


async def texts(ledger: Ledger, chat: str = "c1") -> list[str]:
    return [row.text for row in await ledger.store.waiting(key(chat))]


@pytest.mark.guards("O2", "O16")
async def test_a_batch_is_confirmed_only_after_its_commit(ledger: Ledger) -> None:
    platform = FakePlatform()
    platform.updates += [arrival("one", "e1"), arrival("two", "e2")]
    seen: list[str] = []

    async def look(incoming: Incoming) -> None:
        seen.extend(await texts(ledger))
        assert await ledger.store.cursor("fake/bot", "offset") == "2"

    platform.at_confirm = look
    await receiver(ledger, platform).read_once()
    assert seen == ["one", "two"]


@pytest.mark.guards("R22.5")
def test_a_row_says_which_message_it_replies_to() -> None:
    """Outside the chat of the work a reply to the card is what answers it."""
    arrived = replace(arrival("yes"), replies_to="m7")
    assert inbound_of(arrived, Sharing(), QueueSettings()).replies_to == "m7"


@pytest.mark.guards("R16", "O2")
async def test_what_could_not_be_kept_is_not_confirmed_and_is_read_again(ledger: Ledger) -> None:
    platform, slept = FakePlatform(), watch(ledger.clock)
    platform.updates.append(arrival("one"))
    store = failing(ledger.store, accept=[DiskFull("full"), StoreUnavailable("busy")])
    working = asyncio.ensure_future(receiver(ledger, platform, store=store).work())
    for n in range(2):
        await slept.since(n)
        assert platform.confirmed == []
        ledger.clock.advance(60_000)
    while not platform.confirmed:
        await platform.bell.since(platform.bell.rung)
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    assert await texts(ledger) == ["one"]
    assert platform.read[:3] == [None, None, None]


async def test_a_crash_between_commit_and_confirmation_adds_nothing_twice(ledger: Ledger) -> None:
    platform = FakePlatform()
    platform.cursor = None
    platform.updates.append(arrival("one"))

    async def die(incoming: Incoming) -> None:
        raise PlatformDown("gone")

    platform.at_confirm = die
    with pytest.raises(PlatformDown):
        await receiver(ledger, platform).read_once()
    await ledger.crash()
    platform.at_confirm = None
    (again,) = await receiver(ledger, platform).read_once()
    assert not again.fresh
    assert await texts(ledger) == ["one"]


@pytest.mark.guards("D7", "O16", "O17")
async def test_reading_goes_on_from_the_committed_position_after_a_crash(ledger: Ledger) -> None:
    platform = FakePlatform()
    platform.updates.append(arrival("one", "e1"))
    await receiver(ledger, platform).read_once()
    await ledger.crash()
    platform.updates.append(arrival("two", "e2"))
    await receiver(ledger, platform).read_once()
    assert platform.read == [None, "1"]
    assert await texts(ledger) == ["one", "two"]


async def test_nobody_is_let_in_who_is_not_named_and_none_of_their_words_are_kept(ledger: Ledger) -> None:
    platform = FakePlatform()
    platform.updates += [arrival("evil words", "e1", sender="Ann"), arrival("good", "e2")]
    accepted = await receiver(ledger, platform).read_once()
    assert [one.event_id for one in accepted] == ["e2"]
    assert await texts(ledger) == ["good"]
    dump = ledger.dump()
    assert "evil words" not in str(dump)
    assert [row[4] for row in dump["events"] if row[3] == "refused"] == ["event:fake/bot/e1"]
    assert await ledger.store.cursor("fake/bot", "offset") == "2"


async def test_in_a_group_the_chat_and_the_person_must_both_be_allowed(ledger: Ledger) -> None:
    platform = FakePlatform()
    platform.updates += [
        arrival("from a stranger", "e1", sender="bob", chat="open", kind=ChatKind.GROUP),
        arrival("in a strange group", "e2", chat="closed", kind=ChatKind.GROUP),
        arrival("fine", "e3", chat="open", kind=ChatKind.GROUP),
    ]
    access = Access(people=frozenset({ANN}), chats=frozenset({place("open").address}))
    accepted = await receiver(ledger, platform, access=lambda: access).read_once()
    assert [one.event_id for one in accepted] == ["e3"]


@pytest.mark.parametrize("how", ["raises", "unreadable"])
async def test_who_cannot_be_checked_is_not_allowed(ledger: Ledger, how: str) -> None:
    def access() -> Access | None:
        if how == "raises":
            raise OSError("no list")
        return None

    platform = FakePlatform()
    platform.updates.append(arrival())
    assert await receiver(ledger, platform, access=access).read_once() == ()
    assert await texts(ledger) == []


@pytest.mark.guards("R16")
async def test_what_cannot_be_read_is_set_aside_with_the_position_and_the_rest_goes_on(
    ledger: Ledger,
) -> None:
    platform = FakePlatform()
    platform.updates += [SetAside("e1", "no text", "{}"), arrival("good", "e2")]
    await receiver(ledger, platform).read_once()
    assert [row[2:5] for row in ledger.dump()["set_aside"]] == [("e1", "no text", "{}")]
    assert await texts(ledger) == ["good"]
    assert await ledger.store.cursor("fake/bot", "offset") == "2"


async def test_an_arrival_nobody_can_make_sense_of_stops_no_other(ledger: Ledger) -> None:
    platform = FakePlatform()
    platform.updates += [arrival("bad", "e1", chat="half \udc80 character"), arrival("good", "e2")]
    await receiver(ledger, platform).read_once()
    assert [row[2] for row in ledger.dump()["set_aside"]] == ["e1"]
    assert await texts(ledger) == ["good"]
    assert len(platform.confirmed) == 1


async def test_a_message_the_ledger_refuses_is_set_aside_alone(ledger: Ledger) -> None:
    platform, reports = FakePlatform(), Reports()
    platform.updates += [arrival("one", "e1"), arrival("bad", "e2"), arrival("three", "e3")]
    # The batch is refused, then its second message alone.
    real, calls = ledger.store.accept, []

    class Picky:
        def __getattr__(self, verb: str) -> Any:
            return getattr(ledger.store, verb)

        async def accept(self, batch: Any, settings: Any) -> Any:
            calls.append(batch)
            if any(message.event_id == "e2" for message in batch.messages):
                raise ConstraintBroken("a rule of the schema")
            return await real(batch, settings)

    accepted = await receiver(ledger, platform, store=Picky(), report=reports).read_once()
    assert [one.event_id for one in accepted] == ["e1", "e3"]
    assert await texts(ledger) == ["one", "three"]
    assert [row[2] for row in ledger.dump()["set_aside"]] == ["e2"]
    assert [batch.cursor is not None for batch in calls] == [True, False, False, False, True]
    assert reports.doing


@pytest.mark.guards("R9.5")
async def test_a_message_changed_or_taken_back_while_it_waits_is_changed_or_withdrawn(ledger: Ledger) -> None:
    platform = FakePlatform()
    platform.updates += [arrival("tpyo", "e1"), arrival("never mind", "e2")]
    reading = receiver(ledger, platform)
    one, two = await reading.read_once()
    platform.updates += [revision("m-e1", "typo", "r1"), revision("m-e2", None, "r2")]
    await reading.read_once()
    assert await texts(ledger) == ["typo"]
    assert (await ledger.store.row(one.position)).text == "typo"
    assert (await ledger.store.row(two.position)).state is InboxState.WITHDRAWN


async def test_a_message_changed_before_it_was_ever_read_is_read_as_changed(ledger: Ledger) -> None:
    platform = FakePlatform()
    platform.updates += [arrival("tpyo", "e1"), revision("m-e1", "typo")]
    await receiver(ledger, platform).read_once()
    assert await texts(ledger) == ["typo"]


@pytest.mark.guards("R9.5")
@pytest.mark.parametrize("text", ["typo", None])
async def test_an_edit_changes_its_own_message_and_none_with_the_same_number_in_another_chat(
    ledger: Ledger, text: str | None
) -> None:
    """Where each chat counts its own messages, and one read brings them all."""
    platform = FakePlatform()
    platform.updates += [
        arrival("not mine", "e1", chat="c2", message_id="7"),
        arrival("tpyo", "e2", message_id="7"),
        revision("7", text, "r1"),
    ]
    await receiver(ledger, platform).read_once()
    assert await texts(ledger) == ([text] if text else [])
    assert [row.text for row in await ledger.store.waiting(key("c2"))] == ["not mine"]


async def test_a_message_changed_into_one_too_long_stays_as_it_was_and_its_sender_is_told(
    ledger: Ledger,
) -> None:
    platform = FakePlatform()
    platform.updates.append(arrival("short", "e1"))
    reading = receiver(ledger, platform, arrival=lambda: ArrivalSettings(QueueSettings(longest=5)))
    await reading.read_once()
    platform.updates.append(revision("m-e1", "much longer"))
    await reading.read_once()
    assert await texts(ledger) == ["short"]
    (part,) = await ledger.outbox()
    assert "Not changed" in part.text


async def test_a_message_taken_back_before_it_was_ever_read_is_never_run(ledger: Ledger) -> None:
    platform = FakePlatform()
    platform.updates += [arrival("a secret", "e1"), revision("m-e1", None)]
    assert await receiver(ledger, platform).read_once() == ()
    assert await texts(ledger) == []
    assert [row[2] for row in ledger.dump()["set_aside"]] == ["e1"]
    assert "a secret" not in str(ledger.dump())


async def test_a_message_brought_again_with_its_withdrawal_is_withdrawn(ledger: Ledger) -> None:
    platform = FakePlatform()
    platform.cursor = None
    platform.updates.append(arrival("hello", "e1"))
    reading = receiver(ledger, platform)
    (first,) = await reading.read_once()
    platform.updates.append(revision("m-e1", None))
    await reading.read_once()
    assert (await ledger.store.row(first.position)).state is InboxState.WITHDRAWN
    assert ledger.dump()["set_aside"] == []


@pytest.mark.parametrize(
    ("text", "pressed", "kind"),
    [
        ("/stop", None, InboxKind.COMMAND),
        ("/stop@bot now", None, InboxKind.COMMAND),
        ("/etc/hosts is gone", None, InboxKind.MESSAGE),
        ("/stop", "q1", InboxKind.MESSAGE),
        ("/new " + "x" * 32_000, None, InboxKind.MESSAGE),
    ],
)
async def test_which_texts_are_commands(
    ledger: Ledger, text: str, pressed: str | None, kind: InboxKind
) -> None:
    platform = FakePlatform()
    platform.updates.append(arrival(text, pressed=pressed))
    (accepted,) = await receiver(ledger, platform).read_once()
    assert (await ledger.store.row(accepted.position)).kind is kind


async def test_a_platform_that_goes_down_is_connected_again_less_and_less_eagerly(ledger: Ledger) -> None:
    platform, slept = FakePlatform(), watch(ledger.clock)
    states: list[bool] = []
    platform.down += [PlatformDown("no route"), PlatformDown("wait", retry_after=300)]
    platform.broken.append(PlatformDown("lost"))
    platform.updates.append(arrival("one"))
    reading: Receiver = receiver(ledger, platform, on_change=lambda: states.append(reading.connected))
    working = asyncio.ensure_future(reading.work())
    begun = ledger.clock.now()
    for n, wait in enumerate((750, 300_000, 3_000)):
        await slept.since(n)
        connects = platform.connects
        ledger.clock.advance(wait - 1)
        await ledger.store.instances(1)
        assert platform.connects == connects
        ledger.clock.advance(1)
    while not platform.confirmed:
        await platform.bell.since(platform.bell.rung)
    assert ledger.clock.now() - begun == 303_750
    assert reading.connected
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    assert states == [True, False, True, False]
    assert await texts(ledger) == ["one"]


async def test_an_adapter_that_breaks_is_reported_and_does_not_leave_the_bot_deaf(ledger: Ledger) -> None:
    platform, slept, reports = FakePlatform(), watch(ledger.clock), Reports()
    platform.broken.append(KeyError("update_id"))
    platform.updates.append(arrival("one"))
    working = asyncio.ensure_future(receiver(ledger, platform, report=reports).work())
    await slept.since(0)
    ledger.clock.advance(1_000)
    while not platform.confirmed:
        await platform.bell.since(platform.bell.rung)
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    assert reports.doing == ["reading fake/bot"]
    assert await texts(ledger) == ["one"]


async def test_a_ledger_that_is_closed_ends_the_reading(ledger: Ledger) -> None:
    platform = FakePlatform()
    platform.updates.append(arrival())
    store = failing(ledger.store, accept=[StoreClosed("closed")])
    with pytest.raises(StoreClosed):
        await receiver(ledger, platform, store=store).work()
    assert platform.confirmed == []


@pytest.mark.guards("R14", "O20")
async def test_an_immutable_id_counts_and_a_name_that_looks_like_it_does_not(ledger: Ledger) -> None:
    platform = FakePlatform()
    platform.updates += [arrival("as 7", "e1", sender="7"), arrival("named 7", "e2", sender=" 7")]
    access = Access(people=frozenset({PersonId("fake:7")}))
    accepted = await receiver(ledger, platform, access=lambda: access).read_once()
    assert [(one.event_id, one.position) for one in accepted] == [("e1", Position(1))]


async def test_what_comes_during_a_drain_is_kept_said_so_and_answered_once_after_it(ledger: Ledger) -> None:
    platform = FakePlatform()
    platform.updates.append(arrival("one"))
    draining = ArrivalSettings(draining=Drain.RESTART)
    (accepted,) = await receiver(ledger, platform, arrival=lambda: draining).read_once()
    assert "go on with it after the restart" in (accepted.words or "")
    await ledger.crash()
    assert (await ledger.claim()).cause.position == accepted.position
    assert await ledger.try_claim() is None
    (part,) = await ledger.outbox()
    assert (part.text, part.reply_to) == (accepted.words, "m-e1")


@pytest.mark.guards("R16", "R9.3")
@pytest.mark.parametrize(
    ("settings", "words"),
    [(QueueSettings(most=0), "Not taken: 0 messages wait"), (QueueSettings(longest=3), "I take 3 at most")],
)
async def test_what_is_not_taken_is_refused_in_words(
    ledger: Ledger, settings: QueueSettings, words: str
) -> None:
    platform = FakePlatform()
    platform.updates.append(arrival("hello"))
    await receiver(ledger, platform, arrival=lambda: ArrivalSettings(settings)).read_once()
    assert await texts(ledger) == []
    (part,) = await ledger.outbox()
    assert words in part.text


OPEN = Capabilities(Ack.OFFSET, newcomers=True)


async def words_told(ledger: Ledger, chat: str = "c1") -> list[str]:
    return [part.text for part in await ledger.store.deliveries(place(chat).address)]


@pytest.mark.guards("R14")
async def test_a_stranger_who_wrote_much_while_nobody_read_gets_one_code(ledger: Ledger) -> None:
    platform = FakePlatform(OPEN)
    platform.updates += [arrival(f"{n}", f"e{n}", sender="eve") for n in range(5)]
    await receiver(ledger, platform).read_once()
    (words,) = await words_told(ledger)
    assert "holdfast pair " in words
    assert await texts(ledger) == []


async def test_where_nobody_can_write_who_is_not_let_in_strangers_are_not_answered(ledger: Ledger) -> None:
    platform = FakePlatform()
    platform.updates.append(arrival(sender="eve"))
    await receiver(ledger, platform).read_once()
    assert await words_told(ledger) == []


async def test_in_a_group_a_stranger_hears_nothing_and_somebody_let_in_what_is_missing(
    ledger: Ledger,
) -> None:
    platform = FakePlatform(OPEN)
    platform.updates.append(arrival("hi", "e1", "eve", "-100", ChatKind.GROUP))
    await receiver(ledger, platform).read_once()
    assert await words_told(ledger, "-100") == []
    platform.updates.append(arrival("hi", "e2", "ann", "-100", ChatKind.GROUP))
    await receiver(ledger, platform).read_once()
    (words,) = await words_told(ledger, "-100")
    assert "holdfast people allow fake/bot/-100" in words
