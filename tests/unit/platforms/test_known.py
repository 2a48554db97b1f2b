"""Platforms of other packages, found by their entry points."""

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from holdfast.errors import Unusable
from holdfast.platforms import Ack, Capabilities
from holdfast.platforms.known import GROUP, known, offer

PIGEONS = Capabilities(Ack.ANSWER, longest=40)


class Pigeons:
    """An offer, as another package would make it."""

    capabilities = PIGEONS

    def __call__(self, home: Path) -> str:
        return f"pigeons of {home.name}"


pigeons = Pigeons()
nothing = object()


def point(name: str, what: str) -> EntryPoint:
    return EntryPoint(name, f"{__name__}:{what}", GROUP)


GOOD = point("pigeons", "pigeons")


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the name it has here, however tests are imported."""
    import sys  # noqa: PLC0415 - what is patched

    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or __import__(__name__))


def test_what_comes_along_and_what_others_offer_is_known() -> None:
    found = {one.name: one.capabilities for one in known((GOOD,))}
    assert list(found) == ["web", "telegram", "pigeons"]
    assert found["pigeons"] == PIGEONS
    assert found["telegram"].newcomers and not found["web"].newcomers


def test_an_offer_is_made_for_a_home(tmp_path: Path) -> None:
    assert offer("pigeons", (GOOD,))(tmp_path) == f"pigeons of {tmp_path.name}"  # type: ignore[comparison-overlap]  # a word for a platform


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ((), "there are: none"),
        ((point("owls", "pigeons"),), "there are: owls"),
        ((point("pigeons", "nothing"),), "has no capabilities"),
        ((point("pigeons", "not_there"),), "cannot be loaded"),
    ],
)
def test_an_offer_that_is_no_good_is_named(points: tuple[EntryPoint, ...], words: str) -> None:
    with pytest.raises(Unusable, match=words):
        offer("pigeons", points)
