"""The terminal as a platform: a line may or may not have been seen, so repeats are marked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from holdfast.model import Accepted, Delivery, OwedKind, SendResult, Sent
from holdfast.policy.files import file_line
from holdfast.policy.parts import mark_for
from holdfast.records import dataclass

from .base import Ack, Capabilities, Incoming

_LARGEST_FILE = 50_000_000
"""They are not shown: a line says how to get one."""


@dataclass(frozen=True, slots=True)
class Terminal:
    """Shows each part through `show`, with its kind; what is typed comes in another way."""

    show: Callable[[OwedKind, str], None]
    name: str = "terminal"
    account: str = "local"
    capabilities: Capabilities = Capabilities(Ack.ANSWER, files=_LARGEST_FILE)
    cursor: str | None = None

    async def connect(self) -> None:
        return None

    async def receive(self, after: str | None) -> Incoming:
        never: asyncio.Future[Incoming] = asyncio.get_running_loop().create_future()
        return await never

    async def confirm(self, incoming: Incoming, accepted: tuple[Accepted, ...]) -> None:
        return None

    async def send(self, delivery: Delivery) -> SendResult:
        lines = (delivery.text, *map(file_line, delivery.files))
        self.show(delivery.kind, mark_for(delivery) + "\n".join(filter(None, lines)))
        return Sent()

    async def find(self, delivery: Delivery) -> bool | None:
        return None

    async def close(self) -> None:
        return None
