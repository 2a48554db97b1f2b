"""The words that a model reads as the result of a call that returned none."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

from holdfast.model import Body, CallRecord, CallState, QuestionState, Returned, ToolCall


class Skip(StrEnum):
    """Why a call did not run."""

    REFUSED = "refused"
    NO_ANSWER = "no_answer"
    SET_ASIDE = "set_aside"
    UNDELIVERABLE = "undeliverable"
    CANCELLED = "cancelled"
    OTHER_CALL = "other_call"
    """The person consented to another call."""
    STALE = "stale"
    """The consent is too old."""
    DENIED = "denied"
    """A rule of the owner forbids it."""
    NOT_OWNER = "not_owner"
    """The person who consented is no longer an owner."""
    NO_OWNER = "no_owner"
    """Only an owner could consent, and the gateway can reach none."""
    TOO_LONG = "too_long"
    """It needs consent, and is too long for a card."""
    BROKEN_OFF = "broken_off"
    """The model's message broke off, so the call may not be whole."""
    TURN_ENDED = "turn_ended"


_SKIPPED = {
    Skip.REFUSED: "the person did not allow it. Do not try it again unless they ask for it",
    Skip.NO_ANSWER: "the person was asked for permission and has not answered in time",
    Skip.SET_ASIDE: "the person was asked for permission and wrote something else instead",
    Skip.UNDELIVERABLE: "the question for permission could not be delivered",
    Skip.CANCELLED: "the question for permission was withdrawn",
    Skip.OTHER_CALL: "the permission that was given is for another call",
    Skip.STALE: (
        "the person's permission is from too long ago. Make the call again if it is still wanted; they are "
        "asked once more"
    ),
    Skip.DENIED: "a rule of this gateway's owner forbids it here. Do not try it again in another way",
    Skip.NOT_OWNER: "it needs an owner's permission, and the person who gave it is no longer an owner",
    Skip.NO_OWNER: (
        "it needs an owner's permission, and no owner of this gateway can be reached. Do not try it again; "
        "say what you would have done"
    ),
    Skip.TOO_LONG: (
        "it needs permission, and its arguments are too long to be shown to a person in full. Write long "
        "content to a file of the workspace first, in several steps if needed, or make shorter calls"
    ),
    Skip.BROKEN_OFF: "your message broke off, so the call may not be whole. Make it again if still wanted",
    Skip.TURN_ENDED: "the turn ended before the call could start",
}

_NO_ANSWER = {
    QuestionState.EXPIRED: "no answer: the person has not answered in time.",
    QuestionState.SET_ASIDE: "set aside: the person wrote something else instead of an answer.",
    QuestionState.UNDELIVERABLE: "no answer: the question could not be delivered.",
    QuestionState.CANCELLED: "no answer: the question was withdrawn.",
}


def unknown_text(call: ToolCall | CallRecord, output: str = "") -> str:
    """Say that it is unknown whether the call took effect; a model must never read it as success.

    `output` is the recorded output of the call before it was cut off.
    """
    words = (
        f"unknown: the call to {call.name} was cut off. It may or may not have happened, and it was not "
        "repeated. Check whether it happened, or ask the person, before you do it again."
    )
    return _beside(words, output)


def with_output(body: Body, output: str) -> Body:
    """A result of unknown outcome with the output that people saw added, unless it has that already."""
    if not isinstance(body, Returned) or body.state is not CallState.UNKNOWN or output.strip() in body.text:
        return body
    return replace(body, text=_beside(body.text, output))


def _beside(words: str, output: str) -> str:
    if not output.strip():
        return words
    return f"{words}\nIts output, as far as it was recorded before the cut:\n{output}"


def skipped_text(call: ToolCall | CallRecord, why: Skip) -> str:
    """Say that the call did not run, and why."""
    return f"skipped: {call.name} was not run: {_SKIPPED[why]}."


def not_happened_text(call: ToolCall | CallRecord) -> str:
    """Say that a call that was cut off had no effect, as its tool found out."""
    return f"failed: the call to {call.name} was cut off before it took effect, and it was not repeated."


def no_answer_text(state: QuestionState) -> str:
    """Say that a question to the person closed without an answer."""
    return _NO_ANSWER.get(state, "no answer: the person gave none.")


def given_up_text(call: ToolCall | CallRecord, why: str) -> str:
    """Say that a call which changes nothing, or may be made again, ended without a result."""
    return f"failed: the call to {call.name} was given up: {why}."


def shortened(text: str, most: int, digest: str | None, reader: str | None) -> str:
    """The beginning and the end of a long result; between them, how much is missing and how to read it."""
    head, tail = _ends(text, most)
    first, last, total = head.count("\n") + 1, text.count("\n") - tail.count("\n") + 1, text.count("\n") + 1
    left = f"{len(text) - len(head) - len(tail)} characters left out (lines {first} to {last} of {total})"
    if digest and reader:
        rest = f'the whole result is kept: {reader} with output "{digest}" and a first_line shows the rest'
    elif digest:
        rest = f"the whole result is kept for people, as {digest}"
    else:
        rest = "they are not kept"
    return f"{head}\n[{left}; {rest}]\n{tail}"


def _ends(text: str, most: int) -> tuple[str, str]:
    """Two thirds of `most` from the beginning and one third from the end, cut at line ends if near."""
    front, back = most * 2 // 3, most - most * 2 // 3
    head, tail = text[:front], text[len(text) - back :]
    at = head.rfind("\n")
    head = head[:at] if at > front // 2 else head
    at = tail.find("\n")
    return head, tail[at + 1 :] if 0 <= at < back // 2 else tail


def part_of(text: str, first_line: int, lines: int, most: int) -> str:
    """Some lines of a long text, at most `most` characters, with their line numbers."""
    all_lines = text.split("\n")
    first = max(1, first_line)
    shown = "\n".join(all_lines[first - 1 : first - 1 + max(1, lines)])
    if not shown and first > len(all_lines):
        return f"[there are only {len(all_lines)} lines]"
    if len(shown) > most:
        return (
            f"{shown[:most]}\n[broken off after {most} characters: from line {first} on, of {len(all_lines)}]"
        )
    last = min(len(all_lines), first - 1 + max(1, lines))
    return f"{shown}\n[lines {first} to {last} of {len(all_lines)}]"
