"""A home with real gateway processes on it, as their tests see them from outside: signals, never sleeps."""

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from holdfast.api.client import NotRunning, ask, listen
from holdfast.process.offline import look

from . import inside
from .commands import environment, gateway_pid
from .machine import end_session, gate

LONG = 60.0
"""Seconds after which a signal that does not come fails its test; never waited for otherwise."""

SETTINGS = """\
agent.use = "inside:agent"
people = ["letters:ann"]
reconcile = "1s"
"""


class Held:
    """A process that waits at a place until it is told to go on, or dies there."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def go(self) -> None:
        self._connection.sendall(b"go\n")


class Up:
    """`holdfast up`, which tells us how it is, as it would tell systemd."""

    def __init__(self, home: Path, supervised: bool, stderr: int | None = None, port: int | None = 0) -> None:
        self.home = home
        self._words = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._words.settimeout(LONG)
        notify = home / f"notify-{os.urandom(4).hex()}"
        self._words.bind(str(notify))
        self._log = home / f"log-{notify.name}"
        arguments = ["up", "--home", str(home), *([] if supervised else ["--no-supervise"])]
        known = environment(NOTIFY_SOCKET=str(notify), HOLDFAST_WEB_PORT=str(port))
        if port is None:
            del known["HOLDFAST_WEB_PORT"]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "holdfast", *arguments],
                env=known,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log if stderr is None else stderr,
            )

    def hear(self) -> str:
        """Its next word."""
        return self._words.recv(4096).decode()

    def ready(self) -> "Up":
        assert self.hear() == "READY=1"
        return self

    def stopping(self) -> None:
        assert self.hear() == "STOPPING=1"

    def is_silent(self) -> bool:
        """Whether it has said nothing more."""
        self._words.setblocking(False)
        try:
            self._words.recv(4096)
        except BlockingIOError:
            return True
        finally:
            self._words.settimeout(LONG)
        return False

    def kill(self) -> None:
        """SIGKILL, if it still runs, and wait until nothing of it is left."""
        self.process.kill()
        self.process.wait(LONG)
        self._words.close()

    def stop(self) -> None:
        """SIGTERM, and an orderly end."""
        self.process.terminate()
        assert self.end() == 0, self.words

    def end(self) -> int:
        """Wait for its end; the exit code."""
        code = self.process.wait(LONG)
        self._words.close()
        return code

    @property
    def words(self) -> str:
        """What it wrote for people."""
        return self._log.read_text()


class House:
    """One home, what runs on it, and what was seen from outside."""

    def __init__(self, home: Path, settings: str = "", port: int = 0) -> None:
        self.home = home
        self._port: int | None = port
        (home / "holdfast.toml").write_text(SETTINGS + settings)
        shutil.copy(inside.__file__, home / "inside.py")
        self.set_clock(0)
        self._ups: list[Up] = []
        self._station = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._station.settimeout(LONG)
        self._station.bind(str(home / inside.STATION))
        # Contained programs see the workspace and nothing else of the home.
        self.workspace = home / "workspace"
        self.workspace.mkdir(exist_ok=True)
        (self.workspace / inside.STATION).unlink(missing_ok=True)
        os.link(home / inside.STATION, self.workspace / inside.STATION)
        self._station.listen(64)
        self._arrived: list[tuple[str, socket.socket]] = []
        self.hold()
        self._held: list[socket.socket] = []
        """Kept open whatever a test forgets: a closed one would let its process go on."""

    def port_from_settings(self) -> None:
        """The page is where holdfast.toml says."""
        self._port = None

    def close(self) -> None:
        """Whatever a test left running ends here."""
        for up in self._ups:
            up.kill()
        for connection in self._held:
            connection.close()
        self._station.close()
        self._kill_orphan()
        self._end_background()

    def _kill_orphan(self) -> None:
        """The child of a supervisor that was killed."""
        with suppress(NotRunning):
            self.ask("status")
            os.kill(gateway_pid(self.home), signal.SIGKILL)

    def up(self, supervised: bool = False) -> Up:
        """Start a gateway, and wait until it is ready."""
        return self.starting(supervised).ready()

    def starting(self, supervised: bool = False, stderr: int | None = None) -> Up:
        self._ups.append(Up(self.home, supervised, stderr, self._port))
        return self._ups[-1]

    # Background processes.

    def gate(self, tag: str) -> Path:
        """What a background process waits at until it is opened."""
        return gate(self.workspace, f"gate-{tag}")

    def minder(self) -> int:
        """Who minds the one background process there is."""
        (only,) = (self.home / "processes").iterdir()
        pid: int = json.loads((only / "started.json").read_text())["pid"]
        return pid

    def processes(self, chat: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.look("processes", chat=chat)["processes"]
        return found

    def _end_background(self) -> None:
        for folder in (self.home / "processes").glob("*/started.json"):
            end_session(json.loads(folder.read_text())["pid"])

    # Places.

    def hold(self, *places: str) -> None:
        """From now on a process that comes to one of these places waits there; at no other."""
        for folder in (self.home, self.workspace):
            new = folder / f"{inside.HELD}.new"
            new.write_text("\n".join(places))
            new.replace(folder / inside.HELD)

    def reached(self, place: str) -> Held:
        """Wait until a process is at this place."""
        while True:
            for number, (name, _) in enumerate(self._arrived):
                if name == place:
                    return Held(self._arrived.pop(number)[1])
            connection, _ = self._station.accept()
            connection.settimeout(LONG)
            self._held.append(connection)
            with connection.makefile("r") as file:
                self._arrived.append((file.readline().strip(), connection))

    def set_clock(self, wrong_by: int) -> None:
        """How many milliseconds the clock of the next process is ahead."""
        (self.home / inside.CLOCK).write_text(str(wrong_by))

    def fill_disk(self, full: bool = True) -> None:
        """From now on there is no room for a commit; or there is again."""
        if full:
            (self.home / inside.FULL).touch()
        else:
            (self.home / inside.FULL).unlink()

    def reboot(self) -> None:
        """The next process runs after another start of the machine."""
        (self.home / inside.REBOOTED).write_text("another run of the machine")

    # People.

    def ask(self, do: str, **arguments: Any) -> Any:
        """Ask the running gateway."""
        return asyncio.run(ask(self.home, do, **arguments))

    def say(self, chat: str, text: str, event_id: str | None = None) -> Any:
        """Say something in a chat of the web; it is kept when this returns."""
        return self.ask("say", chat=chat, text=text, event_id=event_id)

    def heard(self, chat: str, *words: str) -> list[str]:
        """Wait until the chat was told all of these; everything it was told by then, in order."""

        async def follow() -> list[str]:
            texts: list[str] = []
            missing = list(words)
            async for event in listen(self.home, f"/api/chats/{quote(chat)}/events"):
                if event.name == "delivery":
                    texts.append(event.data["text"])
                    for each in {each for each in missing if each in texts[-1]}:
                        missing.remove(each)  # a word that is waited for twice has to be told twice
                    if not missing:
                        return texts
            raise AssertionError(f"the gateway went; {chat} was told {texts}")

        return asyncio.run(asyncio.wait_for(follow(), LONG))

    def write(self, chat: str, text: str) -> None:
        """Write a letter, whether anybody reads them now or not."""
        with (self.home / inside.LETTERS_IN).open("a") as file:
            file.write(json.dumps({"chat": chat, "text": text}) + "\n")

    # What was seen.

    def look(self, do: str, **arguments: Any) -> Any:
        """Look into the ledger, with a gateway or without."""
        return asyncio.run(look(self.home, do, **arguments))

    def told(self, chat: str) -> list[str]:
        """Everything a chat was told so far."""
        return [one["text"] for one in self.look("outbox", chat=chat)["deliveries"]]

    def turns(self, chat: str) -> list[dict[str, Any]]:
        """The turns of a chat in all its sessions, oldest first."""
        found: list[dict[str, Any]] = []
        for line in self.look("sessions", limit=500)["sessions"]:
            session = self.look("session", session=line["id"])
            if session["session"]["chat"].endswith(f"/{chat}"):
                found += session["turns"]
        return sorted(found, key=lambda turn: turn["cause"])

    def is_sound(self) -> bool:
        return bool(self.look("verify")["sound"])

    def seen(self, file: str) -> list[dict[str, Any]]:
        """What was written down inside, by the gateway or by a contained program."""
        paths = [folder / file for folder in (self.home, self.workspace) if (folder / file).exists()]
        return [json.loads(line) for path in paths for line in path.read_text().splitlines()]

    def times(self, file: str, tag: str) -> int:
        """How often something was done for a tag."""
        return sum(line["tag"] == tag for line in self.seen(file))

    def shown(self, tag: str) -> list[list[str]]:
        """What the model was shown when it was last called for this tag: role, text and state."""
        calls = [line["shown"] for line in self.seen(inside.MODEL) if tag in line["tags"].split(",")]
        shown: list[list[str]] = calls[-1]
        return shown

    def model_calls(self, tag: str) -> int:
        return sum(tag in line["tags"].split(",") for line in self.seen(inside.MODEL))


Build = Callable[..., House]
