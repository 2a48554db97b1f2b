"""What machines ask: whether the process is alive, whether it is ready, and its figures."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.requests import Request
from starlette.responses import Response

from holdfast.testing import ManualClock
from holdfast.web.errors import HttpError, answer_to
from holdfast.web.events import StreamEvent, Streams
from holdfast.web.security import SIGNED_IN
from tests.support.loops import on_a_loop
from tests.support.outside import Build, House
from tests.support.web import asked_until, program


def words(answer: httpx.Response) -> str:
    found: str = answer.json()["error"]["words"]
    return found


def test_a_gateway_is_ready_only_once_recovery_has_decided(house: House) -> None:
    house.hold("before interrupt_orphans")
    house.up()
    held = house.reached("before interrupt_orphans")
    with program(house.home) as client:
        early = client.get("/readyz")
        assert (early.status_code, early.headers["retry-after"]) == (503, "1")
        assert "still recovering interrupted work" in words(early)
        assert client.get("/healthz").json() == {"state": "running"}
        house.hold()
        held.go()
        assert asked_until(client, "/readyz", 200).json() == {"state": "running"}


def test_a_gateway_whose_ledger_keeps_nothing_is_not_healthy_until_it_does_again(build: Build) -> None:
    house = build('heartbeat = "1s"\n')
    house.hold("before heartbeat")
    house.up()
    with program(house.home) as client:
        assert client.get("/healthz").status_code == 200
        held = house.reached("before heartbeat")
        assert "the disk is full or its writer hangs" in words(asked_until(client, "/healthz", 503))
        house.hold()
        held.go()
        asked_until(client, "/healthz", 200)


def figures(client: httpx.Client) -> dict[str, Any]:
    return {family.name: family for family in text_string_to_metric_families(client.get("/metrics").text)}


def values(family: Any) -> dict[tuple[str, ...], float]:
    return {
        tuple(sample.labels.values()): sample.value
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


def test_figures_say_whose_they_are_and_have_few_labels_known_beforehand(house: House) -> None:
    house.hold("read a")
    gateway = house.up()
    house.say("home", "do read #a")
    house.reached("read a")
    with program(house.home) as client:
        before = figures(client)
    assert values(before["holdfast_turns_open"])["running",] == 1
    gateway.kill()
    house.hold()
    house.up()
    house.heard("home", "answer to a")
    with program(house.home) as client:
        after = figures(client)
    # Counters begin anew with the process, and say so; what is open is the ledger's.
    totals = {name for name, family in after.items() if family.type in ("counter", "histogram")}
    assert all("since this process began" in after[name].documentation for name in totals)
    assert totals == {
        "holdfast_turns",
        "holdfast_interruptions",
        "holdfast_recovery_decisions",
        "holdfast_claims",
        "holdfast_resumes",
        "holdfast_unknown_sends",
        "holdfast_commit_seconds",
    }
    assert values(after["holdfast_turns"]) == {
        ("done",): 1,
        ("failed",): 0,
        ("cancelled",): 0,
        ("expired",): 0,
        ("parked",): 0,
    }
    assert values(after["holdfast_interruptions"]) == {
        ("restart_interrupted",): 1,
        ("restart_timeout",): 0,
        ("shutdown_timeout",): 0,
        ("other",): 0,
    }
    assert values(after["holdfast_resumes"]) == {(): 1}
    assert set(values(before["holdfast_turns"])) == set(values(after["holdfast_turns"]))
    assert sum(values(after["holdfast_turns_open"]).values()) == 0
    began = [values(one["holdfast_start_time_seconds"])[()] for one in (before, after)]
    assert began[0] < began[1]


# Streams by themselves.


def asked(signed_in: bool = True) -> Request:
    return Request({"type": "http", "method": "GET", "headers": [], SIGNED_IN: lambda: signed_in})


async def silence() -> Any:
    yield StreamEvent("hello", {})
    await asyncio.Event().wait()


class Client:
    """One who reads a stream until they go."""

    def __init__(self, response: Response) -> None:
        self.sent: list[Any] = []
        self._heard = asyncio.Event()
        self._task = asyncio.create_task(response({"type": "http"}, self._receive, self._send))

    async def _receive(self) -> Any:
        return await asyncio.Event().wait()

    async def _send(self, message: Any) -> None:
        self.sent.append(message)
        if b"hello" in message.get("body", b""):
            self._heard.set()

    async def listens(self) -> "Client":
        await self._heard.wait()
        return self

    async def goes(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def is_over(self) -> None:
        await self._task


@on_a_loop
async def test_one_stream_too_many_is_refused_until_another_ends() -> None:
    streams = Streams(ManualClock(), most=2)
    first, second = [await Client(streams.answer(asked(), silence())).listens() for _ in range(2)]
    with pytest.raises(HttpError) as refused:
        streams.answer(asked(), silence())
    answer = answer_to(refused.value)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert "2 event streams are open" in json.loads(bytes(answer.body))["error"]["words"]
    await first.goes()
    third = await Client(streams.answer(asked(), silence())).listens()
    for one in (second, third):
        await one.goes()
    assert streams.count == 0


@on_a_loop
async def test_when_the_server_closes_every_stream_ends_and_no_other_begins() -> None:
    streams = Streams(ManualClock())
    listening = [await Client(streams.answer(asked(), silence())).listens() for _ in range(3)]
    streams.close()
    for one in listening:
        await one.is_over()
        assert one.sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}
    with pytest.raises(HttpError, match="the gateway is stopping"):
        streams.answer(asked(), silence())
