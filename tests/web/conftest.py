import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.outside import Build, House


@pytest.fixture
def build(tmp_path: Path) -> Iterator[Build]:
    """Builds a home with the settings a test wants; whatever still runs on it at the end is killed."""
    houses: list[House] = []

    def build(settings: str = "", port: int = 0) -> House:
        houses.append(House(tmp_path, settings, port))
        return houses[-1]

    yield build
    for house in houses:
        house.close()


@pytest.fixture
def house(build: Build) -> House:
    return build()


@pytest.fixture
def settled(build: Build) -> tuple[House, int]:
    """A home whose page keeps its port from one process to the next."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    return build(port=port), port
