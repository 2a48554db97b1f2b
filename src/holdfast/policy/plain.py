"""Reading a call's arguments so that everybody who reads them sees the same."""

from __future__ import annotations

import json
import math
from typing import Any


class Unreadable(ValueError):
    """It is no JSON, or JSON that readers take differently."""


def plain_value(arguments: str) -> Any:
    """What the arguments are; `Unreadable` when no two readers need agree on that."""
    try:
        return json.loads(
            arguments, object_pairs_hook=_plain_object, parse_float=_finite, parse_constant=_finite
        )
    except (ValueError, RecursionError) as fault:
        raise Unreadable(str(fault)) from fault


def _plain_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Unreadable("a key stands twice, and readers differ on which one counts")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise Unreadable("different texts would give the same number")
    return number
