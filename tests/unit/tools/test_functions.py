"""Typed functions as tools: what a model is told of them, and what it is told when it gets them wrong."""

import asyncio
import json
import threading
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from holdfast.model import EffectClass, SessionId, TurnId
from holdfast.tools import SearchHistory, ToolContext, ToolFailed, spec_of, tool
from tests.support.loops import on_a_loop


class Unit(StrEnum):
    C = "celsius"
    F = "fahrenheit"


@dataclass
class Spot:
    name: str
    height: float = 0.0
    tags: list[str] = field(default_factory=list)


def context(**more: Any) -> ToolContext:
    return ToolContext(SessionId("s"), TurnId("t"), 1, Path("workspace"), "t:c", **more)


async def told(made: Any, **arguments: Any) -> Any:
    return await made.run(context(), json.dumps(arguments))


@tool(EffectClass.READ, timeout=30)
async def weather(
    city: str,
    days: int = 3,
    unit: Unit = Unit.C,
    sky: Literal["any", "clear"] = "any",
    spot: Spot | None = None,
    more: dict[str, float] | None = None,
    near: Annotated[list[str], "places close by"] = [],  # noqa: B006 - as people write it
) -> str:
    """Tell the weather.

    It looks out of the window.

    Args:
        city: The name of the place,
            in English.
        days (int): How far to look ahead.
    """
    return f"{city} {days} {unit!r} {sky} {spot} {more} {near}"


def test_its_annotations_and_words_are_what_a_model_is_told() -> None:
    spec = spec_of(weather)
    assert (spec.name, spec.description) == ("weather", "Tell the weather.\n\nIt looks out of the window.")
    assert weather.effect is EffectClass.READ
    assert weather.timeout == 30
    properties = spec.parameters["properties"]
    assert spec.parameters["required"] == ["city"]
    assert spec.parameters["additionalProperties"] is False
    assert properties["city"] == {"type": "string", "description": "The name of the place, in English."}
    assert properties["days"] == {"type": "integer", "default": 3, "description": "How far to look ahead."}
    assert properties["unit"] == {"type": "string", "enum": ["celsius", "fahrenheit"]}
    assert properties["sky"] == {"type": "string", "enum": ["any", "clear"], "default": "any"}
    assert properties["near"]["description"] == "places close by"
    assert properties["more"]["anyOf"][0] == {"type": "object", "additionalProperties": {"type": "number"}}
    assert properties["spot"]["anyOf"][0] == {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "height": {"type": "number", "default": 0.0},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["name"],
        "additionalProperties": False,
    }


@on_a_loop
async def test_what_a_model_gives_is_made_what_the_function_takes() -> None:
    given = await told(weather, city="Bern", days=2.0, unit="fahrenheit", spot={"name": "top", "height": 3})
    assert given == "Bern 2 <Unit.F: 'fahrenheit'> any Spot(name='top', height=3.0, tags=[]) None []"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("not json", "its arguments are not JSON"),
        ("[1]", "the whole must be an object, not [1]"),
        ("", "city is missing"),
        ('{"city": 3}', "city must be a string, not 3"),
        ('{"city": "x", "days": "2"}', 'days must be a whole number, not "2"'),
        ('{"city": "x", "days": 2.5}', "days must be a whole number, not 2.5"),
        ('{"city": "x", "days": true}', "days must be a whole number, not true"),
        ('{"city": "x", "dayz": 2}', "there is no dayz (allowed: city, days"),
        ('{"city": "x", "unit": "kelvin"}', 'unit must be one of "celsius", "fahrenheit", not "kelvin"'),
        ('{"city": "x", "near": ["a", 3]}', "near[1] must be a string, not 3"),
        ('{"city": "x", "spot": {"height": 1}}', "spot.name is missing"),
        ('{"dayz": 1, "days": "x"}', "city is missing; there is no dayz"),
    ],
)
@on_a_loop
async def test_what_does_not_fit_is_said_so_that_the_model_can_put_it_right(
    arguments: str, words: str
) -> None:
    with pytest.raises(ToolFailed, match="weather was not run") as failed:
        await weather.run(context(), arguments)
    assert words in str(failed.value)


def test_what_a_model_could_not_call_is_refused_at_once() -> None:
    def bare(x): ...  # type: ignore[no-untyped-def] # that is the point

    def odd(x: set[int]) -> str: ...  # type: ignore[empty-body] # never run

    def many(*x: int) -> str: ...  # type: ignore[empty-body] # never run

    def fixed(x: tuple[int, int]) -> str: ...  # type: ignore[empty-body] # never run

    for function, words in (
        (bare, "its parameter 'x' has no annotation"),
        (odd, r"its parameter 'x': set\[int\] means nothing in JSON; use str, int"),
        (many, "its parameter 'x' has no name that a model could use"),
        (fixed, "a tuple of fixed length"),
    ):
        with pytest.raises(TypeError, match=words):
            tool()(function)
    with pytest.raises(TypeError, match="need each other"):
        tool(EffectClass.RECONCILABLE)(odd)
    with pytest.raises(TypeError, match="is not a tool name"):
        tool(name="with spaces")(lambda: "")


def test_unsaid_it_is_an_effect() -> None:
    assert tool()(weather.function).effect is EffectClass.EFFECT


@on_a_loop
async def test_the_context_is_not_the_models_business() -> None:
    @tool()
    async def who(context: ToolContext, loud: bool = False) -> str:
        return context.key.upper() if loud else context.key

    assert list(spec_of(who).parameters["properties"]) == ["loud"]
    assert await told(who, loud=True) == "T:C"


@on_a_loop
async def test_what_it_gives_may_be_an_intention_text_or_a_value() -> None:
    @tool()
    async def look() -> SearchHistory:
        return SearchHistory("x")

    @tool()
    def values() -> dict[str, int]:
        return {"ä": 1}

    @tool()
    def nothing() -> None:
        return None

    assert await told(look) == SearchHistory("x")
    assert await told(values) == '{"ä": 1}'
    assert await told(nothing) == "done"


@on_a_loop
async def test_a_plain_function_runs_in_a_thread_and_is_heard_on_the_loop() -> None:
    loop_thread, heard = threading.get_ident(), list[tuple[str, int]]()

    @tool()
    def plain(context: ToolContext) -> str:
        context.output("so far")
        return "other" if threading.get_ident() != loop_thread else "same"

    def hear(text: str) -> None:
        heard.append((text, threading.get_ident()))

    assert await plain.run(context(output=hear), "{}") == "other"
    assert heard == [("so far", loop_thread)]


@on_a_loop
async def test_a_plain_function_that_hangs_is_left_behind() -> None:
    begun, release = threading.Event(), threading.Event()

    @tool()
    def hang() -> str:
        begun.set()
        release.wait()
        return "late"

    running = asyncio.ensure_future(hang.run(context(), "{}"))
    await asyncio.to_thread(begun.wait)
    running.cancel()
    await asyncio.wait([running])
    assert running.cancelled()
    release.set()


@on_a_loop
async def test_what_a_plain_function_raises_is_raised() -> None:
    @tool()
    def broken() -> str:
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        await told(broken)


@on_a_loop
async def test_it_can_be_asked_what_became_of_a_call() -> None:
    def find(n: int, context: ToolContext) -> str | None:
        return f"{context.key} did {n}" if n > 1 else None

    @tool(EffectClass.RECONCILABLE, check=find)
    def pay(n: int, context: ToolContext) -> str:
        return "paid"

    check = pay.check  # type: ignore[attr-defined] # what `hasattr` finds
    assert await check(context(), '{"n": 2}') == "t:c did 2"
    assert await check(context(), '{"n": 1}') is None
    with pytest.raises(TypeError, match="must take the same arguments: n, context"):
        tool(EffectClass.RECONCILABLE, check=lambda: None)(pay.function)
