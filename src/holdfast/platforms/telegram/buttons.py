"""The data of a button: the question and the option in Telegram's 64 bytes, valid after any restart.

    q1.42:asked:01hx…:c3-1      option 1 of this question, asked in topic 42
    q1#3zKf…                    the same for a question whose id is too long: a hash of the id
    c.42:/resume 01hx…          a command, offered by a notice in topic 42

The data contains the topic, because a press on an old message comes without it.
"""

from __future__ import annotations

import base64
import hashlib
import re

from holdfast.model import QuestionId
from holdfast.policy.intake.parse_input import command_label
from holdfast.records import dataclass

LONGEST_DATA = 64
LONGEST_LABEL = 60
_SHORT_LABEL, _IN_A_ROW = 14, 3
_DATA = re.compile(r"q([0-9]{1,3})(?:\.((?:dm)?[0-9]{1,19}))?([:#])(.+)", re.DOTALL)


_COMMAND = re.compile(r"c(?:\.((?:dm)?[0-9]{1,19}))?:(/.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ButtonPress:
    """The option, its question, and the topic of the question."""

    option: int
    question: QuestionId | None
    hashed: str | None = None
    """A hash instead of the question's id, if the id is too long."""
    thread: str | None = None

    def is_of(self, question: QuestionId) -> bool:
        """Whether the press belongs to this question."""
        return question == self.question or _hash(question) == self.hashed


def data_for(question: QuestionId, option: int, thread: str | None) -> str:
    """The data of the button for this option."""
    head = f"q{option}" if thread is None else f"q{option}.{thread}"
    data = f"{head}:{question}"
    return data if len(data.encode()) <= LONGEST_DATA else f"{head}#{_hash(question)}"


def press_of(data: str) -> ButtonPress | None:
    """The press that this data means; None if it is not the gateway's."""
    found = _DATA.fullmatch(data)
    if found is None:
        return None
    option, thread, kind, name = int(found[1]), found[2], found[3], found[4]
    if kind == "#":
        return ButtonPress(option, None, name, thread)
    return ButtonPress(option, QuestionId(name), None, thread)


def command_of(data: str) -> tuple[str, str | None] | None:
    """The command in a button's data, and its topic; None without a command."""
    found = _COMMAND.fullmatch(data)
    return (found[2], found[1]) if found else None


def command_keyboard(commands: tuple[str, ...], thread: str | None) -> dict[str, object]:
    """The buttons below a notice; a command that is too long gets no button."""
    head = "c" if thread is None else f"c.{thread}"
    data = {command: f"{head}:{command}" for command in commands}
    rows = [
        [{"text": label(command_label(command)), "callback_data": text}]
        for command, text in data.items()
        if len(text.encode()) <= LONGEST_DATA
    ]
    return {"inline_keyboard": rows}


def _hash(question: QuestionId) -> str:
    digest = hashlib.sha256(question.encode("utf-8", "surrogatepass")).digest()[:24]
    return base64.urlsafe_b64encode(digest).decode()


def label(option: str) -> str:
    """The label of a button: one short line, never empty."""
    line = " ".join(option.split()) or "…"
    return line if len(line) <= LONGEST_LABEL else f"{line[: LONGEST_LABEL - 1]}…"


def keyboard(question: QuestionId, options: tuple[str, ...], thread: str | None) -> dict[str, object]:
    """The buttons below a question; short ones share a row."""
    buttons = [
        {"text": label(option), "callback_data": data_for(question, number, thread)}
        for number, option in enumerate(options)
    ]
    in_a_row = _IN_A_ROW if all(len(option) <= _SHORT_LABEL for option in options) else 1
    rows = [buttons[start : start + in_a_row] for start in range(0, len(buttons), in_a_row)]
    return {"inline_keyboard": rows}
