"""A gateway with a page, and browsers that are signed in to it."""

import asyncio
import os
import re
import shutil
import signal
import socket
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from holdfast.clock import SystemClock, SystemIds
from holdfast.model import Batch, ChatAddress, Inbound, Key, Owed, PersonId, Place
from holdfast.store import open_ledger
from tests.browser import scripted
from tests.support.commands import gateway_pid, holdfast, up
from tests.support.parts import missing
from tests.unit.project.tree import ROOT

SCREENSHOTS = ROOT / "build" / "screenshots"
PATIENCE = 30_000
"""Milliseconds after which what does not come fails its test; never waited for otherwise."""
SETTINGS = """\
agent.use = "scripted:agent"
reconcile = "1s"
web.demo = true
progress.recorded = "200ms"
safe_mode.exits = 100  # it is killed more often here than anywhere
"""
LONG_CHAT = "long"
TOLD = 230
"""How much that chat was told, its answer included."""
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class House:
    """One home with a gateway on it, seen from outside."""

    def __init__(self, home: Path, port: int) -> None:
        self.home = home
        self.port = port
        self.url = f"http://127.0.0.1:{port}"

    def hold(self, place: str) -> None:
        """From now on the agent waits there."""
        (self.home / f"hold-{place}").touch()

    def go(self) -> None:
        """The agent waits nowhere any more."""
        for file in self.home.glob("hold-*"):
            file.unlink()

    def kill(self) -> None:
        """SIGKILL to the gateway; whoever keeps it up starts it again."""
        os.kill(gateway_pid(self.home), signal.SIGKILL)

    def link(self) -> str:
        """A link that signs its bearer in."""
        found = re.search(r"http://\S+", holdfast("link", "--home", self.home).stdout)
        assert found is not None
        return found[0]

    @property
    def token(self) -> str:
        return (self.home / "token").read_text().strip()


@contextmanager
def house(home: Path, settings: str = SETTINGS) -> Iterator[House]:
    """A gateway that answers by script, at a port that stays the same when it is started again."""
    shutil.copy(scripted.__file__, home / "scripted.py")
    (home / "holdfast.toml").write_text(settings)
    found = House(home, free_port())
    with up(home, "--port", found.port):
        yield found
        found.go()


async def long_told(home: Path) -> None:
    """A chat that was told more than the page shows at once."""
    clock = SystemClock()
    store = await open_ledger(home, clock, SystemIds(clock))
    place = Place("web", "main", LONG_CHAT)
    said = Inbound("first", Key(place.address), place, PersonId("web:local"), "hello")
    await store.accept(Batch("web/main", (said,)))
    # Told as one message of many parts, and before the answer to what was said.
    await store.owe(Owed(ChatAddress(place.address), "told", tuple(f"told {one}" for one in range(1, TOLD))))
    await store.close()


def apart(work: Coroutine[None, None, None]) -> None:
    """Do something with a loop of its own: in this thread the browser's runs."""
    with ThreadPoolExecutor(1) as other:
        other.submit(lambda: asyncio.run(work)).result()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser of this machine."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        missing("a Chromium to open the page in; scripts/test installs it")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


def signed_in(browser: Browser, house: House, **options: object) -> BrowserContext:
    """A browser of its own, signed in; a fault in the page fails whatever is done in it next."""
    answer = httpx.post(f"{house.url}/login", data={"token": house.token}, timeout=PATIENCE / 1000)
    ((name, value),) = answer.raise_for_status().cookies.items()
    proof = {"name": "holdfast.proof", "value": answer.json()["proof"]}
    state = {
        "cookies": [{"name": name, "value": value, "domain": "127.0.0.1", "path": "/", "httpOnly": True}],
        "origins": [{"origin": house.url, "localStorage": [proof]}],
    }
    options = {"reduced_motion": "reduce", "storage_state": state, **options}
    context = browser.new_context(base_url=house.url, **options)  # type: ignore[arg-type] # checked by Playwright
    context.set_default_timeout(PATIENCE)
    context.on("weberror", lambda fault: _fail(fault.error))
    return context


def _fail(fault: Exception) -> None:
    raise AssertionError(f"the page broke: {fault}")


def opened(context: BrowserContext, chat: str) -> Page:
    """A tab with this chat, ready to be used."""
    page = context.new_page()
    page.goto(f"/#{chat}")
    page.locator("#empty:not([hidden]), #log > li").first.wait_for()
    return page


def say(page: Page, text: str) -> None:
    page.fill("#text", text)
    page.press("#text", "Enter")


def picture(page: Page, name: str) -> None:
    """Keep how the page looks now, for people to look at."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png", animations="disabled")
