"""Characters that a terminal would obey instead of showing them."""

from __future__ import annotations

import re

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters except the line end and the tab, other line ends, characters that change the direction
of text, and halves of characters, which cannot be written at all."""


def controls_named(text: str) -> str:
    """The text with each such character replaced by its number; all other characters stay as they are."""
    return _CONTROLS.sub(_name, text)


def _name(found: re.Match[str]) -> str:
    return f"\\u{{{ord(found[0]):x}}}"
