"""How an MCP server is reached over HTTP: what the SDK is shown of answers that are no messages.

A server that cannot be reached, or a proxy that answers for it, is told as what became of the one request,
so that a failed call ends neither the connection nor the calls beside it.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping

import httpx2
from mcp_types import CONNECTION_CLOSED, INVALID_REQUEST

from .base import Signs

LARGEST = 8 * 1024 * 1024
"""Bytes of one message that are read."""
NOT_REACHED = -32_097
"""Our code for a request that certainly did not reach the server, among those left to implementations."""
_CONNECT = 10.0
_SESSION = "mcp-session-id"
_SERVER_FAULT = 500


def http_client(headers: Mapping[str, str], signs: Signs) -> httpx2.AsyncClient:
    """A client for one server; how long an answer may take is for who waits for it."""
    timeout = httpx2.Timeout(_CONNECT, read=None)
    return httpx2.AsyncClient(headers=dict(headers), timeout=timeout, transport=_Watched(signs))


class _Watched(httpx2.AsyncBaseTransport):
    """The usual transport, looked at: faults become answers, and show that the server is gone."""

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
        if response.status_code < 400 and _is_request(request) and not _may_be_message(response):
            await response.aclose()
            return _answer(502, CONNECTION_CLOSED, "it answered what is no message")
        if response.status_code < 400 or request.method != "POST":
            response.stream = _Bounded(response.stream)
            return response
        return await self._refused(request, response)

    async def _refused(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        """An error by HTTP's own means; one in the server's words is left as it is."""
        status = response.status_code
        try:
            body = b"".join([part async for part in _Bounded(response.stream)])
        except httpx2.TransportError:
            body = b""
        finally:
            await response.aclose()
        if _is_message(body):
            return httpx2.Response(status, headers={"content-type": "application/json"}, content=body)
        if status == 404 and _SESSION in request.headers:
            self._signs.end("it does not know us any more")
            return _answer(status, NOT_REACHED, "it does not know us any more")
        code = CONNECTION_CLOSED if status >= _SERVER_FAULT else INVALID_REQUEST
        return _answer(status, code, f"it answered with HTTP status {status}")

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Bounded(httpx2.AsyncByteStream):
    """What is read, up to so much between two ends of lines; more is a fault of the connection."""

    def __init__(self, inner: object) -> None:
        assert isinstance(inner, httpx2.AsyncByteStream)
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        length = 0
        async for part in self._inner:
            end = part.rfind(b"\n")
            length = len(part) - end - 1 if end >= 0 else length + len(part)
            if length > LARGEST:
                raise httpx2.ReadError(f"more than {LARGEST} bytes in one message")
            yield part

    async def aclose(self) -> None:
        await self._inner.aclose()


def _answer(status: int, code: int, words: str) -> httpx2.Response:
    """An error as a server would answer it, whichever request it was."""
    return httpx2.Response(
        status, json={"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": words}}
    )


def _is_request(request: httpx2.Request) -> bool:
    """Whether an answer is waited for."""
    return request.method == "POST" and _says(request.content, "method", "id")


def _may_be_message(response: httpx2.Response) -> bool:
    kind = response.headers.get("content-type", "").lower()
    return response.is_redirect or kind.startswith(("application/json", "text/event-stream"))


def _is_message(body: bytes) -> bool:
    return _says(body, "jsonrpc")


def _says(body: bytes, *keys: str) -> bool:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and all(key in found for key in keys)
