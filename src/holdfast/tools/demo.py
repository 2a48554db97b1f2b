"""Harmless tools for the demonstration agent: a slow count, and notes in a file that must not be doubled."""

from __future__ import annotations

import json
from pathlib import Path

from holdfast.clock import Clock
from holdfast.model import EffectClass
from holdfast.records import dataclass

from .base import Tool, ToolContext, ToolFailed


@dataclass(frozen=True, slots=True)
class Count:
    """Counts slowly and changes nothing, so a count that was cut off is simply run again."""

    clock: Clock
    pace: float
    name: str = "count"
    effect: EffectClass = EffectClass.READ

    async def run(self, context: ToolContext, arguments: str) -> str:
        upto = _number(arguments, "upto")
        for _ in range(upto):
            await self.clock.sleep(self.pace)
            context.progress()
        return f"counted to {upto}"


@dataclass(frozen=True, slots=True)
class WriteNote:
    """Appends a line to the notes: an effect, never repeated when its outcome is unknown."""

    clock: Clock
    pace: float
    name: str = "write_note"
    effect: EffectClass = EffectClass.EFFECT

    async def run(self, context: ToolContext, arguments: str) -> str:
        step, request = _number(arguments, "step"), _number(arguments, "request", 1)
        await self.clock.sleep(self.pace)
        line = note_line(step, request)
        with _notes(context).open("a", encoding="utf-8") as file:
            file.write(line)
        await self.clock.sleep(self.pace)
        return f"wrote the {line.strip()}"


@dataclass(frozen=True, slots=True)
class ReadNotes:
    """Shows all notes."""

    name: str = "read_notes"
    effect: EffectClass = EffectClass.READ

    async def run(self, context: ToolContext, arguments: str) -> str:
        file = _notes(context)
        return file.read_text(encoding="utf-8") if file.exists() else ""


def demo_tools(clock: Clock, pace: float) -> tuple[Tool, ...]:
    """The three tools; each beat of their work takes `pace` seconds."""
    return (Count(clock, pace), WriteNote(clock, pace), ReadNotes())


def note_line(step: int, request: int = 1) -> str:
    """The line of a step; the lines for a second request of a turn differ from those for the first."""
    return f"note of step {step}\n" if request == 1 else f"note of step {step} of request {request}\n"


def _number(arguments: str, name: str, otherwise: int | None = None) -> int:
    try:
        found = json.loads(arguments)
        return int(found[name] if otherwise is None else found.get(name, otherwise))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ToolFailed(f"needs a whole number {name!r}, got {arguments!r}") from error


def _notes(context: ToolContext) -> Path:
    """The file of notes, one for each turn."""
    context.workspace.mkdir(parents=True, exist_ok=True)
    return context.workspace / f"notes-{context.turn}.txt"
