"""What is to be seen of runs just now, for people who watch: in memory, lossy, and never a delivery."""

from __future__ import annotations

from holdfast.clock import Bell
from holdfast.model import ChatAddress, Fence
from holdfast.platforms import Working


class DraftCache:
    """Keeps the newest of what each chat is shown of a run, and nothing of what is committed."""

    def __init__(self) -> None:
        self._shown: dict[ChatAddress, Working] = {}
        self._newest: dict[ChatAddress, Fence] = {}
        """Whose run was shown last, also when it is over: what an earlier one says comes too late."""
        self.bell = Bell()
        """Rings whenever what is shown changes."""

    def show(self, chat: ChatAddress, working: Working) -> None:
        """Take what a run shows of itself; without anything in it, that the run is over."""
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
        """What is shown in this chat now; None when nothing runs that shows itself."""
        return self._shown.get(chat)


def _is_stale(by: Fence, newest: Fence) -> bool:
    """A run of an earlier turn, or of an earlier generation, shows nothing any more.

    Turns sort by when they began. Sessions do not: an earlier one may be taken up again.
    """
    return (by.turn, by.generation) < (newest.turn, newest.generation)
