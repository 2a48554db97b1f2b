"""Models that speak Anthropic's messages protocol."""

from __future__ import annotations

from typing import Any

from . import anthropic_wire
from .provider_model import ProviderModel, Speech
from .remote_model import Read, RemoteModel, check_installed
from .wire_common import Json

_OWN_ADDRESS = "https://api.anthropic.com"
_NO_KEY = "none"
KEEPING = 1.25
"""The price of storing a token in the cache, as a multiple of the input price."""


def anthropic_model(served: RemoteModel, read: Read) -> ProviderModel:
    """The model; raises `BadAgent` if its library is not installed."""
    check_installed("anthropic", served.name)
    return ProviderModel(ANTHROPIC, served, read)


def _client(library: Any, served: RemoteModel) -> Any:
    # Always given: otherwise the library takes a key or an address from the environment.
    return library.AsyncAnthropic(
        api_key=served.key or _NO_KEY,
        base_url=served.base_url or _OWN_ADDRESS,
        timeout=served.timeout,
        max_retries=0,
    )


async def _create(client: Any, body: Json) -> Any:
    return await client.messages.create(**body)


ANTHROPIC = Speech("anthropic", anthropic_wire.request, anthropic_wire.AnthropicStream, _client, _create)
