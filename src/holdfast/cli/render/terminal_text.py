"""Text for a terminal. Text of a model, a tool, a person or a server is shown whole and controls nothing.

Rich's markup cannot hold such text: its function for escaping loses a backslash in front of a bracket. So
commands give styles beside the text, never in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from holdfast.telemetry import controls_named

Part = str | tuple[str, str] | Text
"""Text as it is, text with a style, or several of these made into one."""
Cell = str | Text
_TAB = 8


def styled(*parts: Part) -> Text:
    """These parts as one text, in which every control character is named."""
    return reduce(_appended, parts, Text())


def _appended(whole: Text, part: Part) -> Text:
    if isinstance(part, Text):
        return whole.append_text(part)
    words, style = (part, None) if isinstance(part, str) else part
    return whole.append(controls_named(words), style)


def joined(between: str, parts: Iterable[Part]) -> Text:
    """These parts with something between each two."""
    whole = Text()
    for number, part in enumerate(parts):
        whole = _appended(_appended(whole, between) if number else whole, part)
    return whole


class Folded:
    """A text whose lines are cut at the edge of the screen, between words if possible. No character is lost.

    Word wrap would drop blanks. The further rows of a line are indented, so that none looks like a new line.
    """

    def __init__(self, text: Text, indent: int) -> None:
        self.text = text
        self._indent = " " * indent

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if options.no_wrap:
            yield self.text
            return
        width = max(options.max_width, len(self._indent) + 2)
        for line in self.text.split("\n", allow_blank=True):
            line.expand_tabs(_TAB)
            for row in self._rows(line, width):
                row.no_wrap, row.overflow = True, "ignore"
                yield row

    def _rows(self, line: Text, width: int) -> Iterable[Text]:
        cuts, begin, used = [], 0, 0
        for place, character in enumerate(line.plain):
            wide = cell_len(character)
            if used + wide > width:
                begin = _cut(line.plain, begin, place)
                cuts.append(begin)
                used = len(self._indent) + cell_len(line.plain[begin:place])
            used += wide
        first, *further = line.divide(cuts)
        return [first, *(Text(self._indent).append_text(row) for row in further)]


def _cut(line: str, begin: int, end: int) -> int:
    """Where to cut a row that begins at `begin` and has no room for the character at `end`.

    The cut is after the last single blank of the row's second half, else at `end`. It is never after several
    blanks: a reader could not count them at the end of a row.
    """
    for place in range(end, (begin + end) // 2, -1):
        if line[place - 1] == " " and " " not in (line[place], line[place - 2 : place - 1]):
            return place
    return end
