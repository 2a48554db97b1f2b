"""What a model is writing, shown to whoever watches while it grows; committed text is never shown by this."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.model import Claimed

Preview = Callable[[Claimed, str], None]
"""Called with all the model has written of a reply so far, then with no text once that is committed or given
up. Lossy, never a delivery; must not raise."""


def unshown(claimed: Claimed, text: str) -> None:
    """Nobody watches."""


class Live:
    """The preview of one run."""

    def __init__(self, claimed: Claimed, preview: Preview) -> None:
        self._claimed = claimed
        self._preview = preview
        self._shows = False

    def show(self, text: str) -> None:
        """The reply in hand has grown to this."""
        if text:
            self._shows = True
            self._preview(self._claimed, text)

    def over(self) -> None:
        """What was shown is committed, or will never be: there is nothing to preview."""
        if self._shows:
            self._shows = False
            self._preview(self._claimed, "")
