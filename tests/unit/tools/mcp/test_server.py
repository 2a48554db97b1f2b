"""The life of an MCP server on a clock that stands still, over connections that fail as a test wants."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdfast.model import EffectClass, SessionId, TurnId
from holdfast.policy.settings import ToolSettings
from holdfast.testing import ManualClock
from holdfast.tools import CutShort, ToolContext, ToolFailed
from holdfast.tools.containment import Launcher
from holdfast.tools.mcp.base import ConnectionLost, Garbled, Listed, ServerNotReached, Signs
from holdfast.tools.mcp.server import LOOKS, MOST_WARNINGS, PATIENCE, TRIES, McpServer, McpTool, State
from holdfast.tools.mcp.servers import Servers
from holdfast.tools.mcp.settings import McpSettings, Means
from tests.support.loops import on_a_loop

READ = Listed("read")
WRITE = Listed("write")
PUT = Listed("put")
EFFECTS = (("read", EffectClass.READ), ("put", EffectClass.IDEMPOTENT))
Act = Callable[[], Any]


class Half:
    def random(self) -> float:
        return 0.5


class Fake:
    """A server's program, as its connections see it."""

    def __init__(self) -> None:
        self.offers: list[Listed] = [READ, WRITE, PUT]
        self.starts = 0
        self.dead = False
        self.calls: list[str] = []
        self.keys: list[str] = []
        self.acts: list[Act] = []
        """What becomes of the next calls; without one they are answered."""
        self.connections: list[Connected] = []
        self.cancelled = 0

    @asynccontextmanager
    async def connect(self) -> AsyncIterator["Connected"]:
        self.starts += 1
        if self.dead:
            raise ServerNotReached("it cannot live")
        self.connections.append(Connected(self))
        yield self.connections[-1]


class Connected:
    def __init__(self, fake: Fake) -> None:
        self.signs = Signs()
        self._fake = fake
        self.beat: Callable[[], None] | None = None

    async def tools(self) -> list[Listed]:
        return list(self._fake.offers)

    async def call(self, tool: str, arguments: Mapping[str, Any], key: str, beat: Callable[[], None]) -> str:
        self._fake.calls.append(tool)
        self._fake.keys.append(key)
        self.beat = beat
        act = self._fake.acts.pop(0) if self._fake.acts else lambda: "done"
        try:
            found = act()
            return await found if asyncio.iscoroutine(found) else found
        except asyncio.CancelledError:
            self._fake.cancelled += 1
            raise


def raises(fault: Exception) -> Act:
    def act() -> Any:
        raise fault

    return act


def settled(server: McpServer | Servers) -> bool:
    return server.settled


async def for_ever() -> None:
    await asyncio.get_running_loop().create_future()


class World:
    """A server at work, and time that passes when a test says so."""

    def __init__(self, settings: McpSettings | None = None) -> None:
        self.clock = ManualClock()
        self.fake = Fake()
        self.progress = 0
        given = settings or McpSettings(command="box", effects=EFFECTS)
        self.server = McpServer("box", given, self.clock, Half())

    async def __aenter__(self) -> "World":
        self.task = asyncio.ensure_future(self.server.work(self.fake.connect))
        await self.breathe()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    async def breathe(self) -> None:
        """Let everything that is ready happen; no time passes."""
        for _ in range(50):
            await asyncio.sleep(0)  # noqa: TID251 - yields, and waits for nothing

    async def pass_time(self, seconds: float, step: int = 100) -> None:
        for _ in range(round(seconds * 1_000 / step)):
            self.clock.advance(step)
            await self.breathe()

    def tool(self, name: str) -> McpTool:
        return self.server.tools[f"box__{name}"]

    def begin(self, tool: McpTool, effect: EffectClass | None = None) -> asyncio.Future[str]:
        context = ToolContext(
            SessionId("s"), TurnId("t"), 1, Path(), "key", self._moved, effect=effect or tool.effect
        )
        return asyncio.ensure_future(tool.run(context, "{}"))

    def _moved(self) -> None:
        self.progress += 1

    def look(self) -> tuple[State, int]:
        return self.server.look.state, self.server.look.starts


@on_a_loop
async def test_a_tool_has_the_class_that_the_owner_gives_it_and_is_an_effect_otherwise() -> None:
    settings = McpSettings(command="box", effects=(("wri*", EffectClass.READ),))
    async with World(settings) as world:
        classes = [world.tool(name).effect for name in ("write", "read", "put")]
        assert classes == [EffectClass.READ, EffectClass.EFFECT, EffectClass.EFFECT]


@on_a_loop
async def test_only_the_tools_somebody_wants_are_offered() -> None:
    async with World(McpSettings(command="box", effects=EFFECTS, tools=("r*",))) as world:
        assert list(world.server.tools) == ["box__read"]


@on_a_loop
async def test_one_that_ends_is_begun_again_ever_less_often_and_never_given_up() -> None:
    async with World() as world:
        world.fake.dead = True
        world.fake.connections[0].signs.end("it fell over")
        await world.breathe()
        assert world.look() == (State.DOWN, 1)
        assert world.server.look.words == "it fell over"
        begun = []
        for _ in range(3_000):
            before = world.fake.starts
            await world.pass_time(0.1)
            if world.fake.starts > before:
                begun.append(world.clock.monotonic())
        pauses = [round(late - early, 1) for early, late in zip(begun, begun[1:], strict=False)]
        assert pauses == sorted(pauses)
        assert max(pauses) <= PATIENCE.most / 1_000
        assert len(begun) < 15, "no busy loop"
        world.fake.dead = False
        await world.pass_time(61)
        assert world.look()[0] is State.UP


@on_a_loop
async def test_a_call_that_may_be_repeated_is_on_the_server_that_came_back() -> None:
    async with World() as world:
        for name in ("read", "put"):
            world.fake.acts = [raises(ConnectionLost("gone"))]
            world.fake.connections[-1].signs.end("gone")
            result = world.begin(world.tool(name))
            await world.pass_time(5)
            assert await result == "done"
        assert world.fake.keys == ["key"] * len(world.fake.keys), "by the same key"


@on_a_loop
async def test_an_effect_cut_off_is_cut_short_and_never_repeated() -> None:
    for fault in (ConnectionLost("gone"), Garbled("what?")):
        async with World() as world:
            world.fake.acts = [raises(fault)]
            result = world.begin(world.tool("write"))
            await world.pass_time(5)
            with pytest.raises(CutShort, match="the MCP server 'box'"):
                await result
            assert world.fake.calls == ["write"]


@on_a_loop
async def test_the_class_of_the_plan_counts_not_that_of_the_tool_as_it_is_now() -> None:
    async with World() as world:
        world.fake.acts = [raises(ConnectionLost("gone"))]
        result = world.begin(world.tool("read"), EffectClass.EFFECT)
        await world.pass_time(5)
        with pytest.raises(CutShort):
            await result
        assert world.fake.calls == ["read"]


@on_a_loop
async def test_what_certainly_was_not_begun_is_tried_again_whatever_it_is() -> None:
    async with World() as world:
        world.fake.acts = [raises(ServerNotReached("refused"))]
        result = world.begin(world.tool("write"))
        await world.pass_time(10)
        assert await result == "done"
        assert world.fake.calls == ["write", "write"]


@on_a_loop
async def test_a_read_that_never_comes_back_is_given_up_in_words() -> None:
    async with World() as world:
        world.fake.acts = [raises(ConnectionLost("gone"))] * 10
        result = world.begin(world.tool("read"))
        await world.pass_time(60)
        with pytest.raises(ToolFailed, match=f"gave no result: gone .tried {TRIES} times"):
            await result


@on_a_loop
async def test_a_call_of_a_server_that_is_down_fails_in_words_after_a_bounded_wait() -> None:
    async with World(McpSettings(command="box", effects=EFFECTS, wait=5_000)) as world:
        world.fake.dead = True
        world.fake.connections[0].signs.end("it fell over")
        await world.breathe()
        result = world.begin(world.tool("write"))
        await world.pass_time(4.9)
        assert not result.done()
        await world.pass_time(0.2)
        with pytest.raises(ToolFailed, match="is down: .*Nothing was done"):
            await result
        assert world.fake.calls == []


@on_a_loop
async def test_a_call_without_an_answer_is_cancelled_at_the_server_and_settled_by_its_class() -> None:
    async with World(McpSettings(command="box", effects=EFFECTS, timeout=10_000)) as world:
        world.fake.acts = [for_ever, for_ever]
        read, write = world.begin(world.tool("read")), world.begin(world.tool("write"))
        await world.pass_time(9.9)
        assert not read.done()
        await world.pass_time(0.2)
        with pytest.raises(ToolFailed, match="no answer within 10 seconds"):
            await read
        with pytest.raises(CutShort, match="no answer within 10 seconds"):
            await write
        assert world.fake.cancelled == 2


@on_a_loop
async def test_progress_counts_and_puts_the_time_off() -> None:
    async with World(McpSettings(command="box", effects=EFFECTS, timeout=10_000)) as world:
        world.fake.acts = [for_ever]
        result = world.begin(world.tool("read"))
        await world.pass_time(9)
        beat = world.fake.connections[0].beat
        assert beat is not None
        beat()
        await world.pass_time(9)
        assert not result.done()
        assert world.progress == 1
        await world.pass_time(12)
        assert result.done()
        with pytest.raises(ToolFailed):
            await result


@on_a_loop
async def test_a_call_that_is_stopped_is_cancelled_at_the_server() -> None:
    async with World() as world:
        world.fake.acts = [for_ever]
        result = world.begin(world.tool("write"))
        await world.breathe()
        result.cancel()
        await world.breathe()
        assert result.cancelled()
        assert world.fake.cancelled == 1


@on_a_loop
async def test_other_tools_are_known_once_the_server_says_so_and_until_then_it_is_not_settled() -> None:
    async with World() as world:
        old = world.tool("write")
        await world.pass_time(1)
        world.fake.offers = [replace(READ, description="new"), Listed("more")]
        world.fake.connections[0].signs.changed.ring()
        assert not settled(world.server)
        await world.breathe()
        assert settled(world.server)
        assert list(world.server.tools) == ["box__read", "box__more"]
        assert world.tool("read").description == "new"
        with pytest.raises(ToolFailed, match="does not offer 'write' any more"):
            await world.begin(old)


@on_a_loop
async def test_one_that_always_says_so_is_not_asked_all_the_time() -> None:
    async with World() as world:
        asked = 0

        async def tools() -> list[Listed]:
            nonlocal asked
            asked += 1
            connection.signs.changed.ring()
            return [READ]

        connection = world.fake.connections[0]
        connection.tools = tools  # type: ignore[method-assign] # a server that never rests
        connection.signs.changed.ring()
        await world.pass_time(5)
        assert asked == LOOKS - 1, "and once when it was begun"
        assert settled(world.server), "nobody waits for tools that are not looked at soon"
        await world.pass_time(600, step=500)
        assert LOOKS * 9 <= asked <= LOOKS * 11


@on_a_loop
async def test_tools_that_are_alike_are_told_once_however_often_they_are_listed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with World() as world:
        fresh = iter(range(10_000))

        async def tools() -> list[Listed]:
            connection.signs.changed.ring()
            connection.signs.left_out = 3
            new = next(fresh)
            alike = [Listed(f"{new}.{one}{end}") for one in range(50) for end in "._-"]
            return [READ, READ, *alike]

        connection = world.fake.connections[0]
        connection.tools = tools  # type: ignore[method-assign] # a server with ever other names
        connection.signs.changed.ring()
        await world.pass_time(600, step=500)
        lines = [one.getMessage() for one in caplog.records]
        assert sum("'read' is listed 2 times" in line for line in lines) == 1
        assert sum("at least 3 of its tools are not offered" in line for line in lines) == 1
        assert sum("the MCP server box: " in line for line in lines) == MOST_WARNINGS + 1


@on_a_loop
async def test_one_over_http_is_looked_at_now_and_then_and_its_end_noticed() -> None:
    async with World(McpSettings(url="http://127.0.0.1/mcp", effects=EFFECTS)) as world:

        async def tools() -> list[Listed]:
            raise ServerNotReached("it cannot be reached")

        world.fake.connections[0].tools = tools  # type: ignore[method-assign] # it went away without a word
        await world.pass_time(29)
        assert world.look()[0] is State.UP
        world.fake.dead = True
        await world.pass_time(3)
        assert world.look()[0] is State.DOWN
        assert "cannot" in world.server.look.words


@on_a_loop
async def test_one_that_never_tells_its_tools_is_begun_again() -> None:
    async with World() as world:
        started = world.fake.starts

        @asynccontextmanager
        async def deaf() -> AsyncIterator[Connected]:
            world.fake.starts += 1
            await for_ever()
            yield world.fake.connections[0]

        other = McpServer("deaf", McpSettings(command="box", effects=EFFECTS), world.clock, Half())
        task = asyncio.ensure_future(other.work(deaf))
        await world.pass_time(59)
        assert (other.look.state, world.fake.starts) == (State.STARTING, started + 1)
        assert not settled(other)
        await world.pass_time(5)
        assert "did not list its tools within 60 seconds" in other.look.words
        assert world.fake.starts == started + 2
        assert settled(other), "nobody waits for it any more"
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@on_a_loop
async def test_arguments_that_are_no_object_are_told_to_the_model() -> None:
    async with World() as world:
        tool = world.tool("read")
        context = ToolContext(SessionId("s"), TurnId("t"), 1, Path(), "key", effect=tool.effect)
        with pytest.raises(ToolFailed, match="JSON object"):
            await tool.run(context, "[1]")
        assert world.fake.calls == []


@on_a_loop
async def test_servers_that_cannot_even_be_begun_keep_nobody_waiting(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("no folder can be here")
    settings = {"box": McpSettings(command="box", effects=EFFECTS)}
    servers = Servers(
        settings,
        {"box": Means()},
        in_the_way / "logs",
        tmp_path,
        Launcher(ToolSettings(), {}),
        ManualClock(),
        Half(),
    )
    assert not settled(servers)
    with pytest.raises(OSError, match="Not a directory"):
        await servers.work()
    assert settled(servers)
    (look,) = servers.looks()
    assert (look.state, look.words) == (State.DOWN, "it could not be started (NotADirectoryError)")
