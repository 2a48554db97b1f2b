"""The arguments of the operations of a gateway: how they are checked and refused."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from holdfast.errors import BadRequest, HoldfastError, NotFound, Refused, StoreFault
from holdfast.records import dataclass

from .to_json import Json

log = logging.getLogger(__name__)

Run = Callable[[Json], Coroutine[Any, Any, Json]]


class Unwilling(HoldfastError):
    """The action cannot be done; the words say why, and nothing was changed."""


class MessageTooLong(Unwilling):
    """A message that is too long. Nothing of it was kept."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: its arguments with their types (`?` for an optional one).

    A type is one of the names below, or `=` and the allowed words with bars between them.
    """

    arguments: Mapping[str, str]
    run: Run


def check(arguments: Mapping[str, str], given: Json) -> None:
    """Refuse unknown arguments, values of another type, and missing arguments."""
    for name, value in given.items():
        if name not in arguments:
            known = ", ".join(arguments) or "none"
            raise BadRequest(f"unknown argument {name!r}; arguments here: {known}")
        wanted = arguments[name].rstrip("?")
        optional = arguments[name].endswith("?")
        if not (optional and value is None) and not _fits(wanted, value):
            raise BadRequest.value(name, value, _WORDS.get(wanted) or ", ".join(choices(wanted)))
    missing = [name for name, kind in arguments.items() if kind[-1] != "?" and name not in given]
    if missing:
        raise BadRequest(f"missing: {', '.join(missing)}")


_MOST = 2**63 - 1
"""The largest number that the ledger can hold."""
_MOST_FILES = 20
LONGEST_NAME = 100
"""Characters of a chat's name or of an event id, at most."""
_LONGEST_ADDRESS = 1_000


def _is_file(value: object) -> bool:
    """Whether this names a stored file by its digest, with or without a file name."""
    return isinstance(value, str) or (
        isinstance(value, dict)
        and isinstance(value.get("digest"), str)
        and isinstance(value.get("name", ""), str)
        and not value.keys() - {"digest", "name"}
    )


def _is_chat(value: object) -> bool:
    """Whether this is the name of a web chat, or the address of any chat, which has slashes."""
    most = _LONGEST_ADDRESS if isinstance(value, str) and "/" in value else LONGEST_NAME
    return isinstance(value, str) and 0 < len(value) <= most and value.isprintable()


_IS: Mapping[str, Callable[[object], bool]] = {
    "text": lambda value: isinstance(value, str) and bool(value),
    "words": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST,
    "count": lambda value: isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MOST,
    "name": lambda value: isinstance(value, str) and 0 < len(value) <= LONGEST_NAME and value.isprintable(),
    "chat": _is_chat,
    "flag": lambda value: isinstance(value, bool),
    "files": lambda value: (
        isinstance(value, list) and len(value) <= _MOST_FILES and all(map(_is_file, value))
    ),
}
_WORDS = {
    "text": "text, not empty",
    "words": "text",
    "number": f"a whole number from 0 to {_MOST}",
    "count": f"a whole number from 1 to {_MOST}",
    "name": f"at most {LONGEST_NAME} characters, all of them printable",
    "chat": f"a name of at most {LONGEST_NAME} characters, all of them printable",
    "flag": "true or false",
    "files": f'a list of at most {_MOST_FILES} files, each {{"digest": ..., "name": ...}}',
}


def choices(kind: str) -> list[str]:
    """The allowed words, if the type is a list of them."""
    return kind.strip("=?").split("|") if kind.startswith("=") else []


def _fits(kind: str, value: object) -> bool:
    return value in words if (words := choices(kind)) else _IS[kind](value)


_CODES: tuple[tuple[type[Exception], str], ...] = (
    (BadRequest, "bad_request"),
    (NotFound, "not_found"),
    (MessageTooLong, "too_large"),
    (Unwilling, "refused"),
    (Refused, "refused"),
    (StoreFault, "try_again"),
    (HoldfastError, "failed"),
)


def refusal(fault: Exception) -> tuple[str, str]:
    """Code and words for the caller. An unexpected fault goes to the log; the words tell nothing of it."""
    for kind, code in _CODES:
        if isinstance(fault, kind):
            return code, str(fault)
    log.error("a request broke: %r", fault, exc_info=fault)
    return "broken", "the gateway could not carry this out; its log says why"
