"""Commands in real processes: what they see, what they may use, and that nothing is left of them."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.clock import SystemClock
from holdfast.model import EffectClass, SessionId, TurnId
from holdfast.policy.containment import Containment
from holdfast.policy.settings import SECOND, TerminalSettings, ToolSettings
from holdfast.telemetry import KnownSecrets
from holdfast.tools import CutShort, ToolContext
from holdfast.tools.builtin.safe_paths import SafePaths
from holdfast.tools.builtin.terminal import Terminal, environment
from holdfast.tools.containment import ALL, Launcher
from tests.support.loops import on_a_loop

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what is guaranteed elsewhere is less")

CANARY = "canary-7f3a"
PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
KNOWN = {
    **os.environ,
    "PATH": PATH,
    "ANTHROPIC_API_KEY": CANARY,
    "HOLDFAST_TOKEN": CANARY,
    "LC_TIME": "C",
    "MORE": "more",
}


class Shell:
    """A terminal on a home, contained by one of the two means."""

    def __init__(self, home: Path, contained: Containment, **settings: Any) -> None:
        self.home = home
        self.heard: list[str] = []
        self.news = asyncio.Event()
        made = TerminalSettings(**{"memory": 300, "processes": 40, **settings})
        launcher = Launcher(ToolSettings(terminal=made), KNOWN, home, (contained,))
        (self.tool,) = Terminal(SystemClock(), made, SafePaths(), KNOWN, launcher).tools()

    def _hear(self, text: str) -> None:
        self.heard.append(text)
        self.news.set()

    async def do(
        self, command: str, session: str = "s1", secrets: KnownSecrets | None = None, **more: Any
    ) -> str:
        context = ToolContext(
            SessionId(session),
            TurnId("t"),
            1,
            self.home / "workspace",
            "t:c",
            output=self._hear,
            secrets=secrets or KnownSecrets(),
        )
        found = await self.tool.run(context, json.dumps({"command": command, **more}))
        assert isinstance(found, str)
        return found

    async def says(self, word: str) -> None:
        """Return once the running command has put this out."""
        while word not in "".join(self.heard):
            self.news.clear()
            await self.news.wait()


@pytest.fixture(params=ALL)
def contained(request: pytest.FixtureRequest) -> Containment:
    found: Containment = request.param
    return found


def running(mark: str) -> list[int]:
    """The processes of this machine that have this word in what they were started with."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if mark.encode() in words and int(pid) != os.getpid():
            found.append(int(pid))
    return found


@on_a_loop
async def test_output_and_exit_code_are_told_and_output_is_heard_as_it_comes(
    tmp_path: Path, contained: Containment
) -> None:
    shell = Shell(tmp_path, contained)
    assert shell.tool.effect is EffectClass.EFFECT
    assert await shell.do("echo out; echo err >&2; exit 3") == "out\nerr\n[exit code 3]"
    assert "".join(shell.heard) == "out\nerr\n"
    assert await shell.do("kill -9 $$") == "[ended by signal 9]"


@on_a_loop
async def test_the_folder_is_kept_for_the_session_and_nothing_else(
    tmp_path: Path, contained: Containment
) -> None:
    shell = Shell(tmp_path, contained)
    root = tmp_path / "workspace" / "sessions" / "s1"
    assert await shell.do("pwd; mkdir sub; cd sub; X=1; exit 0") == f"{root}\n[exit code 0]"
    again = Shell(tmp_path, contained)
    assert await again.do("pwd; echo $X") == f"{root}/sub\n\n[exit code 0]", "also for another process"
    assert f"{tmp_path}/workspace/sessions/s2" in await again.do("pwd", session="s2")
    await again.do("rmdir ../sub")
    assert "the command started in the workspace instead" in await again.do("true")


@on_a_loop
async def test_no_secret_is_in_its_environment(tmp_path: Path, contained: Containment) -> None:
    shell = Shell(tmp_path, contained, env=frozenset({"MORE"}))
    seen = await shell.do("env; cat /proc/self/environ | tr '\\0' '\\n'")
    assert CANARY not in seen
    assert "MORE=more" in seen
    assert "LC_TIME=C" in seen
    assert CANARY not in "".join(environment(KNOWN).values())


@on_a_loop
async def test_it_sees_neither_the_gateway_nor_its_home(tmp_path: Path, contained: Containment) -> None:
    (tmp_path / "holdfast.toml").write_text(CANARY)
    shell = Shell(tmp_path, contained)
    seen = await shell.do(
        f"umount -l {tmp_path}; cat {tmp_path}/holdfast.toml; ls -a {tmp_path}; "
        f"cat /proc/{os.getpid()}/environ; ls -d /proc/[0-9]* | wc -l; echo kept > here"
    )
    assert CANARY not in seen
    assert (tmp_path / "workspace" / "sessions" / "s1" / "here").read_text() == "kept\n"


@on_a_loop
async def test_it_cannot_signal_the_gateway(tmp_path: Path, contained: Containment) -> None:
    me, group, parent = os.getpid(), os.getpgrp(), os.getppid()
    script = (
        "import os, signal\n"
        f"for who in ({me}, -{me}, -{group}, -1, {parent}):\n"
        "    for number in (0, signal.SIGCONT):\n"
        "        try:\n            os.kill(who, number); print('reached', who)\n"
        "        except OSError as error: print(error.strerror)\n"
        f"try:\n    signal.pidfd_send_signal(os.open('/proc/{me}', 0), 0); print('reached by handle')\n"
        "except OSError as error: print(error.strerror)\n"
    )
    seen = await Shell(tmp_path, contained).do(f'{sys.executable} -c "{script}"')
    assert seen.count("\n") >= 11, seen
    # -1 is nobody but its own children.
    assert f"reached {me}" not in seen
    assert f"reached {parent}" not in seen
    assert f"reached -{me}" not in seen
    assert f"reached -{group}" not in seen
    assert "handle" not in seen


@on_a_loop
async def test_what_it_leaves_running_ends_with_it(tmp_path: Path, contained: Containment) -> None:
    mark = f"100{os.getpid()}1"
    # Each has gone away from the shell before the shell ends.
    away = f"sh -c 'echo up > p; exec sleep {mark}'"
    command = (
        f"mkfifo p; sleep {mark} & setsid {away} & read x < p\n"
        f"(setsid nohup {away} >/dev/null 2>&1 &); read x < p; echo on"
    )
    assert await Shell(tmp_path, contained).do(command) == "on\n[exit code 0]"
    assert running(mark) == []


TREE = """\
import os, sys, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for level in range(3):
    if os.fork() == 0:
        os.setsid()
    os.fork()
print("grown", flush=True)
signal.pause()
"""


@on_a_loop
async def test_a_tree_of_children_is_gone_when_it_is_stopped(tmp_path: Path, contained: Containment) -> None:
    """Each in a session of its own, orphaned, deaf to SIGTERM: none is left after the cancellation."""
    mark = f"tree-{os.getpid()}"
    shell = Shell(tmp_path, contained, processes=200)
    (tmp_path / "workspace" / "sessions" / "s1").mkdir(parents=True)
    (tmp_path / "workspace" / "sessions" / "s1" / "tree.py").write_text(TREE)
    work = asyncio.ensure_future(shell.do(f"{sys.executable} tree.py {mark}"))
    while "".join(shell.heard).count("grown") < 64:
        shell.news.clear()
        await shell.news.wait()
    assert len(running(mark)) >= 64
    work.cancel()
    with pytest.raises(CutShort, match="the command and everything it started were stopped"):
        await work
    assert running(mark) == []


@on_a_loop
async def test_its_time_is_bounded_and_its_output_until_then_is_told(
    tmp_path: Path, contained: Containment
) -> None:
    mark = f"100{os.getpid()}2"
    shell = Shell(tmp_path, contained, timeout=2 * SECOND)
    with pytest.raises(CutShort, match="ended after 2 seconds. Its output until then: begun"):
        await shell.do(f"echo begun; setsid sleep {mark} & sleep {mark}", seconds=1000)
    assert running(mark) == []


@on_a_loop
async def test_too_much_memory_is_the_commands_end_and_nobody_elses(
    tmp_path: Path, contained: Containment
) -> None:
    shell = Shell(tmp_path, contained)
    seen = await shell.do(f"{sys.executable} -c 'x = bytearray(400 * 2**20)'; echo after")
    assert "MemoryError" in seen
    assert "after" in seen
    four = (
        f"{sys.executable} -c 'import signal; x = bytearray(100 * 2**20); signal.pause()' mem-{os.getpid()} &"
    )
    with pytest.raises(CutShort, match="used more than 300 MB and was ended"):
        await shell.do(f"{four} {four} {four} {four} wait")
    assert running(f"mem-{os.getpid()}") == []


@on_a_loop
async def test_too_many_processes_are_the_commands_end(tmp_path: Path, contained: Containment) -> None:
    """A hundred and no more: a test does not let loose what it may not catch."""
    mark = f"100{os.getpid()}3"
    shell = Shell(tmp_path, contained, processes=30)
    with pytest.raises(CutShort, match="used more than 30 processes and was ended"):
        await shell.do(f"for i in $(seq 100); do sleep {mark} & done; wait")
    assert running(mark) == []


@on_a_loop
async def test_the_machine_would_end_the_command_before_the_gateway(
    tmp_path: Path, contained: Containment
) -> None:
    # Read by the shell itself: under Landlock alone its children do not see their own /proc.
    seen = await Shell(tmp_path, contained).do("read score < /proc/self/oom_score_adj; echo $score")
    assert seen == "1000\n[exit code 0]"


@on_a_loop
async def test_of_too_much_output_the_beginning_and_the_end_are_kept(
    tmp_path: Path, contained: Containment
) -> None:
    seen = await Shell(tmp_path, contained, output=2_000).do("seq 100000")
    assert seen.startswith("1\n2\n3\n")
    assert "bytes in the middle were not kept" in seen
    assert seen.endswith("100000\n[exit code 0]")
    assert len(seen) < 2_200


@pytest.mark.guards("R22.7")
@pytest.mark.parametrize("at", [485, 499, 501, 1_300])
@on_a_loop
async def test_no_part_of_a_secret_is_left_where_output_is_cut(tmp_path: Path, at: int) -> None:
    secret = "key-canary-81c5e77d2b1a09f3c"
    command = f"printf 'x%.0s' {{1..{at}}}; printf %s {secret}; printf 'y%.0s' {{1..800}}"
    shell = Shell(tmp_path, Containment.BUBBLEWRAP, output=1_000)
    seen = await shell.do(command, secrets=KnownSecrets([secret]))
    assert "key-" not in seen
    assert "9f3c" not in seen


@on_a_loop
async def test_it_has_no_input_and_none_of_our_files(tmp_path: Path, contained: Containment) -> None:
    with (tmp_path / "open").open("w") as mine:
        os.dup2(mine.fileno(), 77, inheritable=True)
        seen = await Shell(tmp_path, contained).do("cat; echo /proc/self/fd/*; echo here >&77; ulimit -c")
        os.close(77)
    assert "fd/77" not in seen
    assert (tmp_path / "open").read_text() == ""
    assert signal.SIGINT in signal.Signals
