"""Stands for the conformance suite: a platform in memory with bugs to choose from, the web, the simulator."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from holdfast.model import (
    Accepted,
    Attachment,
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
    Platform,
    PlatformDown,
    Working,
)
from holdfast.platforms.web import WebChat
from holdfast.policy.delivery.parts import POSSIBLY_REPEATED
from holdfast.testing import FaultPlan, FaultRates, History, SeededRng
from holdfast.testing.sim.life import ProcessLife
from holdfast.testing.sim.loop import SimLoop
from holdfast.testing.sim.platforms.fake_platform import FakePlatform
from holdfast.testing.sim.platforms.kinds import KINDS
from holdfast.testing.sim.platforms.servers import Around, PlatformServer
from holdfast.testing.sim.ports import WallClock

T = TypeVar("T")
FULL = Capabilities(
    Ack.OFFSET,
    Idempotency.STRONG,
    reconcile=True,
    edit=True,
    threads=True,
    buttons=True,
    longest=20,
    typing=4.0,
    drafts=True,
    catch_up=None,
    files=1_000,
)


@dataclass
class Said:
    chat: ChatAddress
    text: str
    key: str
    options: tuple[str, ...] = ()
    question: str = ""


def stored_in(kept: dict[str, bytes], content: bytes) -> Attachment:
    digest = hashlib.sha256(content).hexdigest()
    kept[digest] = content
    return Attachment(digest, "report.txt", "text/plain", len(content))


@dataclass
class Memory:
    """A server that is two lists and does everything; `bug` is what it, or its client, gets wrong."""

    capabilities: Capabilities = FULL
    bug: str = ""
    cannot: frozenset[str] = frozenset()
    events: list[Arrival | SetAside] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
    threads: int = 0
    gone: bool = False
    blocked: bool = False
    losing: str = ""
    kept: dict[str, bytes] = field(default_factory=dict)
    given: list[bytes] = field(default_factory=list)

    def fresh(self) -> Platform:
        return Client(self)

    def chat(self, thread: str | None = None) -> ChatAddress:
        account = "other" if self.bug == "another account" else "bot"
        return Place("memory", account, "ann", thread).address

    def bring(self, text: str, thread: str | None = None, pressed: str | None = None) -> None:
        known = Place("memory", "bot", "ann", None if self.bug == "forgets the thread" else thread)
        number = 0 if self.bug == "one id for all" else len(self.events)
        origin = Origin(known, ChatKind.DIRECT, " " if self.bug == "no sender" else "ann")
        question = QuestionId(pressed) if pressed is not None else None
        self.events.append(Arrival(f"e{number}", origin, text, pressed=question))

    async def write(self, text: str, thread: str | None = None) -> None:
        self.bring(text, thread)

    async def seen(self, thread: str | None = None) -> list[str]:
        return [one.text for one in self.said if place_at(one.chat).thread == thread]

    def stored(self, content: bytes) -> Attachment:
        return stored_in(self.kept, content)

    async def files(self) -> list[bytes]:
        return self.given

    async def open_thread(self) -> str:
        self.threads += 1
        return str(self.threads)

    async def press(self, label: str) -> None:
        asked = next(one for one in reversed(self.said) if label in one.options)
        wrong = self.bug == "another question"
        self.bring(
            "?" if self.bug == "a press without its label" else label, None, "?" if wrong else asked.question
        )

    async def babble(self) -> None:
        if self.bug != "passes over":
            self.events.append(SetAside(f"e{len(self.events)}", "noise", "{"))

    async def lose_answer(self) -> None:
        self.losing = "answer"

    async def lose_request(self) -> None:
        self.losing = "request"

    async def block(self) -> None:
        self.blocked = True

    async def go_away(self) -> None:
        self.gone = True


class Client:
    """One process's client of it."""

    def __init__(self, server: Memory) -> None:
        self.server = server
        self.bug = server.bug
        self.name = "Memory!" if self.bug == "a strange name" else "memory"
        self.account = "bot"
        self.capabilities = server.capabilities
        self.cursor: str | None = None if self.bug == "no position" else "n"
        self._handed = 0

    async def connect(self) -> None:
        if self.server.gone and self.bug != "connects to nobody":
            raise PlatformDown("nobody is there")
        if self.bug == "drops what waits":
            self.server.events.clear()

    async def receive(self, after: str | None) -> Incoming:
        number = int(after or 0)
        if self.bug == "hands out once":
            number, self.server.threads = max(number, self.server.threads), len(self.server.events)
        if self.bug == "brings all again":
            number = 0
        found = self.server.events[number:]
        if self.bug == "out of order":
            found = found[::-1]
        if self.bug == "new ids" and found:
            self._handed += 1
            found = [replace(one, event_id=f"{id(self)}-{self._handed}") for one in found]
        if not found:
            await asyncio.get_running_loop().create_future()
        return Incoming(tuple(found), Cursor("n", str(len(self.server.events))))

    async def confirm(self, incoming: Incoming, accepted: tuple[Accepted, ...]) -> None:
        return None

    async def send(self, delivery: Delivery) -> SendResult:
        server = self.server
        if server.gone:
            return Sent() if self.bug == "sends to nobody" else TryAgain(0, "nobody is there")
        if server.blocked:
            return TryAgain(0, "not now") if self.bug == "hopes" else Rejected("blocked", whole_chat=True)
        losing, server.losing = server.losing, ""
        if losing == "request":
            return Rejected("gone") if self.bug == "calls it refused" else Lost("no answer")
        self._put_up(delivery)
        if losing == "answer":
            return TryAgain(0, "no answer") if self.bug == "calls it not sent" else Lost("no answer")
        return Lost("who knows") if self.bug == "is never sure" else Sent(delivery.key)

    def _put_up(self, delivery: Delivery) -> None:
        known = {one.key for one in self.server.said}
        keys_count = self.capabilities.idempotency is not Idempotency.NONE and self.bug != "forgets keys"
        if keys_count and delivery.key in known:
            return
        mark = POSSIBLY_REPEATED if delivery.repeated and self.bug != "does not mark" else ""
        text = delivery.text[: 5 if self.bug == "cuts" else None]
        chat = self.server.chat() if self.bug == "loses the thread" else delivery.chat
        self.server.said.append(Said(chat, mark + text, delivery.key, delivery.options, delivery.dedupe))
        if self.bug != "leaves files out":
            self.server.given += [self.server.kept[file.digest] for file in delivery.files]
        if self.bug == "shows twice":
            self.server.said.append(self.server.said[-1])

    async def find(self, delivery: Delivery) -> bool:
        there = any(one.key == delivery.key for one in self.server.said)
        return {"finds all": True, "finds nothing": False}.get(self.bug, there)

    async def show(self, chat: ChatAddress, working: Working) -> None:
        if working.draft and self.bug == "leaves drafts":
            self.server.said.append(Said(chat, working.draft, "draft"))

    async def edit(self, chat: ChatAddress, message_id: str, text: str, in_line: bool = False) -> bool:
        for one in self.server.said:
            if one.key == message_id and self.bug != "does not edit":
                one.text = text
        return True

    async def close(self) -> None:
        return None


@asynccontextmanager
async def in_memory(capabilities: Capabilities = FULL, bug: str = "") -> AsyncIterator[Memory]:
    yield Memory(capabilities, bug)


class WatchedWeb(WebChat):
    """People read the outbox itself: what is sent has been there since its commit, once per key."""

    outbox: dict[str, Delivery]

    async def send(self, delivery: Delivery) -> SendResult:
        self.outbox.setdefault(delivery.key, delivery)
        return await super().send(delivery)


@dataclass
class WebStand:
    cannot = frozenset({"open_thread", "press", "babble", "lose_answer", "lose_request", "block", "go_away"})
    """The adapter is a part of the gateway's process: there is no way to it that could be lost."""
    outbox: dict[str, Delivery] = field(default_factory=dict)
    posts: list[asyncio.Future[Accepted]] = field(default_factory=list)
    web: WatchedWeb = field(default_factory=WatchedWeb)
    kept: dict[str, bytes] = field(default_factory=dict)

    def fresh(self) -> Platform:
        self.web.outbox = self.outbox
        return self.web

    def chat(self, thread: str | None = None) -> ChatAddress:
        return self.web.origin("home", "local", thread).place.address

    async def write(self, text: str, thread: str | None = None) -> None:
        arrival = Arrival(f"e{len(self.posts)}", self.web.origin("home", "local", thread), text)
        self.posts.append(asyncio.ensure_future(self.web.post(arrival)))
        while not any(post.arrival is arrival for post in self.web._posts):
            await asyncio.get_running_loop().run_in_executor(None, int)

    async def seen(self, thread: str | None = None) -> list[str]:
        return [one.text for one in self.outbox.values() if place_at(one.chat).thread == thread]

    def stored(self, content: bytes) -> Attachment:
        return stored_in(self.kept, content)

    async def files(self) -> list[bytes]:
        return [self.kept[file.digest] for one in self.outbox.values() for file in one.files]

    async def open_thread(self) -> str:
        raise NotImplementedError

    async def press(self, label: str) -> None:
        raise NotImplementedError

    async def babble(self) -> None:
        raise NotImplementedError

    async def lose_answer(self) -> None:
        raise NotImplementedError

    async def lose_request(self) -> None:
        raise NotImplementedError

    async def block(self) -> None:
        raise NotImplementedError

    async def go_away(self) -> None:
        raise NotImplementedError


@asynccontextmanager
async def on_the_web() -> AsyncIterator[WebStand]:
    stand = WebStand()
    try:
        yield stand
    finally:
        for post in stand.posts:
            post.cancel()


class Planned(FaultPlan):
    """Faults of the simulator's network, each when it is asked for."""

    def __init__(self) -> None:
        super().__init__(SeededRng(1, "faults"), FaultRates())
        self.plan: list[str] = []

    def first(self, *names: str) -> str | None:
        return self.plan.pop(0) if self.plan and self.plan[0] in names else None


class SimStand:
    """One of the simulator's platforms, on the loop it runs on."""

    cannot = frozenset[str]()

    def __init__(self, kind: str) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimLoop)
        self.loop = loop
        self.kept: dict[str, bytes] = {}
        self.faults = Planned()
        around = Around(
            loop,
            WallClock(loop),
            self.faults,
            History(),
            lambda line: None,
            lambda account, event: True,
            lambda turn: None,
            lambda dedupe, number: 0,
            lambda dedupe, number: False,
            lambda chat, message, texts: True,
        )
        self.server = PlatformServer(around, kind, KINDS[kind])
        self.lives = self.topics = 0

    def fresh(self) -> Platform:
        self.lives += 1
        return FakePlatform(self.server, ProcessLife(self.lives))

    def chat(self, thread: str | None = None) -> ChatAddress:
        return replace(self.server.place("ann"), thread=thread).address

    async def write(self, text: str, thread: str | None = None) -> None:
        self.server.say(self._named(thread), text)

    def _named(self, thread: str | None) -> str:
        return "ann" if thread is None else f"ann/{thread}"

    async def seen(self, thread: str | None = None) -> list[str]:
        history = self.server.around.history
        edited = {one.message: one.text for one in history.seen if one.what == "edit"}
        ids = {key: id_ for key, (id_, _) in self.server._by_key.items()}
        here = [one for one in history.shown if one.chat == self._named(thread)]
        return [edited.get(ids[one.key], one.text) for one in here]

    def stored(self, content: bytes) -> Attachment:
        digest = hashlib.sha256(content).hexdigest()
        self.kept[digest] = content
        return Attachment(digest, "report.pdf", "application/pdf", len(content))

    async def files(self) -> list[bytes]:
        return [self.kept[digest] for one in self.server.around.history.shown for digest in one.files]

    async def open_thread(self) -> str:
        self.topics += 1
        return str(self.topics)

    async def press(self, label: str) -> None:
        self.server.press("ann", ("tea", "coffee").index(label))

    async def babble(self) -> None:
        self.server.babble("ann", "noise")

    async def lose_answer(self) -> None:
        self.faults.plan.append("lost_response")

    async def lose_request(self) -> None:
        self.faults.plan.append("lost_request")

    async def block(self) -> None:
        self.faults.plan.append("blocked")

    async def go_away(self) -> None:
        self.server.go_down(1_000.0)


@asynccontextmanager
async def simulated(kind: str) -> AsyncIterator[SimStand]:
    yield SimStand(kind)


def on_the_simulators_loop(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run this in virtual time; what waits for nothing fails."""
    loop = SimLoop(SeededRng(1, "order"))  # type: ignore[abstract]  # what it lacks would escape
    with loop.running():
        task = loop.create_task(work())
        while not task.done():
            assert loop.step() or loop.advance(), "it waits for something that never comes"
    return task.result()
