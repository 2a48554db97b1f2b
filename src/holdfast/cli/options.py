"""Options that every command has, and what stands around each of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from holdfast.api.queries import GatewayQueries
from holdfast.clock import SystemClock
from holdfast.config.secret_values import secrets_at
from holdfast.store import LEDGER, ReadOnlyLedger

T = TypeVar("T")

Home = Annotated[
    Path | None,
    typer.Option("--home", help="Where everything is kept.", show_default="$HOLDFAST_HOME, else ~/.holdfast"),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs; times are milliseconds UTC.")]


@asynccontextmanager
async def looking(home: Path) -> AsyncIterator[tuple[ReadOnlyLedger, GatewayQueries]]:
    """Look into a ledger, whether a gateway runs on it or not; nothing is locked and nothing written."""
    clock = SystemClock()
    ledger = ReadOnlyLedger(home / LEDGER, clock)
    try:
        yield ledger, GatewayQueries(ledger, clock, home=home, secrets=secrets_at(home))
    finally:
        await ledger.close()


def run(work: Coroutine[Any, Any, T]) -> T:
    """Carry one command out."""
    return asyncio.run(work)
