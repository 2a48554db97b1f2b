"""A conversation as a scripted model sees it, in either protocol, and the model's answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any

from holdfast.agents.wire_common import END_OF_NOTE, NOTE
from holdfast.records import dataclass

from .faults import FaultKind

Json = dict[str, Any]

_NOTES = re.compile(re.escape(NOTE) + r"(.*?)" + re.escape(END_OF_NOTE), re.DOTALL)
_WAKES = ("The background process ", "Standing goal: ")


class RequestRefused(Exception):
    """The provider would not accept this request."""

    def __init__(self, words: str, code: str | None = None, status: int = 400) -> None:
        super().__init__(words)
        self.code = code
        self.status = status


class Who(StrEnum):
    """The author of a message."""

    USER = "user"
    MODEL = "model"
    RESULT = "result"


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool."""

    tool: str
    arguments: str
    """JSON, unless a fault damages it."""


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """One message, or one result."""

    who: Who
    text: str
    calls: tuple[Call, ...] = ()
    pictures: int = 0

    @property
    def said(self) -> str:
        """What a person said in it, without the gateway's additions."""
        return _NOTES.sub("", self.text).strip()

    @property
    def woke(self) -> str:
        """The last note in it by which the gateway woke the model: a process ended, or a goal goes on."""
        notes = [note.strip() for note in _NOTES.findall(self.text)]
        return next((note for note in reversed(notes) if note.startswith(_WAKES)), "")


@dataclass(frozen=True, slots=True)
class Conversation:
    """What one request shows the model."""

    turns: tuple[SpokenTurn, ...]
    instructions: str = ""
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """The model's answer."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    thoughts: str = ""


@dataclass(frozen=True, slots=True)
class Protocol:
    """How a conversation is read and an answer is written in one protocol."""

    read: Callable[[Json], Conversation]
    events: Callable[[ModelAnswer, Json, int, FaultKind | None], Iterator[Json | None]]
    sse: Callable[[Json], str]
    error: Callable[[str, str | None], Json]
    end: str = ""
    """The last line of the stream, if it has one."""
    overflow: str | None = None
    """The code for a request that is too long, if the protocol has one."""


def tokens(body: Mapping[str, Any]) -> int:
    """About as many tokens as a provider would count."""
    return len(json.dumps(body, ensure_ascii=False)) // 4
