"""What the attacks share; they run on the ledgers of the contract suite and on real processes."""

from collections.abc import Iterator

import pytest

from holdfast.tools.builtin import fetch_url
from holdfast.tools.builtin.fetch_url import is_public
from tests.contract.conftest import *  # noqa: F403 - the fixtures are meant to be the same
from tests.processes.conftest import *  # noqa: F403 - as are these
from tests.support.net import Net
from tests.web.conftest import build, house, settled

__all__ = ["build", "house", "net", "settled"]


@pytest.fixture
def net(monkeypatch: pytest.MonkeyPatch) -> Iterator[Net]:
    """The one address a test can reach stands for a public one; every other is what it is."""
    made = Net()
    real = is_public
    monkeypatch.setattr(fetch_url, "is_public", lambda address: address == "127.0.0.1" or real(address))
    yield made
    made.close()
