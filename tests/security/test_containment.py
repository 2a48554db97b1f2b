"""Code of an agent against the gateway: as a command, background process or MCP program, by both means."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.policy.containment import Containment
from holdfast.tools.containment import ALL
from tests.support import attacker
from tests.support.contained import CANARY, KINDS, Scene, listening

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="code of agents is contained on Linux alone")


@pytest.fixture(params=ALL)
def scene(tmp_path: Path, request: pytest.FixtureRequest) -> Scene:
    return Scene(tmp_path, request.param)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.mark.guards("R22.1", "R22.2")
def test_nothing_of_the_gateway_the_user_or_the_machine_is_reached(
    scene: Scene, kind: str, tmp_path: Path
) -> None:
    """The whole list of attacks: files, processes, sockets, the kernel's own knobs."""
    abstract = f"\0holdfast-test-{os.getpid()}-{kind}"
    sockets = [str(scene.home / "gateway.sock"), str(tmp_path / "docker.sock"), abstract]
    journal = [str(tmp_path / "journal.sock"), f"{abstract}-journal"]
    with (
        listening(*sockets, datagrams=journal),
        subprocess.Popen(["sleep", "1000"], env={"KEY": CANARY}) as other,
    ):
        facts = {
            "secrets": [
                *(
                    str(scene.home / name)
                    for name in ("token", "holdfast.toml", "ledger.db", "logs/gateway.log")
                ),
                str(scene.user_file),
                *(["/etc/shadow"] if os.path.exists("/etc/shadow") else []),
            ],
            "trusted": scene.trusted(),
            "owned": [str(scene.home / "token"), str(scene.home / "holdfast.toml"), str(scene.user_file)],
            "gateway": os.getpid(),
            "processes": [os.getpid(), os.getppid(), other.pid],
            "sockets": sockets,
            "datagrams": journal,
            "contained": True,
        }
        reached = scene.attack(kind, facts)
        other.kill()
    assert reached == []
    assert scene.is_untouched()


def test_the_attacker_reaches_all_of_it_where_nothing_contains_it(tmp_path: Path) -> None:
    """Otherwise the test above would prove nothing."""
    scene = Scene(tmp_path, Containment.BUBBLEWRAP)
    script = Path(attacker.__file__)
    with (
        listening(path := str(tmp_path / "docker.sock"), datagrams=[journal := str(tmp_path / "journal")]),
        subprocess.Popen(["sleep", "1000"], env={"KEY": CANARY}) as other,
    ):
        secret, target = str(scene.home / "token"), str(scene.user_file)
        facts = {"secrets": [secret], "trusted": [target], "owned": [target], "gateway": 1}
        facts |= {"processes": [other.pid], "sockets": [path], "datagrams": [journal], "contained": False}
        (tmp_path / "facts.json").write_text(json.dumps(facts))
        command = [sys.executable, str(script), "facts.json"]
        said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        other.kill()
    for words in (f"read {secret}", f"open {target}", f"socket {path!r}", f"datagrams to {journal!r}"):
        assert f"REACHED {words}\n" in said
    for words in (f"/proc/{other.pid}/environ", f"signal 0 to {other.pid}", f"limits of {other.pid}"):
        assert f"REACHED {words}\n" in said
    for words in (f"processors of {other.pid}", f"priority of {other.pid}", "keys -3"):
        assert f"REACHED {words}\n" in said
    assert not scene.is_untouched()


@pytest.mark.guards("R22.2")
def test_a_command_that_rewrites_the_helper_changes_nothing_for_the_next(scene: Scene, kind: str) -> None:
    """The guard's own file was writable for contained commands: the next one ran it before containment."""
    (helper,) = (path for path in scene.trusted() if path.endswith("helper/command.py"))
    before = Path(helper).read_bytes()
    said = scene.shell(kind, f"echo 'raise SystemExit' >> {helper}; echo 'planted' > {helper}; echo tried")
    assert "tried" in said
    assert Path(helper).read_bytes() == before


def test_it_has_a_home_and_temporary_files_of_its_own_that_stay(scene: Scene, kind: str) -> None:
    scene.shell(kind, 'mkdir -p ~/.cache; echo kept > ~/.cache/one; echo kept > "$TMPDIR/two"')
    assert (scene.private / "home" / ".cache" / "one").read_text() == "kept\n"
    said = scene.shell(kind, 'cat ~/.cache/one "$TMPDIR/two"; echo $HOME')
    assert said.count("kept") == 2
    assert str(scene.private / "home") in said


def test_paths_of_the_configuration_are_seen_and_only_those_for_writing_change(
    scene: Scene, kind: str, tmp_path: Path
) -> None:
    for name in ("read", "write"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    said = scene.shell(
        kind,
        f"cat {tmp_path}/read/file {tmp_path}/write/file; echo more >> {tmp_path}/read/file; "
        f"echo more >> {tmp_path}/write/file; echo over",
        read=(tmp_path / "read",),
        write=(tmp_path / "write",),
    )
    assert "readwrite" in said
    assert (tmp_path / "read" / "file").read_text() == "read"
    assert (tmp_path / "write" / "file").read_text() == "writemore\n"


def test_a_workspace_that_was_exchanged_for_a_link_is_not_opened(scene: Scene, kind: str) -> None:
    """A program with the folder above could rename it, and lay a link to the gateway's home in its place."""
    scene.workspace.rename(scene.workspace.with_name("away"))
    scene.workspace.symlink_to(scene.home)
    with pytest.raises(Exception, match="a link that leads elsewhere"):
        scene.shell(kind, "cat token")


def test_a_workspace_that_is_exchanged_at_the_last_moment_is_not_opened(scene: Scene) -> None:
    """After the gateway looked and before the view is built."""
    prepared = scene.launcher.prepare(scene.view(), ("/bin/cat", "token"), joined=True)
    scene.workspace.rename(scene.workspace.with_name("away"))
    scene.workspace.symlink_to(scene.home)
    said = scene._command(prepared.argv, prepared.environment, prepared.order)
    assert CANARY not in said
    assert "was replaced" in said or "nothing was run" in said or '"exit": 126' in said


@pytest.mark.guards("R22.1")
def test_too_much_memory_is_its_end(scene: Scene, kind: str) -> None:
    eat = f"{sys.executable} -S -c 'import signal; x = bytearray(90 * 2**20); signal.pause()' &"
    said = scene.shell(kind, f"{eat * 6} wait; echo survived")
    assert "survived" not in said
    assert '"ended": "memory"' in said or "used more than 300 MB" in said


UNMAPPED = """
import ctypes, os, signal
piece = bytes(2**20)
try:
    file = os.memfd_create("x")
    for _ in range(600):
        os.write(file, piece)
    print("kept a file")
except OSError:
    pass
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
for _ in range(6):
    place = libc.shmget(0, 100 * 2**20, 0o1600)
    if place < 0:
        break
    at = ctypes.c_void_p(libc.shmat(place, None, 0))
    ctypes.memset(at, 1, 100 * 2**20)
    libc.shmctl(place, 0, None)
    print("kept a piece")
print("over")
"""


@pytest.mark.guards("R22.1")
def test_memory_that_no_process_has_mapped_cannot_be_had(scene: Scene, kind: str) -> None:
    """Nobody who adds up what processes use would see it."""
    said = scene.run(kind, (sys.executable, "-S", "-c", UNMAPPED))
    assert "over" in said
    assert "kept" not in said


@pytest.mark.guards("R22.1")
def test_too_many_processes_are_its_end(scene: Scene, kind: str) -> None:
    """A hundred and no more: a test does not let loose what it may not catch."""
    said = scene.shell(kind, "for i in $(seq 100); do sleep 1000 & done; wait; echo survived")
    assert "survived" not in said
    assert '"ended": "processes"' in said or "used more than 60 processes" in said


def test_without_a_network_it_reaches_not_even_this_machine(scene: Scene, kind: str) -> None:
    connect = "import socket; s = socket.create_server(('127.0.0.1', 0)); print('bound')"
    with_it = scene.run(kind, (sys.executable, "-S", "-c", connect))
    assert "bound" in with_it
    other = (
        "import socket\n"
        "try:\n    socket.create_connection(('127.0.0.1', {port}), 2); print('reached')\n"
        "except OSError: print('refused')\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as server:
        text = other.format(port=server.getsockname()[1])
        said = scene.run(kind, (sys.executable, "-S", "-c", text), network=False)
    assert "refused" in said
    assert "reached" not in said


TRACE = """
import ctypes, os
library = ctypes.CDLL(None, use_errno=True)
seize = library.ptrace(0x4206, os.getppid(), None, None)
print("traced" if seize == 0 else "refused", ctypes.get_errno())
try:
    open(f"/proc/{os.getppid()}/mem", "r+b")
    print("opened")
except OSError as error:
    print("closed", error.errno)
"""


@pytest.mark.guards("R22.1")
@pytest.mark.parametrize("landlock", [True, False])
def test_a_program_cannot_trace_its_parent_which_no_filter_binds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, landlock: bool
) -> None:
    if not landlock:
        monkeypatch.setattr("holdfast.tools.containment.launcher.kernel.version", lambda: 0)
    scene = Scene(tmp_path, Containment.BUBBLEWRAP)
    said = scene.run(kind, (sys.executable, "-c", TRACE))
    assert "refused" in said
    assert "closed" in said
