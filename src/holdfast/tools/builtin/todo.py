"""A list of tasks for a session. The gateway keeps it outside of the transcript."""

from __future__ import annotations

import json
from typing import Literal

from holdfast.model import EffectClass
from holdfast.records import dataclass
from holdfast.tools.base import Tool, ToolContext
from holdfast.tools.functions import tool

from .safe_paths import SafePaths, put_state, state_of

_FILE = "todo.json"
_MARKS = {"open": "[ ]", "doing": "[>]", "done": "[x]"}


@dataclass(frozen=True, slots=True)
class Item:
    """One task."""

    text: str
    state: Literal["open", "doing", "done"] = "open"


class Todo:
    """The list of a session. Each call gives the complete list, so a repeated call is harmless."""

    def __init__(self, places: SafePaths) -> None:
        self._places = places

    def tools(self) -> tuple[Tool, ...]:
        return (tool(EffectClass.IDEMPOTENT)(self.todo),)

    def todo(self, context: ToolContext, items: list[Item] | None = None) -> str:
        """Keep a list of tasks for this conversation, or show it. The list survives restarts.

        Args:
            items: All tasks, in order. They replace the list. Omit it to only show the list.
        """
        file = self._places.state(context) / _FILE
        if items is not None:
            put_state(file, json.dumps([(item.text, item.state) for item in items], ensure_ascii=False))
        kept = json.loads(state_of(file) or "[]")
        return "\n".join(f"{_MARKS[state]} {text}" for text, state in kept) or "(the list is empty)"
