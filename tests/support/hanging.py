"""A process whose event loop hangs for ever, under a watchdog."""

import asyncio
import threading

from holdfast.app.watchdog import Watchdog
from holdfast.clock import SystemClock


async def hang() -> None:
    threading.Event().wait()


if __name__ == "__main__":
    Watchdog(SystemClock(), 0.1).start()
    asyncio.run(hang())
