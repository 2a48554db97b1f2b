"""The boundary to other people's code: a cancellation of ours is told from one the code raises by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Abandoned(Exception):
    """Other people's code ended itself as if it had been cancelled, and nobody had."""


async def called(work: Coroutine[Any, Any, T]) -> T:
    """Await a model or a tool; what it raises by itself is an `Exception`, never a cancellation."""
    try:
        return await work
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise Abandoned("it cancelled itself") from error
