"""The boundary to foreign code: it tells the run's own cancellation from one that the code raises itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Abandoned(Exception):
    """Foreign code raised a cancellation although the run did not cancel it."""


async def called(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Call a model or a tool and await it; its own cancellation is raised as `Abandoned`.

    The call happens inside: a run that is cut before this begins has called nothing.
    """
    try:
        return await work()
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise Abandoned("it cancelled itself") from error
