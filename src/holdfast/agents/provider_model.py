"""One request to a model of any provider: it ends in one reply or one error."""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from holdfast.model import Replied
from holdfast.records import dataclass

from .base import Metered, ModelError, OnText, Prompt, unheard
from .remote_model import Counted, Read, RemoteModel, fault, sdk, unreachable
from .wire_common import Json, pictures_in, sendable, whole_text


class ReplyStream(Protocol):
    """Collects a reply from the events of a stream."""

    text: str

    @property
    def has_something(self) -> bool: ...

    @property
    def is_silent(self) -> bool:
        """Whether nothing has come, not even the end of the reply."""
        ...

    @property
    def counted(self) -> Counted | None: ...

    def take(self, event: Mapping[str, Any], /) -> None: ...

    def replied(self, maker: str) -> Replied: ...


@dataclass(frozen=True, slots=True)
class Speech:
    """The parts of a request that differ between protocols."""

    module: str
    """The name of its library; all of them have the same tree of errors."""
    request: Callable[[Prompt, RemoteModel, str, Mapping[str, bytes]], Json]
    stream: Callable[[], ReplyStream]
    client: Callable[[Any, RemoteModel], Any]
    """Makes the library's client."""
    create: Callable[[Any, Json], Awaitable[Any]]
    """Sends the request and returns the stream of events."""


class ProviderModel:
    """Implements `Model`: one call sends one request. It does not retry by itself.

    It keeps nothing but its connections; `close` closes them.
    """

    def __init__(self, protocol: Speech, served: RemoteModel, read: Read) -> None:
        self._protocol = protocol
        self._served = served
        self._read = read
        self._client: Any = None

    async def reply(self, prompt: Prompt, on_text: OnText = unheard) -> Metered:
        served, protocol = self._served, self._protocol
        model = prompt.model or served.model
        library = await sdk(protocol.module)
        if self._client is None:
            self._client = protocol.client(library, served)
        body = sendable(protocol.request(prompt, served, model, await self._pictures(prompt)))
        stream = protocol.stream()
        try:
            events = await protocol.create(self._client, body)
            async with events:
                async for event in events:
                    stream.take(event.to_dict())
                    on_text(stream.text)
        except _errors(library) as error:
            # The part that came is kept as a cut reply: the model goes on from there.
            if not stream.has_something:
                raise _model_error(library, error, served, model) from None
        else:
            if stream.is_silent:
                raise unreachable(served, model, "closed the stream without a reply")
        counted = stream.counted
        reply = _as_valid_text(stream.replied(served.maker(model)))
        return Metered(reply, counted.usage(model, served.prices) if counted else None)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def _pictures(self, prompt: Prompt) -> dict[str, bytes]:
        """The bytes of the pictures in the prompt, as far as they are still stored."""
        found: dict[str, bytes] = {}
        for picture in pictures_in(prompt.messages) if self._served.images else ():
            try:
                found[picture.digest] = await self._read(picture.digest)
            except LookupError:
                continue
        return found


def _as_valid_text(reply: Replied) -> Replied:
    """The reply as valid text: a stream may break in the middle of a character."""
    calls = tuple(
        replace(call, name=whole_text(call.name), arguments=whole_text(call.arguments))
        for call in reply.calls
    )
    return replace(reply, text=whole_text(reply.text), calls=calls)


def _errors(library: Any) -> tuple[type[Exception], ...]:
    """All that a library raises: its own errors, those of its transport, and unreadable JSON."""
    transport = sys.modules[library.DefaultAsyncHttpxClient.__mro__[1].__module__.partition(".")[0]]
    return (library.APIError, transport.HTTPError, json.JSONDecodeError)


def _model_error(library: Any, error: Any, served: RemoteModel, model: str) -> ModelError:
    """The `ModelError` for an error of a provider's library."""
    if isinstance(error, library.APIStatusError):
        return fault(served, model, error.status_code, _error_text(error), error.response.headers)
    if isinstance(error, library.APITimeoutError):
        return unreachable(served, model, f"gave no sign of life for {served.timeout:g} s")
    if isinstance(error, library.APIConnectionError):
        return unreachable(served, model, "could not be reached, or the connection broke")
    if isinstance(error, library.APIError):
        # An error in the middle of a stream has no status.
        return fault(served, model, None, _error_text(error), {})
    return unreachable(served, model, f"broke the stream off ({type(error).__name__})")


def _error_text(error: Any) -> str:
    """The provider's own words with its code: `fault` reads both."""
    body = error.body
    inner = body.get("error", body) if isinstance(body, dict) else None
    if not isinstance(inner, dict):
        return str(error.message)
    code = inner.get("code") or inner.get("type") or ""
    return f"{inner.get('message') or error.message} ({code})" if code else str(inner.get("message") or error)
