"""The server: a port for people and a socket in the home, served in the gateway's loop."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import resource
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from holdfast.api.arguments import Operation, Unwilling
from holdfast.api.frontend import RunningGateway
from holdfast.api.to_json import Json
from holdfast.clock import Clock
from holdfast.config.home import SOCKET
from holdfast.config.settings import WebSettings
from holdfast.errors import BadConfig, NotFound
from holdfast.policy.connections import ConnectionLimits, limits_for
from holdfast.telemetry.repeats import Repeats

from .application import api, at_home, for_people
from .auth import CODE_LASTS, SignIn
from .connections import Connections
from .events import Streams
from .security import HostNames, Proofs

NOTE = "web.json"
PORT = "web.port"
"""Which port was free last time: pages that are open look for the next process there."""
_WAITING = 128
_TRIES = 20
_TRY_AGAIN = 0.1
_LONGEST_PATH = 100
"""What the operating system lets a socket's path be, with a little room."""
_REPEATING = ("asyncio", "uvicorn.error", Connections.__module__)
"""Loggers that write a line for what any client can do as often as it likes."""
_LAST_ANSWERS = 2
"""Whole seconds that answers under way get when the server closes."""

log = logging.getLogger(__name__)


class _Server(uvicorn.Server):
    """Leaves signals to the process it runs in."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Serving:
    """One application on one socket that listens already."""

    def __init__(self, app: ASGIApp, listening: socket.socket, limits: ConnectionLimits) -> None:
        self._server = _Server(
            uvicorn.Config(
                app,
                http=Connections(limits).protocol(),
                backlog=_WAITING,
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="warning",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=_LAST_ANSWERS,
            )
        )
        self._serving = asyncio.ensure_future(self._server.serve([listening]))

    async def close(self) -> None:
        self._server.should_exit = True
        await asyncio.gather(self._serving, return_exceptions=True)


class Website:
    """The page while it is open, and the same API on the home's socket."""

    def __init__(
        self, inside: RunningGateway, port: socket.socket, door: socket.socket, sign_in: SignIn
    ) -> None:
        settings = inside.settings
        host, number = settings.web.host, int(port.getsockname()[1])
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{number}/"
        self._files = (settings.home / NOTE, settings.home / SOCKET)
        self._sign_in = sign_in
        self._clock = inside.clock
        self._streams = Streams(inside.clock)
        verbs = self._with_page(inside.verbs)
        ways = api(replace(inside, verbs=verbs), self._streams)
        names = HostNames.of(host, number, settings.web.hosts)
        page = for_people(ways, sign_in, names, Proofs(f"holdfast-{number}"))
        limits = limits_for(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        # Each has its own: a flood of one leaves the other as it is.
        self._serving = (
            Serving(page, port, limits),
            Serving(at_home(ways, verbs, sign_in), door, replace(limits, total=limits.total // 4)),
        )
        _write(settings.home / NOTE, json.dumps({"url": self.url}))

    def _with_page(self, verbs: Mapping[str, Operation]) -> Mapping[str, Operation]:
        """The same, and where the page is."""

        async def status(given: Json) -> Json:
            return {**await verbs["status"].run(given), "url": self.url}

        async def link(_: Json) -> Json:
            return self._link()

        async def sign_ins(_: Json) -> Json:
            found = [{"id": one.id, "at": one.at, "browser": one.browser} for one in self._sign_in.everyone()]
            return {"sign_ins": found}

        async def sign_out(given: Json) -> Json:
            ended = await self._sign_in.revoke(given.get("sign_in"))
            if "sign_in" in given and not ended:
                raise NotFound("sign-in", given["sign_in"])
            return {"ended": ended}

        return {
            **verbs,
            "status": Operation({}, status),
            "link": Operation({}, link),
            "sign_ins": Operation({}, sign_ins),
            "sign_out": Operation({"sign_in": "text?"}, sign_out),
        }

    def _link(self) -> Json:
        """A fresh link; it stands in no file and no log."""
        code = self._sign_in.new_code()
        if code is None:
            raise Unwilling("the home's token cannot be used; removed, the next start makes it anew")
        return {"link": f"{self.url}login#key={code}", "expires_at": self._clock.now() + CODE_LASTS}

    async def close(self) -> None:
        for file in self._files:
            # One that stays, because the disk does not let go of it, gives way to the next.
            with suppress(OSError):
                file.unlink(missing_ok=True)
        self._streams.close()
        await asyncio.gather(*(one.close() for one in self._serving))


async def open_website(inside: RunningGateway) -> Website:
    """Listen where the settings say, and in the home; raises `BadConfig` when that cannot be."""
    settings, clock = inside.settings, inside.clock
    sign_in = SignIn(settings.home, clock)
    sign_in.prepare()
    port = _still_held(inside.listening.held, settings.web)
    if port is None:
        port = _as_before(settings.home, settings.web.host) if settings.web.port == 0 else None
        port = port or await _bound(settings.web.host, settings.web.port, clock)
        inside.listening.hold(port)
    try:
        door = listen_in(settings.home)
    except BaseException:
        port.close()
        raise
    if settings.web.port == 0:
        _write(settings.home / PORT, str(port.getsockname()[1]))
    for name in _REPEATING:
        logging.getLogger(name).addFilter(Repeats())
    website = Website(inside, port, door, sign_in)
    log.info("open %s in a browser; `holdfast link` prints a link that signs you in", website.url)
    return website


def _still_held(held: socket.socket | None, wanted: WebSettings) -> socket.socket | None:
    """The socket that the process before listened on, if the page is still to be there; else it is closed."""
    if held is None:
        return None
    host, port = held.getsockname()[:2]
    if host == wanted.host and wanted.port in (0, port):
        held.setblocking(False)
        return held
    held.close()
    return None


def _as_before(home: Path, host: str) -> socket.socket | None:
    """A socket at the port that was free last time, if that is known and it still is."""
    with suppress(OSError, ValueError, OverflowError):
        return listen(host, int((home / PORT).read_text(encoding="ascii")))
    return None


def listen_in(home: Path) -> socket.socket:
    """The home's socket, for its owner alone; one that an earlier process left there gives way."""
    path = home / SOCKET
    if len(os.fsencode(path)) > _LONGEST_PATH:
        raise BadConfig("home", str(home), f"a path with at most {_LONGEST_PATH} bytes")
    path.unlink(missing_ok=True)
    # The file must not be open to others for even a moment.
    former = os.umask(0o177)
    try:
        return _listening(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), str(path))
    finally:
        os.umask(former)


async def _bound(host: str, port: int, clock: Clock) -> socket.socket:
    """A socket that listens there; one that a dying process still holds is waited for."""
    tries = _TRIES
    while True:
        try:
            return listen(host, port)
        except OSError as error:
            tries -= 1
            if error.errno != errno.EADDRINUSE or not tries:
                raise _refusal(host, port, error) from None
        await clock.sleep(_TRY_AGAIN)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there; raises `OSError`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # By its protocol asyncio knows it as TCP, and lets no answer wait until the one before has arrived.
    return _listening(socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP), (host, port))


def _listening(listening: socket.socket, address: str | tuple[str, int]) -> socket.socket:
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_WAITING)
        listening.setblocking(False)
    except BaseException:
        listening.close()
        raise
    return listening


def _refusal(host: str, port: int, error: OSError) -> BadConfig:
    if error.errno == errno.EADDRINUSE:
        return BadConfig(
            "web.port", port, "one nobody else uses; `up --port N` takes another, 0 any free one"
        )
    if error.errno == errno.EACCES:
        return BadConfig("web.port", port, "a port this user may use, mostly those from 1024 on")
    return BadConfig("web.host", host, f"an address of this machine ({error.strerror or error})")


def _write(path: Path, text: str) -> None:
    """All of it or nothing: others read it while we start."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(text + "\n", encoding="utf-8")
    os.replace(new, path)
