"""A gateway's home with everything that code of an agent must not reach, and programs contained beside it."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.policy.containment import Containment
from holdfast.policy.settings import TerminalSettings, ToolSettings
from holdfast.tools.containment import Launcher, ProgramView, helper_command

from . import attacker

CANARY = "canary-91d2"
KINDS = ("command", "background", "mcp")


def python_on_path() -> dict[str, str]:
    """This environment, in which `python` is the one of these tests."""
    path = f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}"
    return {"PATH": path, "LANG": "C.UTF-8", "USER": os.environ.get("USER", "somebody")}


class Scene:
    """One home, one launcher; programs are started as each of the three tools starts them."""

    def __init__(
        self,
        root: Path,
        containment: Containment,
        protected: tuple[str, ...] = (),
        secret_files: tuple[Path, ...] = (),
        **settings: Any,
    ) -> None:
        self.home = root / "gateway"
        self.workspace = self.home / "workspace" / "sessions" / "s1"
        self.workspace.mkdir(parents=True)
        self.private = self.home / "private" / "sessions" / "s1"
        self.user_file = root / "user" / "diary.txt"
        self.user_file.parent.mkdir()
        self.user_file.write_text(CANARY)
        for name in ("token", "holdfast.toml", "ledger.db", "logs/gateway.log"):
            path = self.home / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(CANARY)
        self.containment = containment
        made = TerminalSettings(**{"memory": 300, "processes": 60, **settings})
        self.settings = ToolSettings(terminal=made, protected=protected)
        self.launcher = Launcher(
            self.settings, python_on_path(), self.home, (containment,), secret_files=secret_files
        )

    def view(self, **more: Any) -> ProgramView:
        return self.launcher.view(self.workspace, self.private, **more)

    def run(self, kind: str, command: Sequence[str], **more: Any) -> str:
        """Run it to its end as one of the three is run; its output, and what the helpers had to say."""
        lingers = kind == "background"
        prepared = self.launcher.prepare(
            self.view(**more),
            command,
            files=3 + (kind == "command"),
            joined=kind == "command",
            lingers=lingers,
        )
        assert prepared.containment is self.containment
        starts = {"command": self._command, "background": self._background, "mcp": self._mcp}
        return starts[kind](prepared.argv, prepared.environment, prepared.order)

    def shell(self, kind: str, words: str, **more: Any) -> str:
        return self.run(kind, ("/bin/bash", "-c", words), **more)

    def _command(self, argv: Sequence[str], environment: Mapping[str, str], order: Mapping[str, Any]) -> str:
        with subprocess.Popen(
            helper_command("command"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
        ) as running:
            assert running.stdin and running.stdout and running.stderr
            running.stdin.write(json.dumps({**order, "argv": argv}).encode() + b"\n")
            running.stdin.flush()
            said = running.stdout.read() + running.stderr.read()
        return said.decode(errors="replace")

    def _background(
        self, argv: Sequence[str], environment: Mapping[str, str], order: Mapping[str, Any]
    ) -> str:
        folder = self.home / "processes" / f"p{len(list(self.home.glob('processes/*')))}"
        folder.mkdir(parents=True)
        plan = {**order, "argv": argv, "segment": 1_000_000, "keep": 1}
        (folder / "plan.json").write_text(json.dumps(plan))
        # Its minder is an orphan: nobody but the end of this pipe says when it is gone.
        gone, held = os.pipe()
        os.set_inheritable(held, True)
        subprocess.run(
            helper_command("process_minder", str(folder)), env=dict(environment), check=True, pass_fds=(held,)
        )
        os.close(held)
        os.read(gone, 1)
        os.close(gone)
        output = folder / "output.0"
        words = output.read_text(errors="replace") if output.exists() else ""
        return words + (folder / "ended.json").read_text()

    def _mcp(self, argv: Sequence[str], environment: Mapping[str, str], order: Mapping[str, Any]) -> str:
        log = self.home / "logs" / "mcp.log"
        log.unlink(missing_ok=True)
        told = {**order, "parent": os.getpid(), "log": str(log), "secrets": None}
        subprocess.run(
            helper_command("mcp_program", json.dumps(told), *argv),
            env=dict(environment),
            check=False,
            stdin=subprocess.PIPE,
        )
        return log.read_text()

    def attack(self, kind: str, facts: Mapping[str, Any]) -> list[str]:
        """Let the attacker at everything named; what it reached."""
        shutil.copy(attacker.__file__, self.workspace / "attacker.py")
        (self.workspace / "facts.json").write_text(json.dumps(facts))
        said = self.run(kind, (sys.executable, "-S", "attacker.py", "facts.json"))
        assert "over" in said.splitlines(), said
        return [line for line in said.splitlines() if line.startswith("REACHED")]

    def trusted(self) -> list[str]:
        """Files that the gateway, its helpers or the owner later execute, import or trust."""
        package = Path(holdfast.__file__).parent
        site = Path(os.__file__).parent
        return [
            str(package / "tools" / "containment" / "helper" / "command.py"),
            str(package / "__init__.py"),
            str(site / "json" / "__init__.py"),
            str(Path(pytest.__file__)),
            os.path.realpath(sys.executable),
            str(self.user_file),
            str(self.home / "holdfast.toml"),
            "/etc/passwd",
            "/usr/bin/env",
        ]

    def is_untouched(self) -> bool:
        """Whether every file beside the workspace is as it was, and no other is there."""
        owned = (self.home / "token", self.home / "holdfast.toml", self.user_file)
        planted = [*self.home.glob("planted*"), *self.user_file.parent.glob("planted*")]
        return all(path.read_text() == CANARY for path in owned) and not planted


@contextmanager
def listening(*addresses: str, datagrams: Sequence[str] = ()) -> Iterator[None]:
    """Sockets that answer to whoever reaches them; a name that begins with a NUL is an abstract one."""
    made = [socket.socket(socket.AF_UNIX) for _ in addresses]
    for one, address in zip(made, addresses, strict=True):
        one.bind(address)
        one.listen()
    for address in datagrams:
        made.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        made[-1].bind(address)
    try:
        yield
    finally:
        for one in made:
            one.close()
