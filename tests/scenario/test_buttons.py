"""Buttons of questions that are over go, also if the message that carries them was still on its way."""

import asyncio

from holdfast.model import ChatAddress, Owed, OwedKind, QuestionId, Sent
from holdfast.outbox.closing import SOON, Closing
from holdfast.platforms import Ack, Capabilities
from tests.support.ledger import PLATFORM, Ledger, address
from tests.support.platforms import FakePlatform
from tests.support.stage import WatchedClock, soon

ASKED = QuestionId("q1")


class Board(FakePlatform):
    """Its messages can be edited."""

    def __init__(self) -> None:
        super().__init__(Capabilities(Ack.OFFSET, buttons=True, edit=True))
        self.edits: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    async def edit(self, chat: ChatAddress, message_id: str, text: str) -> bool:
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
    closing = asyncio.create_task(Closing(ledger.store, clock, (board,), lambda: (PLATFORM,)).work())
    assert await soon(clock.nap(0, 3_600)) == SOON
    await ledger.store.record_delivery(delivery.id, Sent("m1"), ())
    ledger.clock.advance(int(SOON * 1_000))
    message, text = await soon(board.edits.get())
    closing.cancel()
    assert (message, text.startswith("which one?")) == ("m1", True)
