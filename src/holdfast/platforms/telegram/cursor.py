"""How far a bot's updates are kept, and which groups have moved: all that must outlive a process. Pure.

It stands in the ledger as the read position, and so is committed with what it covers.
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
"""After a week without any update Telegram begins with any id. A position this old is not spoken of any more:
one above the new ids would let Telegram forget what nobody has read."""


@dataclass(frozen=True, slots=True)
class UpdateCursor:
    """The last update that is kept, when it came, and groups by their new id with the one they had."""

    update: int | None = None
    at: int = 0
    moved: Mapping[str, str] = field(default_factory=dict)

    def offset(self, now: int) -> int | None:
        """The first update that is wanted; None: whatever there is."""
        return None if self.update is None or age(now, self.at) >= FORGOTTEN else self.update + 1

    def after(self, updates: list[object], moves: list[Moved], now: int) -> UpdateCursor:
        """The same once these are kept as well."""
        ids = [id_ for one in updates if isinstance(one, dict) and (id_ := integer(one, "update_id"))]
        moved = {**self.moved, **{move.new: self.first_id(move.old) for move in moves}}
        return replace(self, update=max(ids), at=now, moved=moved) if ids else replace(self, moved=moved)

    def first_id(self, chat: str) -> str:
        """The id by which we know this chat: the one it had when we first heard of it."""
        return self.moved.get(chat, chat)

    def last_id(self, chat: str) -> str:
        """The id by which Telegram knows it now."""
        return next((new for new, old in self.moved.items() if old == chat), chat)

    def known(self, place: Place) -> Place:
        return replace(place, chat=self.first_id(place.chat))

    def value(self) -> str:
        return json.dumps({"update": self.update, "at": self.at, "moved": dict(self.moved)}, sort_keys=True)


def reached(value: str | None) -> UpdateCursor:
    """Read it back; what cannot be read counts as absent: then it is read again, and known by its rows."""
    try:
        found = json.loads(value or "{}")
    except (ValueError, RecursionError):
        return UpdateCursor()
    if not isinstance(found, dict):
        return UpdateCursor()
    moved = {new: old for new, old in part(found, "moved").items() if isinstance(old, str)}
    return UpdateCursor(integer(found, "update"), integer(found, "at") or 0, moved)
