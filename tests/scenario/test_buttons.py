"""Cards of closed questions say how they ended, also if the message was still on its way."""

import asyncio

import pytest

from holdfast.model import ChatAddress, Owed, OwedKind, QuestionId, Rejected, Sent
from holdfast.outbox.close_buttons import LOOK_AGAIN, SOON, ClosedCards
from holdfast.platforms import Ack, Capabilities, PlatformDown
from holdfast.policy.settings import HOUR
from tests.contract.test_questions import asked_in_safe_mode
from tests.support.ledger import PLATFORM, Ledger, address
from tests.support.platforms import FakePlatform, Reports
from tests.support.stage import WatchedClock, soon

ASKED = QuestionId("q1")


class Board(FakePlatform):
    """Its messages can be edited."""

    def __init__(self) -> None:
        super().__init__(Capabilities(Ack.OFFSET, buttons=True, edit=True))
        self.edits: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    async def edit(self, chat: ChatAddress, message_id: str, text: str, in_line: bool = False) -> bool:
        self.edits.put_nowait((message_id, text))
        return True


async def test_a_question_that_is_over_before_its_message_has_arrived_is_looked_at_soon(
    ledger: Ledger,
) -> None:
    claimed = await ledger.begin()
    owed = Owed(address(), ASKED, ("which one?",), OwedKind.QUESTION, None, ("a", "b"))
    await ledger.ask(claimed.fence, owed=owed, options=("a", "b"))
    (delivery,) = await ledger.send()
    await ledger.store.set_question_aside(ASKED)
    clock, board = WatchedClock(ledger.clock), Board()
    closing = asyncio.create_task(ClosedCards(ledger.store, clock, (board,), lambda: (PLATFORM,)).work())
    assert await soon(clock.nap(0, 3_600)) == SOON
    await ledger.store.record_delivery(delivery.id, Sent("m1"), ())
    ledger.clock.advance(int(SOON * 1_000))
    message, text = await soon(board.edits.get())
    closing.cancel()
    assert (message, text.startswith("which one?")) == ("m1", True)


async def unanswered(ledger: Ledger, *options: str, sent: bool = True) -> None:
    """A question of the model that was sent (or is refused) and gets no answer."""
    claimed = await ledger.begin()
    owed = Owed(address(), ASKED, ("which one?",), OwedKind.QUESTION, "m0", options)
    await ledger.ask(claimed.fence, owed=owed, options=options)
    (delivery,) = await ledger.send()
    if sent:
        await ledger.store.record_delivery(delivery.id, Sent("m1"), ())
        ledger.clock.advance(HOUR)
        await ledger.store.expire_questions()
    else:
        await ledger.store.record_delivery(delivery.id, Rejected("not this"), ())
        await ledger.store.question_undeliverable(ASKED)


@pytest.mark.guards("R13")
@pytest.mark.parametrize("options", [(), ("a", "b")], ids=["in words", "with buttons"])
async def test_the_card_of_a_question_without_an_answer_says_so_and_how_to_go_on(
    ledger: Ledger, options: tuple[str, ...]
) -> None:
    await unanswered(ledger, *options)
    board = Board()
    for _ in range(2):
        clock = WatchedClock(ledger.clock)
        closing = asyncio.create_task(ClosedCards(ledger.store, clock, (board,), lambda: (PLATFORM,)).work())
        await soon(clock.nap(LOOK_AGAIN, 3_600))
        closing.cancel()
    message, text = board.edits.get_nowait()
    assert message == "m1" and text.startswith("which one?\n\nNo answer came in time")
    assert "/resume" in text
    assert board.edits.empty(), "once, also after a restart"
    assert [part.kind for part in await ledger.outbox()] == [OwedKind.QUESTION], "and nothing beside it"


@pytest.mark.guards("R13")
@pytest.mark.parametrize("sent", [True, False], ids=["which was seen", "which was refused"])
async def test_where_a_card_cannot_be_edited_one_line_says_it(ledger: Ledger, sent: bool) -> None:
    await unanswered(ledger, sent=sent)
    plain = FakePlatform(Capabilities(Ack.OFFSET))
    for _ in range(2):
        clock = WatchedClock(ledger.clock)
        closing = asyncio.create_task(ClosedCards(ledger.store, clock, (plain,), lambda: (PLATFORM,)).work())
        await soon(clock.nap(LOOK_AGAIN, 3_600))
        closing.cancel()
    (line,) = [part for part in await ledger.outbox() if part.kind is OwedKind.NOTICE]
    assert "/resume" in line.text and line.reply_to == "m0"
    assert ("which one?" in line.text) is sent


class Shaky(Board):
    """Its first edit goes wrong in this way."""

    def __init__(self, fault: Exception) -> None:
        super().__init__()
        self._faults = [fault]

    async def edit(self, chat: ChatAddress, message_id: str, text: str, in_line: bool = False) -> bool:
        if self._faults:
            raise self._faults.pop()
        return await super().edit(chat, message_id, text, in_line)


@pytest.mark.parametrize(
    ("fault", "reported"),
    [
        (PlatformDown("away"), []),
        (TimeoutError(), []),
        (ValueError("the adapter broke"), ["closing the card of delivery 1"]),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_a_card_whose_edit_failed_is_closed_at_the_next_look(
    ledger: Ledger, fault: Exception, reported: list[str]
) -> None:
    await unanswered(ledger, "a", "b")
    clock, board, reports = WatchedClock(ledger.clock), Shaky(fault), Reports()
    closing = asyncio.create_task(
        ClosedCards(ledger.store, clock, (board,), lambda: (PLATFORM,), reports).work()
    )
    assert await soon(clock.nap(0, SOON)) == SOON
    assert board.edits.empty() and reports.doing == reported
    ledger.clock.advance(int(SOON * 1_000))
    message, _ = await soon(board.edits.get())
    closing.cancel()
    assert message == "m1"


async def test_a_card_of_a_platform_that_is_away_is_closed_when_it_is_back(ledger: Ledger) -> None:
    await unanswered(ledger, "a", "b")
    clock, board = WatchedClock(ledger.clock), Board()
    there: list[str] = []
    cards = ClosedCards(ledger.store, clock, (board,), lambda: tuple(there))
    closing = asyncio.create_task(cards.work())
    assert await soon(clock.nap(0, 3_600)) == LOOK_AGAIN, "it cannot be reached, so there is no hurry"
    assert board.edits.empty()
    there.append(PLATFORM)
    cards.poke()
    message, _ = await soon(board.edits.get())
    closing.cancel()
    assert message == "m1"


async def test_a_platform_that_shows_cards_by_itself_is_left_alone(ledger: Ledger) -> None:
    await unanswered(ledger)
    shows = FakePlatform(Capabilities(Ack.OFFSET, buttons=True, cards=True))
    assert not ClosedCards(ledger.store, ledger.clock, (shows,), lambda: (PLATFORM,)).is_needed


async def test_every_card_that_could_not_be_reached_is_closed_when_the_platform_is_back(
    ledger: Ledger,
) -> None:
    for name in ("c1", "c2"):
        claimed = await ledger.begin(chat=name)
        id = QuestionId(f"q-{name}")
        owed = Owed(address(name), id, ("which one?",), OwedKind.QUESTION, None, ("a", "b"))
        await ledger.ask(claimed.fence, id, owed=owed, options=("a", "b"))
        (delivery,) = await ledger.send()
        await ledger.store.record_delivery(delivery.id, Sent(f"m-{name}"), ())
    for name in ("c1", "c2"):
        await ledger.store.set_question_aside(QuestionId(f"q-{name}"))
    clock, board = WatchedClock(ledger.clock), Board()
    there: list[str] = []
    cards = ClosedCards(ledger.store, clock, (board,), lambda: tuple(there))
    closing = asyncio.create_task(cards.work())
    await soon(clock.nap(0, 3_600))
    there.append(PLATFORM)
    cards.poke()
    closed = [(await soon(board.edits.get()))[0] for _ in range(2)]
    closing.cancel()
    assert closed == ["m-c1", "m-c2"]


@pytest.mark.guards("R8.3")
@pytest.mark.parametrize("sent", [True, False], ids=["which was seen", "which was refused"])
async def test_where_a_card_cannot_be_edited_a_line_withdraws_the_question_of_safe_mode_if_it_was_seen(
    ledger: Ledger, sent: bool
) -> None:
    await asked_in_safe_mode(ledger, owed=Owed(address(), ASKED, ("go on?",), OwedKind.QUESTION, "m0"))
    (delivery,) = await ledger.send()
    await ledger.store.record_delivery(delivery.id, Sent("m1") if sent else Rejected("not this"), ())
    await ledger.store.withdraw_questions()
    await look_once(ledger, FakePlatform(Capabilities(Ack.OFFSET)))
    lines = [part for part in await ledger.outbox() if part.kind is OwedKind.NOTICE]
    assert [line.text for line in lines] == (
        ["You need not answer “go on?” any more: safe mode is over, and the work goes on."] if sent else []
    )
    assert {line.reply_to for line in lines} <= {"m0"}


async def look_once(ledger: Ledger, platform: FakePlatform) -> None:
    clock = WatchedClock(ledger.clock)
    closing = asyncio.create_task(ClosedCards(ledger.store, clock, (platform,), lambda: (PLATFORM,)).work())
    await soon(clock.nap(LOOK_AGAIN, 3_600))
    closing.cancel()
