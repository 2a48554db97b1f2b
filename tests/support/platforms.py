"""Platforms made for tests: a small server that keeps what it was sent and forgets nothing unconfirmed."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, cast

from holdfast.clock import Bell
from holdfast.model import (
    Accepted,
    Attachment,
    ChatKind,
    Cursor,
    Delivery,
    Origin,
    QuestionId,
    SendResult,
    Sent,
    SetAside,
)
from holdfast.platforms import Ack, Arrival, Capabilities, Incoming, PlatformDown, Revision
from holdfast.store import Store
from holdfast.testing import ManualClock
from tests.support.ledger import ACCOUNT, PLATFORM, place

Update = Arrival | Revision | SetAside
Play = SendResult | Exception | Callable[[Delivery], SendResult]


def arrival(
    text: str = "hello",
    event: str = "e1",
    sender: str = "ann",
    chat: str = "c1",
    kind: ChatKind = ChatKind.DIRECT,
    message_id: str | None = None,
    pressed: str | None = None,
    sent_at: int | None = None,
    attachments: tuple[Attachment, ...] = (),
) -> Arrival:
    question = QuestionId(pressed) if pressed is not None else None
    origin = Origin(place(chat), kind, sender)
    return Arrival(event, origin, text, message_id or f"m-{event}", sent_at, attachments, question)


def revision(of: str, text: str | None, event: str = "r1", chat: str = "c1") -> Revision:
    return Revision(event, place(chat), of, text)


class FakePlatform:
    """Gives its updates after an offset, and keeps what was sent to it, with the marks people would see.

    With idempotent sends a key shows once. What a send answers is `play`, one after the other, then `Sent`.
    """

    name = PLATFORM
    account = ACCOUNT
    cursor: str | None = "offset"

    def __init__(self, capabilities: Capabilities | None = None) -> None:
        self.capabilities = capabilities or Capabilities(Ack.OFFSET)
        self.updates: list[Update] = []
        self.confirmed: list[Incoming] = []
        self.at_confirm: Callable[[Incoming], Awaitable[None]] | None = None
        self.connects = 0
        self.down: list[PlatformDown] = []
        """Raised by the next calls of `connect`."""
        self.broken: list[Exception] = []
        """Raised by the next calls of `receive`."""
        self.read: list[str | None] = []
        self.play: list[Play] = []
        self.shown: list[str] = []
        self.sends: list[Delivery] = []
        self.keys: list[str] = []
        self.answers: list[Sent | bool | None | Exception] = []
        self.asked = 0
        self.bell = Bell()
        self.in_flight: dict[str, int] = {}
        self.most_in_flight = 0
        self.gate: Callable[[Delivery], Awaitable[None]] | None = None

    async def connect(self) -> None:
        self.connects += 1
        self.bell.ring()
        if self.down:
            raise self.down.pop(0)

    async def receive(self, after: str | None) -> Incoming:
        self.read.append(after)
        if self.broken:
            raise self.broken.pop(0)
        start = int(after or 0)
        while len(self.updates) <= start:
            await self.bell.since(self.bell.rung)
        return Incoming(tuple(self.updates[start:]), Cursor("offset", str(len(self.updates))))

    async def confirm(self, incoming: Incoming, accepted: tuple[Accepted, ...]) -> None:
        if self.at_confirm is not None:
            await self.at_confirm(incoming)
        self.confirmed.append(incoming)
        self.bell.ring()

    async def send(self, delivery: Delivery) -> SendResult:
        self.in_flight[delivery.chat] = self.in_flight.get(delivery.chat, 0) + 1
        self.most_in_flight = max(self.most_in_flight, sum(self.in_flight.values()))
        assert self.in_flight[delivery.chat] == 1, "two parts of one chat in flight"
        try:
            if self.gate is not None:
                await self.gate(delivery)
            return self._send(delivery)
        finally:
            self.in_flight[delivery.chat] -= 1
            self.bell.ring()

    def _send(self, delivery: Delivery) -> SendResult:
        self.sends.append(delivery)
        played = self.play.pop(0) if self.play else Sent()
        if isinstance(played, Exception):
            raise played
        result = played if not callable(played) else played(delivery)
        if isinstance(result, Sent):
            self.put_up(delivery)
            return replace(result, platform_id=f"p{len(self.shown)}")
        return result

    def put_up(self, delivery: Delivery) -> None:
        """It is there, once per key where keys count."""
        if self.capabilities.idempotency != "none" and delivery.key in self.keys:
            return
        self.keys.append(delivery.key)
        self.shown.append(("(again?) " if delivery.repeated else "") + delivery.text)

    async def find(self, delivery: Delivery) -> Sent | bool | None:
        self.asked += 1
        answer = self.answers.pop(0) if self.answers else delivery.key in self.keys
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def close(self) -> None:
        return None


class HalfRng:
    """Chance without surprises."""

    def random(self) -> float:
        return 0.5


class Failing:
    """A store some of whose verbs fail, a given number of times; the rest is the real one."""

    def __init__(self, store: Store, **faults: list[Exception]) -> None:
        self._store = store
        self.faults = faults

    def __getattr__(self, verb: str) -> Any:
        real = getattr(self._store, verb)
        faults = self.faults.get(verb)
        if faults is None:
            return real

        async def perhaps(*args: Any, **kwargs: Any) -> Any:
            if faults:
                raise faults.pop(0)
            return await real(*args, **kwargs)

        return perhaps


def failing(store: Store, **faults: list[Exception]) -> Store:
    return cast(Store, Failing(store, **faults))


class Slept(Bell):
    """Rings whenever somebody begins to sleep, and knows for how long."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[float] = []

    async def until(self, seconds: float) -> None:
        """Return once somebody has begun to sleep for that long."""
        while seconds not in self.asked:
            await self.since(self.rung)


def watch(clock: ManualClock) -> Slept:
    """Know of everybody who begins to sleep on this clock."""
    slept, sleep = Slept(), clock.sleep

    async def watched(seconds: float) -> None:
        slept.asked.append(seconds)
        slept.ring()
        await sleep(seconds)

    clock.sleep = watched  # type: ignore[method-assign]
    return slept


class Reports:
    """What stages said went wrong."""

    def __init__(self) -> None:
        self.doing: list[str] = []

    def __call__(self, doing: str, fault: BaseException) -> None:
        self.doing.append(doing)
