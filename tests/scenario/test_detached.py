"""Background processes of the real machine: started once, known again, ended whole, whatever dies when."""

import asyncio
import json
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.clock import SystemClock
from holdfast.model import ProcessId, ProcessState, TurnId
from holdfast.policy.containment import Containment
from holdfast.policy.processes import Identity, ProcessStatus
from holdfast.policy.settings import ProcessSettings, ToolSettings
from holdfast.tools import BackgroundProcesses, Launch, ToolFailed
from holdfast.tools.background import FOLDER, read_output
from holdfast.tools.containment import ALL, Launcher, helper_command
from holdfast.tools.containment.helper import process_minder as minder
from holdfast.tools.containment.helper.masker import ToldSecrets
from tests.support.machine import alive, end_session, gate, gone, open_gate, outside, parent_of, wait_for

ENVIRONMENT = {"PATH": os.defpath, "GREETING": "hello"}
ID = ProcessId("p1")


class Machine:
    """A home, and the processes that a test starts in it."""

    def __init__(self, home: Path, containment: Containment) -> None:
        self.home = home
        self.work = home / "workspace"
        self.work.mkdir()
        self.containment = containment
        self.started: list[Identity] = []
        self.port = self.another()

    def another(self, **settings: int) -> BackgroundProcesses:
        """The port of a gateway that has just begun on this home."""
        launcher = Launcher(ToolSettings(), ENVIRONMENT, self.home, (self.containment,))
        return BackgroundProcesses(
            self.home, SystemClock(), ENVIRONMENT, launcher, ProcessSettings(**settings), segment=1_000
        )

    def launch(self, command: str, id: ProcessId = ID) -> Launch:
        return Launch(id, command, self.work, TurnId("t1"), 0, True, ("error",))

    async def start(self, command: str, id: ProcessId = ID) -> Identity:
        self.started.append(await self.port.start(self.launch(command, id)))
        return self.started[-1]

    def plan(self, launch: Launch) -> None:
        """As a gateway that is killed before it starts what it has planned."""
        self.port._plan(self.home / FOLDER / launch.id, launch, self.port._prepared(launch))

    async def text(self) -> str:
        return (await self.port.output(ID, 0, 1_000_000)).data.decode()

    async def ends(self, identity: Identity) -> ProcessStatus:
        await asyncio.to_thread(gone, identity.pid)
        return await self.port.stands(ID, identity)


@pytest.fixture(params=ALL)
def machine(tmp_path: Path, loop: asyncio.Runner, request: pytest.FixtureRequest) -> Iterator[Machine]:
    machine = Machine(tmp_path, request.param)
    yield machine
    for identity in machine.started:
        end_session(identity.pid)


async def test_a_command_runs_in_its_folder_and_leaves_its_output_and_exit_code(machine: Machine) -> None:
    identity = await machine.start("pwd; echo $GREETING; env | wc -l; echo trouble >&2; exit 3")
    assert await machine.ends(identity) == ProcessStatus(ProcessState.EXITED, 3)
    lines = (await machine.text()).splitlines()
    assert lines[:2] == [str(machine.work), "hello"]
    assert lines[-1] == "trouble"
    assert int(lines[2]) <= 6, "nothing of the surroundings but what it was given, and the shell's own"


async def test_where_memory_runs_out_it_goes_before_the_gateway(machine: Machine) -> None:
    await machine.ends(await machine.start("read score < /proc/self/oom_score_adj; echo $score"))
    assert await machine.text() == "1000\n"


@pytest.mark.guards("R11.1", "F1")
async def test_it_is_in_a_session_of_its_own_and_nobodys_child(machine: Machine) -> None:
    identity = await machine.start(f"cat {gate(machine.work, 'gate')}")
    stat = minder.stat_of(identity.pid)
    assert stat is not None
    assert stat[1] == identity.pid != os.getsid(0)
    assert parent_of(identity.pid) != os.getpid()
    assert await machine.another().stands(ID, identity) == ProcessStatus(ProcessState.RUNNING)


async def test_the_same_id_is_started_once(machine: Machine) -> None:
    waits = gate(machine.work, "gate")
    first = await machine.start(f"echo ran; cat {waits}")
    assert await machine.another().start(machine.launch("echo again")) == first
    open_gate(waits)
    await machine.ends(first)
    assert await machine.another().start(machine.launch("echo again")) == first
    assert await machine.text() == "ran\n"


async def test_killed_after_the_plan_and_before_the_start_it_is_started_once(machine: Machine) -> None:
    launch = machine.launch("echo ran")
    machine.plan(launch)
    found = await machine.port.find(ID)
    assert found is not None
    assert (found.identity, found.launch) == (None, launch)
    identity = await machine.start("echo ran")
    await machine.ends(identity)
    assert await machine.text() == "ran\n"


async def test_of_two_who_start_it_at_once_one_does(machine: Machine) -> None:
    machine.plan(machine.launch("echo ran"))
    command = helper_command("process_minder", str(machine.home / FOLDER / ID))
    both = [await asyncio.create_subprocess_exec(*command) for _ in range(2)]
    assert [await one.wait() for one in both] == [0, 0]
    identity = await machine.start("echo ran")
    assert await machine.ends(identity) == ProcessStatus(ProcessState.EXITED, 0)
    assert await machine.text() == "ran\n"


async def test_a_start_that_comes_too_late_finds_that_it_was_given_up(machine: Machine) -> None:
    folder = machine.home / FOLDER / ID
    machine.plan(machine.launch("echo ran"))
    minder.write_whole(str(folder / minder.STARTED), {"pid": 0, "ticks": 0, "boot": ""}, once=True)
    late = await asyncio.create_subprocess_exec(*helper_command("process_minder", str(folder)))
    assert await late.wait() == 0
    with pytest.raises(ToolFailed):
        await machine.start("echo ran")
    assert await machine.text() == ""


async def test_who_is_cancelled_while_it_starts_is_told_all_the_same(machine: Machine) -> None:
    starting = asyncio.ensure_future(machine.port.start(machine.launch("exit 0")))
    await asyncio.wait([starting], timeout=0)
    starting.cancel()
    identity = await starting
    await machine.ends(identity)


@pytest.mark.guards("R11.1", "F10")
async def test_a_pid_that_is_used_again_is_not_it_and_is_not_killed(machine: Machine) -> None:
    identity = await machine.start(f"cat {gate(machine.work, 'gate')}")
    reused = replace(identity, ticks=identity.ticks + 1)
    assert (await machine.port.stands(ID, reused)).state is ProcessState.LOST
    assert (await machine.port.kill(ID, reused)).state is ProcessState.LOST
    with pytest.raises(ToolFailed):
        await machine.port.write(ID, reused, "hello")
    assert alive(identity.pid)


async def test_one_that_ends_while_it_is_looked_at_has_its_exit_code(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It leaves its exit code and then goes: who looks for the code first, and then for it, finds neither."""
    waits = gate(machine.work, "gate")
    identity = await machine.start(f"cat {waits}; exit 3")
    real = minder.stat_of

    def ends_meanwhile(pid: int) -> tuple[int, int, int] | None:
        monkeypatch.undo()
        open_gate(waits)
        gone(pid)
        return real(pid)

    monkeypatch.setattr(minder, "stat_of", ends_meanwhile)
    assert await machine.port.stands(ID, identity) == ProcessStatus(ProcessState.EXITED, 3)


async def test_the_gateway_itself_is_never_taken_for_one(machine: Machine) -> None:
    stat = minder.stat_of(os.getpid())
    assert stat is not None
    ourselves = Identity(os.getpid(), stat[0], minder.boot_id())
    assert (await machine.port.stands(ID, ourselves)).state is ProcessState.LOST
    assert (await machine.port.kill(ID, ourselves)).state is ProcessState.LOST


async def test_what_is_killed_hard_with_who_minds_it_is_lost_and_the_command_goes_with_it(
    machine: Machine,
) -> None:
    said = gate(machine.work, "said")
    identity = await machine.start(f"echo $$ > {said}; exec cat {gate(machine.work, 'gate')}")
    command = outside(int(await asyncio.to_thread(wait_for, said)), identity.pid)
    os.kill(identity.pid, signal.SIGKILL)
    assert await machine.ends(identity) == ProcessStatus(ProcessState.LOST)
    await asyncio.to_thread(gone, command)


async def test_input_reaches_it_also_from_another_gateway(machine: Machine) -> None:
    identity = await machine.start("read first; read second; echo $second $first")
    await machine.port.write(ID, identity, "world\n")
    await machine.another().write(ID, identity, "hello\n")
    assert await machine.ends(identity) == ProcessStatus(ProcessState.EXITED, 0)
    assert await machine.text() == "hello world\n"
    with pytest.raises(ToolFailed, match="has ended"):
        await machine.port.write(ID, identity, "more\n")


async def test_input_that_is_not_read_is_not_waited_for(machine: Machine) -> None:
    said = gate(machine.work, "said")
    identity = await machine.start(f"echo > {said}; cat {gate(machine.work, 'gate')}")
    await asyncio.to_thread(wait_for, said)
    with pytest.raises(ToolFailed, match="does not read its input: it took 65536 of 100000 bytes"):
        await machine.port.write(ID, identity, "x" * 100_000)


async def test_a_kill_ends_all_of_it_and_how_it_ended_is_known(machine: Machine) -> None:
    said = gate(machine.work, "said")
    waits = gate(machine.work, "gate")
    identity = await machine.start(f"(cat {waits}) & (cat {waits} & echo $! > {said}; wait)")
    child = outside(int(await asyncio.to_thread(wait_for, said)), identity.pid)
    assert await machine.port.kill(ID, identity) == ProcessStatus(ProcessState.RUNNING)
    await asyncio.to_thread(gone, child)
    assert await machine.port.stands(ID, identity) == ProcessStatus(ProcessState.EXITED, -signal.SIGTERM)
    assert (await machine.port.kill(ID, identity)).state is ProcessState.EXITED


async def test_a_kill_also_ends_what_has_left_its_session(machine: Machine) -> None:
    said = gate(machine.work, "said")
    waits = gate(machine.work, "gate")
    # Its parent is gone, its session another, its output elsewhere: nothing of it shows whose it is.
    leaves = f"setsid sh -c 'echo $$ > {said}; exec cat {waits}' >{os.devnull} 2>&1 &"
    identity = await machine.start(f"({leaves}); cat {waits}")
    child = outside(int(await asyncio.to_thread(wait_for, said)), identity.pid)
    try:
        await machine.port.kill(ID, identity)
        await asyncio.to_thread(gone, child)
    finally:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    assert await machine.port.stands(ID, identity) == ProcessStatus(ProcessState.EXITED, -signal.SIGTERM)


async def test_what_does_not_end_when_asked_is_ended(machine: Machine) -> None:
    machine.port = machine.another(grace=100)
    said = gate(machine.work, "said")
    waits = gate(machine.work, "gate")
    identity = await machine.start(f"trap '' TERM; echo > {said}; while true; do cat {waits}; done")
    await asyncio.to_thread(wait_for, said)
    await machine.port.kill(ID, identity)
    assert await machine.port.stands(ID, identity) == ProcessStatus(ProcessState.EXITED, -signal.SIGKILL)


async def test_what_it_leaves_in_the_background_is_still_it(machine: Machine) -> None:
    waits = gate(machine.work, "gate")
    # What it says now is kept by who has seen, before that, how the command itself ended.
    says = f"while [ -d /proc/$$ ]; do :; done; echo alone; cat {waits}; echo late"
    identity = await machine.start(f"({says}) & exit 4")
    while await machine.text() != "alone\n":
        pass
    assert await machine.port.stands(ID, identity) == ProcessStatus(ProcessState.RUNNING), (
        "it may yet say more"
    )
    open_gate(waits)
    assert await machine.ends(identity) == ProcessStatus(ProcessState.EXITED, 4)
    assert await machine.text() == "alone\nlate\n"


async def test_of_much_output_the_end_is_kept_and_every_byte_keeps_its_place(machine: Machine) -> None:
    machine.port = machine.another(log=1)
    identity = await machine.start("seq 1 200")
    await machine.ends(identity)
    whole = "".join(f"{number}\n" for number in range(1, 201)).encode()
    folder = machine.home / FOLDER / ID
    assert sorted(name for name in os.listdir(folder) if name.startswith(minder.OUTPUT)) == ["output.0"]
    assert read_output(folder, 0, 10_000, 1_000).data == whole
    assert len(whole) < 1_000


def test_old_output_goes_and_what_is_left_is_found_by_its_place(tmp_path: Path) -> None:
    kept_in, here = tmp_path / "kept", Path.cwd()
    kept_in.mkdir()
    os.chdir(kept_in)
    try:
        kept = minder.KeptOutput(segment=10, keep=3, masked=ToldSecrets().stream())
        for number in range(8):
            kept.add(f"line {number}\n".encode())
    finally:
        os.chdir(here)
    whole = b"".join(f"line {number}\n".encode() for number in range(8))
    assert sorted(os.listdir(kept_in)) == ["output.3", "output.4", "output.5"]
    found = read_output(kept_in, 0, 1_000, 10)
    assert (found.start, found.end, found.size, found.data) == (30, 56, 56, whole[30:])
    assert read_output(kept_in, 35, 10, 10).data == whole[35:45]
    assert read_output(kept_in, -5, 100, 10).data == whole[-5:]
    assert read_output(kept_in, 56, 100, 10).data == b""
    assert read_output(tmp_path / "nowhere", 0, 100, 10).size == 0


async def test_what_is_forgotten_leaves_nothing_and_cannot_start_any_more(machine: Machine) -> None:
    identity = await machine.start("echo secret")
    await machine.ends(identity)
    assert await machine.port.all() == (ID,)
    await machine.port.forget(ID)
    await machine.port.forget(ID)
    assert await machine.port.all() == ()
    assert await machine.port.find(ID) is None
    assert list((machine.home / FOLDER).iterdir()) == []


async def test_a_start_that_comes_while_it_is_being_forgotten_comes_too_late(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = machine.home / FOLDER / ID
    folder.mkdir(parents=True)
    (folder / minder.PLAN).write_text("{}")
    first: list[bool] = []
    remove = shutil.rmtree

    def starts_meanwhile(path: Path) -> None:
        first.append(minder.write_whole(str(folder / minder.STARTED), {"pid": 1}, once=True))
        remove(path)

    monkeypatch.setattr(shutil, "rmtree", starts_meanwhile)
    await machine.port.forget(ID)
    assert first == [False] and not folder.exists()


async def test_a_folder_nobody_can_read_is_nothing(machine: Machine) -> None:
    folder = machine.home / FOLDER / ID
    folder.mkdir(parents=True)
    assert await machine.port.find(ID) is None
    (folder / minder.PLAN).write_text(json.dumps(["nonsense"]))
    (folder / minder.STARTED).write_text("{")
    assert await machine.port.find(ID) is None


async def test_a_command_that_cannot_begin_says_why_in_its_output(machine: Machine) -> None:
    identity = await machine.start("/nowhere/at/all")
    assert await machine.ends(identity) == ProcessStatus(ProcessState.EXITED, 127)
    assert "not found" in await machine.text()
