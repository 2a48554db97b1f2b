"""Whatever comes from outside, the time to read it grows no faster than its length.

Each function that text from outside reaches on the event loop is given hostile texts of n and of 4n
characters. Of what takes four times as long for four times as much nothing is said; what takes sixteen times
as long is what one message, page or result could stop a gateway with. Only processor time of this thread is
compared, the least of several runs where the first looks steep: a busy machine changes none of it.
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from fnmatch import fnmatchcase

import pytest
from mcp_types import CallToolResult, TextContent
from starlette.datastructures import Headers

from holdfast.agents import remote_model, wire_common
from holdfast.agents.demo import steps_wanted
from holdfast.errors import HoldfastError
from holdfast.gateway.files import blobs
from holdfast.model import (
    Attachment,
    CallId,
    CallRecord,
    CallState,
    ChatAddress,
    EffectClass,
    Entry,
    PersonId,
    QuestionId,
    QuestionKind,
    QuestionRecord,
    QuestionState,
    Said,
    TurnId,
)
from holdfast.platforms.telegram import buttons, format
from holdfast.platforms.telegram import wire as telegram
from holdfast.policy import processes
from holdfast.policy.consent import argument_text, card, visible_text
from holdfast.policy.consent.approvals import fits
from holdfast.policy.delivery import parts
from holdfast.policy.intake import attachments, pairing, parse_input
from holdfast.policy.settings import Rule, Ruling
from holdfast.policy.turn import compaction, partials, synthetic_results
from holdfast.policy.turn.views import Message, Role
from holdfast.telemetry import GrowingText, KnownSecrets, controls_named, masked, without_secrets
from holdfast.tools import ToolFailed
from holdfast.tools.containment import git_configuration
from holdfast.tools.functions import tool
from holdfast.tools.mcp import tool_names
from holdfast.tools.mcp.results import told
from holdfast.web.security import HostNames, Proofs

UNITS = {
    "sections of a configuration": '[a "',
    "many sections": "[a.]",
    "brackets": "[",
    "closed brackets": "]",
    "links never closed": "[a](",
    "pictures": "![",
    "links of links": "[x][",
    "quotes": "\"'",
    "escaped quotes": '\\"',
    "stars": "*a ",
    "stars together": "***a_",
    "ticks": "``a`",
    "fences": "```a\n",
    "tildes": "~~~",
    "tags": "<a ",
    "tags in tags": "<b><i>",
    "comments": "<!--",
    "entities": "&#",
    "names and values": "a=",
    "secrets": "token",
    "secrets without values": "token=",
    "secrets with spaces": "secret ",
    "schemes": "bearer ",
    "keys": "sk-",
    "keys that end oddly": "sk-" + "-" * 30 + " ",
    "addresses": "a://",
    "addresses with users": "://a:",
    "dotted names": "a.",
    "numbers": "1234567:",
    "spaces": " ",
    "spaces and lines": " \n",
    "blanks of several kinds": " \t\n \n\t",
    "tabs": "\t",
    "lines": "\n",
    "returns": "\r",
    "sentences": ". ",
    "lists": "- ",
    "quotations": "> ",
    "tables": "|a|b\n|-|-\n",
    "slashes": "/",
    "commands": "/a@b ",
    "commands for a shell": "curl|",
    "one letter": "a",
    "dots": ".",
    "backslashes": "\\",
    "escapes": "\x1b[0",
    "escapes never ended": "\x1b]",
    "combined": "e\u0301\u0302\u0303",
    "joined": "\U0001f468\u200d",
    "wide": "\U0001f600",
    "halves": "\ud83d",
    "zero width": "\u200b",
    "nested lists": "[",
    "nested objects": '{"a":',
    "numbers in JSON": "[1e",
    "base64": "QUJD",
    "base64 in lines": "QUJD" * 19 + "\n",
    "the beginning of a secret": "c4n4ry-",
    "nearly a secret": "c4n4ry-of-the-gatewaz",
}
"""What is repeated; 100 kB of each."""

LARGEST = 100_000
SMALL = 0.005
"""Seconds of processor time below which nothing can be compared, nor stopped."""
STEEPEST = 9.0
"""Four times as much may take so many times as long: sixteen times would be the square."""

KNOWN = KnownSecrets(("c4n4ry-of-the-gateway", "a" * 40, "QUJDQUJDQUJE"))
RULES = tuple(
    Rule(
        Ruling.ALLOW,
        tools=("*a*b*c*",),
        chat="web/*/*a*b",
        matches=pattern,
        arguments=(("command", pattern),),
    )
    for pattern in (r"^\{.*\}$", r"curl.*\|.*sh", r"(\s*a+\s*)+$", r"(.*)(.*)(.*)x")
)
"""Patterns as owners write them; those that try again and again need minutes for some of these texts."""


def _stream(text: str) -> None:
    stream = KNOWN.stream()
    for at in range(0, len(text), 1_000):
        stream.feed(text[at : at + 1_000])
    stream.end()


def _growing(text: str) -> None:
    growing = GrowingText(KNOWN)
    for at in range(0, len(text), 2_000):
        growing.shown(text[:at])


def _call(arguments: str) -> CallRecord:
    return CallRecord(CallId("c"), "abc", arguments, EffectClass.EFFECT, "t:c", CallState.PLANNED)


def _answer(text: str) -> None:
    for kind in (QuestionKind.CLARIFY, QuestionKind.APPROVAL):
        asked = QuestionRecord(QuestionId("q"), kind, CallId("c"), QuestionState.OPEN, "?", ("yes", "no"))
        parse_input.parse_answer(asked, text)


def _fits(text: str) -> None:
    for rule in RULES:
        fits(rule, _call(json.dumps({"command": text})), ChatAddress("web/main/aab"))
        fits(rule, replace(_call(text), name=text), ChatAddress(text))


def _update(text: str) -> None:
    chat = {"id": 1, "type": "private", "first_name": text, "username": text}
    message = {"message_id": 1, "date": 1, "chat": chat, "from": chat, "text": text, "caption": text}
    document = {"file_id": text, "file_name": text, "mime_type": text, "file_unique_id": text}
    me = telegram.Me("1", "bot")
    for more in ({}, {"document": document}, {"entities": [{"type": "bot_command", "offset": 0}]}):
        telegram.read({"update_id": 1, "message": {**message, **more}}, me)
    telegram.read({"update_id": 1, "callback_query": {"id": text, "data": text, "from": chat}}, me)
    telegram.payload_text({"update_id": 1, "message": text})


def _files(text: str) -> None:
    names = [text[at : at + 20] for at in range(0, len(text), 20)]
    files = tuple(Attachment("d", name, "text/plain", 1) for name in names)
    attachments.paths_of([Entry(1, TurnId("t"), 1, Said("", PersonId("p"), files))])
    attachments.shown_file(Attachment("d", text, text, 1), text, text.encode("utf-8", "replace"))


def _said(text: str) -> tuple[Message, ...]:
    return (Message(Role.USER, text), Message(Role.NOTE, text), Message(Role.TOOL, text, call=CallId("c")))


def _arguments(text: str) -> None:
    card.consent_card(_call(text), lambda value: value).parts(4_000)
    card.consent_card(_call(json.dumps({text: text})), lambda value: value).parts(4_000)


@tool()
async def takes(command: str, count: int = 1) -> str:
    """Do something.

    Args:
        command: What.
        count: How often.
    """
    return command


def _given(text: str) -> None:
    with suppress(ToolFailed):
        takes._given(text)
    with suppress(ToolFailed):
        takes._given(json.dumps({"command": text}))


def _result(text: str) -> None:
    with suppress(ToolFailed):
        told(
            CallToolResult(
                content=[TextContent(type="text", text=text)], structured_content={"result": [text]}
            )
        )


READERS: dict[str, Callable[[str], object]] = {
    "what looks like a secret": without_secrets,
    "known secrets": KNOWN.without,
    "known secrets in a record": lambda text: masked((text, {text: [text]}), KNOWN),
    "known secrets in a stream": _stream,
    "known secrets in a growing text": _growing,
    "configuration of Git": lambda text: list(git_configuration.values(text)),
    "Markdown for Telegram": format.render,
    "what is seen of Telegram's HTML": lambda text: format.Rendered(text, html=True).seen,
    "a text for Telegram": telegram.text_for,
    "a plain text for Telegram": lambda text: telegram.text_for(text, plain=True),
    "a caption for Telegram": telegram.caption_for,
    "an update of Telegram": _update,
    "a button of Telegram": lambda text: (buttons.press_of(text), buttons.command_of(text)),
    "a label of a button": buttons.label,
    "parts of a message": lambda text: parts.parts_for(text, 4096),
    "parts of a narrow message": lambda text: parts.parts_for(text, 500),
    "an open fence": parts.closed,
    "a command": parse_input.parse_command,
    "the label of a command": parse_input.command_label,
    "an answer": _answer,
    "a pairing code": pairing.read_code,
    "an approval rule": _fits,
    "a glob": lambda text: fnmatchcase(text, "*a*b*c*d*e*[!x]?z"),
    "arguments as rules see them": lambda text: argument_text.plain_value(text),
    "arguments of a tool": _given,
    "a consent card": _arguments,
    "names of attachments": _files,
    "output that is watched": lambda text: processes.scan(text.encode("utf-8", "replace"), ["a*b*c", "*x*"]),
    "what is looked for in output": lambda text: processes.scan(b"a" * 20_000 + b"\n", [text[:2_000]]),
    "the last line of output": lambda text: processes.last_line(text.encode("utf-8", "replace")),
    "one line of a command": processes.one_line,
    "a long result": lambda text: synthetic_results.shortened(text, 20_000, "d", "read"),
    "a part of a result": lambda text: synthetic_results.part_of(text, 1, 200, 20_000),
    "a result of an MCP server": _result,
    "names of an MCP server's tools": lambda text: tool_names.names_of("s", [text, f"{text}2", text[:70]]),
    "recorded output": partials.recorded_output,
    "a stopped reply": partials.stopped_reply,
    "messages made to fit": lambda text: compaction.made_to_fit(_said(text), 1_000),
    "a note for a model": wire_common.note_text,
    "arguments for a provider": wire_common.arguments_object,
    "a name for a provider": wire_common.call_name,
    "whole characters": wire_common.whole_text,
    "a question to the demonstration": steps_wanted,
    "letters that cannot be seen": visible_text.visible,
    "letters that control a terminal": controls_named,
    "cookies of a request": lambda text: Proofs("holdfast").of(Headers({"cookie": text})),
    "a request's own name": lambda text: HostNames.of("127.0.0.1", 80, frozenset()).is_origin(text),
    "words of a provider's fault": lambda text: (
        remote_model._OVERFLOW.search(text),
        remote_model._NO_CREDIT.search(text),
    ),
    "a media type": blobs._MEDIA_TYPE.fullmatch,
    "which files to search": lambda text: fnmatchcase("a" * 255, text[:5_000]),
}
EXPECTED = (ValueError, HoldfastError, UnicodeError)
"""What a reader may say to nonsense; that a text is nested too deep is none of it."""


@pytest.mark.guards("R22.8")
@pytest.mark.parametrize("reader", READERS)
def test_reading_takes_time_that_grows_no_faster_than_the_text(reader: str) -> None:
    steep = [
        f"{name}: {large * 1_000:.0f} ms for {LARGEST}, {small * 1_000:.0f} ms for a quarter of it"
        for name, unit in UNITS.items()
        for small, large in _measured(READERS[reader], unit)
        if large > small * STEEPEST
    ]
    assert not steep


def _measured(read: Callable[[str], object], unit: str) -> Iterator[tuple[float, float]]:
    """What a quarter of a text and the whole take, if that is worth a second look."""
    whole = (unit * LARGEST)[:LARGEST]
    quarter = whole[: LARGEST // 4]
    once = _time(read, whole)
    if once < SMALL or once <= STEEPEST * _time(read, quarter):
        return
    yield min(_time(read, quarter) for _ in range(4)), min(_time(read, whole) for _ in range(4))


def _time(read: Callable[[str], object], text: str) -> float:
    # What collects garbage looks at everything there is, now and then: that is nobody's text.
    gc.disable()
    try:
        began = time.thread_time()
        with suppress(*EXPECTED):
            read(text)
        return time.thread_time() - began
    finally:
        gc.enable()


def test_a_square_is_noticed() -> None:
    """What this file can see: a reader that looks at all of the text for each of its characters."""

    def square(text: str) -> int:
        return sum(1 for at in range(0, len(text), 50) for _ in range(at, len(text), 50))

    assert [one for one in _measured(square, "a") if one[1] > one[0] * STEEPEST]
