"""Times, ages and states as people read them."""

from __future__ import annotations

from datetime import UTC, datetime

from rich.text import Text

from holdfast.api.to_json import Json
from holdfast.policy.settings import DAY, HOUR, MINUTE, SECOND
from holdfast.telemetry import controls_named

from .terminal_text import styled

_UNITS = ((DAY, "d"), (HOUR, "h"), (MINUTE, "min"), (SECOND, "s"))

_COLOURS = {
    "queued": "cyan",
    "running": "green",
    "waiting": "magenta",
    "interrupted": "yellow",
    "done": "green",
    "failed": "red",
    "cancelled": "dim",
    "expired": "dim",
    "parked": "red",
    "pending": "cyan",
    "sending": "cyan",
    "sent": "green",
    "unknown": "yellow",
}

CALL_MARKS = {
    "planned": ("·", "dim"),
    "started": ("…", "cyan"),
    "done": ("✓", "green"),
    "failed": ("✗", "red"),
    "unknown": ("?", "yellow"),
    "skipped": ("–", "dim"),
}


def moment(at: int | None) -> str:
    """A moment in this machine's time zone, to the millisecond; a dash for none."""
    if at is None:
        return "–"
    local = datetime.fromtimestamp(at // SECOND, UTC).astimezone()
    return f"{local:%Y-%m-%d %H:%M:%S}.{at % SECOND:03d}"


def span(milliseconds: int) -> str:
    """A length of time in its largest whole unit."""
    for size, unit in _UNITS:
        if milliseconds >= size:
            return f"{milliseconds // size} {unit}"
    return f"{max(0, milliseconds)} ms"


def ago(at: int | None, now: int) -> str:
    """How long ago a moment was. A moment in the future (from a clock that ran ahead) is 0 ms ago."""
    return "–" if at is None else f"{span(max(0, now - at))} ago"


def plural(number: int, thing: str, things: str | None = None) -> str:
    """A number with its noun."""
    return f"{number} {thing if number == 1 else things or thing + 's'}"


def coloured(state: str) -> Text:
    """A state in its colour."""
    return styled((state, _COLOURS.get(state, "")))


def one_line(text: str, most: int = 72) -> str:
    """A text in one line of at most so many characters."""
    line = " ".join(controls_named(text).split())
    return line if len(line) <= most else line[: most - 1] + "…"


def owed_words(part: Json, most: int = 72) -> str:
    """The text of a delivery and the names of its files, in one line."""
    names = [f"[{file['name']}]" for file in part.get("files", ())]
    return one_line(" ".join(filter(None, (part["text"], *names))), most)
