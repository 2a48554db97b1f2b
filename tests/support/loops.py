"""Running a coroutine as a test: on a fresh loop, and never for ever."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec

P = ParamSpec("P")

LONG = 60.0
"""Seconds after which something hangs: far beyond what any of this takes on a slow machine."""


def on_a_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(LONG):
                await test(*args, **kwargs)

        asyncio.run(bounded())

    return run
