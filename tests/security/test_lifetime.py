"""Nothing of a contained program outlives what holds it, whichever moment that is killed in."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from holdfast.tools.containment import ALL, helper_command
from holdfast.tools.containment.helper.limits import below
from tests.support.contained import Scene
from tests.support.machine import gone, parent_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="code of agents is contained on Linux alone")


def marked(mark: str) -> list[int]:
    """Every process of this machine that has this word in its command line."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if mark.encode() in words and int(pid) != os.getpid():
            found.append(int(pid))
    return found


def is_waiting_setup(pid: int) -> bool:
    """Whether this is bubblewrap's own child before it runs anything of ours.

    An ordinary user's waits for its parent to map its users, and for ever if that was killed in this very
    moment. It has run nothing of the agent and never will.
    """
    try:
        waits, name = (Path(f"/proc/{pid}/{file}").read_text().strip() for file in ("wchan", "comm"))
        return name == "bwrap" and waits in ("do_wait_intr_irq", "eventfd_read")
    except OSError:
        return False


def end_waiting_setup(pid: int) -> None:
    """Kill a process that waits as `is_waiting_setup` says, perhaps only after its helper ended."""
    if is_waiting_setup(pid):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.guards("R22.1")
@pytest.mark.parametrize("containment", ALL)
def test_a_helper_killed_at_any_moment_takes_its_program_along(tmp_path: Path, containment: object) -> None:
    """Also while bubblewrap still builds the view, when it does not watch for its parent's end yet."""
    scene = Scene(tmp_path, containment)  # type: ignore[arg-type]
    mark = f"lifetime-{os.getpid()}"
    script = "import sys, signal; signal.pause()"
    for moment in range(20):
        prepared = scene.launcher.prepare(scene.view(), (sys.executable, "-S", "-c", script, mark))
        order = json.dumps({**prepared.order, "argv": prepared.argv}).encode() + b"\n"
        with subprocess.Popen(
            helper_command("command"),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=dict(prepared.environment),
        ) as helper:
            assert helper.stdin is not None
            helper.stdin.write(order)
            helper.stdin.flush()
            # From the very moment on in which the process is there that becomes the first inside.
            while len(seen := below(helper.pid)) < 2:
                continue
            for _ in range(moment):
                seen = below(helper.pid)
            helper.send_signal(signal.SIGKILL)
        # One that was started after the last look ends as well, waited for as the others are.
        for pid in {*seen, *marked(mark)}:
            gone(pid, meanwhile=end_waiting_setup)
    assert marked(mark) == []


FAMILY = """
import os, signal, sys
for _ in range(2):
    if os.fork() == 0:
        os.setsid()
signal.pause()
"""
"""Four processes, three of them in sessions of their own."""


def family(mark: str) -> list[int]:
    """The processes of the program, without the helpers that name it in their arguments."""
    found = []
    for pid in marked(mark):
        with suppress(OSError):
            if b"containment" not in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def minder_above(pid: int, helper: str) -> int:
    """The helper of this name above a process."""
    while f"\0{helper}\0".encode() not in Path(f"/proc/{pid}/cmdline").read_bytes() + b"\0":
        pid = parent_of(pid)
    return pid


def ended_early(scene: Scene, kind: str, program: Sequence[str]) -> None:
    """Run a program whose minder leaves no word of how it ended."""
    with suppress(FileNotFoundError):
        scene.run(kind, program)


@pytest.mark.guards("R22.1")
@pytest.mark.parametrize("containment", ALL)
@pytest.mark.parametrize(
    ("kind", "helper"), [("command", "command"), ("mcp", "mcp_program"), ("background", "process_minder")]
)
def test_a_helper_that_is_killed_takes_along_all_that_its_program_started(
    tmp_path: Path, containment: object, kind: str, helper: str
) -> None:
    scene = Scene(tmp_path, containment)  # type: ignore[arg-type]
    mark = f"family-{os.getpid()}-{kind}"
    program = (sys.executable, "-S", "-c", FAMILY, mark)
    running = threading.Thread(target=ended_early, args=(scene, kind, program))
    running.start()
    while len(found := family(mark)) < 4:
        assert running.is_alive()
    os.kill(minder_above(found[0], helper), signal.SIGKILL)
    for pid in found:
        gone(pid)
    running.join()
