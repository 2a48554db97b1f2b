"""Wake-ups: a counter per topic to wait for. A hint, never the truth."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable


class Changes:
    """Counters that never miss a change: read the version, look, then wait for a change since then."""

    def __init__(self) -> None:
        self._versions: Counter[str] = Counter()
        # A dict keeps its order: the task that waited first is woken first.
        self._waiters: defaultdict[str, dict[asyncio.Future[None], None]] = defaultdict(dict)

    def announce(self, topics: Iterable[str]) -> None:
        """Count a change of each topic and wake the tasks that wait for it."""
        for topic in sorted(topics):
            self._versions[topic] += 1
            for waiter in self._waiters.pop(topic, ()):
                if not waiter.done():
                    waiter.set_result(None)

    def version(self, topic: str) -> int:
        return self._versions[topic]

    async def changed(self, topic: str, since: int) -> int:
        """Return once the topic's version is above `since`."""
        while self._versions[topic] <= since:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters[topic][waiter] = None
            try:
                await waiter
            finally:
                self._waiters[topic].pop(waiter, None)
        return self._versions[topic]
