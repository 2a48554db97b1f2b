import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response

from holdfast.api.arguments import Operation
from holdfast.api.client import RequestDeclined
from holdfast.api.to_json import Json
from holdfast.cli.chat.client import Line
from holdfast.clock import SystemClock, SystemIds
from holdfast.config.home import SOCKET
from holdfast.errors import DiskFull, WrongState
from holdfast.web.events import StreamEvent, Streams
from holdfast.web.routes.route import ApiRoute
from tests.support.at_home import served


class FakeGateway:
    """Keeps messages like the ledger does, and streams what it is told to."""

    def __init__(self) -> None:
        self.said: list[Json] = []
        self.followed: list[str | None] = []
        self.faults: list[Exception] = []
        self.events: list[StreamEvent] = []

    async def say(self, given: Json) -> Json:
        if self.faults:
            raise self.faults.pop(0)
        self.said.append(given)
        return {"position": len(self.said), "fresh": True, "words": None}

    async def happenings(self) -> AsyncGenerator[StreamEvent, None]:
        yield StreamEvent("following", {"following": "terminal", "session": "s1", "seq": 4}, "0;s1;4")
        for event in self.events:
            yield event
        await asyncio.Event().wait()

    @asynccontextmanager
    async def running(self, home: Path) -> AsyncIterator[None]:
        streams = Streams(SystemClock())

        async def follow(asked: Request) -> Response:
            self.followed.append(asked.headers.get("last-event-id"))
            return streams.answer(asked, self.happenings())

        say = Operation({"chat": "text", "text": "text", "event_id": "text?"}, self.say)
        messages = ApiRoute("POST", "/api/chats/{chat}/messages", "", say, status=202)
        events = ApiRoute("GET", "/api/chats/{chat}/events", "", handler=follow)
        async with served(home, {}, messages, events):
            yield
            (home / SOCKET).unlink()
            streams.close()


class TellingClock(SystemClock):
    """Says when somebody has begun to wait."""

    def __init__(self) -> None:
        self.slept = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.slept.set()
        await super().sleep(seconds)


def line_to(home: Path, hear: Any = lambda event: None) -> Line:
    clock = SystemClock()
    return Line(home, "terminal", clock, SystemIds(clock), hear)


def test_what_was_typed_while_the_gateway_was_away_is_sent_once_it_is_back(tmp_path: Path) -> None:
    async def scene() -> list[Json]:
        gateway = FakeGateway()
        clock = TellingClock()
        saying = asyncio.ensure_future(
            Line(tmp_path, "terminal", clock, SystemIds(clock), print).say("hello")
        )
        await clock.slept.wait()
        async with gateway.running(tmp_path):
            await saying
        return gateway.said

    (said,) = asyncio.run(scene())
    assert said["text"] == "hello"


def test_a_message_is_sent_again_under_the_same_event_until_it_is_kept(tmp_path: Path) -> None:
    async def scene() -> list[Json]:
        gateway = FakeGateway()
        gateway.faults = [DiskFull("no room"), DiskFull("no room")]
        async with gateway.running(tmp_path):
            await line_to(tmp_path).say("hello", event_id="e1")
        return gateway.said

    assert [said["event_id"] for said in asyncio.run(scene())] == ["e1"]


def test_a_refusal_is_not_insisted_on(tmp_path: Path) -> None:
    async def scene() -> None:
        gateway = FakeGateway()
        gateway.faults = [WrongState("it", "closed", "open")]
        async with gateway.running(tmp_path):
            await line_to(tmp_path).say("hello")

    with pytest.raises(RequestDeclined):
        asyncio.run(scene())


def test_after_a_break_it_goes_on_behind_the_last_thing_heard_and_says_so_once(tmp_path: Path) -> None:
    async def scene() -> tuple[list[str | None], list[Json]]:
        gateway, heard = FakeGateway(), list[Json]()
        line = line_to(tmp_path, heard.append)
        following = asyncio.ensure_future(line.follow())
        gateway.events = [
            StreamEvent("delivery", {"number": 7, "kind": "reply", "text": "a"}, "7;s1;4"),
            StreamEvent(
                "entry", {"entry": {"seq": 9, "kind": "said", "text": "b"}, "session": "s1"}, "7;s1;9"
            ),
            StreamEvent("preview", {"text": "c"}),
        ]
        async with gateway.running(tmp_path):
            await line.heard.since(3)
        gateway.events = []
        async with gateway.running(tmp_path):
            await line.heard.since(5)
            following.cancel()
        return gateway.followed, heard

    followed, heard = asyncio.run(scene())
    assert followed == [None, "7;s1;9"]
    assert [list(event)[0] for event in heard] == [
        "following",
        "delivery",
        "entry",
        "preview",
        "lost",
        "reconnected",
        "following",
    ]
