"""Simulated platforms as a gateway uses them: clients over a network that loses and repeats."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from pathlib import Path
from typing import TypeVar

from holdfast.model import (
    Accepted,
    ChatAddress,
    Cursor,
    Delivery,
    Lost,
    Rejected,
    SendResult,
    Sent,
    TryAgain,
)
from holdfast.platforms import Ack, Capabilities, Incoming, Pace, PlatformDown, Rate, Working
from holdfast.testing.observation.copies import digest_of
from holdfast.testing.sim.faults import SECRET_WORDS
from holdfast.testing.sim.life import ProcessLife
from holdfast.testing.sim.ports import pause

from .servers import ACCOUNT, Pending, PlatformServer, chat_at

T = TypeVar("T")

PATIENCE = 2.0
"""Seconds after which a client gives a call up."""
THROTTLED = (500, 15_000)
"""Milliseconds for which a platform may ask the gateway to wait in a chat."""


class FakePlatform:
    """The client of one process: implements `Platform` over a network that loses, delays and repeats."""

    def __init__(
        self, server: PlatformServer, life: ProcessLife, stored: Callable[[str], Path] | None = None
    ) -> None:
        self._server = server
        self._life = life
        self._stored = stored
        """Where the bytes of a file are; None: the world does not check them."""
        self._around = server.around
        self._pace = Pace(server.around.loop.time, server.capabilities.each_chat or Rate(4), Rate(30))

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
        self._server.tried(delivery)
        current = self._server.current_run(delivery)
        now = self._around.wall.now
        if (bad := self._server.bad_answer(delivery)) is not None:
            return await self._lost(delivery, current, bad.arrives)
        match self._around.faults.first(*SEND_FAULTS):
            case "throttled":
                until = now() + round(self._around.faults.between(*THROTTLED))
                self._server.throttle(delivery, until, self._life)
                return TryAgain(until, f"throttled {SECRET_WORDS}", counts=False)
            case "blocked":
                return Rejected(f"the chat is gone {SECRET_WORDS}", whole_chat=True)
            case "refused":
                return Rejected(f"the platform does not take it {SECRET_WORDS}")
            case "down":
                self._server.go_down(self._around.faults.between(1.0, 20.0))
            case "lost_request" | "lost_response" as which:
                return await self._lost(delivery, current, which == "lost_response")
            case "slow":
                await pause(self._around.loop, PATIENCE)
            case _:
                await pause(self._around.loop, self._pace.to_send(delivery.chat))
        if refusal := self._server.refusal_of(delivery):
            return refusal
        if self._server.is_down:
            return TryAgain(now() + 1_000, f"no connection {SECRET_WORDS}", counts=False)
        return Sent(await self._call(lambda: self._show(delivery, current)))

    def _show(self, delivery: Delivery, current: int | None) -> str:
        digests = [file.digest for file in delivery.files]
        files = tuple(digest_of(self._stored(one)) if self._stored else one for one in digests)
        return self._server.show(delivery, current, files)

    async def _lost(self, delivery: Delivery, current: int | None, arrives: bool) -> Lost:
        if arrives:
            await self._call(lambda: self._show(delivery, current))
        await pause(self._around.loop, PATIENCE)
        return Lost(f"no answer {SECRET_WORDS}")

    async def find(self, delivery: Delivery) -> Sent | bool | None:
        self._life.check()
        if self._server.is_down:
            raise PlatformDown(f"no connection {SECRET_WORDS}")
        self._around.history.looked_for += 1
        return await self._call(lambda: self._server.found(delivery.key))

    async def show(self, chat: ChatAddress, working: Working) -> bool:
        by, where = working.by, chat_at(chat)
        text = seen_of(working)
        if not text or self._pace.may_show(chat):
            await self._let_see("beside", where, text, by.turn, by.generation, "")
        return True

    async def edit(self, chat: ChatAddress, message_id: str, text: str, in_line: bool = False) -> bool:
        if in_line:
            await pause(self._around.loop, self._pace.to_send(chat))
        elif not self._pace.may_show(chat):
            return False
        if self._server.is_question(message_id):
            return await self._changed(lambda: self._server.close_question(message_id, text))
        turn, generation = self._server.spoken_of(message_id)
        return await self._let_see("edit", chat_at(chat), text, turn, generation, message_id)

    async def _let_see(self, what: str, chat: str, text: str, turn: str, generation: int, id_: str) -> bool:
        current = self._around.generation_of(turn)
        return await self._changed(lambda: self._server.see(what, chat, text, turn, generation, current, id_))

    async def _changed(self, act: Callable[[], None]) -> bool:
        self._life.check()
        if self._server.is_down:
            raise PlatformDown(f"no connection {SECRET_WORDS}")
        if self._around.faults.first("throttled", "lost_request"):
            return False
        await self._call(act)
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
        """Let the server do something; it does so even if the caller dies meanwhile."""
        loop, faults = self._around.loop, self._around.faults
        answer: asyncio.Future[T] = loop.create_future()
        arrives, returns = (faults.between(0.002, 0.05) for _ in range(2))

        def serve() -> None:
            loop.call_later(returns, _settle, answer, act(), context=Context())

        loop.call_later(arrives, serve, context=Context())
        return await answer


def seen_of(working: Working) -> str:
    """What people see of a run beside the messages, as one text."""
    return " | ".join(filter(None, ("typing" * working.typing, working.draft, working.notice)))


SEND_FAULTS = ("throttled", "blocked", "refused", "down", "lost_request", "lost_response", "slow")


def _settle(answer: asyncio.Future[T], result: T) -> None:
    if not answer.done():
        answer.set_result(result)
