"""Talking to the running gateway of a home."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from holdfast.errors import HoldfastError

from .local import LONGEST_LINE, SOCKET
from .shown import Json


class NotRunning(HoldfastError):
    """No gateway listens on this home."""

    def __init__(self, home: Path) -> None:
        super().__init__(f"no gateway runs on {home}")
        self.home = home


class Declined(HoldfastError):
    """The gateway answered with an error; `code` says of which sort."""

    def __init__(self, code: str, words: str) -> None:
        super().__init__(words)
        self.code = code


async def ask(home: Path, do: str, **arguments: Any) -> Json:
    """Ask one thing and give the answer; raises `NotRunning` or `Declined`."""
    async with _connected(home) as (reader, writer):
        await _send(writer, {"do": do, **arguments})
        return _answer(home, await reader.readline())


async def listen(home: Path, do: str, **arguments: Any) -> AsyncGenerator[Json, None]:
    """Ask for a stream and give its events, until the gateway goes."""
    async with _connected(home) as (reader, writer):
        await _send(writer, {"do": do, **arguments})
        while line := await reader.readline():
            yield _answer(home, line)


@asynccontextmanager
async def _connected(home: Path) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    try:
        reader, writer = await asyncio.open_unix_connection(home / SOCKET, limit=100 * LONGEST_LINE)
    except (FileNotFoundError, ConnectionError):
        raise NotRunning(home) from None
    try:
        yield reader, writer
    except ConnectionError:
        # It went in the middle of a word.
        raise NotRunning(home) from None
    finally:
        writer.close()


async def _send(writer: asyncio.StreamWriter, request: Json) -> None:
    writer.write(json.dumps(request).encode() + b"\n")
    await writer.drain()


def _answer(home: Path, line: bytes) -> Json:
    if not line.endswith(b"\n"):
        raise NotRunning(home)
    answer: Json = json.loads(line)
    if "error" in answer:
        raise Declined(answer["error"]["code"], answer["error"]["words"])
    found: Json = answer["event"] if "event" in answer else answer["ok"]
    return found
