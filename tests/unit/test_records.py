"""Records behave as the standard library's dataclasses do; each test asks both."""

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, field, fields, is_dataclass, replace
from typing import Any

import pytest

from holdfast.records import dataclass

Maker = Callable[..., Callable[[type], Any]]
MAKERS: tuple[Maker, ...] = (dataclass, dataclasses.dataclass)


class Point:
    """Where something is."""

    x: int
    y: int = 2
    seen: list[int] = field(default_factory=list)

    def shifted(self) -> int:
        return self.x + 1


class Named:
    """With words of its own."""

    name: str

    def __repr__(self) -> str:
        return f"<{self.name}>"


@dataclass(frozen=True, slots=True)
class Kept:
    """One that can be found by its name."""

    x: int
    y: int = 2


@dataclass(frozen=True, slots=True)
class Empty:
    """Nothing to say."""


def made(maker: Maker, plain: type = Point, frozen: bool = True) -> Any:
    fresh = type(plain.__name__, (), {**vars(plain), "__qualname__": plain.__qualname__})
    return maker(frozen=frozen, slots=True)(fresh)


@pytest.fixture(params=MAKERS, ids=["ours", "the standard library's"])
def maker(request: pytest.FixtureRequest) -> Maker:
    found: Maker = request.param
    return found


def test_fields_are_given_by_place_by_name_or_by_default(maker: Maker) -> None:
    point = made(maker)
    first, second = point(1), point(1, seen=[3], y=4)
    assert (first.x, first.y, first.seen) == (1, 2, [])
    assert (second.x, second.y, second.seen) == (1, 4, [3])
    assert point(1).seen is not first.seen
    assert first.shifted() == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "Point.__init__() missing 1 required positional argument: 'x'"),
        ({"x": 1, "z": 1}, "Point.__init__() got an unexpected keyword argument 'z'"),
    ],
)
def test_what_is_missing_or_unknown_is_said(maker: Maker, given: dict[str, int], said: str) -> None:
    with pytest.raises(TypeError) as refused:
        made(maker)(**given)
    assert str(refused.value) == said


def test_a_frozen_one_cannot_be_changed(maker: Maker) -> None:
    one = made(maker)(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        one.x = 3
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del one.x
    assert one.x == 1


def test_another_one_can_but_gets_no_further_fields(maker: Maker) -> None:
    one = made(maker, frozen=False)(1)
    one.x = 3
    assert one == replace(one) and one.x == 3
    with pytest.raises(AttributeError):
        one.z = 1
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


def test_equal_fields_of_the_same_class_are_equal(maker: Maker) -> None:
    point, other = made(maker), made(maker)
    assert point(1) == point(1) != point(2)
    assert point(1) != other(1)
    named = made(maker, Named)
    assert {named("a"): 1}[named("a")] == 1


def test_it_says_what_it_holds_unless_it_has_words_of_its_own(maker: Maker) -> None:
    assert repr(made(maker)(1)) == "Point(x=1, y=2, seen=[])"
    assert repr(made(maker, Named)("a")) == "<a>"


def test_it_is_taken_apart_and_varied_as_any_dataclass(maker: Maker) -> None:
    point = made(maker)
    one = point(1)
    assert point.__match_args__ == ("x", "y", "seen")
    assert [each.name for each in fields(one)] == ["x", "y", "seen"]
    assert asdict(one) == {"x": 1, "y": 2, "seen": []}
    assert replace(one, y=5) == point(1, 5)
    assert is_dataclass(one)


def test_a_dataclass_can_extend_it(maker: Maker) -> None:
    body = {"__annotations__": {"z": "int"}, "z": 0}
    wider: Any = dataclasses.dataclass(frozen=True)(type("Wider", (made(maker),), body))
    assert repr(wider(1, z=3)) == "Wider(x=1, y=2, seen=[], z=3)"


@pytest.mark.parametrize("one", [Kept(1), Kept(1, 3), Empty()])
def test_a_copy_is_equal(one: object) -> None:
    assert copy.copy(one) == copy.deepcopy(one) == pickle.loads(pickle.dumps(one)) == one


def test_the_first_of_a_class_and_every_further_one_are_made_alike(maker: Maker) -> None:
    point = made(maker)
    assert [point(number) for number in (1, 1, 1)] == [point(1)] * 3
