"""Anthropic's messages protocol: a prompt becomes a request, a stream's events become a reply. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.model import CallId, CallState, Replied, StopReason, ToolCall
from holdfast.policy.turn.views import Message, Role
from holdfast.tools import ToolSpec

from .base import Prompt
from .remote_model import Counted, RemoteModel
from .wire_common import (
    NO_OUTPUT,
    Json,
    arguments_object,
    call_name,
    encoded,
    files_in,
    in_turns,
    note_text,
    pack,
    unpack,
)

_TOGETHER = frozenset({Role.USER, Role.NOTE, Role.TOOL})
"""In this protocol, tool results are part of a user message and come before its text."""
_FINISHES = {
    "end_turn": StopReason.COMPLETE,
    "stop_sequence": StopReason.COMPLETE,
    "tool_use": StopReason.CALLS,
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "refusal": StopReason.FILTERED,
}
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})
_FAILED = frozenset({CallState.FAILED, CallState.UNKNOWN})


def request(prompt: Prompt, served: RemoteModel, model: str, pictures: Mapping[str, bytes]) -> Json:
    """The request for one reply, as JSON."""
    body: Json = {
        "model": model,
        "max_tokens": served.max_output,
        "messages": list(_messages(prompt, served.maker(model), pictures)),
        "stream": True,
    }
    if prompt.instructions.strip():
        body["system"] = prompt.instructions
    tools = prompt.tools or _former_tools(prompt)
    if tools:
        body["tools"] = [
            {
                "name": tool.name,
                "description": tool.description,
                "input_schema": {"type": "object", **tool.parameters},
            }
            for tool in tools
        ]
    if served.effort is not None:
        body["output_config"] = {"effort": served.effort}
    if served.base_url is None:
        # Every step repeats the transcript so far, so it is cached. Other providers may not know this field.
        body["cache_control"] = {"type": "ephemeral"}
    return body


def _former_tools(prompt: Prompt) -> list[ToolSpec]:
    """Tools that were called and have been removed: the API refuses calls to tools that are not listed."""
    names = dict.fromkeys(call_name(call.name) for message in prompt.messages for call in message.calls)
    return [ToolSpec(name, "Not available any more.") for name in names]


def _messages(prompt: Prompt, maker: str, pictures: Mapping[str, bytes]) -> Iterator[Json]:
    for turn in in_turns(prompt.messages, _TOGETHER):
        if turn.role is Role.ASSISTANT:
            yield {"role": "assistant", "content": _assistant(turn.messages[0], maker)}
        else:
            blocks = [block for message in turn.messages for block in _blocks(message, pictures)]
            yield {"role": "user", "content": blocks}


def _blocks(message: Message, pictures: Mapping[str, bytes]) -> Iterator[Json]:
    if message.role is Role.TOOL:
        result = {"type": "tool_result", "tool_use_id": message.call, "content": message.text or NO_OUTPUT}
        yield {**result, "is_error": True} if message.state in _FAILED else result
        return
    text = note_text(message.text) if message.role is Role.NOTE else message.text
    for file, words in files_in(message, pictures):
        if file.digest in pictures:
            source = {"type": "base64", "media_type": file.media_type, "data": encoded(pictures[file.digest])}
            yield {"type": "image", "source": source}
        if words:
            yield {"type": "text", "text": words}
    if text.strip():
        yield {"type": "text", "text": text}


def _assistant(message: Message, maker: str) -> list[Json]:
    """The reply's blocks in their order, for the model that made them; for another, the text, then calls."""
    calls = [
        {
            "type": "tool_use",
            "id": call.id,
            "name": call_name(call.name),
            "input": arguments_object(call.arguments),
        }
        for call in message.calls
    ]
    kept = unpack(maker, message.opaque).get("blocks", [])
    texts = [block["length"] for block in kept if block["type"] == "text"]
    fits = sum(texts) == len(message.text) and len(kept) - len(texts) - _thoughts(kept) == len(calls)
    if not fits:
        return [*([{"type": "text", "text": message.text}] if message.text.strip() else []), *calls]
    blocks: list[Json] = []
    at = 0
    for block in kept:
        if block["type"] in _THOUGHTS:
            blocks.append(block)
        elif block["type"] == "text":
            text = message.text[at : at + block["length"]]
            at += block["length"]
            blocks += [{"type": "text", "text": text}] if text.strip() else []
        else:
            blocks.append(calls.pop(0))
    return blocks


def _thoughts(blocks: list[Json]) -> int:
    return sum(block["type"] in _THOUGHTS for block in blocks)


class AnthropicStream:
    """Collects events in their order; `replied` makes a reply of them, also of a stream that was cut."""

    def __init__(self) -> None:
        self.text = ""
        self._blocks: dict[int, Json] = {}
        self._finish: str | None = None
        self._usage: Json = {}

    @property
    def has_something(self) -> bool:
        """Whether there is text or a call to keep."""
        return bool(self.text) or any(block["type"] == "tool_use" for block in self._blocks.values())

    @property
    def counted(self) -> Counted | None:
        if not self._usage:
            return None
        said = self._usage
        return Counted(
            said.get("input_tokens") or 0,
            said.get("cache_read_input_tokens") or 0,
            said.get("cache_creation_input_tokens") or 0,
            said.get("output_tokens") or 0,
        )

    @property
    def is_silent(self) -> bool:
        """Whether nothing has come, not even the end of the reply."""
        return not self.has_something and self._finish is None

    def take(self, event: Mapping[str, Any]) -> None:
        match event.get("type"):
            case "message_start":
                self._count(event["message"].get("usage"))
            case "content_block_start":
                self._begin(event["index"], event["content_block"])
            case "content_block_delta":
                self._delta(event["index"], event["delta"])
            case "message_delta":
                self._finish = event["delta"].get("stop_reason") or self._finish
                self._count(event.get("usage"))

    def replied(self, maker: str) -> Replied:
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        while blocks and blocks[-1]["type"] in _THOUGHTS:
            # A thought that was cut off has no signature, and the API would refuse it.
            blocks.pop()
        calls = tuple(
            ToolCall(CallId(str(number)), block["name"], block["json"] or "{}")
            for number, block in enumerate(one for one in blocks if one["type"] == "tool_use")
        )
        finish = _FINISHES.get(self._finish or "", StopReason.CUT)
        text = "".join(block["text"] for block in blocks if block["type"] == "text")
        return Replied(
            text,
            StopReason.CALLS if calls and finish is StopReason.COMPLETE else finish,
            calls,
            pack(maker, {"blocks": list(map(_kept, blocks))}) if _thoughts(blocks) else None,
        )

    def _begin(self, index: int, block: Mapping[str, Any]) -> None:
        kind = block.get("type")
        if kind == "text":
            self._blocks[index] = {"type": "text", "text": block.get("text") or ""}
            self.text += block.get("text") or ""
        elif kind == "tool_use":
            # The stream begins a call with an empty input and gives its text in pieces.
            self._blocks[index] = {"type": "tool_use", "name": block.get("name") or "", "json": ""}
        elif kind in _THOUGHTS:
            self._blocks[index] = dict(block)

    def _delta(self, index: int, delta: Mapping[str, Any]) -> None:
        block = self._blocks.get(index)
        if block is None:
            return
        match delta.get("type"):
            case "text_delta":
                block["text"] += delta["text"]
                self.text += delta["text"]
            case "input_json_delta":
                block["json"] += delta["partial_json"]
            case "thinking_delta":
                block["thinking"] = (block.get("thinking") or "") + delta["thinking"]
            case "signature_delta":
                block["signature"] = delta["signature"]

    def _count(self, usage: Mapping[str, Any] | None) -> None:
        """Each figure is a total so far, so a later one replaces an earlier one."""
        self._usage |= {name: value for name, value in (usage or {}).items() if isinstance(value, int)}


def _kept(block: Json) -> Json:
    """A block as it is stored: a thought in full, any other block only as its place in the order."""
    if block["type"] in _THOUGHTS:
        return block
    return {"type": "text", "length": len(block["text"])} if block["type"] == "text" else {"type": "tool_use"}
