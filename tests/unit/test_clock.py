import sys
import threading
from collections.abc import Iterator

import pytest

from holdfast.clock import SystemIds


class StoppedClock:
    """A wall clock that a time server set back: every id has to come from the one before it."""

    def now(self) -> int:
        return 1

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        return None


def test_ids_grow_also_while_the_clock_does_not() -> None:
    ids = SystemIds(StoppedClock())
    made = [ids.new() for _ in range(1_000)]
    assert made == sorted(set(made))


@pytest.fixture
def eager_threads() -> Iterator[None]:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("eager_threads")
def test_ids_asked_for_by_several_threads_are_all_different_and_grow_for_each() -> None:
    ids = SystemIds(StoppedClock())
    made: list[list[str]] = [[] for _ in range(4)]
    threads = [
        threading.Thread(target=lambda mine=mine: mine.extend(ids.new() for _ in range(5_000)))
        for mine in made
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id for mine in made for id in mine}) == 20_000
    assert all(mine == sorted(mine) for mine in made)
