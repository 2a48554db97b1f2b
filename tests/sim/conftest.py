from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import pytest

from tests.sim.workers import cores


@pytest.fixture(scope="session")
def pool() -> Iterator[ProcessPoolExecutor]:
    with cores() as pool:
        yield pool
