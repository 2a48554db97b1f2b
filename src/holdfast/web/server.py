"""The server: a port for people and a socket in the home, both in the gateway's event loop."""

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

from .application import api, home_application, page_application
from .auth import CODE_LASTS, SignIn
from .connections import Connections
from .events import Streams
from .security import HostNames, Proofs

NOTE = "web.json"
PORT = "web.port"
"""The file with the last free port: open pages look for the next process there."""
_BACKLOG = 128
_TRIES = 20
_PAUSE = 0.1
_LONGEST_PATH = 100
"""The longest path of a socket: a little less than the operating system allows."""
_REPEATING = ("asyncio", "uvicorn.error", Connections.__module__)
"""Loggers whose lines any client can cause as often as it likes."""
_LAST_ANSWERS = 2
"""Whole seconds that a closing server gives to unfinished answers."""

log = logging.getLogger(__name__)


class _Server(uvicorn.Server):
    """Leaves signals to the process it runs in."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Serving:
    """One application on one socket that already listens."""

    def __init__(self, app: ASGIApp, listening: socket.socket, limits: ConnectionLimits) -> None:
        self._server = _Server(
            uvicorn.Config(
                app,
                http=Connections(limits).protocol(),
                backlog=_BACKLOG,
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
        self, inside: RunningGateway, port: socket.socket, home_socket: socket.socket, sign_in: SignIn
    ) -> None:
        settings = inside.settings
        host, number = settings.web.host, int(port.getsockname()[1])
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{number}/"
        self._files = (settings.home / NOTE, settings.home / SOCKET)
        self._sign_in = sign_in
        self._clock = inside.clock
        self._streams = Streams(inside.clock)
        verbs = self._with_page(inside.verbs)
        routes = api(replace(inside, verbs=verbs), self._streams)
        names = HostNames.of(host, number, settings.web.hosts)
        page = page_application(routes, sign_in, names, Proofs(f"holdfast-{number}"))
        limits = limits_for(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        # Each has its own limits, so a flood of one does not slow the other.
        self._serving = (
            Serving(page, port, limits),
            Serving(
                home_application(routes, verbs, sign_in),
                home_socket,
                replace(limits, total=limits.total // 4),
            ),
        )
        _write(settings.home / NOTE, json.dumps({"url": self.url}))

    def _with_page(self, verbs: Mapping[str, Operation]) -> Mapping[str, Operation]:
        """The verbs, with those that need the page: its address, links and sign-ins."""

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
        """A fresh link; the gateway writes it to no file and no log."""
        code = self._sign_in.new_code()
        if code is None:
            raise Unwilling(
                "the token file in the home cannot be used; remove it, and the next start makes one"
            )
        return {"link": f"{self.url}login#key={code}", "expires_at": self._clock.now() + CODE_LASTS}

    async def close(self) -> None:
        for file in self._files:
            # If a file cannot be removed, the next start replaces it.
            with suppress(OSError):
                file.unlink(missing_ok=True)
        self._streams.close()
        await asyncio.gather(*(one.close() for one in self._serving))


async def open_website(inside: RunningGateway) -> Website:
    """Listen at the configured address and in the home; raises `BadConfig` when that is not possible."""
    settings, clock = inside.settings, inside.clock
    sign_in = SignIn(settings.home, clock)
    sign_in.prepare()
    port = _inherited_port(inside.listening.held, settings.web)
    if port is None:
        port = _last_port(settings.home, settings.web.host) if settings.web.port == 0 else None
        port = port or await _bind(settings.web.host, settings.web.port, clock)
        inside.listening.hold(port)
    try:
        home_socket = listen_in(settings.home)
    except BaseException:
        port.close()
        raise
    if settings.web.port == 0:
        _write(settings.home / PORT, str(port.getsockname()[1]))
    for name in _REPEATING:
        logging.getLogger(name).addFilter(Repeats())
    website = Website(inside, port, home_socket, sign_in)
    log.info("open %s in a browser; `holdfast link` prints a link that signs you in", website.url)
    return website


def _inherited_port(held: socket.socket | None, wanted: WebSettings) -> socket.socket | None:
    """The socket of the process before, if the address is still the same; otherwise it is closed."""
    if held is None:
        return None
    host, port = held.getsockname()[:2]
    if host == wanted.host and wanted.port in (0, port):
        held.setblocking(False)
        return held
    held.close()
    return None


def _last_port(home: Path, host: str) -> socket.socket | None:
    """A socket at the last free port, if that is recorded and still free."""
    with suppress(OSError, ValueError, OverflowError):
        return listen(host, int((home / PORT).read_text(encoding="ascii")))
    return None


def listen_in(home: Path) -> socket.socket:
    """The home's socket, for its owner alone; it replaces one that an earlier process left."""
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


async def _bind(host: str, port: int, clock: Clock) -> socket.socket:
    """A socket that listens there; waits a little for a dying process to free the port."""
    tries = _TRIES
    while True:
        try:
            return listen(host, port)
        except OSError as error:
            tries -= 1
            if error.errno != errno.EADDRINUSE or not tries:
                raise _refusal(host, port, error) from None
        await clock.sleep(_PAUSE)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there; raises `OSError`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio sets TCP_NODELAY: no answer waits for the arrival of the one before.
    return _listening(socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP), (host, port))


def _listening(listening: socket.socket, address: str | tuple[str, int]) -> socket.socket:
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
        listening.setblocking(False)
    except BaseException:
        listening.close()
        raise
    return listening


def _refusal(host: str, port: int, error: OSError) -> BadConfig:
    if error.errno == errno.EADDRINUSE:
        return BadConfig(
            "web.port", port, "a port that no other program uses; `up --port N` takes another, 0 any free one"
        )
    if error.errno == errno.EACCES:
        return BadConfig("web.port", port, "a port that this user may open, usually one from 1024 on")
    return BadConfig("web.host", host, f"an address of this machine ({error.strerror or error})")


def _write(path: Path, text: str) -> None:
    """Write the whole file or nothing: other programs read it while the gateway starts."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(text + "\n", encoding="utf-8")
    os.replace(new, path)
