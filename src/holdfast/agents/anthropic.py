"""Models that speak the messages protocol."""

from __future__ import annotations

from typing import Any

from . import anthropic_wire
from .provider_model import ProviderModel, Speech
from .remote_model import Read, RemoteModel, check_installed
from .wire_common import Json

_OWN_ADDRESS = "https://api.anthropic.com"
_NO_KEY = "none"
KEEPING = 1.25
"""What it costs to have tokens kept for the next call, in prices of input."""


def anthropic_model(served: RemoteModel, read: Read) -> ProviderModel:
    """The model, or `BadAgent` when the library for it is not installed."""
    check_installed("anthropic", served.name)
    return ProviderModel(ANTHROPIC, served, read)


def _client(library: Any, served: RemoteModel) -> Any:
    # Said here, or the library would take another's key or address from the environment.
    return library.AsyncAnthropic(
        api_key=served.key or _NO_KEY,
        base_url=served.base_url or _OWN_ADDRESS,
        timeout=served.timeout,
        max_retries=0,
    )


async def _create(client: Any, body: Json) -> Any:
    return await client.messages.create(**body)


ANTHROPIC = Speech("anthropic", anthropic_wire.request, anthropic_wire.AnthropicStream, _client, _create)
