"""What people use a shell for works contained: Git over TLS, names, Python environments, caches."""

import http.server
import os
import shutil
import ssl
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from holdfast.policy.containment import Containment
from holdfast.tools.containment import ALL
from tests.support.contained import KINDS, Scene
from tests.support.parts import missing

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="code of agents is contained on Linux alone")
WHO = "-c user.name=a -c user.email=a@example.org"


@pytest.fixture(params=ALL)
def scene(tmp_path: Path, request: pytest.FixtureRequest) -> Scene:
    return Scene(tmp_path, request.param, memory=1_000, processes=100)


def needs(program: str) -> None:
    if shutil.which(program) is None:
        missing(program)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        return None


@contextmanager
def serving(folder: Path, certificate: Path, key: Path) -> Iterator[int]:
    """The files of a folder over TLS, on this machine."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def test_git_clones_over_tls_from_a_server_with_its_own_authority(scene: Scene, tmp_path: Path) -> None:
    needs("openssl")
    served = tmp_path / "served"
    subprocess.run(["git", "init", "-q", "--bare", str(served / "code.git")], check=True)
    first = tmp_path / "first"
    for command in (
        f"git init -q {first} && cd {first} && echo hello > file && git add file",
        f"cd {first} && git {WHO} commit -qm one && git push -q {served}/code.git HEAD:refs/heads/main",
        f"cd {served}/code.git && git symbolic-ref HEAD refs/heads/main && git update-server-info",
    ):
        subprocess.run(
            ["bash", "-c", command], check=True, env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        )
    certificate, key = tmp_path / "authority.pem", tmp_path / "key.pem"
    subprocess.run(
        f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost "
        f"-addext subjectAltName=DNS:localhost -out {certificate} -keyout {key}",
        shell=True,
        check=True,
        capture_output=True,
    )
    shutil.copy(certificate, scene.workspace / "authority.pem")
    with serving(served, certificate, key) as port:
        clone = f"git -c http.sslCAInfo=$PWD/authority.pem clone -q https://localhost:{port}/code.git"
        said = scene.shell(
            "command", f"{clone} got && cat got/file; cd got && git config user.name b && echo set"
        )
        refused = scene.shell("command", f"git clone -q https://localhost:{port}/code.git other; echo over")
    assert "hello" in said
    assert "set" in said
    assert "certificate" in refused.lower() or "ssl" in refused.lower()


@pytest.mark.parametrize("kind", KINDS)
def test_names_are_found_and_the_processor_is_known(scene: Scene, kind: str) -> None:
    said = scene.shell(kind, "getent hosts localhost; head -c 9 /proc/cpuinfo; cat <(echo substituted)")
    assert "localhost" in said
    assert "processor" in said
    assert "substituted" in said


def test_a_python_environment_is_made_and_filled_from_a_folder(scene: Scene) -> None:
    wheel = scene.workspace / "small-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as made:
        made.writestr("small.py", "print('imported')\n")
        made.writestr("small-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: small\nVersion: 1.0\n")
        made.writestr(
            "small-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\nRoot-Is-Purelib: true\n"
        )
        made.writestr("small-1.0.dist-info/RECORD", "small.py,,\n")
    said = scene.shell(
        "command",
        f"{sys.executable} -m venv env && env/bin/pip install -q --no-deps ./{wheel.name} 2>&1 && "
        "env/bin/python -c 'import small'",
    )
    assert "imported" in said


@pytest.mark.parametrize("kind", KINDS)
def test_shared_memory_is_there_in_a_view_of_its_own(tmp_path: Path, kind: str) -> None:
    scene = Scene(tmp_path, Containment.BUBBLEWRAP)
    script = "import multiprocessing as m; m.Lock(); open('/dev/shm/x', 'w').write('1'); print('shared')"
    assert "shared" in scene.run(kind, (sys.executable, "-c", script))
    assert not os.path.exists("/dev/shm/x")


def test_programs_of_npm_keep_their_cache_in_the_private_home(scene: Scene) -> None:
    needs("npm")
    said = scene.shell("mcp", "npm config get cache; npm --version")
    assert str(scene.private / "home") in said


def test_a_repository_is_made_and_used_over_several_commands(scene: Scene) -> None:
    scene.shell("command", f"git init -q . && echo a > a && git add a && git {WHO} commit -qm one")
    said = scene.shell("command", "git config user.name b && git remote add o /x && git log --oneline")
    assert "one" in said
    assert '"exit": 0' in said


@pytest.mark.guards("R24.2")
def test_in_a_folder_of_the_owner_hooks_and_configuration_of_git_stay_as_they_are(tmp_path: Path) -> None:
    scene = Scene(tmp_path, Containment.BUBBLEWRAP)
    code = tmp_path / "code"
    subprocess.run(["git", "init", "-q", str(code)], check=True)
    before = (code / ".git" / "config").read_text()
    said = scene.shell(
        "command",
        f"cd {code}; echo evil > .git/hooks/pre-commit; git config core.fsmonitor ./evil; mv .git .git2; "
        "mv .git/hooks away; rm -r .git/hooks; ln -sf /x .git/config; "
        f"echo a > a && git add a && git {WHO} commit -qm one && echo committed",
        write=(code,),
    )
    assert "committed" in said
    assert (code / ".git" / "config").read_text() == before
    assert not (code / ".git" / "hooks" / "pre-commit").exists()
    assert not (code / ".git2").exists()
