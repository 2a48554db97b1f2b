"""What a model is told of a tool's result."""

import base64
import json
from typing import Any

import pytest
from mcp_types import CallToolResult

from holdfast.tools import ToolFailed
from holdfast.tools.mcp.results import LONGEST, told


def result(*content: dict[str, Any], **more: Any) -> CallToolResult:
    return CallToolResult.model_validate({"content": list(content), **more})


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


DATA = base64.b64encode(b"x" * 10_240).decode()


def test_texts_are_joined() -> None:
    assert told(result(text("one"), text("two"))) == "one\ntwo"


def test_what_is_no_text_is_named_in_words() -> None:
    shown = told(
        result(
            {"type": "image", "data": DATA, "mimeType": "image/png"},
            {"type": "audio", "data": DATA, "mimeType": "audio/wav"},
            {"type": "resource_link", "uri": "notes://a.txt", "name": "a"},
            {"type": "resource", "resource": {"uri": "notes://b.txt", "text": "bee"}},
            {"type": "resource", "resource": {"uri": "notes://c.bin", "blob": DATA}},
        )
    )
    assert shown.splitlines() == [
        "[a picture, image/png, about 10 kB, which cannot be shown here]",
        "[a sound, audio/wav, about 10 kB, which cannot be shown here]",
        "[a link to notes://a.txt: a]",
        "[notes://b.txt]",
        "bee",
        "[notes://c.bin, data, about 10 kB, which cannot be shown here]",
    ]


def test_structured_content_is_json_unless_a_text_says_the_same() -> None:
    assert told(result(structuredContent={"a": 1})) == '{"a": 1}'
    assert told(result(text('{ "a" : 1 }'), structuredContent={"a": 1})) == '{ "a" : 1 }'
    assert told(result(text("3"), structuredContent={"result": 3})) == "3"
    assert told(result(text("b"), text("c"), structuredContent={"result": ["b", "c"]})) == "b\nc"
    assert told(result(text("see"), structuredContent={"a": 1})) == 'see\n{"a": 1}'


def test_what_the_server_calls_an_error_is_a_failure_in_its_words() -> None:
    with pytest.raises(ToolFailed, match="no such thing"):
        told(result(text("no such thing"), isError=True))
    with pytest.raises(ToolFailed, match="not why"):
        told(result(isError=True))


def test_what_is_too_long_is_cut_and_says_so() -> None:
    shown = told(result(text("x" * (LONGEST + 7))))
    assert shown.endswith("[7 more characters were left out]")
    assert len(shown) < LONGEST + 100
    assert json.dumps(shown)
