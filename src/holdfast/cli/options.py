"""The options that every command has, and helpers that every command uses."""

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
    typer.Option(
        "--home", help="The home folder of the gateway.", show_default="$HOLDFAST_HOME, else ~/.holdfast"
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs. Times are milliseconds UTC.")]


@asynccontextmanager
async def looking(home: Path) -> AsyncIterator[tuple[ReadOnlyLedger, GatewayQueries]]:
    """Open a ledger for reading, with or without a running gateway. It takes no lock and writes nothing."""
    clock = SystemClock()
    ledger = ReadOnlyLedger(home / LEDGER, clock)
    try:
        yield ledger, GatewayQueries(ledger, clock, home=home, secrets=secrets_at(home))
    finally:
        await ledger.close()


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run the coroutine of one command."""
    return asyncio.run(work)
