"""MCP servers as they are: programs from the package indexes, one over HTTP, one that fails in every way."""

import asyncio
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from holdfast.clock import SystemClock, SystemRng
from holdfast.model import EffectClass, SessionId, TurnId
from holdfast.policy.containment import Containment
from holdfast.policy.settings import ToolSettings
from holdfast.tools import CutShort, ToolContext, ToolFailed
from holdfast.tools.containment import ALL, Launcher
from holdfast.tools.containment.helper.limits import below
from holdfast.tools.containment.helper.mcp_program import LARGEST_LOG
from holdfast.tools.mcp import McpSettings, Means, Servers
from holdfast.tools.mcp.server import McpTool
from tests.support import mcp_http, mcp_server
from tests.support.loops import LONG, on_a_loop
from tests.support.machine import outside
from tests.support.parts import missing
from tests.unit.project.tree import ROOT

EVERYTHING = ROOT / ".venv" / "npm" / "node_modules" / "@modelcontextprotocol" / "server-everything"
PATIENT = 45_000


class Running:
    """Servers at work, and their tools by name."""

    def __init__(self, servers: Servers, folder: Path) -> None:
        self.servers = servers
        self.folder = folder

    async def call(self, name: str, arguments: str = "{}") -> str:
        tool = self.servers.find(name)
        assert isinstance(tool, McpTool), self.servers.looks()
        context = ToolContext(SessionId("s"), TurnId("t"), 1, self.folder, "key", effect=tool.effect)
        return await tool.run(context, arguments)

    def names(self) -> list[str]:
        return [tool.name for tool in self.servers.tools()]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Look until it is so; whoever calls bounds it."""
        while not condition():
            await SystemClock().sleep(0.05)


@asynccontextmanager
async def running(
    folder: Path,
    means: Means | None = None,
    contained: Sequence[Containment] = ALL,
    **servers: McpSettings,
) -> AsyncIterator[Running]:
    made = Servers(
        servers,
        {name: means or Means() for name in servers},
        folder / "logs",
        folder / "workspace",
        Launcher(ToolSettings(), os.environ, folder, contained),
        SystemClock(),
        SystemRng(1),
    )
    work = asyncio.ensure_future(made.work())
    await made.settle()
    try:
        yield Running(made, folder)
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


def python(*arguments: str, **more: Any) -> McpSettings:
    return McpSettings(command=sys.executable, args=arguments, **{"wait": PATIENT, **more})


def scripted(folder: Path, **more: Any) -> McpSettings:
    program = Path(mcp_server.__file__)
    return python("-S", str(program), str(work(folder)), read=(program,), **more)


def work(folder: Path) -> Path:
    """The folder that contained servers share with their test."""
    found = folder / "workspace"
    found.mkdir(exist_ok=True)
    return found


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def seen(folder: Path, file: str) -> list[str]:
    path = next((one for one in (work(folder) / file, folder / file) if one.exists()), folder)
    return path.read_text().splitlines() if path.is_file() else []


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def ends(pid: int) -> None:
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    assert select.select([watched], [], [], LONG)[0], f"process {pid} lives on"
    os.close(watched)


# From the package indexes.


@on_a_loop
async def test_servers_from_the_python_package_index(tmp_path: Path) -> None:
    repository = new_repository(tmp_path / "workspace" / "repository")
    async with running(
        tmp_path, time=python("-m", "mcp_server_time"), git=python("-m", "mcp_server_git")
    ) as found:
        assert '"timezone": "Asia/Tokyo"' in await found.call(
            "time__get_current_time", '{"timezone": "Asia/Tokyo"}'
        )
        with pytest.raises(ToolFailed, match="[Ii]nvalid timezone"):
            await found.call("time__get_current_time", '{"timezone": "Nowhere"}')
        assert "new.txt" in await found.call("git__git_status", f'{{"repo_path": "{repository}"}}')


def everything() -> Path:
    if not shutil.which("node") or not EVERYTHING.exists():
        missing("the MCP server from the npm registry; scripts/test installs it, with node")
    return EVERYTHING / "dist" / "index.js"


def listening(program: Path, port: int) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        ["node", str(program), "streamableHttp"],
        env={"PORT": str(port), "PATH": os.environ["PATH"]},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    assert any(b"listening" in line for line in process.stderr)
    return process


def new_repository(folder: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (folder / "new.txt").write_text("new")
    return folder


@on_a_loop
async def test_a_server_from_the_npm_registry_over_both_ways(tmp_path: Path) -> None:
    program, port = everything(), free_port()
    over_http = listening(program, port)
    try:
        async with running(
            tmp_path,
            pipe=McpSettings(
                command="node", args=(str(program),), wait=PATIENT, read=(EVERYTHING.parents[2],)
            ),
            http=McpSettings(url=f"http://127.0.0.1:{port}/mcp", wait=PATIENT),
        ) as found:
            for name in ("pipe", "http"):
                assert "hello" in await found.call(f"{name}__echo", '{"message": "hello"}')
                assert "picture, image/png" in await found.call(f"{name}__get-tiny-image")
    finally:
        over_http.kill()
        over_http.communicate()


# Over HTTP.


def serve(folder: Path, port: int) -> subprocess.Popen[bytes]:
    """Start the server over HTTP, and wait until it listens."""
    ready = folder / mcp_http.READY
    ready.unlink(missing_ok=True)
    os.mkfifo(ready)
    process = subprocess.Popen([sys.executable, mcp_http.__file__, str(folder), str(port)])
    assert ready.read_text() == "ready\n"
    return process


@on_a_loop
async def test_a_server_over_http_goes_away_in_a_call_and_comes_back(tmp_path: Path) -> None:
    port = free_port()
    process = serve(tmp_path, port)
    means = Means(headers={"Authorization": f"Bearer {mcp_http.TOKEN}"})
    settings = McpSettings(url=f"http://127.0.0.1:{port}/mcp", wait=PATIENT)
    try:
        async with running(tmp_path, means, far=settings) as found:
            assert await found.call("far__add", '{"a": 2, "b": 3}') == "5"
            assert await found.call("far__learn") == "I know more now"
            await found.until(lambda: "far__learnt" in found.names())
            assert await found.call("far__learnt") == "learnt"
            with pytest.raises(CutShort):
                await found.call("far__end", '{"tag": "a"}')
            process.wait()
            waiting = asyncio.ensure_future(found.call("far__add", '{"a": 1, "b": 1}'))
            await found.until(lambda: found.servers.looks()[0].state == "down")
            process = await asyncio.to_thread(serve, tmp_path, port)
            assert await waiting == "2"
            assert seen(tmp_path, mcp_http.EFFECTS) == ["a"], "and it was not tried again"
            assert "far__learnt" not in found.names(), "this one has learnt nothing yet"
    finally:
        process.kill()
        process.wait()


@on_a_loop
async def test_a_server_that_does_not_let_us_in_is_told_with_its_answer_and_without_the_secret(
    tmp_path: Path,
) -> None:
    port = free_port()
    process = serve(tmp_path, port)
    means = Means(headers={"Authorization": "Bearer wrong-token-hunter2"})
    settings = McpSettings(url=f"http://127.0.0.1:{port}/mcp", wait=1_000)
    try:
        async with running(tmp_path, means, far=settings) as found:
            await found.until(lambda: bool(found.servers.looks()[0].words))
            (look,) = found.servers.looks()
            assert look.words == "it answered with HTTP status 401"
            assert "hunter2" not in repr((look, means))
    finally:
        process.kill()
        process.wait()


# One that fails.


@on_a_loop
async def test_a_server_with_hundreds_of_tools_is_had_whole(tmp_path: Path) -> None:
    names = [f"tool.{number}" for number in range(300)]
    (work(tmp_path) / mcp_server.TOOLS).write_text(" ".join(names))
    async with running(tmp_path, many=scripted(tmp_path)) as found:
        assert found.names() == [f"many__tool_{number}" for number in range(300)]
        assert await found.call("many__tool_299", '{"tag": "x"}') == "read x"


@on_a_loop
async def test_a_call_that_hangs_is_given_up_and_the_server_told(tmp_path: Path) -> None:
    settings = scripted(tmp_path, timeout=1_000, effects=(("*read*", EffectClass.READ),))
    async with running(tmp_path, slow=settings) as found:
        with pytest.raises(ToolFailed, match="no answer within 1 seconds"):
            await found.call("slow__hang_reading")
        with pytest.raises(CutShort, match="no answer within 1 seconds"):
            await found.call("slow__hang")
        assert await found.call("slow__read", '{"tag": "after"}') == "read after"
        assert len(seen(tmp_path, mcp_server.CANCELLED)) == 2
        assert found.servers.looks()[0].starts == 1, "nothing is wrong with the server itself"


@on_a_loop
async def test_a_server_that_talks_garbage_is_down_and_its_words_fill_no_log(tmp_path: Path) -> None:
    (work(tmp_path) / mcp_server.FAULTS).write_text("garbage")
    async with running(tmp_path, odd=scripted(tmp_path)) as found:
        (look,) = found.servers.looks()
        assert look.tools == 0
        assert "not messages of the protocol" in look.words
    assert "this is no message" in (tmp_path / "logs" / "mcp-odd.log").read_text()


@on_a_loop
async def test_a_server_whose_message_never_ends_is_ended(tmp_path: Path) -> None:
    (work(tmp_path) / mcp_server.FAULTS).write_text("endless")
    async with running(tmp_path, odd=scripted(tmp_path)) as found:
        assert "a line that is too long" in found.servers.looks()[0].words
    assert [pid for pid in below(os.getpid()) if str(tmp_path) in command_of(pid)] == []


@on_a_loop
async def test_what_a_server_says_beside_its_messages_goes_to_a_log_that_does_not_grow(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, loud=scripted(tmp_path)) as found:
        assert await found.call("loud__chatter", '{"lines": 3000}') == "said much"
        assert len(await found.call("loud__long", '{"length": 500000}')) < 250_000
    logs = sorted((tmp_path / "logs").iterdir())
    assert [log.name for log in logs] == ["mcp-loud.log", "mcp-loud.log.1"]
    assert all(log.stat().st_size <= LARGEST_LOG for log in logs)


@on_a_loop
async def test_tools_that_change_are_known_when_the_call_that_changed_them_is_over(tmp_path: Path) -> None:
    async with running(tmp_path, new=scripted(tmp_path)) as found:
        old = found.servers.find("new__effect")
        assert await found.call("new__change", '{"tools": "read other"}') == "others now"
        await found.servers.settle()
        assert found.names() == ["new__read", "new__other"]
        assert old is not None
        gone = found.servers.find("new__effect")
        assert gone is not None
        for tool in (old, gone):
            with pytest.raises(ToolFailed, match="does not offer"):
                await tool.run(ToolContext(SessionId("s"), TurnId("t"), 1, tmp_path, "key"), "{}")
        assert seen(tmp_path, mcp_server.EFFECTS) == []


@on_a_loop
async def test_a_server_that_dies_leaves_nothing_of_its_own_behind(tmp_path: Path) -> None:
    async with running(tmp_path, parent=scripted(tmp_path)) as found:
        child = outside(int(await found.call("parent__child")), os.getpid())
        first = outside(int(seen(tmp_path, mcp_server.PIDS)[0].split(":")[1].strip(" }")), os.getpid())
        os.kill(first, signal.SIGKILL)
        await asyncio.to_thread(ends, child)
