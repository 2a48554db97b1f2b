"""A connection to an MCP server by the official SDK, which is imported only when a server is there."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar, cast

import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client import IncomingMessage, Transport
from mcp.client.stdio import get_default_environment, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.message import SessionMessage
from mcp_types import (
    CONNECTION_CLOSED,
    PARSE_ERROR,
    REQUEST_TIMEOUT,
    Implementation,
    ToolListChangedNotification,
)
from pydantic import ValidationError

from holdfast import __version__
from holdfast.tools.base import ToolFailed
from holdfast.tools.containment import Prepared, helper_command, secret_pipe
from holdfast.tools.containment.helper.mcp_messages import LONGEST_MESSAGE, TOO_LONG

from .base import Connect, ConnectionLost, Garbled, Listed, ProgramPlace, ServerNotReached, Signs
from .bounds import LARGEST_LISTING, MOST_TOOLS, bounded, weight
from .http import MOST_EVENT, NOT_REACHED, http_client
from .results import shortened, told
from .settings import McpSettings, Means

T = TypeVar("T")
Why = Callable[[], str]

_MOST_PAGES = 100
_MOST_GARBAGE = 20
"""Messages of one connection that cannot be read or have too much in them, before it is given up."""
_LAST = 400
"""Bytes at the end of a log in which its last line is looked for."""
_STDERR = 2
_TOO_LONG = (
    f"the server's answer was too long (more than {LONGEST_MESSAGE // 1024} kB, or very many values) and was "
    "left out. What it was asked for has happened all the same. Ask for less of it."
)
_KEY = "holdfast/idempotency-key"
_ME = Implementation(name="holdfast", version=__version__)
_TALKATIVE = ("mcp", "client", "httpx2", "httpcore2")
"""Loggers of the SDK and below; they repeat messages, addresses and faults that we tell in our own words."""


def connecting(settings: McpSettings, means: Means, place: ProgramPlace) -> Connect:
    """How this server is connected to; `place` is where its program runs."""
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.CRITICAL)

    @asynccontextmanager
    async def connect() -> AsyncIterator[SdkConnection]:
        signs = Signs()

        async def hear(message: IncomingMessage) -> None:
            if isinstance(message, ToolListChangedNotification):
                signs.changed.ring()

        transport: AbstractAsyncContextManager[Any]
        ended: Why
        if settings.url:
            transport, ended = _over_http(settings, means, signs), _closed
        else:
            transport, ended = _started(settings, means, place), partial(_last_words, place.log)
        watched = cast(Transport, _Watched(transport, signs, ended))
        async with AsyncExitStack() as stack:
            try:
                client = await stack.enter_async_context(
                    Client(watched, message_handler=hear, client_info=_ME, cache=None)
                )
            except Exception as fault:
                error = _first(fault)
                if not isinstance(error, MCPError):
                    raise
                lost = error.code == CONNECTION_CLOSED and signs.why
                raise ConnectionLost(lost or shortened(means.without(error.message))) from None
            listening = asyncio.ensure_future(_listen(client, signs))
            try:
                yield SdkConnection(client, signs, means)
            finally:
                listening.cancel()
                await asyncio.gather(listening, return_exceptions=True)

    return connect


class SdkConnection:
    """One connection, as long as it is there."""

    def __init__(self, client: Client, signs: Signs, means: Means) -> None:
        self.signs = signs
        self._client = client
        self._means = means

    async def tools(self) -> tuple[Listed, ...]:
        found: list[Listed] = []
        cursor: str | None = None
        size = self.signs.left_out = 0
        for _ in range(_MOST_PAGES):
            page = await self._asked(self._client.list_tools(cursor=cursor))
            found += (_listed(tool) for tool in page.tools)
            size += sum(map(_weight, found[len(found) - len(page.tools) :]))
            cursor = page.next_cursor
            if cursor is None or len(found) >= MOST_TOOLS or size > LARGEST_LISTING:
                break
        self.signs.left_out += len(found[MOST_TOOLS:]) + (cursor is not None)
        return tuple(found[:MOST_TOOLS])

    async def call(self, tool: str, arguments: Mapping[str, Any], key: str, beat: Callable[[], None]) -> str:
        async def moved(progress: float, total: float | None, message: str | None) -> None:
            beat()

        result = await self._asked(
            self._client.call_tool(tool, dict(arguments), progress_callback=moved, meta=_meta(key))
        )
        try:
            return told(result, self._means.known)
        except ToolFailed as failure:
            raise ToolFailed(self._means.without(str(failure))) from None

    async def _asked(self, asking: Coroutine[Any, Any, T]) -> T:
        """Ask the server, and sort out how that may fail."""
        try:
            return await asking
        except MCPError as error:
            words = shortened(self._means.without(error.message))
            if error.code == TOO_LONG:
                raise ToolFailed(_TOO_LONG) from None
            if error.code == NOT_REACHED:
                raise ServerNotReached(words) from None
            if error.code in (CONNECTION_CLOSED, REQUEST_TIMEOUT):
                raise ConnectionLost(self.signs.why or words) from None
            if error.code == PARSE_ERROR:
                raise Garbled("its answer cannot be read") from None
            raise ToolFailed(shortened(f"the server refused: {words}")) from None
        except (ValidationError, RuntimeError) as fault:
            # What it says, or lacks, does not fit what it promised; the fault repeats the answer at length.
            raise Garbled(f"its answer cannot be read ({type(fault).__name__})") from None


def _meta(key: str) -> types.RequestParamsMeta:
    """The same on every run of a call: a server that knows it may tell a repetition."""
    return cast(types.RequestParamsMeta, {_KEY: key})


def _listed(tool: types.Tool) -> Listed:
    # What a server claims of its own tools (`readOnlyHint` and the like) is not read: consent, and what is
    # repeated after a crash, follow from the owner's configuration alone.
    return Listed(tool.name, tool.description or tool.title or "", tool.input_schema)


def _weight(tool: Listed) -> int:
    return weight((tool.name, tool.description, tool.parameters))


async def _listen(client: Client, signs: Signs) -> None:
    """Hear of other tools from a server that says so only to who listens; older ones say it anyway."""
    tools = client.server_capabilities.tools
    if client.session.discover_result is None or tools is None or not tools.list_changed:
        return
    try:
        async with client.listen(tools_list_changed=True) as events:
            async for _ in events:
                signs.changed.ring()
    except (MCPError, SubscriptionLost, TimeoutError):
        # Whatever ended that says nothing of calls; over HTTP the tools are looked at now and then as well.
        signs.changed.ring()


@asynccontextmanager
async def _started(settings: McpSettings, means: Means, place: ProgramPlace) -> AsyncIterator[Any]:
    """The program, contained, behind its helper, in an environment without the gateway's secrets."""
    try:
        prepared = await asyncio.to_thread(_prepared, settings, means, place)
    except ToolFailed as error:
        raise ServerNotReached(str(error)) from None
    order = {
        **prepared.order,
        "parent": os.getpid(),
        "log": str(place.log),
        "secrets": _STDERR,
    }
    command, *args = helper_command("mcp_program", json.dumps(order), *prepared.argv)
    parameters = StdioServerParameters(command=command, args=args, env=dict(prepared.environment))
    # The helper has the program's stderr, and says nothing itself: by its own it is told what to mask.
    told = secret_pipe(place.secrets().and_more(means.env.values()))
    with open(told, encoding="utf-8") as secrets:  # noqa: ASYNC230 - no disk behind it
        async with stdio_client(parameters, errlog=secrets) as streams:
            yield streams


def _prepared(settings: McpSettings, means: Means, place: ProgramPlace) -> Prepared:
    """The program as it is to be started. Its PATH is the gateway's, its HOME a private one."""
    assert settings.command is not None
    environment = {**get_default_environment(), **means.env}
    command = shutil.which(settings.command, path=environment.get("PATH"))
    if command is None:
        raise ServerNotReached(f"there is no program {settings.command!r} that can be run")
    cwd = place.workspace / settings.cwd if settings.cwd else place.workspace
    # A folder elsewhere that was named for it to run in is one it may work in.
    write = settings.write if cwd.is_relative_to(place.workspace) else (*settings.write, cwd)
    view = place.launcher.view(place.workspace, place.private, settings.read, write, settings.network)
    return place.launcher.prepare(view, (command, *settings.args), cwd, environment)


@asynccontextmanager
async def _over_http(settings: McpSettings, means: Means, signs: Signs) -> AsyncIterator[Any]:
    assert settings.url is not None
    async with (
        http_client(means.headers, signs) as client,
        streamable_http_client(settings.url, http_client=client, max_sse_event_size=MOST_EVENT) as streams,
    ):
        yield streams


def _first(fault: BaseException) -> BaseException:
    """What a group of faults began with."""
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    return fault


def _closed() -> str:
    return "it closed the connection"


def _last_words(log: Path) -> str:
    """How a program ended, by what its guard wrote last."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LAST))
            last = file.read().decode(errors="replace").rstrip().rpartition("\n")[2]
    except OSError:
        last = "ended"
    return f"its program {last}; more may stand in {log.name}"


class _Watched:
    """A transport that shows when nothing more comes through it."""

    def __init__(self, inner: AbstractAsyncContextManager[Any], signs: Signs, ended: Why) -> None:
        self._inner = inner
        self._signs = signs
        self._ended = ended

    async def __aenter__(self) -> tuple[Any, Any]:
        read, write = await self._inner.__aenter__()
        return _Reading(read, self._signs, self._ended), write

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self._signs.end("")
        return await self._inner.__aexit__(kind, fault, trace)


class _Reading:
    """A stream of messages, whose end is seen."""

    def __init__(self, inner: Any, signs: Signs, ended: Why) -> None:
        self._inner = inner
        self._signs = signs
        self._ended = ended
        self._garbage = 0

    async def receive(self) -> Any:
        return self._looked_at(await self._inner.receive())

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> _Reading:
        return self

    async def __anext__(self) -> Any:
        try:
            found = await self._inner.__anext__()
        except StopAsyncIteration:
            self._signs.end(self._ended())
            raise
        given = self._looked_at(found)
        if self._garbage > _MOST_GARBAGE:
            self._signs.end("it answers what is no message of the protocol")
            raise StopAsyncIteration
        return given

    def _looked_at(self, found: Any) -> Any:
        """What the SDK is given of it. Each message that is not taken costs time, so they are counted."""
        if not isinstance(found, SessionMessage):
            self._garbage += isinstance(found, Exception)
            return found
        given = bounded(found)
        self._garbage += given.message is not found
        self._signs.left_out += given.left_out
        return given.message

    async def __aenter__(self) -> _Reading:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *how: Any) -> Any:
        return await self._inner.__aexit__(*how)
