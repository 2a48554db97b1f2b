"""The contract of a platform: it sends what is owed and says honestly what became of it."""

from __future__ import annotations

from typing import Protocol

from holdfast.model import Delivery, SendResult


class Platform(Protocol):
    """One connection to one place where people are."""

    @property
    def name(self) -> str: ...

    async def send(self, delivery: Delivery) -> SendResult:
        """Try once, and say what is known: taken, not taken, refused for good, or unknown."""
        ...
