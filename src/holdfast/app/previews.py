"""What models are writing just now, for people who watch: in memory, lossy, and never a delivery."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.clock import Bell
from holdfast.model import ChatAddress, Claimed, Fence


class _Draft(NamedTuple):
    by: Fence
    text: str


class Previews:
    """Keeps the newest unfinished text of each chat, and nothing of what is committed."""

    def __init__(self) -> None:
        self._drafts: dict[ChatAddress, _Draft] = {}
        self.bell = Bell()
        """Rings whenever a text grows or goes."""

    def show(self, claimed: Claimed, text: str) -> None:
        """Take what this turn's model has written so far; no text when that is committed or given up."""
        chat, by = claimed.session.chat, claimed.fence
        known = self._drafts.get(chat)
        if known is not None and _is_stale(by, known.by):
            return
        if text:
            self._drafts[chat] = _Draft(by, text)
        elif known is not None and known.by == by:
            del self._drafts[chat]
        self.bell.ring()

    def of(self, chat: ChatAddress) -> str:
        """What is being written in this chat now; empty when nothing is."""
        known = self._drafts.get(chat)
        return known.text if known is not None else ""


def _is_stale(by: Fence, newest: Fence) -> bool:
    """A generation that was overtaken shows nothing any more."""
    return by.session == newest.session and by.generation < newest.generation
