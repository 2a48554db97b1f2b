"""The local API: a Unix socket in the home, one JSON object a line in both directions.

The file's permissions are its access control: who may open it is the home's owner. A request that cannot be
carried out is answered with an error object and breaks nothing else.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from holdfast.errors import BadConfig, HoldfastError, NotFound, Refused, StoreFault
from holdfast.records import dataclass

from .actions import Unwilling
from .shown import Json

SOCKET = "gateway.sock"
LONGEST_LINE = 1_000_000
_LONGEST_PATH = 100
"""What the operating system lets a socket's path be, with a little room."""

log = logging.getLogger(__name__)

Simple = Callable[[Json], Coroutine[Any, Any, Json]]
Stream = Callable[[Json], AsyncGenerator[Json, None]]


class BadRequest(Exception):
    """The request itself is wrong; the words say what is expected."""


@dataclass(frozen=True, slots=True)
class Verb:
    """One thing that can be asked: its arguments with their types (`?` for those that may be left out)."""

    arguments: Mapping[str, str]
    run: Simple | None = None
    stream: Stream | None = None

    def check(self, given: Json) -> None:
        """Every argument is known, of its type, and none that is needed is missing."""
        for name, value in given.items():
            if name not in self.arguments:
                known = ", ".join(self.arguments) or "none"
                raise BadRequest(f"unknown argument {name!r}; arguments here: {known}")
            wanted = self.arguments[name].rstrip("?")
            optional = self.arguments[name].endswith("?")
            if not (optional and value is None) and not _IS[wanted](value):
                raise BadRequest(f"{name} = {value!r} is not allowed; allowed: {_WORDS[wanted]}")
        missing = [name for name, kind in self.arguments.items() if kind[-1] != "?" and name not in given]
        if missing:
            raise BadRequest(f"missing: {', '.join(missing)}")


_MOST = 2**63 - 1
"""The largest number that the ledger knows."""
_MOST_FILES = 20


def _is_file(value: object) -> bool:
    """What was stored under a digest, and, if it is given, the name it goes by."""
    return isinstance(value, str) or (
        isinstance(value, dict)
        and isinstance(value.get("digest"), str)
        and isinstance(value.get("name", ""), str)
        and not value.keys() - {"digest", "name"}
    )


_IS: Mapping[str, Callable[[object], bool]] = {
    "text": lambda value: isinstance(value, str) and bool(value),
    "number": lambda value: isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST,
    "flag": lambda value: isinstance(value, bool),
    "files": lambda value: (
        isinstance(value, list) and len(value) <= _MOST_FILES and all(map(_is_file, value))
    ),
}
_WORDS = {
    "text": "text, not empty",
    "number": f"a whole number from 0 to {_MOST}",
    "flag": "true or false",
    "files": f'a list of at most {_MOST_FILES} files, each {{"digest": ..., "name": ...}}',
}


class LocalApi:
    """Serves verbs on the home's socket; to be opened only by who holds the home's lock."""

    def __init__(self, home: Path, verbs: Mapping[str, Verb]) -> None:
        self._path = home / SOCKET
        self._verbs = verbs
        self._server: asyncio.Server | None = None
        self._talks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Listen; a socket that an earlier process left at the path gives way."""
        if len(os.fsencode(self._path)) > _LONGEST_PATH:
            raise BadConfig("home", str(self._path.parent), f"a path with at most {_LONGEST_PATH} bytes")
        # The file must not be open to others for even a moment.
        former = os.umask(0o177)
        try:
            self._server = await asyncio.start_unix_server(self._connected, self._path, limit=LONGEST_LINE)
        finally:
            os.umask(former)

    async def close(self) -> None:
        """Listen no more and end every conversation."""
        if self._server is None:
            return
        self._server.close()
        # One that stays, because the disk does not let go of it, gives way to the next.
        with suppress(OSError):
            self._path.unlink(missing_ok=True)
        talks = list(self._talks)
        for talk in talks:
            talk.cancel()
        await asyncio.gather(*talks, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talk = asyncio.ensure_future(self._talk(reader, writer))
        self._talks.add(talk)
        talk.add_done_callback(self._talks.discard)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await _line(reader):
                await self._answer(line, reader, writer)
        except BadRequest as fault:
            await _write(writer, {"error": _error("bad_request", str(fault))})
        except ConnectionError:
            return
        finally:
            writer.close()

    async def _answer(self, line: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = _parse(line)
        except BadRequest as fault:
            await _write(writer, {"id": None, "error": _words_of(fault)})
            return
        stream = _stream_of(self._verbs, request)
        if stream is None:
            await _write(writer, await answer_to(self._verbs, request))
        else:
            await _stream(stream, request, reader, writer)


async def answer_to(verbs: Mapping[str, Verb], request: Json) -> Json:
    """Carry a request out; whatever is wrong with it or goes wrong is part of the answer."""
    id_ = request.get("id")
    try:
        verb, given = _checked(verbs, request)
        if verb.run is None:
            raise BadRequest("this can only be followed")
        return {"id": id_, "ok": await verb.run(given)}
    except Exception as fault:  # noqa: BLE001 - the boundary to whoever asks: the fault is the answer
        return {"id": id_, "error": _words_of(fault)}


def _checked(verbs: Mapping[str, Verb], request: Json) -> tuple[Verb, Json]:
    name = request.get("do")
    if not isinstance(name, str) or name not in verbs:
        raise BadRequest(f"do = {name!r} is not allowed; allowed: {', '.join(sorted(verbs))}")
    given = {key: value for key, value in request.items() if key not in ("do", "id")}
    verbs[name].check(given)
    return verbs[name], given


def _stream_of(verbs: Mapping[str, Verb], request: Json) -> AsyncGenerator[Json, None] | None:
    """The stream that is asked for, if it is one and asked for well."""
    try:
        verb, given = _checked(verbs, request)
    except BadRequest:
        return None
    return verb.stream(given) if verb.stream is not None else None


async def _line(reader: asyncio.StreamReader) -> bytes:
    """The next line; empty at the end. One that is too long ends the conversation: its rest is unreadable."""
    try:
        line = await reader.readline()
    except ValueError:
        raise BadRequest(f"a request has at most {LONGEST_LINE} bytes") from None
    # Half a line is somebody who went away in the middle of it.
    return line if line.endswith(b"\n") else b""


def _parse(line: bytes) -> Json:
    try:
        request = json.loads(line)
    except (ValueError, RecursionError):
        raise BadRequest("a request is one JSON object on one line") from None
    if not isinstance(request, dict):
        raise BadRequest("a request is one JSON object on one line")
    return request


async def _stream(
    found: AsyncGenerator[Json, None],
    request: Json,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    """Write what comes until the other side says anything more or goes."""
    heard = asyncio.ensure_future(reader.read(1))
    try:
        while True:
            following = asyncio.ensure_future(anext(found))
            await asyncio.wait([following, heard], return_when=asyncio.FIRST_COMPLETED)
            if not following.done():
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)
                raise ConnectionAbortedError
            await _write(writer, {"id": request.get("id"), "event": following.result()})
    except ConnectionError:
        raise
    except Exception as fault:  # noqa: BLE001 - the boundary to whoever listens: the fault is the last word
        await _write(writer, {"id": request.get("id"), "error": _words_of(fault)})
    finally:
        heard.cancel()
        await found.aclose()


async def _write(writer: asyncio.StreamWriter, answer: Json) -> None:
    writer.write(json.dumps(answer, ensure_ascii=True, separators=(",", ":")).encode() + b"\n")
    await writer.drain()


_CODES: tuple[tuple[type[Exception], str], ...] = (
    (BadRequest, "bad_request"),
    (NotFound, "not_found"),
    (Unwilling, "refused"),
    (Refused, "refused"),
    (StoreFault, "try_again"),
    (HoldfastError, "failed"),
)


def _words_of(fault: Exception) -> Json:
    for kind, code in _CODES:
        if isinstance(fault, kind):
            return _error(code, str(fault))
    log.error("a local request broke: %r", fault, exc_info=fault)
    return _error("broken", "the gateway could not carry this out; its log says why")


def _error(code: str, words: str) -> Json:
    return {"code": code, "words": words}
