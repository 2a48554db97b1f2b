"""Models that speak the chat completions protocol, of any provider."""

from __future__ import annotations

from typing import Any

from . import openai_wire
from .provider_model import ProviderModel, Speech
from .remote_model import Read, RemoteModel, check_installed
from .wire_common import Json

_OWN_ADDRESS = "https://api.openai.com/v1"
_NO_KEY = "none"
"""Local servers need no key, but the library does not accept an empty one."""


def openai_model(served: RemoteModel, read: Read) -> ProviderModel:
    """The model; raises `BadAgent` if its library is not installed."""
    check_installed("openai", served.name)
    return ProviderModel(OPENAI, served, read)


def _client(library: Any, served: RemoteModel) -> Any:
    # Always given: otherwise the library takes a key or an address from the environment.
    return library.AsyncOpenAI(
        api_key=served.key or _NO_KEY,
        base_url=served.base_url or _OWN_ADDRESS,
        timeout=served.timeout,
        max_retries=0,
    )


async def _create(client: Any, body: Json) -> Any:
    return await client.chat.completions.create(**body)


OPENAI = Speech("openai", openai_wire.request, openai_wire.OpenAIStream, _client, _create)
