"""A process that is to end and whose event loop hangs for ever, under a watchdog."""

import asyncio
import threading

from holdfast.process.watchdog import Watchdog


async def hang() -> None:
    threading.Event().wait()


if __name__ == "__main__":
    Watchdog().expect_end(0.1)
    asyncio.run(hang())
