"""MCP servers whose answers are made to stop the event loop: none keeps it busy for long, over both ways.

Only processor time is compared, with what it takes to read one message of the largest size by the standard
library, in the same process. A step of the loop may take a few times as long; what these servers try takes
hundreds of times as long, or for ever.
"""

import gc
import json
import re
import socket
import subprocess
import sys
import time
from asyncio.events import Handle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast.model import EffectClass
from holdfast.tools import ToolFailed
from holdfast.tools.mcp import McpSettings
from tests.processes.test_mcp_servers import PATIENT, Running, free_port, python, running
from tests.support import hostile_mcp
from tests.support.loops import on_a_loop

PROGRAM = Path(hostile_mcp.__file__)
READ = (("*", EffectClass.READ),)
TIMES = 40
"""A step may take so many times as long as reading one message."""
OUTCOMES = {
    "pattern": '{"a": "aaa',
    "blocks": "the server's answer was too long",
    "fewer": "15666 more parts were left out",
    "empty": "cannot be read",
    "icons": r"\[a link to a:b: a\]",
    "values": "the server's answer was too long",
    "inputs": "the server's answer was too long",
    "asks": "asked",
}
"""What the model is told of each call."""


class Steps:
    """The longest step that the loop took, in processor time of its thread."""

    longest = 0.0


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Iterator[Steps]:
    found = Steps()
    run = Handle._run

    def timed(handle: Handle) -> None:
        began = time.thread_time()
        run(handle)
        found.longest = max(found.longest, time.thread_time() - began)

    monkeypatch.setattr(Handle, "_run", timed)
    # What collects garbage looks at everything there is, now and then: that is no server's doing.
    gc.disable()
    yield found
    gc.enable()


def one_message() -> float:
    """What it takes to read one message that is as expensive as any of its length."""
    text = f"[{hostile_mcp.many('{}', hostile_mcp.SIZE)}]"
    times = []
    for _ in range(3):
        began = time.thread_time()
        json.loads(text)
        times.append(time.thread_time() - began)
    return min(times)


def hostile(kind: str) -> McpSettings:
    return python("-S", str(PROGRAM), kind, read=(PROGRAM,), effects=READ)


@contextmanager
def over_http(kind: str, way: str) -> Iterator[McpSettings]:
    port = free_port()
    with subprocess.Popen([sys.executable, "-S", str(PROGRAM), kind, str(port)]) as process:
        try:
            wait_for(port)
            yield McpSettings(url=f"http://127.0.0.1:{port}/{way}", wait=PATIENT, effects=READ)
        finally:
            process.kill()


def wait_for(port: int) -> None:
    """Return when somebody listens there; `on_a_loop` bounds it."""
    while True:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return


async def told(found: Running, tool: str) -> str:
    try:
        return await found.call(tool)
    except ToolFailed as failure:
        return str(failure)


@pytest.mark.guards("R22.8")
@pytest.mark.parametrize("tool", OUTCOMES)
@on_a_loop
async def test_no_answer_of_a_contained_program_stops_the_loop(
    tmp_path: Path, steps: Steps, tool: str
) -> None:
    async with running(tmp_path, evil=hostile("plain")) as found:
        assert set(found.names()) == {f"evil__{name}" for name in OUTCOMES}
        steps.longest = 0.0
        words = await told(found, f"evil__{tool}")
        assert steps.longest < TIMES * one_message()
        assert re.search(OUTCOMES[tool], words)
        assert await told(found, "evil__asks") == "asked", "and the server is there all the same"


@pytest.mark.guards("R22.8")
@pytest.mark.parametrize("way", ["json", "events"])
@pytest.mark.parametrize("tool", OUTCOMES)
@on_a_loop
async def test_no_answer_over_http_stops_the_loop(tmp_path: Path, steps: Steps, tool: str, way: str) -> None:
    with over_http("plain", way) as settings:
        async with running(tmp_path, evil=settings) as found:
            steps.longest = 0.0
            words = await told(found, f"evil__{tool}")
            assert steps.longest < TIMES * one_message()
            assert re.search(OUTCOMES[tool], words)
            assert await told(found, "evil__asks") == "asked", "and the server is there all the same"


@pytest.mark.guards("R22.8")
@pytest.mark.parametrize(
    ("kind", "tools"),
    [("huge", []), ("empty", []), ("icons", ["a"]), ("schema", ["small"]), ("pages", ["a"])],
)
@on_a_loop
async def test_no_listing_stops_the_loop(tmp_path: Path, steps: Steps, kind: str, tools: list[str]) -> None:
    """For a listing nobody consents, and no call is needed."""
    with over_http(kind, "json") as far:
        async with running(tmp_path, near=hostile(kind), far=far) as found:
            assert found.names() == [f"{server}__{name}" for server in ("near", "far") for name in tools]
            words = [look.words for look in found.servers.looks()]
    assert steps.longest < TIMES * one_message()
    if kind == "huge":
        assert all("too long" in one for one in words)


@pytest.mark.guards("R22.8")
@on_a_loop
async def test_an_answer_that_was_compressed_is_not_unpacked(tmp_path: Path) -> None:
    with over_http("plain", "gzip") as settings:
        async with running(tmp_path, evil=settings) as found:
            assert found.names() == []
            assert "compressed" in found.servers.looks()[0].words
