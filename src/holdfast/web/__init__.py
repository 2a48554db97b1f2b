"""The page and the API behind it: what listens for people in a gateway's process."""

from __future__ import annotations

from .server import open_page

__all__ = ["open_page"]
