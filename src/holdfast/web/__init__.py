"""The page and its HTTP API: the part of a gateway's process that people connect to."""

from __future__ import annotations

from holdfast.api.frontend import Open, RunningGateway

__all__ = ["open_page"]


async def open_page(inside: RunningGateway) -> Open:
    """Listen at the configured address; raises `BadConfig` when that is not possible."""
    from .server import open_website  # noqa: PLC0415 - the gateway locks and reads the ledger first

    return await open_website(inside)
