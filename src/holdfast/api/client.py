"""A client for the running gateway of a home: its HTTP API over the home's socket, with the home's token.

Requests are HTTP/1.0: then an answer has no chunks, and a few lines can read it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.config.home import SOCKET, TOKEN
from holdfast.errors import HoldfastError

from .to_json import Json

_LONGEST_LINE = 100_000_000
"""Most bytes of one event."""
_FAULTS = 400
"""The lowest status of an error."""


class NotRunning(HoldfastError):
    """No gateway listens on this home."""

    def __init__(self, home: Path) -> None:
        super().__init__(f"no gateway runs on {home}")
        self.home = home


class NoToken(HoldfastError):
    """A gateway runs on this home, but this user cannot read its token."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"the gateway answers only with its token, and {path} cannot be read ({why}); "
            "run this as the user that runs the gateway"
        )


class RequestDeclined(HoldfastError):
    """The gateway answered with an error; `code` names its kind."""

    def __init__(self, code: str, words: str) -> None:
        super().__init__(words)
        self.code = code


class Heard(NamedTuple):
    """One server-sent event. A client sends `id` back to continue after it."""

    name: str
    data: Json
    id: str | None


async def ask(home: Path, do: str, **arguments: Any) -> Json:
    """Ask for one operation by its name and return the answer; raises `NotRunning` or `RequestDeclined`."""
    return await request(home, "POST", f"/local/{do}", arguments)


async def request(home: Path, method: str, path: str, body: Json | None = None) -> Json:
    """Send one request to the HTTP API and return the answer; raises `NotRunning` or `RequestDeclined`."""
    async with _connected(home) as (reader, writer):
        await _send(writer, method, path, _key(home), "" if body is None else json.dumps(body))
        return await _answer(reader, *await _head(reader))


async def listen(home: Path, path: str, behind: str | None = None) -> AsyncGenerator[Heard, None]:
    """The events of a stream after the one with this id, until the gateway closes it."""
    async with _connected(home) as (reader, writer):
        headers = {**_key(home), **({"Last-Event-ID": behind} if behind else {})}
        await _send(writer, "GET", path, headers)
        status, headers = await _head(reader)
        if status >= _FAULTS:
            await _answer(reader, status, headers)
        fields: dict[str, str] = {}
        while line := await reader.readline():
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name:
                fields[name] = value
                continue
            if "event" in fields:
                yield Heard(fields["event"], json.loads(fields["data"]), fields.get("id"))
            fields = {}


@asynccontextmanager
async def _connected(home: Path) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    try:
        reader, writer = await asyncio.open_unix_connection(home / SOCKET, limit=_LONGEST_LINE)
    except (FileNotFoundError, ConnectionError):
        raise NotRunning(home) from None
    try:
        yield reader, writer
    except (ConnectionError, asyncio.IncompleteReadError):
        # The gateway ended in the middle of an answer.
        raise NotRunning(home) from None
    finally:
        writer.close()


def _key(home: Path) -> dict[str, str]:
    """The header with the token, read for each request: a person may replace the token at any time."""
    try:
        token = (home / TOKEN).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as fault:
        raise NoToken(home / TOKEN, getattr(fault, "strerror", None) or "it is not text") from None
    return {"Authorization": f"Bearer {token}"}


async def _send(
    writer: asyncio.StreamWriter, method: str, path: str, headers: Mapping[str, str], body: str = ""
) -> None:
    said = body.encode()
    lines = {"Host": "localhost", "Content-Length": len(said), **headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    writer.write(f"{method} {path} HTTP/1.0\r\n{head}\r\n".encode() + said)
    await writer.drain()


async def _head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().rstrip().split("\r\n")
    pairs = (line.partition(": ") for line in lines)
    return int(first.split()[1]), {name.lower(): value for name, _, value in pairs}


async def _answer(reader: asyncio.StreamReader, status: int, headers: dict[str, str]) -> Json:
    if headers.get("content-type") != "application/json":
        # An answer of the HTTP server itself, which was stopped in its work; not of the gateway.
        raise ConnectionAbortedError
    answer: Json = json.loads(await reader.readexactly(int(headers["content-length"])))
    if status >= _FAULTS:
        raise RequestDeclined(answer["error"]["code"], answer["error"]["words"])
    return answer
