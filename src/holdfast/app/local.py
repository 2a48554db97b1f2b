"""What can be asked of a gateway by name: the arguments of each thing, how they are checked and refused."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from holdfast.errors import HoldfastError, NotFound, Refused, StoreFault
from holdfast.records import dataclass

from .looks import SESSION_STATES
from .shown import Json

log = logging.getLogger(__name__)

Run = Callable[[Json], Coroutine[Any, Any, Json]]


class Unwilling(HoldfastError):
    """The action cannot be done; the words say why, and nothing was changed."""


class BadRequest(Exception):
    """The request itself is wrong; the words say what is expected."""


@dataclass(frozen=True, slots=True)
class Verb:
    """One thing that can be asked: its arguments with their types (`?` for those that may be left out)."""

    arguments: Mapping[str, str]
    run: Run


def check(arguments: Mapping[str, str], given: Json) -> None:
    """Every argument is known, of its type, and none that is needed is missing."""
    for name, value in given.items():
        if name not in arguments:
            known = ", ".join(arguments) or "none"
            raise BadRequest(f"unknown argument {name!r}; arguments here: {known}")
        wanted = arguments[name].rstrip("?")
        optional = arguments[name].endswith("?")
        if not (optional and value is None) and not _IS[wanted](value):
            raise BadRequest(f"{name} = {value!r} is not allowed; allowed: {_WORDS[wanted]}")
    missing = [name for name, kind in arguments.items() if kind[-1] != "?" and name not in given]
    if missing:
        raise BadRequest(f"missing: {', '.join(missing)}")


_MOST = 2**63 - 1
"""The largest number that the ledger knows."""
_MOST_FILES = 20


def _is_file(value: object) -> bool:
    """What was stored under a digest, and, if it is given, the name it goes by."""
    return isinstance(value, str) or (
        isinstance(value, dict)
        and isinstance(value.get("digest"), str)
        and isinstance(value.get("name", ""), str)
        and not value.keys() - {"digest", "name"}
    )


_IS: Mapping[str, Callable[[object], bool]] = {
    "text": lambda value: isinstance(value, str) and bool(value),
    "number": lambda value: isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST,
    "flag": lambda value: isinstance(value, bool),
    "state": lambda value: value in SESSION_STATES,
    "files": lambda value: (
        isinstance(value, list) and len(value) <= _MOST_FILES and all(map(_is_file, value))
    ),
}
_WORDS = {
    "text": "text, not empty",
    "number": f"a whole number from 0 to {_MOST}",
    "flag": "true or false",
    "state": ", ".join(SESSION_STATES),
    "files": f'a list of at most {_MOST_FILES} files, each {{"digest": ..., "name": ...}}',
}


_CODES: tuple[tuple[type[Exception], str], ...] = (
    (BadRequest, "bad_request"),
    (NotFound, "not_found"),
    (Unwilling, "refused"),
    (Refused, "refused"),
    (StoreFault, "try_again"),
    (HoldfastError, "failed"),
)


def refusal(fault: Exception) -> tuple[str, str]:
    """Code and words for whoever asked; what nobody foresaw is in the log, and tells nothing."""
    for kind, code in _CODES:
        if isinstance(fault, kind):
            return code, str(fault)
    log.error("a request broke: %r", fault, exc_info=fault)
    return "broken", "the gateway could not carry this out; its log says why"
