"""A model that somebody serves: where, under which name and at what price; what was wrong, in one tree."""

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
"""Gives the bytes of an attachment by its digest; `LookupError` when they are no longer kept."""

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
    """For a million tokens, in millionths of a dollar."""

    input: int = 0
    output: int = 0
    cached: int | None = None
    """Those the provider had kept from an earlier call; None: as dear as any other."""
    keeping: float = 1.0
    """What having them kept costs, in prices of input."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The tokens of one call, as its provider counted them."""

    input: int = 0
    """All that was read but what follows."""
    cached: int = 0
    kept: int = 0
    output: int = 0

    def usage(self, model: str, prices: Prices) -> Usage:
        """What the ledger keeps of it; the cost is rounded to millionths of a dollar."""
        cached = prices.input if prices.cached is None else prices.cached
        cost = self.input * prices.input + self.cached * cached + self.output * prices.output
        cost += round(self.kept * prices.input * prices.keeping)
        return Usage(model, self.input + self.cached + self.kept, self.output, round(cost / _MILLION))


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """How a model is reached, and what it may be shown."""

    name: str
    """What the configuration calls it, for words about what to change: `agents.main`."""
    model: str
    base_url: str | None = None
    """None: its provider's own address."""
    key: str | None = field(default=None, repr=False)
    images: bool = True
    max_output: int = 8_192
    timeout: float = 300.0
    """Seconds without a sign of life."""
    effort: str | None = None
    """How hard it should think, if that was said."""
    prices: Prices = Prices()

    def maker(self, model: str) -> str:
        """Who made a reply: what it left for itself is shown to nobody else."""
        return f"{self.base_url or ''} {model}"


async def sdk(module: str) -> Any:
    """A provider's library: imported when it is first used, in a thread, because that takes seconds."""
    found = await asyncio.to_thread(importlib.import_module, module)
    for transport in ("httpx", "httpx2"):
        # It has a line for each request, which the gateway's log has no use for.
        logging.getLogger(transport).setLevel(logging.WARNING)
    return found


def check_installed(module: str, agent: str) -> None:
    """Raise `BadAgent` when the library for a provider is not there."""
    line = missing_extra(module)
    if line is not None:
        raise BadAgent(agent, "", f"its provider's library is not installed; this installs it: {line}")


def fault(
    served: RemoteModel, model: str, status: int | None, words: str, headers: Mapping[str, str]
) -> ModelError:
    """What a provider's refusal means: whether to ask again and when, or which key to change."""
    name, said = served.name, shown(served, words)
    if _OVERFLOW.search(words) and status not in (401, 403, 429):
        return ContextOverflow(f"{model} cannot read so much at once: {said}")
    if status is None or status in _TRANSIENT or status >= _SERVERS_FAULT:
        if status == 429 and _NO_CREDIT.search(words):
            return ModelError(f"The account behind {name}.key_env has no credit left: {said}")
        return ModelError(f"{model} gives no answer just now: {said}", True, retry_after(headers))
    if status in (401, 403):
        return ModelError(
            f"The provider of {model} refused the key: check {name}.key_env and what it names. {said}"
        )
    if status == 404:
        return ModelError(f"Nobody serves {model} there: check {name}.model and {name}.base_url. {said}")
    return ModelError(f"The provider of {model} refused the question, which is no passing fault: {said}")


def unreachable(served: RemoteModel, model: str, why: str) -> ModelError:
    """Nothing, or nothing any more, came from there."""
    where = served.base_url or "its provider"
    return ModelError(f"{model} at {where} {why} (see {served.name}.base_url).", True)


def shown(served: RemoteModel, words: str) -> str:
    """A provider's words, without what must not be read by anybody, and not longer than people read."""
    known = KnownSecrets((served.key or "",))
    line = " ".join(without_secrets(known.without(words)).split())
    return line if len(line) <= _LONGEST_WORDS else f"{line[:_LONGEST_WORDS]}…"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds a provider asks us to wait, if it does; a date is not waited for."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[name]) * unit)
        except (KeyError, ValueError):
            continue
    return None
