"""Text in which a reader sees everything: characters that are invisible or turn text around are named."""

from __future__ import annotations

import re
import unicodedata

_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp")
"""Kinds of characters that show nothing, look like a space, or change how other characters look."""
_BLANK_LETTERS = frozenset(
    map(
        chr,
        (
            # Unicode counts these as letters, marks or symbols, and every font draws nothing for them.
            *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0),
            *range(0x180B, 0x1810),
            *range(0xFE00, 0xFE10),
            *range(0xE0100, 0xE01F0),
            *(0x13441, 0x13442, 0x16FE4, 0x1D159),
        ),
    )
)
_PLAIN = " \n\t"
_LONGEST_RUN = 40
"""Spaces, line ends or tabs in a row that are shown as they are; more could push text out of sight, and more
backticks would need a frame that no platform takes."""
_RUN = re.compile(rf"([`{_PLAIN}])\1{{{_LONGEST_RUN},}}")


def visible(text: str) -> str:
    """The text with every character that cannot be seen named by its number, and long gaps counted."""
    return "".join(map(_visible, _RUN.sub(_counted, text)))


def _counted(run: re.Match[str]) -> str:
    return f"{_name(run[1])}×{len(run[0])}"


def _visible(character: str) -> str:
    return _name(character) if is_unseen(character) else character


def is_unseen(character: str) -> bool:
    """Whether a reader sees nothing of this character, or takes it for a plain space."""
    if character in _PLAIN:
        return False
    return character in _BLANK_LETTERS or unicodedata.category(character) in _UNSEEN


def _name(character: str) -> str:
    return f"\\u{{{ord(character):x}}}"
