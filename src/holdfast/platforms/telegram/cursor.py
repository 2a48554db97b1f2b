"""A bot's read position: the last committed update, and the groups that have moved. Pure.

It is all that must outlive a process. The ledger commits it together with the messages that it covers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field, replace

from holdfast.model import Place
from holdfast.policy.ages import age
from holdfast.policy.settings import DAY
from holdfast.records import dataclass

from .content import integer, part
from .wire import Moved

FORGOTTEN = 6 * DAY
"""After a week without updates, Telegram may continue with any id. So a position this old is not used: if
the new ids are lower, Telegram would drop updates that the gateway has not read."""


@dataclass(frozen=True, slots=True)
class UpdateCursor:
    """The last committed update, when it came, and the moved groups: from the new id to the first one."""

    update: int | None = None
    at: int = 0
    moved: Mapping[str, str] = field(default_factory=dict)

    def offset(self, now: int) -> int | None:
        """The first update to ask for; None: all that Telegram has."""
        return None if self.update is None or age(now, self.at) >= FORGOTTEN else self.update + 1

    def after(self, updates: list[object], moves: list[Moved], now: int) -> UpdateCursor:
        """The cursor after these updates and moves."""
        ids = [id_ for one in updates if isinstance(one, dict) and (id_ := integer(one, "update_id"))]
        moved = {**self.moved, **{move.new: self.first_id(move.old) for move in moves}}
        return replace(self, update=max(ids), at=now, moved=moved) if ids else replace(self, moved=moved)

    def first_id(self, chat: str) -> str:
        """The chat's id in the ledger: the one it had when the bot first saw it."""
        return self.moved.get(chat, chat)

    def last_id(self, chat: str) -> str:
        """The chat's id at Telegram now."""
        return next((new for new, old in self.moved.items() if old == chat), chat)

    def known(self, place: Place) -> Place:
        return replace(place, chat=self.first_id(place.chat))

    def value(self) -> str:
        return json.dumps({"update": self.update, "at": self.at, "moved": dict(self.moved)}, sort_keys=True)


def reached(value: str | None) -> UpdateCursor:
    """The cursor in this text; an unreadable one counts as none: updates come again and are deduplicated."""
    try:
        found = json.loads(value or "{}")
    except (ValueError, RecursionError):
        return UpdateCursor()
    if not isinstance(found, dict):
        return UpdateCursor()
    moved = {new: old for new, old in part(found, "moved").items() if isinstance(old, str)}
    return UpdateCursor(integer(found, "update"), integer(found, "at") or 0, moved)
