"""A whole gateway under test: a platform and a model that obey, on a clock that stands still."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from holdfast.agents import Agent, OnText, Prompt, unheard
from holdfast.config.settings import GatewaySettings
from holdfast.errors import SyncFailed
from holdfast.gateway.gateway import Gateway
from holdfast.model import (
    Accepted,
    ChatAddress,
    ChatKind,
    Cursor,
    Delivery,
    Origin,
    PersonId,
    Place,
    Replied,
    SendResult,
    Sent,
    Stopped,
    StopReason,
)
from holdfast.platforms import Ack, Arrival, Capabilities, Idempotency, Incoming, Platform, PlatformDown
from holdfast.policy.intake.access import Access
from holdfast.policy.turn.views import Message, Role
from holdfast.store import Store, open_ledger
from holdfast.telemetry import Secrets, no_secrets
from holdfast.testing import ManualClock, SeededIds

PLATFORM = "fake"
ANN = "ann"
PATIENCE = 2_000
"""Looks before a test gives up."""
STEP = 250
"""Milliseconds that pass at once."""
SETTLING = 4
"""Commits and looks a test waits for before it lets time pass: those under way come before them."""
SLACK = 10_000
"""Milliseconds more than the rules say: on a busy machine time passes here faster than work is done."""


class Mail:
    """What one platform has for us and got from us; it outlives the gateways that read it."""

    def __init__(self, name: str = PLATFORM) -> None:
        self.name = name
        self.account = "bot"
        """Which bot is configured; the chats are those of `bot`."""
        self.arrivals: list[Arrival] = []
        self.sent: list[Delivery] = []
        self.down = False
        self.sends_hang = False
        self.sending = 0
        """Sends that hang."""
        self.closes_hang = False
        self.reading = 0
        """Reads that are under way."""
        self.closed: list[int] = []
        """Reads that were under way when it was closed, each time."""
        self.changed = asyncio.Event()

    def say(
        self,
        text: str,
        chat: str = "c1",
        sender: str = ANN,
        thread: str | None = None,
        kind: ChatKind = ChatKind.DIRECT,
    ) -> None:
        origin = Origin(self._place(chat, thread), kind, sender)
        number = len(self.arrivals) + 1
        self.arrivals.append(Arrival(f"e{number}", origin, text, f"m{number}"))
        self.changed.set()

    def say_late(self, text: str, sent_at: int) -> None:
        """What was written then reaches us only now."""
        self.say(text)
        self.arrivals[-1] = replace(self.arrivals[-1], sent_at=sent_at)

    def texts(self, chat: str = "c1", thread: str | None = None) -> list[str]:
        return [one.text for one in self.sent if one.chat == self._place(chat, thread).address]

    def _place(self, chat: str, thread: str | None) -> Place:
        return Place(self.name, "bot", chat, thread)


class Post:
    """The platform as one gateway sees it."""

    def __init__(self, mail: Mail) -> None:
        self._mail = mail
        self.name = mail.name
        self.account = mail.account
        self.capabilities = Capabilities(Ack.OFFSET, Idempotency.STRONG)
        self.cursor: str | None = "offset"

    async def connect(self) -> None:
        if self._mail.down:
            raise PlatformDown("not now")

    async def receive(self, after: str | None) -> Incoming:
        start = int(after or 0)
        self._mail.reading += 1
        try:
            while len(self._mail.arrivals) <= start:
                self._mail.changed.clear()
                await self._mail.changed.wait()
        finally:
            self._mail.reading -= 1
        found = tuple(self._mail.arrivals[start:])
        return Incoming(found, Cursor("offset", str(start + len(found))))

    async def confirm(self, incoming: Incoming, accepted: tuple[Accepted, ...]) -> None:
        return None

    async def send(self, delivery: Delivery) -> SendResult:
        if self._mail.sends_hang:
            self._mail.sending += 1
            await asyncio.get_running_loop().create_future()
        self._mail.sent.append(delivery)
        return Sent(delivery.key)

    async def find(self, delivery: Delivery) -> bool | None:
        return None

    async def close(self) -> None:
        self._mail.closed.append(self._mail.reading)
        while self._mail.closes_hang:
            try:
                await asyncio.get_running_loop().create_future()
            except asyncio.CancelledError:
                continue


class Slow:
    """A model that answers a message when it is told to; other messages at once."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.shown: list[tuple[Message, ...]] = []
        self.gates: dict[str, asyncio.Event] = {}

    def hold(self, *texts: str) -> None:
        for text in texts:
            self.gates[text] = asyncio.Event()

    async def reply(self, prompt: Prompt, on_text: OnText = unheard) -> Replied:
        said = [message.text for message in prompt.messages if message.role is Role.USER]
        # What no person said, a wake-up, is a note; the last one may also be about an interruption.
        text = said[-1] if said else prompt.messages[0].text
        self.begun.append(text)
        self.shown.append(tuple(prompt.messages))
        if text in self.gates:
            await self.gates[text].wait()
        return Replied(f"answer to {text}", StopReason.COMPLETE)


class Town:
    """One home, its platforms and its model, over any number of gateways."""

    def __init__(self, home: Path, settings: GatewaySettings | None = None) -> None:
        self.home = home
        self.clock = ManualClock()
        self.ids = SeededIds(self.clock)
        self.mail = Mail()
        self.post: Callable[[Mail], Platform] = Post
        """What the gateway has of a mail."""
        self.more: list[Mail] = []
        self.model = Slow()
        self.agent = Agent(self.model)
        self.secrets: Secrets = no_secrets
        self.settings = settings or GatewaySettings()
        self.faults: list[tuple[str, BaseException]] = []
        self.owner = PersonId(f"{PLATFORM}:{ANN}")
        self.people = frozenset({PersonId("other:bob")})
        self.chats: frozenset[ChatAddress] = frozenset()
        """Groups that are let in."""
        self.store: Store
        self.gateway: Gateway
        self.running: asyncio.Task[Stopped]

    async def start(self) -> None:
        """A fresh process takes the home."""
        self.clock.advance(1)
        self.store = await open_ledger(self.home, self.clock, self.ids, _sync_failed)
        self.gateway = Gateway(
            self.store,
            self.clock,
            _Half(),
            self.ids,
            tuple(self.post(mail) for mail in (self.mail, *self.more)),
            self.agent,
            self.settings,
            lambda: Access(frozenset({self.owner}), self.people, self.chats),
            self.home / "workspace",
            lambda stage, fault: self.faults.append((stage, fault)),
            secrets=self.secrets,
        )
        self.running = asyncio.ensure_future(self.gateway.run())

    async def ended(self) -> Stopped:
        """The gateway ends without any time passing."""
        await self.until(lambda: self.running.done())
        return await self._over()

    async def ended_after(self, most: int) -> Stopped:
        """The gateway ends while at most so many milliseconds pass."""
        before = self.clock.now()
        await self.until(lambda: self.running.done(), step=STEP)
        assert self.clock.now() - before <= most + SLACK, "it took too long"
        return await self._over()

    async def _over(self) -> Stopped:
        how = await self.running
        await self.store.close()
        return how

    async def crash(self) -> None:
        """The process is gone without a word."""
        self.running.cancel()
        await asyncio.gather(self.running, return_exceptions=True)
        await self.store.close()

    async def until(self, condition: Callable[[], bool], step: int = 0) -> None:
        """Look until it is so; between two looks `step` milliseconds pass, and what follows is done."""
        for _ in range(PATIENCE):
            if condition():
                return
            self.clock.advance(step)
            await self._settle()
        raise AssertionError("it never came to that")

    async def pass_time(self, milliseconds: int) -> None:
        """Time passes in steps, with work done in between."""
        for _ in range(0, milliseconds, STEP):
            self.clock.advance(STEP)
            await self._settle()

    async def _settle(self) -> None:
        """Let what is under way be committed, and what follows from that as well, a few times over."""
        for _ in range(SETTLING):
            await self.store.heartbeat()
            await self.store.instances(1)

    def with_settings(self, **changes: object) -> None:
        self.settings = replace(self.settings, **changes)  # type: ignore[arg-type] # checked by the dataclass


class _Half:
    def random(self) -> float:
        return 0.5


def _sync_failed(fault: SyncFailed) -> None:
    """The store stays broken; whoever asks it is told."""
