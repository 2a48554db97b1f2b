"""The terminal as a platform: a line may or may not have been seen, so repeats are marked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from holdfast.model import Delivery, OwedKind, SendResult, Sent

POSSIBLY_REPEATED = "(possibly repeated) "


@dataclass(frozen=True, slots=True)
class Terminal:
    """Shows each part through `show`, with its kind."""

    show: Callable[[OwedKind, str], None]
    name: str = "terminal"

    async def send(self, delivery: Delivery) -> SendResult:
        mark = POSSIBLY_REPEATED if delivery.repeated else ""
        self.show(delivery.kind, mark + delivery.text)
        return Sent()
