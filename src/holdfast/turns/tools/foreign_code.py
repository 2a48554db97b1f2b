"""The boundary to other people's code: a cancellation of ours is told from one the code raises by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Abandoned(Exception):
    """Other people's code ended itself as if it had been cancelled, and nobody had."""


async def called(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Call a model or a tool and await it; what it raises by itself is an `Exception`, never a cancellation.

    Called in here: a run that is cut before this begins has not called anything.
    """
    try:
        return await work()
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise Abandoned("it cancelled itself") from error
