"""How a chat looks in the terminal: the agent's steps and answers, and the gateway's notices."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from rich.console import Console
from rich.text import Text

from holdfast.api.to_json import Json
from holdfast.cli.render.format import CALL_MARKS, one_line
from holdfast.cli.render.terminal_text import Folded, Part, joined, styled
from holdfast.model import AskedBy, Attachment, QuestionKind, QuestionState
from holdfast.model.states import SILENT
from holdfast.policy.consent.closed_question import closed_words, unanswered_line
from holdfast.policy.consent.visible_text import visible
from holdfast.policy.delivery.files import file_line
from holdfast.policy.intake.parse_input import command_label
from holdfast.telemetry import controls_named

_INDENT = "         "
_BELOW = f"\n{_INDENT}"
_FURTHER_ROWS = len(_INDENT) + 4
"""Blanks before the further rows of a long line of a card. The lines themselves begin further left."""
_MOST_LINES = 12
"""Lines that are shown of a tool's result."""
_LIVE = "agent    "
_SPOKEN = "gateway  "
_GATEWAY = (_SPOKEN, "bold yellow")
PROMPT = "> "
ScreenLine = Text | Folded


class Screen:
    """Prints events as they come, above the line that a person may be typing."""

    def __init__(
        self, console: Console, typed: Callable[[], str] | None = None, show_said: bool = False
    ) -> None:
        self._console = console
        self._typed = typed
        """Returns the text on the input line now. None if this screen has no input line."""
        self._show_said = show_said
        self._draft = self._notice = ""
        self._open: set[str] | None = None
        """Questions that are known to wait for an answer; None before the first `standing` event."""

    def event(self, event: Json) -> None:
        """Show one event of the chat, if it says something to a person."""
        if "preview" in event:
            self._draft = event["preview"]["text"]
            self.live(self._draft or self._notice, _LIVE if self._draft else _SPOKEN)
            return
        if "working" in event:
            self._show_notice((event["working"] or {}).get("notice", ""))
            return
        if "standing" in event:
            for question in self._unanswered(event["standing"]):
                self.line(unanswered_words(question))
            return
        line = event_line(event, self._show_said)
        if line is not None:
            self.line(line)

    def line(self, line: ScreenLine) -> None:
        """Print one line, and put back what was being typed."""
        typed = self._typed() if self._typed else None
        if typed is not None:
            self._console.file.write("\r\x1b[K")
        self._console.print(line)
        if typed is not None:
            self._console.file.write(PROMPT + typed)
        self._console.file.flush()

    def _unanswered(self, standing: Json) -> list[Json]:
        """Questions that were closed without an answer since the last look.

        At the first look this is the last question, if no person wrote after it. A pipe does not get it.
        """
        questions, said = standing["questions"], 0
        waited = self._open or set()
        if self._open is None and self._typed is not None:
            waited = {one["id"] for one in questions[-1:]}
            said = max((one["at"] for one in standing["said"]), default=0)
        self._open = {one["id"] for one in questions if one["state"] == "open"}
        silent = [one for one in questions if one["id"] in waited and one["state"] in SILENT]
        return [one for one in silent if (one["closed_at"] or 0) >= said]

    def _show_notice(self, notice: str) -> None:
        """Show the notice of a long turn, unless there is a draft of the model, which says more."""
        if notice != self._notice:
            self._notice = notice
            if not self._draft:
                self.live(notice, _SPOKEN)

    def live(self, text: str, who: str = _LIVE) -> None:
        """Show the end of unfinished text where the next line will be, unless the person is typing."""
        if self._typed is None or not self._console.is_terminal:
            return
        typed = self._typed()
        self._console.file.write("\r\x1b[K")
        if text and not typed:
            room = max(1, self._console.width - len(who) - 1)
            line = " ".join(controls_named(text).split())
            shown = line if len(line) <= room else "…" + line[1 - room :]
            self._console.print(styled((who + shown, "dim")), end="", overflow="crop", no_wrap=True)
        else:
            self._console.file.write(PROMPT + typed)
        self._console.file.flush()

    def prompt(self) -> None:
        """Print the prompt: the person can type."""
        if self._typed:
            self._console.file.write(PROMPT)
            self._console.file.flush()


def event_line(event: Json, show_said: bool = False) -> ScreenLine | None:
    """One event as a line, if it says something to a person."""
    if "delivery" in event:
        return delivery_line(event["delivery"])
    if "entry" in event:
        return entry_line(event["entry"], show_said)
    if "lost" in event:
        return styled(("the gateway is away; what you type is kept and sent when it is back", "dim"))
    if "reconnected" in event:
        return styled(("reconnected", "dim"))
    return None


def unanswered_words(question: Json) -> Text:
    """The words that say that a question was closed without an answer, and how to continue."""
    state, kind = QuestionState(question["state"]), QuestionKind(question["kind"])
    words = (
        unanswered_line(question["text"], was_shown=state is QuestionState.EXPIRED)
        if kind is QuestionKind.CLARIFY
        else closed_words(kind, state, None, _asked_by(question))
    )
    return styled(_GATEWAY, words)


def _asked_by(question: Json) -> AskedBy | None:
    return AskedBy(question["asked_by"]) if question.get("asked_by") else None


def delivery_line(delivery: Json, before: Part = "") -> ScreenLine:
    """A reply, a question or a notice, as the chat got it."""
    text = "\n".join(filter(None, (delivery["text"], *map(_file, delivery["files"]))))
    if delivery["kind"] == "reply":
        return styled(before, ("agent    ", "bold green"), text)
    if delivery["kind"] == "question":
        # Rows without text stay empty.
        card = re.sub(r"\n(?=.)", _BELOW, "\n".join((text, *_options(delivery["options"]))))
        return Folded(styled(before, ("question ", "bold magenta"), card), _FURTHER_ROWS)
    offered = [f"{_BELOW}{command_label(one)}: {one}" for one in delivery["options"]]
    return styled(before, _GATEWAY, text, *offered)


def _file(file: Json) -> str:
    return file_line(Attachment(**file))


def _options(options: list[str]) -> list[str]:
    """The choices, each with its number: a person only has to type the number."""
    return [f"{number}. {option}" for number, option in enumerate(options, start=1)]


def entry_line(entry: Json, show_said: bool = False) -> ScreenLine | None:
    """A committed step; a final answer is shown when it is delivered, not twice."""
    match entry["kind"]:
        case "said" if entry.get("woken"):
            return styled(_GATEWAY, _lines(entry["text"]))
        case "said" if show_said:
            return styled(("you      ", "bold cyan"), entry["text"])
        case "replied" if entry["calls"]:
            calls = [
                (visible(f"{call['name']} {_gist(call['arguments'])}"), "dim") for call in entry["calls"]
            ]
            step = styled(("agent    ", "bold"), joined(_BELOW, filter(None, (entry["text"], *calls))))
            return Folded(step, len(_INDENT))
        case "returned":
            result = styled(_INDENT, CALL_MARKS[entry["state"]], " ", _lines(entry["text"]))
            return Folded(result, len(_INDENT))
        case "noted":
            return styled((f"{_INDENT}(the agent is told: {one_line(entry['text'], 110)})", "dim"))
    return None


def _gist(arguments: str) -> str:
    """The arguments of a call in one line: the first text says the most (a command, a path, a question)."""
    try:
        given = json.loads(arguments)
    except ValueError:
        return one_line(arguments)
    texts = [value for value in given.values() if isinstance(value, str)] if isinstance(given, dict) else []
    return one_line(texts[0] if texts else arguments)


def _lines(text: str) -> Text:
    """The beginning of a text; the rest is in `holdfast show`."""
    lines: list[Part] = [*controls_named(text).strip().split("\n")]
    left = len(lines) - _MOST_LINES
    more: list[Part] = [(f"… and {left} more lines", "dim")] if left > 0 else []
    return joined(_BELOW, lines[:_MOST_LINES] + more)
