"""The HTTP transport for MCP servers: it turns answers that are not messages into messages for the SDK.

If a server is unreachable, or a proxy answers for it, only the one request gets that error: a failed call
ends neither the connection nor the calls beside it.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping

import httpx2
from mcp_types import CONNECTION_CLOSED, INVALID_REQUEST

from holdfast.tools.containment.helper.mcp_messages import LONGEST_MESSAGE, TOO_LONG, TOO_LONG_WORDS

from .base import Signs

MOST_EVENT = 2 * LONGEST_MESSAGE
"""Bytes of one event for the SDK: more than the gateway lets through, so that only its own error is shown."""
NOT_REACHED = -32_097
"""The gateway's code for a request that certainly did not reach the server (range for implementations)."""
_CONNECT = 10.0
_SESSION = "mcp-session-id"
_SERVER_FAULT = 500
_OF_BODY = ("content-length", "transfer-encoding", "connection")


def http_client(headers: Mapping[str, str], signs: Signs) -> httpx2.AsyncClient:
    """A client for one server; the caller decides how long an answer may take."""
    timeout = httpx2.Timeout(_CONNECT, read=None)
    # The length of a compressed answer is not known in advance.
    plain = {**headers, "accept-encoding": "identity"}
    return httpx2.AsyncClient(headers=plain, timeout=timeout, transport=_Watched(signs))


class _Watched(httpx2.AsyncBaseTransport):
    """The usual transport, which turns faults into answers and notices the end of the server."""

    def __init__(self, signs: Signs) -> None:
        self._inner = httpx2.AsyncHTTPTransport()
        self._signs = signs

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            response = await self._inner.handle_async_request(request)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout):
            self._signs.end("it cannot be reached")
            return _answer(503, NOT_REACHED, "it cannot be reached")
        except httpx2.TransportError as fault:
            words = f"the connection failed ({type(fault).__name__})"
            self._signs.end(words)
            return _answer(503, CONNECTION_CLOSED, words)
        return await self._bounded(request, response)

    async def _bounded(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        """The answer, with no message longer than the gateway reads."""
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await response.aclose()
            return _answer(502, CONNECTION_CLOSED, "it compressed its answer without being asked to")
        if response.status_code < 400 and _is_request(request) and not _may_be_message(response):
            await response.aclose()
            return _answer(502, CONNECTION_CLOSED, "its answer is not a message")
        if request.method != "POST":
            response.stream = _Events(response.stream)
            return response
        if response.status_code >= 400:
            return await self._refused(request, response)
        if _is_stream(response):
            response.stream = _Events(response.stream, _in_place_of_event())
            return response
        return await self._whole(response)

    async def _whole(self, response: httpx2.Response) -> httpx2.Response:
        """One complete message, or an error if it is too long."""
        try:
            body = await _read(response)
        except httpx2.TransportError as fault:
            words = f"the connection failed ({type(fault).__name__})"
            self._signs.end(words)
            return _answer(503, CONNECTION_CLOSED, words)
        if body is None:
            return _answer(502, TOO_LONG, TOO_LONG_WORDS)
        headers = [(name, value) for name, value in response.headers.items() if name not in _OF_BODY]
        return httpx2.Response(response.status_code, headers=headers, content=body)

    async def _refused(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        """An error for an HTTP status; an error in the server's own words stays."""
        status = response.status_code
        try:
            body = await _read(response) or b""
        except httpx2.TransportError:
            body = b""
        if _is_message(body):
            return httpx2.Response(status, headers={"content-type": "application/json"}, content=body)
        if status == 404 and _SESSION in request.headers:
            self._signs.end("it does not know this connection any more")
            return _answer(status, NOT_REACHED, "it does not know this connection any more")
        code = CONNECTION_CLOSED if status >= _SERVER_FAULT else INVALID_REQUEST
        return _answer(status, code, f"it answered with HTTP status {status}")

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Events(httpx2.AsyncByteStream):
    """A stream of events of limited length; `instead` or a fault replaces a longer one."""

    def __init__(self, inner: object, instead: bytes | None = None) -> None:
        assert isinstance(inner, httpx2.AsyncByteStream)
        self._inner = inner
        self._instead = instead
        self._event = self._line = 0
        """Bytes of the current event and of its current line."""
        self._first = b""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._inner:
            self._count(part)
            if self._event + self._line <= LONGEST_MESSAGE:
                yield part
            elif self._instead is None:
                raise httpx2.ReadError(TOO_LONG_WORDS)
            else:
                yield self._instead
                return

    def _count(self, part: bytes) -> None:
        """Count the bytes of the current event; an empty line ends it, comments do not count."""
        *lines, rest = part.split(b"\n")
        for line in lines:
            whole, self._line = self._line + len(line), 0
            first, self._first = self._first or line[:1], b""
            self._event = 0 if first in (b"", b"\r") else self._event + whole * (first != b":")
        self._line += len(rest)
        self._first = self._first or rest[:1]

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _read(response: httpx2.Response) -> bytes | None:
    """The whole body; None if it is longer than the gateway reads."""
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    parts: list[bytes] = []
    length = 0
    try:
        async for part in response.stream:
            parts.append(part)
            length += len(part)
            if length > LONGEST_MESSAGE:
                return None
        return b"".join(parts)
    finally:
        await response.aclose()


def _answer(status: int, code: int, words: str) -> httpx2.Response:
    """An error as a server would answer it, for any request."""
    return httpx2.Response(status, json=_error(code, words))


def _error(code: int, words: str) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": words}}


def _in_place_of_event() -> bytes:
    """End the current event as a kind that no client reads, and answer in its place."""
    return f"\nevent: left-out\n\ndata: {json.dumps(_error(TOO_LONG, TOO_LONG_WORDS))}\n\n".encode()


def _is_request(request: httpx2.Request) -> bool:
    """Whether the gateway waits for an answer."""
    return request.method == "POST" and _says(request.content, "method", "id")


def _may_be_message(response: httpx2.Response) -> bool:
    kind = response.headers.get("content-type", "").lower()
    return response.is_redirect or _is_stream(response) or kind.startswith("application/json")


def _is_stream(response: httpx2.Response) -> bool:
    return bool(response.headers.get("content-type", "").lower().startswith("text/event-stream"))


def _is_message(body: bytes) -> bool:
    return _says(body, "jsonrpc")


def _says(body: bytes, *keys: str) -> bool:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and all(key in found for key in keys)
