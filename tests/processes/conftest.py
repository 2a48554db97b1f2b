from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.outside import Build, House


@pytest.fixture
def build(tmp_path: Path) -> Iterator[Build]:
    """Builds a home with the settings a test wants; whatever still runs on it at the end is killed."""
    houses: list[House] = []

    def build(settings: str = "") -> House:
        houses.append(House(tmp_path, settings))
        return houses[-1]

    yield build
    for house in houses:
        house.close()


@pytest.fixture
def house(build: Build) -> House:
    return build()
