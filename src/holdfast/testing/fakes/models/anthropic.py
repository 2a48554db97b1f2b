"""The server side of the messages protocol: what it refuses, how it reads, and what it streams."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator

from .conversation import Call, Conversation, Json, ModelAnswer, Protocol, RequestRefused, SpokenTurn, Who
from .faults import FaultKind
from .openai import THINKS, pieces

_ID = re.compile(r"[a-zA-Z0-9_-]+")


def read(body: Json) -> Conversation:
    """The conversation in a request; raises `RequestRefused` as the provider would."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise RequestRefused("messages: at least one message is required")
    if not isinstance(body.get("max_tokens"), int) or body["max_tokens"] < 1:
        raise RequestRefused("max_tokens: Field required")
    if not body.get("stream"):
        raise RequestRefused("Only streams are served here.")
    if messages[0].get("role") != "user":
        raise RequestRefused('messages: first message must use the "user" role')
    if messages[-1].get("role") != "user":
        raise RequestRefused("This model does not support assistant message prefill.")
    reading = _Reading(body)
    for at, message in enumerate(messages):
        reading.take(at, message)
    reading.end()
    tools = tuple(tool["name"] for tool in body.get("tools", []))
    if reading.seen and not tools:
        raise RequestRefused("Requests which include `tool_use` or `tool_result` blocks must define tools.")
    return Conversation(tuple(reading.turns), body.get("system", ""), tools)


class _Reading:
    """Reads message after message and enforces the rules of the protocol."""

    def __init__(self, body: Json) -> None:
        self.turns: list[SpokenTurn] = []
        self.seen: set[str] = set()
        """The ids of all calls."""
        self._waiting: list[str] = []
        """Calls of the message before that have no result yet."""
        self._thinks = THINKS in str(body.get("model"))

    def take(self, at: int, message: Json) -> None:
        content = message.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}] if content else []
        if not content:
            raise RequestRefused(f"messages.{at}: all messages must have non-empty content")
        if message.get("role") == "assistant":
            self.end()
            self._model(at, content)
        elif message.get("role") == "user":
            self._user(at, content)
        else:
            raise RequestRefused(f"messages.{at}.role: Input should be 'user' or 'assistant'")

    def end(self) -> None:
        """Refuse if the message that had to bring the results has passed."""
        if self._waiting:
            raise RequestRefused(
                "`tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(self._waiting)}. Each `tool_use` block must have its `tool_result` block."
            )

    def _user(self, at: int, content: list[Json]) -> None:
        texts: list[str] = []
        pictures = 0
        for block in content:
            match block.get("type"):
                case "tool_result":
                    if texts or pictures:
                        raise RequestRefused(f"messages.{at}: `tool_result` blocks must come first")
                    self._result(at, block)
                case "text":
                    texts.append(_text(at, block))
                case "image" if block["source"].get("type") == "base64" and block["source"].get("data"):
                    pictures += 1
                case other:
                    raise RequestRefused(f"messages.{at}.content: unexpected block {other!r}")
        self.end()
        if texts or pictures:
            self.turns.append(SpokenTurn(Who.USER, "\n\n".join(texts), pictures=pictures))

    def _result(self, at: int, block: Json) -> None:
        if block.get("tool_use_id") not in self._waiting:
            raise RequestRefused(
                f"messages.{at}: unexpected id in `tool_result` blocks: {block.get('tool_use_id')}. "
                "Each `tool_result` block must have its `tool_use` block in the previous message."
            )
        self._waiting.remove(block["tool_use_id"])
        self.turns.append(SpokenTurn(Who.RESULT, str(block.get("content", ""))))

    def _model(self, at: int, content: list[Json]) -> None:
        text, calls, thought = "", list[Call](), False
        for block in content:
            match block.get("type"):
                case "text":
                    text += _text(at, block)
                case "thinking":
                    thought = True
                    if block.get("signature") != _seal(block.get("thinking", "")):
                        raise RequestRefused(f"messages.{at}: Invalid `signature` in `thinking` block")
                case "tool_use":
                    self._call(at, block)
                    calls.append(Call(block["name"], json.dumps(block["input"])))
                case other:
                    raise RequestRefused(f"messages.{at}.content: unexpected block {other!r}")
        if self._thinks and calls and not thought:
            raise RequestRefused(
                f"messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, found `tool_use`."
            )
        self.turns.append(SpokenTurn(Who.MODEL, text, tuple(calls)))

    def _call(self, at: int, block: Json) -> None:
        id_ = str(block.get("id"))
        if not _ID.fullmatch(id_) or not _ID.fullmatch(str(block.get("name"))):
            raise RequestRefused(f"messages.{at}: String should match pattern '^[a-zA-Z0-9_-]+$'")
        if id_ in self.seen:
            raise RequestRefused(f"messages.{at}: `tool_use` ids must be unique")
        if not isinstance(block.get("input"), dict):
            raise RequestRefused(f"messages.{at}: tool_use.input: Input should be a valid dictionary")
        self.seen.add(id_)
        self._waiting.append(id_)


def _text(at: int, block: Json) -> str:
    text = block.get("text")
    if not isinstance(text, str) or not text.strip():
        raise RequestRefused(f"messages.{at}: text content blocks must contain non-whitespace text")
    return text


def _seal(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def events(answer: ModelAnswer, body: Json, used: int, fault: FaultKind | None) -> Iterator[Json | None]:
    """The events of an answer; None marks the place for a fault inside of it."""
    model = body["model"]
    message = {"id": "msg_scripted", "type": "message", "role": "assistant", "model": model, "content": []}
    counted = {"input_tokens": used - used // 2, "cache_read_input_tokens": used // 2, "output_tokens": 1}
    nothing = {"stop_reason": None, "stop_sequence": None}
    yield {"type": "message_start", "message": {**message, **nothing, "usage": counted}}
    yield {"type": "ping"}
    for index, (block, deltas) in enumerate(_blocks(answer, THINKS in model)):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield None if delta["type"] != "thinking_delta" else {"type": "ping"}
        yield {"type": "content_block_stop", "index": index}
    if fault is FaultKind.UNMARKED:
        return
    stop = {"stop_reason": _finish(answer, fault), "stop_sequence": None}
    written = len(answer.text) // 4 + sum(len(call.arguments) // 4 for call in answer.calls) + 1
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": written}}
    yield {"type": "message_stop"}


def _finish(answer: ModelAnswer, fault: FaultKind | None) -> str:
    if fault is FaultKind.LENGTH:
        return "max_tokens"
    if fault is FaultKind.FILTERED:
        return "refusal"
    return "tool_use" if answer.calls else "end_turn"


def _blocks(answer: ModelAnswer, thinks: bool) -> Iterator[tuple[Json, list[Json]]]:
    if thinks:
        thoughts = answer.thoughts or "I think about it."
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(thoughts)]
        seal = {"type": "signature_delta", "signature": _seal(thoughts)}
        yield {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, seal]
    if answer.text:
        yield (
            {"type": "text", "text": ""},
            [{"type": "text_delta", "text": one} for one in pieces(answer.text)],
        )
    for number, call in enumerate(answer.calls):
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": call.tool, "input": {}}
        yield block, [{"type": "input_json_delta", "partial_json": one} for one in pieces(call.arguments)]


def sse(event: Json) -> str:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


def error(words: str, code: str | None) -> Json:
    return {"type": "error", "error": {"type": code or "invalid_request_error", "message": words}}


ANTHROPIC = Protocol(read, events, sse, error)
