"""A provider's model: its address, name and prices; and its errors as `ModelError`s."""

from __future__ import annotations

import asyncio
import importlib
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import Any

from holdfast.errors import BadAgent
from holdfast.installation import missing_extra
from holdfast.model import Usage
from holdfast.records import dataclass
from holdfast.telemetry import KnownSecrets, without_secrets

from .base import ContextOverflow, ModelError

Read = Callable[[str], Awaitable[bytes]]
"""Returns the bytes of an attachment by its digest; raises `LookupError` if they are gone."""

_MILLION = 1_000_000
_TRANSIENT = frozenset({408, 409, 425, 429, 529})
_SERVERS_FAULT = 500
_LONGEST_WORDS = 300
_OVERFLOW = re.compile(
    r"context.?length|context.?window|context.?size|maximum context|prompt is too long|too many tokens|"
    r"input (?:is too long|length)|exceeds? the (?:available|maximum) (?:context|number of)",
    re.IGNORECASE,
)
_NO_CREDIT = re.compile(r"insufficient_quota|credit balance|billing", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of a million tokens, in millionths of a dollar."""

    input: int = 0
    output: int = 0
    cached: int | None = None
    """The price of tokens that the provider had cached; None: the price of input."""
    keeping: float = 1.0
    """The price of storing tokens in that cache, as a multiple of `input`."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The tokens of one call, as its provider counted them."""

    input: int = 0
    """Input tokens, without the cached and the kept ones."""
    cached: int = 0
    kept: int = 0
    output: int = 0

    def usage(self, model: str, prices: Prices) -> Usage:
        """The tokens and the cost for the ledger; the cost is rounded to millionths of a dollar."""
        cached = prices.input if prices.cached is None else prices.cached
        cost = self.input * prices.input + self.cached * cached + self.output * prices.output
        cost += round(self.kept * prices.input * prices.keeping)
        return Usage(model, self.input + self.cached + self.kept, self.output, round(cost / _MILLION))


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """The address of a model, and the limits of a request to it."""

    name: str
    """Its name in the configuration, such as `agents.main`; error messages use it."""
    model: str
    base_url: str | None = None
    """None: the provider's own address."""
    key: str | None = field(default=None, repr=False)
    images: bool = True
    max_output: int = 8_192
    timeout: float = 300.0
    """Seconds without any data before the request fails."""
    effort: str | None = None
    """The configured reasoning effort, if any."""
    prices: Prices = Prices()

    def maker(self, model: str) -> str:
        """Names the maker of a reply; the maker's private data in a reply goes to no other model."""
        return f"{self.base_url or ''} {model}"


async def sdk(module: str) -> Any:
    """A provider's library, imported at its first use, in a thread, because the import takes seconds."""
    found = await asyncio.to_thread(importlib.import_module, module)
    for transport in ("httpx", "httpx2"):
        # It logs a line for each request, which would fill the gateway's log.
        logging.getLogger(transport).setLevel(logging.WARNING)
    return found


def check_installed(module: str, agent: str) -> None:
    """Raise `BadAgent` if the provider's library is not installed."""
    line = missing_extra(module)
    if line is not None:
        raise BadAgent(agent, "", f"the library for its provider is not installed; install it with: {line}")


def fault(
    served: RemoteModel, model: str, status: int | None, words: str, headers: Mapping[str, str]
) -> ModelError:
    """The `ModelError` for a refusal: whether and when to retry, or which setting to change."""
    name, said = served.name, shown(served, words)
    if _OVERFLOW.search(words) and status not in (401, 403, 429):
        return ContextOverflow(f"The conversation is longer than {model} can read: {said}")
    if status is None or status in _TRANSIENT or status >= _SERVERS_FAULT:
        if status == 429 and _NO_CREDIT.search(words):
            return ModelError(f"The account behind {name}.key_env has no credit left: {said}")
        return ModelError(f"{model} is not available at the moment: {said}", True, retry_after(headers))
    if status in (401, 403):
        return ModelError(
            f"The provider of {model} refused the key: check {name}.key_env and the variable it names. {said}"
        )
    if status == 404:
        return ModelError(
            f"The provider does not serve {model}: check {name}.model and {name}.base_url. {said}"
        )
    return ModelError(f"The provider of {model} refused the request; a retry would not help: {said}")


def unreachable(served: RemoteModel, model: str, why: str) -> ModelError:
    """The `ModelError` for a connection that failed or broke."""
    where = served.base_url or "its provider"
    return ModelError(f"{model} at {where} {why} (see {served.name}.base_url).", True)


def shown(served: RemoteModel, words: str) -> str:
    """A provider's words in one short line, without secrets."""
    known = KnownSecrets((served.key or "",))
    line = " ".join(without_secrets(known.without(words)).split())
    return line if len(line) <= _LONGEST_WORDS else f"{line[:_LONGEST_WORDS]}…"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a provider asks to wait, if it does; a date counts as none."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[name]) * unit)
        except (KeyError, ValueError):
            continue
    return None
