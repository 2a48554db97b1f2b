"""Reading a call's arguments in the one way that every reader agrees on."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any


class Unreadable(ValueError):
    """The text is no JSON, or JSON that different readers read differently."""


def plain_value(arguments: str) -> Any:
    """The value of the arguments; `Unreadable` if two readers could read different values."""
    try:
        return json.loads(
            arguments, object_pairs_hook=_plain_object, parse_float=_finite, parse_constant=_finite
        )
    except (ValueError, RecursionError) as fault:
        raise Unreadable(str(fault)) from fault


def _plain_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Unreadable("a key appears twice, and readers differ on which one counts")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise Unreadable("different texts would give the same number")
    return number


def call_hash(name: str, arguments: str) -> str:
    """The hash of one call, for consent: equal for the same tool and arguments, with any white space."""
    try:
        return value_hash(name, plain_value(arguments))
    except (Unreadable, RecursionError):
        # Unreadable arguments count letter by letter.
        form = json.dumps([name, "text", arguments], separators=(",", ":"))
        return hashlib.sha256(form.encode("ascii")).hexdigest()


def value_hash(name: str, value: object) -> str:
    """The same hash, from arguments that were read already."""
    form = json.dumps([name, value], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(form.encode("ascii")).hexdigest()
