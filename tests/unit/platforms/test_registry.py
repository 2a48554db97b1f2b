"""Platforms of other packages, found by their entry points."""

from collections.abc import Mapping
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from holdfast.errors import BadConfig, Unusable
from holdfast.platforms import Ack, Capabilities
from holdfast.platforms.registry import GROUP, known, made, offer
from holdfast.platforms.telegram.adapter import capabilities
from holdfast.testing.sim.platforms.kinds import KINDS

PIGEONS = Capabilities(Ack.ANSWER, longest=40)


class Pigeons:
    """An offer, as another package would make it."""

    capabilities = PIGEONS

    def __call__(self, home: Path, table: Mapping[str, object]) -> str:
        for key, value in table.items():
            if key == "explode":
                raise RuntimeError(value)
            if key != "loft":
                raise BadConfig(f"platforms.pigeons.{key}", value, "only loft")
        return f"pigeons of {home.name} in {table.get('loft', 'the open')}"


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
    found: object = made("pigeons", tmp_path, {"loft": "the barn"}, (GOOD,))
    assert found == f"pigeons of {tmp_path.name} in the barn"


@pytest.mark.guards("R16")
def test_what_an_offer_does_not_know_it_refuses_and_its_faults_repeat_no_secret(
    tmp_path: Path,
) -> None:
    with pytest.raises(BadConfig, match="platforms.pigeons.lotf = 1 is not allowed; allowed: only loft"):
        made("pigeons", tmp_path, {"lotf": 1}, (GOOD,))
    with pytest.raises(Unusable) as refused:
        made("pigeons", tmp_path, {"explode": "canary"}, (GOOD,))
    assert "[platforms.pigeons]" in str(refused.value)
    assert "canary" not in str(refused.value)


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


def test_the_simulators_telegram_can_do_what_the_bot_can() -> None:
    assert KINDS["telegram"] == capabilities()
