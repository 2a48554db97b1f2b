"""The current drafts of runs, for people who watch: in memory, possibly incomplete, and never a delivery."""

from __future__ import annotations

from holdfast.clock import Bell
from holdfast.model import ChatAddress, Fence
from holdfast.platforms import Working


class DraftCache:
    """Keeps the newest draft for each chat, and nothing that is committed."""

    def __init__(self) -> None:
        self._shown: dict[ChatAddress, Working] = {}
        self._newest: dict[ChatAddress, Fence] = {}
        """The run that was shown last, also when it is over: drafts of earlier runs come too late."""
        self.bell = Bell()
        """Rings after every change."""

    def show(self, chat: ChatAddress, working: Working) -> None:
        """Take the draft of a run. An empty one means that the run is over."""
        known, newest = self._shown.get(chat), self._newest.get(chat)
        if newest is not None and _is_stale(working.by, newest):
            return
        self._newest[chat] = working.by
        if working != Working(working.by):
            self._shown[chat] = working
        elif known is not None and known.by == working.by:
            del self._shown[chat]
        self.bell.ring()

    def of(self, chat: ChatAddress) -> Working | None:
        """The current draft of this chat; None if no run shows one."""
        return self._shown.get(chat)


def _is_stale(by: Fence, newest: Fence) -> bool:
    """Whether the run belongs to an earlier turn or an earlier generation: its drafts come too late.

    Turns sort by their beginning. Sessions do not: a person may resume an earlier one.
    """
    return (by.turn, by.generation) < (newest.turn, newest.generation)
