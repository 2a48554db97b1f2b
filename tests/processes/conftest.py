from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.nursery import Nursery
from tests.support.outside import Build, House
from tests.support.town import Office, Town


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


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """Forks gateways that serve a bot."""
    found = Nursery()
    yield found
    found.close()


@pytest.fixture
def town() -> Iterator[Town]:
    """Telegram, and the people there."""
    found = Town()
    yield found
    found.close()


@pytest.fixture
def open_office(tmp_path: Path, town: Town, nursery: Nursery) -> Iterator[Callable[[str], Office]]:
    """Builds a home whose gateway serves the town's bot, with more settings."""
    offices: list[Office] = []

    def build(more: str = "") -> Office:
        offices.append(Office(tmp_path, town, nursery, more))
        return offices[-1]

    yield build
    for office in offices:
        office.close()


@pytest.fixture
def office(open_office: Callable[[str], Office]) -> Office:
    return open_office("")
