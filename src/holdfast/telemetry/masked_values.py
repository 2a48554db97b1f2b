"""Masks known secrets in every text inside a value: records, tuples, lists and mappings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar, cast

from .known_secrets import KnownSecrets

T = TypeVar("T")


def masked(value: T, known: KnownSecrets) -> T:
    """The same value without known secrets; the same object if it holds none.

    Enum members, numbers, functions and bytes stay as they are.
    """
    return cast(T, _masked(value, known)) if known else value


def _masked(value: Any, known: KnownSecrets) -> Any:
    kind = type(value)
    if kind is str:
        return known.without(value)
    if isinstance(value, (tuple, list)):
        found = [_masked(one, known) for one in value]
        if all(new is old for new, old in zip(found, value, strict=True)):
            return value
        return kind(*found) if hasattr(kind, "_fields") else kind(found)
    if isinstance(value, Mapping):
        return _masked_mapping(value, known)
    if hasattr(kind, "__dataclass_fields__") and not isinstance(value, type):
        return _masked_record(value, known)
    return value


def _masked_mapping(value: Mapping[Any, Any], known: KnownSecrets) -> Mapping[Any, Any]:
    found = {_masked(name, known): _masked(one, known) for name, one in value.items()}
    same = all(name in value and one is value[name] for name, one in found.items())
    return value if same and len(found) == len(value) else found


def _masked_record(value: Any, known: KnownSecrets) -> Any:
    changed = {
        name: new
        for name in type(value).__dataclass_fields__
        if (new := _masked(old := getattr(value, name), known)) is not old
    }
    return replace(value, **changed) if changed else value
