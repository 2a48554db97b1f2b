"""The server side of simulated platforms: what people sent, what was confirmed, what is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextvars import Context
from dataclasses import field
from typing import Any

from holdfast.model import (
    WORKING,
    ChatAddress,
    ChatKind,
    Delivery,
    Origin,
    OwedKind,
    Place,
    QuestionId,
    Rejected,
    Sent,
    SetAside,
    place_at,
)
from holdfast.platforms import Arrival, Capabilities, Idempotency, Revision
from holdfast.policy.delivery.parts import mark_for
from holdfast.records import dataclass
from holdfast.testing.observation.history import Confirmed, History, PlatformEvent, Seen, Shown, Span, Tried
from holdfast.testing.sim.faults import FaultPlan
from holdfast.testing.sim.life import ProcessLife
from holdfast.testing.sim.loop import SimLoop
from holdfast.testing.sim.ports import WallClock
from holdfast.testing.sim.scenario import BadGateway

AnEvent = Arrival | Revision | SetAside
ACCOUNT = "bot"
TOPIC = "/"
"""Separates a chat and its topic in the names of scenarios."""
BATCH = 10
REDELIVER = 10.0
"""Seconds after which an unanswered delivery is repeated."""


@dataclass(frozen=True, slots=True)
class Around:
    """What the world gives a platform: its loop, clock, faults and the record of observations."""

    loop: SimLoop
    wall: WallClock
    faults: FaultPlan
    history: History
    trace: Callable[[str], None]
    is_known: Callable[[str, str], bool]
    """Whether the ledger holds an event of an account at this instant."""
    generation_of: Callable[[str], int | None]
    """The generation of a running turn at this instant; None if it does not run."""
    owed_for: Callable[[str, int], int | None]
    """How long the ledger has held this part of a message; None if it does not."""
    is_sending: Callable[[str, int], bool]
    """Whether the ledger does not know the result of sending this part yet."""
    is_revised: Callable[[str, str, list[str | None]], bool]
    """Whether a message of a chat that no turn has taken says one of these."""


@dataclass(slots=True)
class Pending:
    """An event the server still holds for the gateway."""

    number: int
    event: AnEvent
    id: str
    in_flight: bool = False


@dataclass(slots=True)
class PlatformServer:
    """The platform itself: what people sent, what it considers confirmed, what it showed."""

    around: Around
    name: str
    capabilities: Capabilities
    bot: str = ACCOUNT
    down_until: float = 0.0
    _refusing_until: float = 0.0
    _bad: list[tuple[float, BadGateway]] = field(default_factory=list)
    _pending: list[Pending] = field(default_factory=list)
    _count: int = 0
    _by_key: dict[str, tuple[str, float]] = field(default_factory=dict)
    """Ids and times of shown messages, by key."""
    _questions: dict[str, tuple[QuestionId, tuple[str, ...]]] = field(default_factory=dict)
    """The newest question shown in each chat, with its buttons."""
    _asking: set[str] = field(default_factory=set)
    """Messages with buttons."""
    _spoken: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Messages about work in progress, with their turn and generation."""
    _revisions: list[Revision] = field(default_factory=list)
    _waits: dict[str, int] = field(default_factory=dict)
    """The end of each wait that the platform asked for, by chat, on the wall clock."""
    _arrived: asyncio.Future[None] | None = None
    _connected: dict[int, int] = field(default_factory=dict)
    """Process and the step since which it is connected."""

    @property
    def renders(self) -> bool:
        """Whether the platform changes the form of a text that people see."""
        return False

    @property
    def account(self) -> str:
        return f"{self.name}/{self.bot}"

    @property
    def is_down(self) -> bool:
        return self.around.loop.time() < self.down_until

    def place(self, chat: str) -> Place:
        """A chat, or a topic of one (`a/1`)."""
        name, _, topic = chat.partition(TOPIC)
        return Place(self.name, self.bot, name, topic or None)

    def person_id(self, name: str) -> str:
        """A person, by the name in scenarios."""
        return f"{self.name}:{name}"

    # What people do

    def say(self, chat: str, text: str, person: str = "", pressed: QuestionId | None = None) -> str:
        """A person writes in a chat; returns the message's id."""
        id_ = self._next("e")
        kind = ChatKind.GROUP if is_group(chat) else ChatKind.DIRECT
        origin = Origin(self.place(chat), kind, person or person_in(chat))
        arrival = Arrival(id_, origin, text, f"m{id_}", self.around.wall.now(), pressed=pressed)
        how = "written" if pressed is None else "pressed"
        self._hold(arrival, id_, "message", chat, text, origin.person, f"m{id_}", how)
        return f"m{id_}"

    def give(self, chat: str, text: str, content: bytes, person: str = "") -> str:
        """A person writes and attaches a file, where that is possible."""
        return self.say(chat, text, person)

    def press(self, chat: str, option: int, person: str = "") -> None:
        """A person presses a button under the newest question of a chat, however old it is."""
        if chat in self._questions:
            question, options = self._questions[chat]
            self.say(chat, options[option % len(options)], person, question)

    def ask(self, chat: str, question: str, options: tuple[str, ...]) -> None:
        """Show a question with buttons in this chat from now on."""
        if options:
            self._questions[chat] = (QuestionId(question), options)

    def revise(self, chat: str, message_id: str, text: str | None) -> None:
        """A person changes or takes back what they wrote."""
        id_ = self._next("e")
        revision = Revision(id_, self.place(chat), message_id, text)
        self._revisions.append(revision)
        if text is None:
            self.around.history.gone.add((self.name, message_id))
        self._hold(revision, id_, "revision", chat, text or "")

    def babble(self, chat: str, text: str) -> None:
        """The platform itself sends an event that the gateway cannot read."""
        id_ = self._next("e")
        self._hold(SetAside(id_, "no such kind of update", text), id_, "junk", chat, text)

    def go_down(self, seconds: float) -> None:
        """Be unreachable for a while; every waiting caller is cut off."""
        self.down_until = self.around.loop.time() + seconds
        self.around.trace(f"{self.name} down for {seconds:.3f}")
        self._wake()

    def refuse(self, seconds: float) -> None:
        """Refuse all messages for a while."""
        self._refusing_until = self.around.loop.time() + seconds

    def answer_badly(self, act: BadGateway) -> None:
        """Answer some messages uselessly for a while."""
        self._bad.append((self.around.loop.time() + act.seconds, act))

    def bad_answer(self, delivery: Delivery) -> BadGateway | None:
        """The useless answer to this message, if it gets one."""
        now = self.around.loop.time()
        return next((act for until, act in self._bad if now < until and act.word in delivery.text), None)

    def refusal_of(self, delivery: Delivery) -> Rejected | None:
        """Why the platform refuses this message; None if it does not."""
        if self.around.loop.time() < self._refusing_until:
            return Rejected("not now, and not later")
        if (self.name, delivery.reply_to) in self.around.history.gone:
            return Rejected("the message it replies to is gone", reply_gone=True)
        return None

    def _next(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def _hold(self, event: AnEvent, id_: str, kind: str, chat: str, *more: str) -> None:
        self._pending.append(Pending(self._count, event, id_))
        self.around.history.events.append(PlatformEvent(self.account, id_, kind, chat, *more))
        self.around.trace(f"{self.name} has {id_}")
        self._wake()

    # Requests of clients

    def confirm(self, settled: Callable[[Pending], bool]) -> None:
        """Consider these events received; they are not delivered again."""
        for pending in [one for one in self._pending if settled(one)]:
            self._pending.remove(pending)
            known = self._is_kept(pending.event, pending.id)
            self.around.history.confirmed.append(Confirmed(self.account, pending.id, known))
            self.around.trace(f"{self.name} confirmed {pending.id}")

    def _is_kept(self, event: AnEvent, id_: str) -> bool:
        if not isinstance(event, Revision):
            return self.around.is_known(self.account, id_)
        same = [
            one for one in self._revisions if (one.place, one.message_id) == (event.place, event.message_id)
        ]
        texts = [one.text for one in same[same.index(event) :]]
        return self.around.is_revised(event.place.address, event.message_id, texts)

    def after(self, number: int) -> list[Pending]:
        return [pending for pending in self._pending if pending.number > number][:BATCH]

    def unanswered(self) -> list[Pending]:
        """The events to deliver now; each is repeated unless it is answered in time."""
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
        """A future that is done as soon as anything changes."""
        if self._arrived is None or self._arrived.done():
            self._arrived = self.around.loop.create_future()
        return self._arrived

    def _wake(self) -> None:
        if self._arrived is not None and not self._arrived.done():
            self._arrived.set_result(None)

    def show(self, delivery: Delivery, current: int | None = None, files: tuple[str, ...] = ()) -> str:
        """Show a message to people, unless this key was shown and the platform remembers keys.

        Its files are named by the hashes of their bytes.
        """
        known = self._by_key.get(delivery.key)
        if known is not None and self._remembers(known[1]):
            return known[0]
        id_ = self._next("s")
        self._by_key[delivery.key] = (id_, self.around.loop.time())
        chat = chat_at(delivery.chat)
        self.ask(chat, delivery.dedupe, delivery.options)
        if delivery.kind is OwedKind.QUESTION:
            self._asking.add(id_)
        text = mark_for(delivery) + delivery.text
        owed = self.around.owed_for(delivery.dedupe, delivery.part)
        told = (delivery.key, delivery.order, text, delivery.repeated, owed, files, delivery.reply_to)
        self.around.history.shown.append(Shown(self.name, chat, *told, self.around.loop.time()))
        self.around.trace(f"{self.name} shows {delivery.key}{' marked' if delivery.repeated else ''}")
        if delivery.dedupe.startswith(WORKING):
            self._spoken[id_] = run_of(delivery)
            what = "again" if delivery.attempts else "message"
            self.see(what, chat, text, *self._spoken[id_], current, id_, delivery.repeated)
        return id_

    def current_run(self, delivery: Delivery) -> int | None:
        """The generation of the run that a message is about, if it runs at this instant."""
        spoken_of = delivery.dedupe.startswith(WORKING)
        return self.around.generation_of(run_of(delivery)[0]) if spoken_of else None

    def end(self) -> None:
        """End the server with its world."""

    def forget_what_is_old(self) -> None:
        """Do nothing: most platforms keep undelivered events for ever."""

    def tried(self, delivery: Delivery) -> None:
        """Note that a process sends this here and now."""
        chat = chat_at(delivery.chat)
        early = self._waits.get(chat, 0) - self.around.wall.now()
        self.around.history.tried.append(Tried(self.name, chat, delivery.key, max(0, early)))

    def throttle(self, delivery: Delivery, until: int, life: ProcessLife) -> None:
        """Ask for a wait until then; a process that dies before it is recorded does not know of it."""
        chat = chat_at(delivery.chat)
        self._waits[chat] = until

        def not_recorded() -> None:
            if self._waits.get(chat) == until and self.around.is_sending(delivery.dedupe, delivery.part):
                del self._waits[chat]

        life.on_end.append(not_recorded)

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
        seen = Seen(self.name, chat, what, text, turn, generation, *rest)
        self.around.history.seen.append(seen._replace(at=self.around.loop.time()))
        self.around.trace(f"{self.name} {what} {turn} {generation}: {text}")

    def is_question(self, message: str) -> bool:
        return message in self._asking

    def close_question(self, message: str, text: str) -> None:
        """Change the text of a question; a person who has not looked since may still press its buttons."""
        self.around.trace(f"{self.name} closes {message}: {text}")

    def spoken_of(self, message: str) -> tuple[str, int]:
        return self._spoken[message]

    def found(self, key: str) -> Sent | bool:
        return Sent(self._by_key[key][0]) if key in self._by_key else False

    def hears(self, life: ProcessLife) -> bool:
        """Whether this process is connected."""
        return life.number in self._connected

    def connect(self, life: ProcessLife) -> None:
        if life.number not in self._connected:
            self._connected[life.number] = self.around.loop.steps
            life.on_end.append(lambda: self.disconnect(life))

    def disconnect(self, life: ProcessLife) -> None:
        since = self._connected.pop(life.number, None)
        if since is not None:
            span = Span(
                f"connection of {self.account}", f"process {life.number}", since, self.around.loop.steps
            )
            self.around.history.spans.append(span)
        for pending in self._pending:
            pending.in_flight = False
        self._wake()


def person_in(chat: str) -> str:
    """The person who writes in a chat and all its topics, unless the act names one."""
    return f"person-{chat.partition(TOPIC)[0]}"


def chat_at(address: ChatAddress) -> str:
    """A chat, or a topic of one, by its name in scenarios."""
    place = place_at(address)
    return place.chat if place.thread is None else f"{place.chat}{TOPIC}{place.thread}"


def is_group(chat: str) -> bool:
    return chat.startswith("group")


def run_of(delivery: Delivery) -> tuple[str, int]:
    """The turn and generation that a message about work in progress names."""
    turn, _, generation = delivery.dedupe.removeprefix(WORKING).rpartition(":")
    return turn, int(generation)


def note_what_they_can(history: History, known: Iterable[PlatformServer]) -> None:
    """Record the capabilities that rules use later."""
    of = {server.name: server.capabilities for server in known}
    strong = [name for name, can in of.items() if can.idempotency is Idempotency.STRONG]
    history.idempotent = frozenset(strong)
    history.editing = frozenset(name for name, can in of.items() if can.edit)
    history.rendering = frozenset(server.name for server in known if server.renders)
    history.longest = {name: can.longest for name, can in of.items()}
