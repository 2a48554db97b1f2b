"""The gateway whose disk is watched: the real process, with people, a platform and an agent from this file.

Whatever the outside gets to see is told first, as a fact the ledger must know from then on:

    kept:EVENT      a message was acknowledged
    blob:DIGEST     a file was
    asked:TEXT/N    the model was asked about this message, with so many results before it
    effect:KEY      a tool began to have its effect, which it may have once
    started:KEY     a tool began that may begin again
    sending:ID      a part of a reply goes out
    sent:ID         the next part in its chat goes out, or a person has read it
    erased:EVENT    a message was forgotten
"""

import asyncio
import hashlib
import os
import signal
import sqlite3
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.agents import Agent, OnText, Prompt, unheard
from holdfast.api.frontend import Open, RunningGateway
from holdfast.clock import Clock, SystemClock
from holdfast.errors import DiskFull, StoreFault
from holdfast.gateway.files import blobs
from holdfast.gateway.gateway import Gateway
from holdfast.model import (
    Accepted,
    ChatKind,
    Cursor,
    Delivery,
    DeliveryId,
    EffectClass,
    Origin,
    Place,
    Replied,
    SendResult,
    Sent,
)
from holdfast.platforms import Ack, Arrival, Capabilities, Idempotency, Incoming
from holdfast.process import main as process
from holdfast.process.main import main
from holdfast.store.sqlite import commit, database, store, wal
from holdfast.testing.scripts import script_reply, unanswered
from holdfast.tools import ToolContext
from holdfast.web.auth import SignIn

TELLING = 198
"""The descriptor on which facts are told: nobody reads it, whoever watches sees the call."""
SETTINGS = {
    "HOLDFAST_AGENT_USE": "tests.support.disks.subject:agent",
    "HOLDFAST_PEOPLE": "post:ann",
    "HOLDFAST_RECONCILE": "1s",
}
SECRET = "secret"
"""In what is to be forgotten: nothing is told of it but that it was kept."""
VISIT_FAILED = 3
_FASTER = 40.0
"""How much faster than on a wall time passes for who waits."""
_TRANSACTIONS = 8
_LOG = 200_000
_LETTERS = 6
"""Messages that come by the platform in each boot."""
_RESTING = 0.4
_AGAIN = 0.2


def tell(fact: str) -> None:
    os.write(TELLING, fact.encode())


# The agent.


@dataclass(frozen=True, slots=True)
class Scripted:
    async def reply(self, prompt: Prompt, on_text: OnText = unheard) -> Replied:
        requests, results = unanswered(prompt.messages)
        if not requests or SECRET not in requests[-1]:
            tell(f"asked:{requests[-1] if requests else ''}/{results}")
        return script_reply(requests, results)


@dataclass(frozen=True, slots=True)
class Act:
    """A tool that has its effect when it tells so."""

    name: str
    effect: EffectClass

    async def run(self, context: ToolContext, arguments: str) -> str:
        tell(f"{'effect' if self.effect is EffectClass.EFFECT else 'started'}:{context.key}")
        return f"{self.name} done"

    async def check(self, context: ToolContext, arguments: str) -> str | None:
        return None


def agent(clock: Clock) -> Agent:
    return Agent(Scripted(), tuple(Act(effect.value, effect) for effect in EffectClass))


# The platform.


@dataclass(frozen=True, slots=True)
class Post:
    """Has some letters in store in each boot, and hands them out from where the ledger says it stands."""

    boot: int
    last: dict[str, DeliveryId] = field(default_factory=dict)
    name: str = "post"
    account: str = "box"
    capabilities: Capabilities = Capabilities(Ack.OFFSET, Idempotency.STRONG, longest=300)
    cursor: str | None = "line"

    async def connect(self) -> None:
        return None

    async def receive(self, after: str | None) -> Incoming:
        start, there = int(after or 0), self.boot * _LETTERS
        if start >= there:
            await asyncio.get_running_loop().create_future()
        # A few at a time, so that there are several commits.
        numbers = range(start, min(start + 2, there))
        return Incoming(tuple(map(self._letter, numbers)), Cursor("line", str(numbers[-1] + 1)))

    def _letter(self, number: int) -> Arrival:
        scripts = ("plain", "tools read effect", "wordy 12", "tools effect+idempotent")
        origin = Origin(Place(self.name, self.account, f"p{number % 3}"), ChatKind.DIRECT, "ann")
        return Arrival(f"l{number}", origin, f"{scripts[number % len(scripts)]} #l{number}", f"m{number}")

    async def confirm(self, incoming: Incoming, accepted: tuple[Accepted, ...]) -> None:
        for one in incoming.events:
            tell(f"kept:{one.event_id}")

    async def send(self, delivery: Delivery) -> SendResult:
        if delivery.chat in self.last:
            tell(f"sent:{self.last[delivery.chat]}")
        tell(f"sending:{delivery.id}")
        self.last[delivery.chat] = delivery.id
        return Sent(delivery.key)

    async def find(self, delivery: Delivery) -> bool | None:
        return None

    async def close(self) -> None:
        return None


# The people.


class People:
    """They come in by the door, say what they came for until it is kept, and leave when all is answered."""

    url = "nowhere"

    def __init__(self, inside: RunningGateway, boot: int) -> None:
        self._inside = inside
        self._boot = boot
        self._blobs = inside.blobs
        self._tasks = [asyncio.ensure_future(work) for work in (self._visit(), *map(self._read, ("a", "b")))]
        self._tasks[0].add_done_callback(_must_come_to_rest)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _visit(self) -> None:
        """What they said in the boot before they say again: they may not have heard that it was kept."""
        for boot in range(max(1, self._boot - 1), self._boot + 1):
            await asyncio.gather(
                self._say("a", f"tools read effect #a{boot}"),
                self._say("a", f"plain #aa{boot}"),
                self._bring("b", f"tools reconcilable #b{boot}"),
            )
            await self._say("b", f"wordy 30 #bb{boot}")
            await self._say("c", f"plain {SECRET} #c{boot}")
        await self._rest()
        await self._insist(lambda: self._forget(f"c{self._boot}"))
        await self._rest()
        os.kill(os.getpid(), signal.SIGTERM)

    async def _say(self, chat: str, text: str, *attachments: str) -> None:
        event = text.partition("#")[2]
        say = self._inside.verbs["say"].run
        given = {"chat": chat, "text": text, "event_id": event, "attachments": list(attachments)}
        await self._insist(lambda: say(given))
        tell(f"kept:{event}")

    async def _bring(self, chat: str, text: str) -> None:
        """Bring a file along."""
        data = hashlib.sha256(text.encode()).digest() * 60
        kept = await self._insist(lambda: self._blobs.keep(data, "image/png"))
        tell(f"blob:{kept['digest']}")
        await self._say(chat, text, kept["digest"])

    async def _forget(self, event: str) -> None:
        """Have all erased that was said in a chat."""
        sessions, forget = (self._inside.verbs[name].run for name in ("sessions", "forget"))
        for one in (await sessions({"limit": 100}))["sessions"]:
            if one["key"].endswith("/c") and not one["ended_at"]:
                done = await forget({"session": one["id"], "event_id": f"forget {event}"})
                if done["state"] == "executed":
                    tell(f"erased:{event}")

    async def _insist(self, act: Callable[[], Any]) -> Any:
        """A person who is told that it was not kept tries again."""
        while True:
            try:
                return await act()
            except (StoreFault, DiskFull):
                await self._inside.clock.sleep(_AGAIN)

    async def _read(self, chat: str) -> None:
        """What a person has read was sent."""
        while True:
            with suppress(StoreFault):
                async for event in self._inside.following.follow(chat):
                    if event.get("delivery", {}).get("state") == "sent":
                        tell(f"sent:{event['delivery']['id']}")
            await self._inside.clock.sleep(_AGAIN)

    async def _rest(self) -> None:
        """Wait until nothing is left to do, twice: the platform's letters come by themselves."""
        rested = 0
        while rested < 2:
            await self._inside.clock.sleep(_RESTING)
            try:
                left = await self._inside.store.continuity()
                at = await self._inside.store.cursor("post/box", "line")
            except StoreFault:
                continue
            open_ = left.open_turns or left.waiting or left.owed or left.unknown
            rested = 0 if open_ or int(at or 0) < self._boot * _LETTERS else rested + 1


def _must_come_to_rest(visit: "asyncio.Task[None]") -> None:
    if not visit.cancelled() and visit.exception() is not None:
        traceback.print_exception(visit.exception())
        os._exit(VISIT_FAILED)


# The process.


def _hurry() -> None:
    async def sleep(self: SystemClock, seconds: float) -> None:
        await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=seconds / _FASTER)

    setattr(SystemClock, "sleep", sleep)  # noqa: B010 - a method cannot be assigned under mypy


def _let_its_memory_be_read() -> None:
    """Who watches its calls reads what they write from its memory."""
    assert hasattr(process, "keep_memory_private")
    setattr(process, "keep_memory_private", lambda: None)  # noqa: B010 - as above


def _keep_the_log_short() -> None:
    """So that a short run copies its log into the database a few times, and starts it over."""
    for module, name, value in (
        (wal, "LIMIT", _LOG),
        (wal, "COPY_EVERY", _TRANSACTIONS),
        (wal, "_LOOK_EVERY", _TRANSACTIONS),
    ):
        assert hasattr(module, name), f"{module.__name__} keeps its log short in another way now"
        setattr(module, name, value)


def _add_post(boot: int) -> None:
    real = Gateway.__init__

    def with_post(
        self: Gateway, store: Any, clock: Clock, rng: Any, ids: Any, platforms: Any, *rest: Any, **more: Any
    ) -> None:
        real(self, store, clock, rng, ids, (*platforms, Post(boot)), *rest, **more)

    setattr(Gateway, "__init__", with_post)  # noqa: B010 - as above


def _weaken(level: str) -> Callable[[], None]:
    """Syncs are left out behind the back of who checks that they are not."""

    def plant() -> None:
        real = database.connect_writer

        def connect(path: Path, kind: type[sqlite3.Connection] = sqlite3.Connection) -> sqlite3.Connection:
            db = real(path, kind)
            db.execute(f"PRAGMA synchronous = {level}")
            return db

        store.connect_writer = connect  # type: ignore[attr-defined] # planted where it is used
        assert store.open_under.__defaults__ is not None
        store.open_under.__defaults__ = (connect,)

    return plant


def _forget_folders() -> None:
    """A file is synced and the folder that has its name is not."""
    blobs.sync_folder = lambda folder: None  # type: ignore[attr-defined] # planted where it is used


def _go_on_unsynced() -> None:
    """A commit that could not be synced counts as one."""

    def deaf(db: sqlite3.Connection) -> None:
        with suppress(sqlite3.Error):
            db.execute("COMMIT")

    commit._commit = deaf


def _trust_the_log() -> None:
    """What stands in the log after a failed sync is believed."""
    store.renew_log = lambda path: None  # type: ignore[attr-defined] # planted where it is used


DEAF = "failed syncs unheard"


@dataclass(frozen=True, slots=True)
class Planted:
    """A fault of ours, and how gateways end among which it has to be found."""

    plant: Callable[[], None]
    ends: tuple[str, ...] = ("stopped",)


PLANTED: Mapping[str, Planted] = {
    "synchronous = OFF": Planted(_weaken("OFF")),
    "synchronous = NORMAL": Planted(_weaken("NORMAL")),
    "folders unsynced": Planted(_forget_folders),
    "a log believed": Planted(_trust_the_log, ("sync failed", "killed")),
    DEAF: Planted(_go_on_unsynced),
}


def live(home: Path, boot: int, planted: str | None = None) -> int:
    """Run the gateway in this process to its end; its exit code."""

    async def door(inside: RunningGateway) -> Open:
        SignIn(home, inside.clock).prepare()
        return People(inside, boot)

    os.environ.update(SETTINGS)
    _let_its_memory_be_read()
    _hurry()
    _keep_the_log_short()
    _add_post(boot)
    if planted is not None:
        PLANTED[planted].plant()
    return main([str(home)], door)
