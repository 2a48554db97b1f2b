"""A list of what is to be done, kept for a session whatever becomes of its transcript."""

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
    """One thing to be done."""

    text: str
    state: Literal["open", "doing", "done"] = "open"


class Todo:
    """The list of a session. Giving all of it at once makes giving it again harmless."""

    def __init__(self, places: SafePaths) -> None:
        self._places = places

    def tools(self) -> tuple[Tool, ...]:
        return (tool(EffectClass.IDEMPOTENT)(self.todo),)

    def todo(self, context: ToolContext, items: list[Item] | None = None) -> str:
        """Keep a list of what is to be done in this conversation, or show it; it outlives restarts.

        Args:
            items: All items, in order, in place of the list as it is; left out, the list is only shown.
        """
        file = self._places.state(context) / _FILE
        if items is not None:
            put_state(file, json.dumps([(item.text, item.state) for item in items], ensure_ascii=False))
        kept = json.loads(state_of(file) or "[]")
        return "\n".join(f"{_MARKS[state]} {text}" for text, state in kept) or "(the list is empty)"
