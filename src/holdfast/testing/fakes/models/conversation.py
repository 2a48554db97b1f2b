"""A conversation as a scripted model sees it, whichever protocol it came in; and what it answers."""

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
    """The request is none that the provider would accept."""

    def __init__(self, words: str, code: str | None = None, status: int = 400) -> None:
        super().__init__(words)
        self.code = code
        self.status = status


class Who(StrEnum):
    """Whose message it is."""

    USER = "user"
    MODEL = "model"
    RESULT = "result"


@dataclass(frozen=True, slots=True)
class Call:
    """A tool to be run."""

    tool: str
    arguments: str
    """JSON, as far as the model is well."""


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """One message, or one result."""

    who: Who
    text: str
    calls: tuple[Call, ...] = ()
    pictures: int = 0

    @property
    def said(self) -> str:
        """What a person said in it: without what the gateway added."""
        return _NOTES.sub("", self.text).strip()

    @property
    def woke(self) -> str:
        """The last note in it by which the gateway woke the model: a process ended, a goal goes on."""
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
    """What the model says to it."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    thoughts: str = ""


@dataclass(frozen=True, slots=True)
class Protocol:
    """How a conversation comes in and an answer goes out."""

    read: Callable[[Json], Conversation]
    events: Callable[[ModelAnswer, Json, int, FaultKind | None], Iterator[Json | None]]
    sse: Callable[[Json], str]
    error: Callable[[str, str | None], Json]
    end: str = ""
    """What the stream's last line is, if it has one."""
    overflow: str | None = None
    """The code of a request that is too long, if there is one for that."""


def tokens(body: Mapping[str, Any]) -> int:
    """About as many as a provider would count."""
    return len(json.dumps(body, ensure_ascii=False)) // 4
