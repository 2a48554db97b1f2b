"""The server side of the chat completions protocol: what it refuses, how it reads, and what it streams."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence

from .conversation import Call, Conversation, Json, ModelAnswer, Protocol, RequestRefused, SpokenTurn, Who
from .faults import FaultKind

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ROLES = ("system", "developer", "user", "assistant", "tool")
THINKS = "thinking"
"""Models with this in their name stream their thoughts, and need them back with every call they made."""


def read(body: Json) -> Conversation:
    """The conversation in a request; raises `RequestRefused` as the provider would."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise RequestRefused("Invalid 'messages': empty array. Expected an array with minimum length 1.")
    if not isinstance(body.get("model"), str):
        raise RequestRefused("you must provide a model parameter")
    if not body.get("stream"):
        raise RequestRefused("Only streams are served here.")
    tools = tuple(tool["function"]["name"] for tool in body.get("tools", []))
    for name in tools:
        _check_name(name, "tools")
    reading = _Reading(THINKS in body["model"])
    for at, message in enumerate(messages):
        reading.take(at, message)
    reading.end()
    return Conversation(tuple(reading.turns), "\n".join(reading.instructions), tools)


class _Reading:
    """Reads message after message and enforces the rules of the protocol."""

    def __init__(self, thinks: bool) -> None:
        self.turns: list[SpokenTurn] = []
        self.instructions: list[str] = []
        self._waiting: list[str] = []
        """Calls of the last message that have no result yet."""
        self._thinks = thinks

    def take(self, at: int, message: Json) -> None:
        role = message.get("role")
        if role not in _ROLES:
            raise RequestRefused(
                f"Invalid value: '{role}'. Supported values are: {_ROLES}. (messages[{at}].role)"
            )
        if role == "tool":
            self.turns.append(_result(at, message, self._waiting))
            return
        self.end()
        if role == "assistant":
            turn, self._waiting = _model(at, message, self._thinks)
            self.turns.append(turn)
            return
        text, pictures = _content(at, message.get("content"))
        if role == "user":
            self.turns.append(SpokenTurn(Who.USER, text, pictures=pictures))
        else:
            self.instructions.append(text)

    def end(self) -> None:
        """Refuse if calls still have no result."""
        if self._waiting:
            raise RequestRefused(
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                f"'tool_call_id'. These did not have response messages: {', '.join(self._waiting)}"
            )


def _check_name(name: object, where: str) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise RequestRefused(
            f"Invalid '{where}.function.name': string does not match pattern '^[a-zA-Z0-9_-]+$'."
        )


def _content(at: int, content: object) -> tuple[str, int]:
    if isinstance(content, str) and content:
        return content, 0
    if not isinstance(content, list) or not content:
        raise RequestRefused(
            f"Invalid value for 'content': expected a string, got {content!r}. (messages[{at}])"
        )
    texts: list[str] = []
    pictures = 0
    for part in content:
        if part.get("type") == "text" and part.get("text"):
            texts.append(part["text"])
        elif part.get("type") == "image_url" and part["image_url"]["url"].startswith(("data:image/", "http")):
            pictures += 1
        else:
            raise RequestRefused(f"Invalid content part {part.get('type')!r} (messages[{at}])")
    return "\n\n".join(texts), pictures


def _result(at: int, message: Json, waiting: list[str]) -> SpokenTurn:
    if message.get("tool_call_id") not in waiting:
        raise RequestRefused(
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
            f"'tool_calls'. (messages[{at}])"
        )
    waiting.remove(message["tool_call_id"])
    text, _ = _content(at, message.get("content"))
    return SpokenTurn(Who.RESULT, text)


def _model(at: int, message: Json, thinks: bool) -> tuple[SpokenTurn, list[str]]:
    calls = message.get("tool_calls")
    if calls == [] or (not calls and not message.get("content")):
        raise RequestRefused(f"An assistant message needs content or tool_calls. (messages[{at}])")
    ids = [call["id"] for call in calls or ()]
    if len(set(ids)) < len(ids):
        raise RequestRefused(f"Duplicate tool_call_id (messages[{at}])")
    found: list[Call] = []
    for call in calls or ():
        _check_name(call["function"]["name"], f"messages[{at}].tool_calls")
        arguments = call["function"]["arguments"]
        try:
            valid = isinstance(json.loads(arguments), dict)
        except (TypeError, ValueError):
            valid = False
        if not valid:
            raise RequestRefused(f"The arguments of a tool call are no JSON object. (messages[{at}])")
        found.append(Call(call["function"]["name"], arguments))
    if thinks and found and not _own(message.get("reasoning_content")):
        raise RequestRefused("The `reasoning_content` in the thinking mode must be passed back to the API.")
    return SpokenTurn(Who.MODEL, message.get("content") or "", tuple(found)), ids


def _own(thoughts: object) -> bool:
    """Whether these are unchanged thoughts of this server."""
    if not isinstance(thoughts, str):
        return False
    text, _, seal = thoughts.rpartition(" #")
    return seal == _seal(text)


def _seal(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def events(answer: ModelAnswer, body: Json, used: int, fault: FaultKind | None) -> Iterator[Json | None]:
    """The chunks of an answer; None marks the place for a fault inside of it."""
    model = body["model"]
    yield _chunk(model, {"role": "assistant", "content": ""})
    if THINKS in model:
        thoughts = answer.thoughts or "I think about it."
        yield _chunk(model, {"reasoning_content": thoughts})
        yield _chunk(model, {"reasoning_content": f" #{_seal(thoughts)}"})
    for piece in pieces(answer.text):
        yield _chunk(model, {"content": piece})
        yield None
    for index, call in enumerate(answer.calls):
        start = {"index": index, "id": f"call_{index}", "type": "function"}
        yield _chunk(model, {"tool_calls": [{**start, "function": {"name": call.tool, "arguments": ""}}]})
        for piece in pieces(call.arguments):
            yield _chunk(model, {"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
            yield None
    if fault is not FaultKind.UNMARKED:
        yield _chunk(model, {}, _finish(answer, fault))
        written = len(answer.text) // 4 + sum(len(call.arguments) // 4 for call in answer.calls) + 1
        usage = {"prompt_tokens": used, "completion_tokens": written, "total_tokens": used + written}
        if body.get("stream_options", {}).get("include_usage"):
            details = {"prompt_tokens_details": {"cached_tokens": used // 2}}
            yield {**_chunk(model, {}), "choices": [], "usage": {**usage, **details}}


def _finish(answer: ModelAnswer, fault: FaultKind | None) -> str:
    if fault is FaultKind.LENGTH:
        return "length"
    if fault is FaultKind.FILTERED:
        return "content_filter"
    return "tool_calls" if answer.calls else "stop"


def _chunk(model: str, delta: Json, finish: str | None = None) -> Json:
    return {
        "id": "chatcmpl-scripted",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def pieces(text: str, size: int = 12) -> Sequence[str]:
    """A text in small pieces, as in a stream."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def sse(event: Json) -> str:
    return f"data: {json.dumps(event)}\n\n"


def error(words: str, code: str | None) -> Json:
    return {"error": {"message": words, "type": "invalid_request_error", "param": None, "code": code}}


OPENAI = Protocol(read, events, sse, error, "data: [DONE]\n\n", "context_length_exceeded")
