"""Text in which a reader sees everything: invisible characters, and those that reverse text, are named."""

from __future__ import annotations

import re
import unicodedata

_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp")
"""Unicode categories of characters that are invisible, look like a space, or change other characters."""
_BLANK_LETTERS = frozenset(
    map(
        chr,
        (
            # Unicode counts these as letters, marks or symbols, but fonts draw nothing for them.
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
"""Spaces, line ends and tabs in a row, mixed or not, that are shown as they are. More could push text out of
sight; and more backticks would need a frame that no platform takes."""
_RUN = re.compile(rf"`{{{_LONGEST_RUN + 1},}}|[{_PLAIN}]{{{_LONGEST_RUN + 1},}}")
_REPEATED = re.compile(r"(.{1,4}?)\1+|.", re.DOTALL)
"""A few characters that repeat; a long gap may consist of several kinds of blanks in turn."""
_UNUSUAL = re.compile(r"[^\n\t -~]")
"""Characters that are checked one by one."""


def visible(text: str) -> str:
    """The text with each invisible character named by its number, and long gaps counted."""
    return _UNUSUAL.sub(_visible, _RUN.sub(_counted, text))


def _counted(run: re.Match[str]) -> str:
    """The whole gap in its order: each group of characters that repeats, with its count."""
    return "".join(map(_times, _REPEATED.finditer(run[0])))


def _times(found: re.Match[str]) -> str:
    unit = found[1] or found[0]
    names = "".join(map(_name, unit))
    number = len(found[0]) // len(unit)
    if number == 1:
        return names
    return f"{names}×{number}" if len(unit) == 1 else f"({names})×{number}"


def _visible(found: re.Match[str]) -> str:
    return _name(found[0]) if is_unseen(found[0]) else found[0]


def is_unseen(character: str) -> bool:
    """Whether this character is invisible, or looks like a plain space."""
    if character in _PLAIN:
        return False
    return character in _BLANK_LETTERS or unicodedata.category(character) in _UNSEEN


def _name(character: str) -> str:
    return f"\\u{{{ord(character):x}}}"
