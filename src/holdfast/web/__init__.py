"""The page and the API behind it: what listens for people in a gateway's process."""

from __future__ import annotations

from holdfast.api.frontend import Open, RunningGateway

__all__ = ["open_page"]


async def open_page(inside: RunningGateway) -> Open:
    """Listen where the settings say; raises `BadConfig` when that cannot be."""
    from .server import open_website  # noqa: PLC0415 - the ledger is locked and read before this is waited for

    return await open_website(inside)
