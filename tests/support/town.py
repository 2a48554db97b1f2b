"""People on Telegram and a real gateway that serves their bot, seen from outside: from the people's side."""

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from holdfast.testing.fakes.botapi import BotApi, BotPeople, Person, serving

from .nursery import Nursery
from .outside import LONG, House

T = TypeVar("T")

TOKEN = "1000:canary-that-nobody-may-ever-read"
_LOOK_AGAIN = 0.1

SETTINGS = """\
owners = ["telegram:1001"]
chats = ["telegram/1000/-1000000003001"]
telegram.token_file = "token"
telegram.base_url = "{address}"
{more}
"""


def free_port() -> int:
    """One that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


class Town:
    """The fake Bot API in a thread of its own; everything about it happens there."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._address: Future[str] = Future()
        self._end = asyncio.Event()
        self.api = BotApi(token=TOKEN)
        self.people = BotPeople(self.api)
        self._thread = threading.Thread(
            target=self._loop.run_until_complete, args=(self._serve(),), daemon=True
        )
        self._thread.start()
        self.address = self._address.result(LONG)

    async def _serve(self) -> None:
        async with serving(self.api) as address:
            self._address.set_result(address)
            await self._end.wait()

    def do(self, act: Callable[[], T]) -> T:
        """Let something happen there."""

        async def now() -> T:
            return act()

        return asyncio.run_coroutine_threadsafe(now(), self._loop).result(LONG)

    def until(self, true: Callable[[], bool]) -> None:
        """Return once this is so there."""
        asyncio.run_coroutine_threadsafe(asyncio.wait_for(self.api.until(true), LONG), self._loop).result()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(LONG)
        self._loop.close()

    # What people do and see.

    def add(self, name: str) -> Person:
        return self.do(lambda: self.people.add(name))

    def write(self, person: Person, text: str, chat: int | None = None, thread: int | None = None) -> int:
        return self.do(lambda: person.write(text, chat, thread))

    def hears(self, person: Person, chat: int | None = None, thread: int | None = None) -> list[str]:
        return self.do(lambda: person.hears(chat, thread))

    def until_heard(
        self, person: Person, words: str, chat: int | None = None, thread: int | None = None
    ) -> None:
        self.until(lambda: any(words in text for text in person.hears(chat, thread)))


class Gateway:
    """A forked gateway, which tells us how it is, as it would tell systemd."""

    def __init__(self, nursery: Nursery, home: Path) -> None:
        self._nursery = nursery
        self._words = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._words.settimeout(LONG)
        notify = home / f"notify-{os.urandom(4).hex()}"
        self._words.bind(str(notify))
        self._log = home / "log"
        self.pid = nursery.start(home, self._log, NOTIFY_SOCKET=str(notify))
        self._ended = False

    def ready(self) -> "Gateway":
        assert self._words.recv(4096) == b"READY=1"
        return self

    def kill(self) -> None:
        """SIGKILL, and wait until nothing of it is left."""
        if not self._ended:
            os.kill(self.pid, signal.SIGKILL)
            self._end()

    def stop(self) -> None:
        os.kill(self.pid, signal.SIGTERM)
        code = self._end()
        assert code == 0, self._log.read_text()[-4_000:]

    def _end(self) -> int:
        self._ended = True
        self._words.close()
        return self._nursery.wait(self.pid)


class Office(House):
    """A home whose gateway serves the bot of a town."""

    def __init__(self, home: Path, town: Town, nursery: Nursery, more: str = "") -> None:
        super().__init__(home, SETTINGS.format(address=town.address, more=more))
        (home / "token").write_text(TOKEN)
        self._nursery = nursery
        self._gateways: list[Gateway] = []

    def begin(self) -> Gateway:
        """Start a gateway."""
        self._gateways.append(Gateway(self._nursery, self.home))
        return self._gateways[-1]

    def close(self) -> None:
        for gateway in self._gateways:
            gateway.kill()
        super().close()

    def until_settled(self) -> None:
        """Until nothing runs, waits or is owed any more."""
        self._until_none("open_turns", "waiting", "owed", "unknown")

    def until_sent(self) -> None:
        """Until nothing is owed any more."""
        self._until_none("owed", "unknown")

    def _until_none(self, *names: str) -> None:
        while any(self.ask("status")[name] for name in names):
            threading.Event().wait(_LOOK_AGAIN)

    def platform(self, name: str) -> dict[str, Any]:
        """How the gateway says that a platform stands."""
        (found,) = [one for one in self.ask("status")["platforms"] if one["name"] == name]
        return dict(found)

    def leaks(self) -> list[str]:
        """Files of the home that hold the bot's secret, besides its own: ledger, logs, pages, all of them."""
        secret = TOKEN.partition(":")[2].encode()
        files = [path for path in self.home.rglob("*") if path.is_file() and path.name != "token"]
        return [path.name for path in files if secret in path.read_bytes()]
