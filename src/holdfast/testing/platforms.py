"""Platforms that are not there: a server side that outlives processes, and the client a gateway uses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextvars import Context
from dataclasses import field
from typing import Any, TypeVar

from holdfast.model import (
    WORKING,
    Accepted,
    ChatAddress,
    ChatKind,
    Cursor,
    Delivery,
    Lost,
    Origin,
    Place,
    QuestionId,
    Rejected,
    SendResult,
    Sent,
    SetAside,
    TryAgain,
    place_at,
)
from holdfast.platforms import (
    Ack,
    Arrival,
    Capabilities,
    Idempotency,
    Incoming,
    Pace,
    PlatformDown,
    Rate,
    Revision,
    Working,
)
from holdfast.policy.parts import POSSIBLY_REPEATED
from holdfast.records import dataclass

from .faults import SECRET_WORDS, Faults
from .history import Confirmed, Event, History, Seen, Shown, Span
from .kinds import KINDS
from .life import Life
from .loop import SimLoop
from .ports import WallClock, pause

T = TypeVar("T")

ACCOUNT = "bot"
BATCH = 10
REDELIVER = 10.0
"""Seconds after which an unanswered delivery is made again."""
PATIENCE = 2.0
"""Seconds after which a client gives a call up."""


@dataclass(frozen=True, slots=True)
class Around:
    """What the world gives a platform: its loop, clock, faults and the record of what was seen."""

    loop: SimLoop
    wall: WallClock
    faults: Faults
    history: History
    trace: Callable[[str], None]
    is_known: Callable[[str, str], bool]
    """Whether the ledger holds an event of an account at this instant."""
    generation_of: Callable[[str], int | None]
    """The generation of a running turn at this instant; None if it does not run."""
    owed_for: Callable[[str, int], int | None]
    """For how long the ledger has held this part of a message; None if it does not."""


@dataclass(slots=True)
class Pending:
    """An event the server still holds for the gateway."""

    number: int
    event: Arrival | Revision | SetAside
    id: str
    in_flight: bool = False


@dataclass(slots=True)
class Server:
    """The platform itself: what people sent, what it considers confirmed, what it showed."""

    around: Around
    name: str
    capabilities: Capabilities
    down_until: float = 0.0
    _refusing_until: float = 0.0
    _pending: list[Pending] = field(default_factory=list)
    _count: int = 0
    _by_key: dict[str, tuple[str, float]] = field(default_factory=dict)
    """Ids of what was shown, and when, by key."""
    _questions: dict[str, Delivery] = field(default_factory=dict)
    """The newest question shown in each chat."""
    _spoken: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Messages about work in progress, with the turn and generation they speak of."""
    _arrived: asyncio.Future[None] | None = None
    _connected: dict[int, int] = field(default_factory=dict)
    """Process and the step since which it is connected."""

    @property
    def account(self) -> str:
        return f"{self.name}/{ACCOUNT}"

    @property
    def is_down(self) -> bool:
        return self.around.loop.time() < self.down_until

    def place(self, chat: str) -> Place:
        return Place(self.name, ACCOUNT, chat)

    # What people do

    def say(self, chat: str, text: str, person: str = "", pressed: QuestionId | None = None) -> str:
        """A person writes in a chat; returns the message's id."""
        id_ = self._next("e")
        kind = ChatKind.GROUP if is_group(chat) else ChatKind.DIRECT
        origin = Origin(self.place(chat), kind, person or person_in(chat))
        arrival = Arrival(id_, origin, text, f"m{id_}", self.around.wall.now(), pressed=pressed)
        self._hold(arrival, id_, "message", chat, text)
        return f"m{id_}"

    def press(self, chat: str, option: int) -> None:
        """A person presses a button under the newest question of a chat, old as it may be."""
        question = self._questions.get(chat)
        if question is not None:
            options = question.options
            self.say(chat, options[option % len(options)], pressed=QuestionId(question.dedupe))

    def revise(self, chat: str, message_id: str, text: str | None) -> None:
        """A person changes or takes back what they wrote."""
        id_ = self._next("e")
        revision = Revision(id_, self.place(chat), message_id, text)
        self._hold(revision, id_, "revision", chat, text or "")

    def babble(self, chat: str, text: str) -> None:
        """The platform itself sends something nobody can read."""
        id_ = self._next("e")
        self._hold(SetAside(id_, "no such kind of update", text), id_, "junk", chat, text)

    def go_down(self, seconds: float) -> None:
        """Be unreachable for a while."""
        self.down_until = self.around.loop.time() + seconds
        self.around.trace(f"{self.name} down for {seconds:.3f}")
        self._wake()

    def refuse(self, seconds: float) -> None:
        """Take no message for a while."""
        self._refusing_until = self.around.loop.time() + seconds

    @property
    def refuses(self) -> bool:
        return self.around.loop.time() < self._refusing_until

    def _next(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def _hold(self, event: Arrival | Revision | SetAside, id_: str, kind: str, chat: str, text: str) -> None:
        self._pending.append(Pending(self._count, event, id_))
        self.around.history.events.append(Event(self.account, id_, kind, chat, text))
        self.around.trace(f"{self.name} has {id_}")
        self._wake()

    # What clients ask of it

    def confirm(self, settled: Callable[[Pending], bool]) -> None:
        """Consider these events received; they are never given out again."""
        for pending in [one for one in self._pending if settled(one)]:
            self._pending.remove(pending)
            known = self.around.is_known(self.account, pending.id)
            self.around.history.confirmed.append(Confirmed(self.account, pending.id, known))
            self.around.trace(f"{self.name} confirmed {pending.id}")

    def after(self, number: int) -> list[Pending]:
        return [pending for pending in self._pending if pending.number > number][:BATCH]

    def unanswered(self) -> list[Pending]:
        """What to deliver now; it is delivered again unless it is answered in time."""
        found = [pending for pending in self._pending if not pending.in_flight][:BATCH]
        for pending in found:
            pending.in_flight = True
        if found:
            self.around.loop.call_later(REDELIVER, self._deliver_again, found, context=Context())
        return found

    def _deliver_again(self, found: list[Pending]) -> None:
        for pending in found:
            pending.in_flight = False
        self._wake()

    def arrival(self) -> asyncio.Future[None]:
        """Done as soon as anything changes."""
        if self._arrived is None or self._arrived.done():
            self._arrived = self.around.loop.create_future()
        return self._arrived

    def _wake(self) -> None:
        if self._arrived is not None and not self._arrived.done():
            self._arrived.set_result(None)

    def show(self, delivery: Delivery, current: int | None = None) -> str:
        """Show a message to people, unless this key was shown and keys count here."""
        known = self._by_key.get(delivery.key)
        if known is not None and self._remembers(known[1]):
            return known[0]
        id_ = self._next("s")
        self._by_key[delivery.key] = (id_, self.around.loop.time())
        chat = place_at(delivery.chat).chat
        if delivery.options:
            self._questions[chat] = delivery
        text = (POSSIBLY_REPEATED if delivery.repeated else "") + delivery.text
        owed = self.around.owed_for(delivery.dedupe, delivery.part)
        self.around.history.shown.append(
            Shown(self.name, chat, delivery.key, delivery.order, text, delivery.repeated, owed)
        )
        self.around.trace(f"{self.name} shows {delivery.key}{' marked' if delivery.repeated else ''}")
        if delivery.dedupe.startswith(WORKING):
            self._spoken[id_] = run_of(delivery)
            what = "again" if delivery.attempts else "message"
            self.see(what, chat, text, *self._spoken[id_], current, id_, delivery.repeated)
        return id_

    def _remembers(self, since: float) -> bool:
        match self.capabilities.idempotency:
            case Idempotency.STRONG:
                return True
            case Idempotency.WINDOW:
                return (self.around.loop.time() - since) * 1_000 < self.capabilities.repeat_within
            case Idempotency.NONE:
                return False

    def see(self, what: str, chat: str, text: str, turn: str, generation: int, *rest: Any) -> None:
        """Note what people see of work in progress."""
        self.around.history.seen.append(Seen(self.name, chat, what, text, turn, generation, *rest))
        self.around.trace(f"{self.name} {what} {turn} {generation}: {text}")

    def spoken_of(self, message: str) -> tuple[str, int]:
        return self._spoken[message]

    def found(self, key: str) -> Sent | bool:
        return Sent(self._by_key[key][0]) if key in self._by_key else False

    def hears(self, life: Life) -> bool:
        """Whether this process is connected."""
        return life.number in self._connected

    def connect(self, life: Life) -> None:
        if life.number not in self._connected:
            self._connected[life.number] = self.around.loop.steps
            life.on_end.append(lambda: self.disconnect(life))

    def disconnect(self, life: Life) -> None:
        since = self._connected.pop(life.number, None)
        if since is not None:
            span = Span(
                f"connection of {self.account}", f"process {life.number}", since, self.around.loop.steps
            )
            self.around.history.spans.append(span)
        for pending in self._pending:
            pending.in_flight = False
        self._wake()


class FakePlatform:
    """The client of one process: implements `Platform` over a network that loses, delays and repeats."""

    def __init__(self, server: Server, life: Life) -> None:
        self._server = server
        self._life = life
        self._around = server.around
        self._pace = Pace(server.around.loop.time, Rate(4), Rate(30))

    @property
    def name(self) -> str:
        return self._server.name

    @property
    def account(self) -> str:
        return ACCOUNT

    @property
    def capabilities(self) -> Capabilities:
        return self._server.capabilities

    @property
    def cursor(self) -> str | None:
        return "updates" if self.capabilities.ack is Ack.OFFSET else None

    async def connect(self) -> None:
        await self._reach()
        self._server.connect(self._life)

    async def receive(self, after: str | None) -> Incoming:
        await self._reach()
        offset = self.capabilities.ack is Ack.OFFSET
        number = int(after or 0)
        if offset:
            await self._call(lambda: self._server.confirm(lambda one: one.number <= number))
        while True:
            arrival = self._server.arrival()
            found = await self._call(lambda: self._fetch(number))
            if found:
                break
            await asyncio.shield(arrival)
            self._must_be_up()
        events = [pending.event for pending in found]
        if self._around.faults.hits("duplicate"):
            events.append(events[0])
        self._around.trace(f"{self.name} gives {','.join(pending.id for pending in found)}")
        last = Cursor("updates", str(found[-1].number)) if offset else None
        return Incoming(tuple(events), last)

    def _fetch(self, number: int) -> list[Pending]:
        if self.capabilities.ack is Ack.OFFSET:
            return self._server.after(number)
        return self._server.unanswered()

    async def confirm(self, incoming: Incoming, accepted: tuple[Accepted, ...]) -> None:
        self._life.check()
        if self.capabilities.ack is Ack.OFFSET or self._around.faults.hits("lost_request"):
            return
        ids = {event.event_id for event in incoming.events}
        await self._call(lambda: self._server.confirm(lambda one: one.id in ids))

    async def send(self, delivery: Delivery) -> SendResult:
        self._life.check()
        self._around.trace(f"{self.name} is sent {delivery.key}")
        spoken_of = delivery.dedupe.startswith(WORKING)
        current = self._around.generation_of(run_of(delivery)[0]) if spoken_of else None
        now = self._around.wall.now
        match self._around.faults.first(*_SEND_FAULTS):
            case "throttled":
                return TryAgain(
                    now() + round(self._around.faults.between(500, 5_000)), f"throttled {SECRET_WORDS}", False
                )
            case "blocked":
                return Rejected(f"the chat is gone {SECRET_WORDS}", whole_chat=True)
            case "refused":
                return Rejected(f"the platform does not take it {SECRET_WORDS}")
            case "down":
                self._server.go_down(self._around.faults.between(1.0, 20.0))
            case "lost_request":
                await pause(self._around.loop, PATIENCE)
                return Lost(f"no answer {SECRET_WORDS}")
            case "lost_response":
                await self._call(lambda: self._server.show(delivery, current))
                await pause(self._around.loop, PATIENCE)
                return Lost(f"no answer {SECRET_WORDS}")
            case "slow":
                await pause(self._around.loop, PATIENCE)
            case _:
                await pause(self._around.loop, self._pace.to_send(delivery.chat))
        if self._server.refuses:
            return Rejected("not now, and not later")
        if self._server.is_down:
            return TryAgain(now() + 1_000, f"no connection {SECRET_WORDS}", counts=False)
        return Sent(await self._call(lambda: self._server.show(delivery, current)))

    async def find(self, delivery: Delivery) -> Sent | bool | None:
        self._life.check()
        if self._server.is_down:
            raise PlatformDown(f"no connection {SECRET_WORDS}")
        return await self._call(lambda: self._server.found(delivery.key))

    async def show(self, chat: ChatAddress, working: Working) -> None:
        by, where = working.by, place_at(chat).chat
        text = " | ".join(filter(None, ("typing" * working.typing, working.draft, working.notice)))
        if not text or self._pace.may_show(chat):
            await self._let_see("beside", where, text, by.turn, by.generation, "")

    async def edit(self, chat: ChatAddress, message_id: str, text: str) -> bool:
        turn, generation = self._server.spoken_of(message_id)
        if not self._pace.may_show(chat):
            return False
        return await self._let_see("edit", place_at(chat).chat, text, turn, generation, message_id)

    async def _let_see(self, what: str, chat: str, text: str, turn: str, generation: int, id_: str) -> bool:
        self._life.check()
        current = self._around.generation_of(turn)
        if self._server.is_down:
            raise PlatformDown(f"no connection {SECRET_WORDS}")
        if self._around.faults.first("throttled", "lost_request"):
            return False
        await self._call(lambda: self._server.see(what, chat, text, turn, generation, current, id_))
        return True

    async def close(self) -> None:
        self._life.check()
        self._server.disconnect(self._life)

    async def _reach(self) -> None:
        self._life.check()
        if self._around.faults.hits("down"):
            self._server.go_down(self._around.faults.between(1.0, 20.0))
        self._must_be_up()

    def _must_be_up(self) -> None:
        if self._server.is_down:
            raise PlatformDown(f"no connection {SECRET_WORDS}", retry_after=1.0)

    async def _call(self, act: Callable[[], T]) -> T:
        """Let the server do something; it does so also when the caller dies meanwhile."""
        loop, faults = self._around.loop, self._around.faults
        answer: asyncio.Future[T] = loop.create_future()
        arrives, returns = (faults.between(0.002, 0.05) for _ in range(2))

        def serve() -> None:
            loop.call_later(returns, _settle, answer, act(), context=Context())

        loop.call_later(arrives, serve, context=Context())
        return await answer


_SEND_FAULTS = ("throttled", "blocked", "refused", "down", "lost_request", "lost_response", "slow")


def person_in(chat: str) -> str:
    """Who writes in a chat, unless somebody is named."""
    return f"person-{chat}"


def is_group(chat: str) -> bool:
    return chat.startswith("group")


def run_of(delivery: Delivery) -> tuple[str, int]:
    """The turn and generation that a message about work in progress speaks of."""
    turn, _, generation = delivery.dedupe.removeprefix(WORKING).rpartition(":")
    return turn, int(generation)


def _settle(answer: asyncio.Future[T], result: T) -> None:
    if not answer.done():
        answer.set_result(result)


def servers(around: Around, names: Iterable[str]) -> dict[str, Server]:
    """One server of each of these kinds."""
    return {name: Server(around, name, KINDS[name]) for name in names}
