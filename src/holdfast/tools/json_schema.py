"""What a Python annotation means in JSON: the schema for the model, and the reader of its values.

str int float bool None Any      the same in JSON; a whole number is also a `float`, a bool is not a number
Literal[...]  an Enum            one of these
X | None      X | Y              either
list[X]  tuple[X, ...]           an array
dict[str, X]                     an object with any names
a dataclass                      an object with these names; fields with defaults may be left out
Annotated[X, "words"]            X, with a description for the model
"""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Annotated, Any, Literal, NewType, Union, get_args, get_origin, get_type_hints

from holdfast.records import dataclass

Schema = dict[str, Any]
Read = Callable[[Any, str], Any]
"""Makes the function's argument from the JSON value, or raises `Misfit` with the place of the mistake."""


class Misfit(Exception):
    """A value has the wrong type; the words say where, and what is allowed."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What one annotation means in JSON."""

    schema: Schema
    read: Read


@dataclass(frozen=True, slots=True)
class Field:
    """One named value of an object."""

    name: str
    shape: Shape
    required: bool
    default: Any = None
    """Shown to the model if the value is optional; None if it cannot be shown."""


def shape_of(annotation: Any) -> Shape:
    """The shape of an annotation; raises `TypeError` if it has none in JSON."""
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    if isinstance(annotation, NewType):
        return shape_of(annotation.__supertype__)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return _one_of({member.value: member for member in annotation})
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        return _record(annotation)
    made = _MADE_OF.get(get_origin(annotation))
    if made is None:
        raise TypeError(
            f"{_called(annotation)} means nothing in JSON; use str, int, float, bool, Literal, Enum, "
            "X | None, list, dict or a dataclass"
        )
    return made(get_args(annotation))


def object_of(fields: tuple[Field, ...]) -> Shape:
    """An object with only these names; reading it gives a dict of the names that are present."""
    by_name = {field.name: field for field in fields}
    required = [field.name for field in fields if field.required]
    schema: Schema = {
        "type": "object",
        "properties": {field.name: _with_default(field) for field in fields},
        "required": required,
        "additionalProperties": False,
    }

    def read(value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise Misfit(f"{_at(where)} must be an object, not {_seen(value)}")
        inside = f"{where}." if where else ""
        wrong = [f"{inside}{name} is missing" for name in required if name not in value]
        allowed = ", ".join(by_name) or "none"
        wrong += [f"there is no {inside}{name} (allowed: {allowed})" for name in value if name not in by_name]
        found: dict[str, Any] = {}
        for name, given in value.items():
            if name in by_name:
                try:
                    found[name] = by_name[name].shape.read(given, f"{inside}{name}")
                except Misfit as misfit:
                    wrong.append(str(misfit))
        if wrong:
            raise Misfit("; ".join(wrong))
        return found

    return Shape(schema, read)


def _with_default(field: Field) -> Schema:
    plain = isinstance(field.default, (str, int, float, bool)) and not isinstance(field.default, Enum)
    return {**field.shape.schema, "default": field.default} if plain else field.shape.schema


def _plain(kind: str, words: str, fits: Callable[[Any], bool], make: Callable[[Any], Any]) -> Shape:
    def read(value: Any, where: str) -> Any:
        if not fits(value):
            raise Misfit(f"{_at(where)} must be {words}, not {_seen(value)}")
        return make(value)

    return Shape({"type": kind} if kind else {}, read)


def _same(value: Any) -> Any:
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return _is_number(value) and float(value).is_integer()


_ANYTHING = _plain("", "anything", lambda _: True, _same)

_PLAIN: Mapping[Any, Shape] = {
    str: _plain("string", "a string", lambda value: isinstance(value, str), _same),
    int: _plain("integer", "a whole number", _is_whole, int),
    float: _plain("number", "a number", _is_number, float),
    bool: _plain("boolean", "true or false", lambda value: isinstance(value, bool), _same),
    None: _plain("null", "null", lambda value: value is None, _same),
    type(None): _plain("null", "null", lambda value: value is None, _same),
    Any: _ANYTHING,
    list: _plain("array", "an array", lambda value: isinstance(value, list), _same),
    dict: _plain("object", "an object", lambda value: isinstance(value, dict), _same),
}


def _one_of(values: Mapping[Any, Any]) -> Shape:
    """One of these JSON values, each with its Python value."""
    allowed = ", ".join(_seen(value) for value in values)

    def read(value: Any, where: str) -> Any:
        for known, meant in values.items():
            if type(known) is type(value) and known == value:
                return meant
        raise Misfit(f"{_at(where)} must be one of {allowed}, not {_seen(value)}")

    kinds = {type(value) for value in values}
    kind: Schema = {"type": "string"} if kinds == {str} else {"type": "integer"} if kinds == {int} else {}
    return Shape({**kind, "enum": list(values)}, read)


def _literal(values: tuple[Any, ...]) -> Shape:
    return _one_of({value: value for value in values})


def _either(options: tuple[Any, ...]) -> Shape:
    shapes = [shape_of(option) for option in options]

    def read(value: Any, where: str) -> Any:
        wrong: list[str] = []
        for shape in shapes:
            try:
                return shape.read(value, where)
            except Misfit as misfit:
                wrong.append(str(misfit))
        raise Misfit(" or ".join(dict.fromkeys(wrong)))

    return Shape({"anyOf": [shape.schema for shape in shapes]}, read)


def _list(of: tuple[Any, ...]) -> Shape:
    return _array(shape_of(of[0]) if of else _ANYTHING, list)


def _tuple(of: tuple[Any, ...]) -> Shape:
    if len(of) != 2 or of[1] is not Ellipsis:
        raise TypeError(
            "a tuple of fixed length cannot be described to a model; use tuple[X, ...] or a dataclass"
        )
    return _array(shape_of(of[0]), tuple)


def _array(item: Shape, make: Callable[[list[Any]], Any]) -> Shape:
    def read(value: Any, where: str) -> Any:
        if not isinstance(value, list):
            raise Misfit(f"{_at(where)} must be an array, not {_seen(value)}")
        return make([item.read(one, f"{where}[{number}]") for number, one in enumerate(value)])

    return Shape({"type": "array", "items": item.schema}, read)


def _dict(of: tuple[Any, ...]) -> Shape:
    if of and of[0] is not str:
        raise TypeError("the names of a JSON object are strings; use dict[str, X]")
    item = shape_of(of[1]) if of else _ANYTHING

    def read(value: Any, where: str) -> Any:
        if not isinstance(value, dict):
            raise Misfit(f"{_at(where)} must be an object, not {_seen(value)}")
        return {name: item.read(one, f"{where}.{name}") for name, one in value.items()}

    return Shape({"type": "object", "additionalProperties": item.schema}, read)


def _record(kind: type) -> Shape:
    hints = get_type_hints(kind, include_extras=True)
    fields = tuple(
        Field(
            field.name,
            shape_of(hints[field.name]),
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING,
            None if field.default is dataclasses.MISSING else field.default,
        )
        for field in dataclasses.fields(kind)
        if field.init
    )
    inside = object_of(fields)
    return Shape(inside.schema, lambda value, where: kind(**inside.read(value, where)))


def _annotated(of: tuple[Any, ...]) -> Shape:
    inside = shape_of(of[0])
    words = " ".join(word for word in of[1:] if isinstance(word, str))
    return Shape({**inside.schema, "description": words}, inside.read) if words else inside


_MADE_OF: Mapping[Any, Callable[[tuple[Any, ...]], Shape]] = {
    Literal: _literal,
    Union: _either,
    types.UnionType: _either,
    list: _list,
    tuple: _tuple,
    dict: _dict,
    Annotated: _annotated,
}


def _at(where: str) -> str:
    return where or "the whole"


def _seen(value: Any) -> str:
    """A value as the model gave it, shortened."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _called(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)
