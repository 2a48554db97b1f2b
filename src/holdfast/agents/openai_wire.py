"""The chat completions protocol: a prompt becomes a request, a stream's chunks become a reply. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.model import CallId, Replied, StopReason, ToolCall
from holdfast.policy.turn.views import Message, Role

from .base import Prompt
from .remote_model import Counted, RemoteModel
from .wire_common import (
    NO_OUTPUT,
    Json,
    ProviderTurn,
    arguments_object,
    call_name,
    encoded,
    files_in,
    in_turns,
    note_text,
    pack,
    unpack,
)

_TOGETHER = frozenset({Role.USER, Role.NOTE})
_REASONING = ("reasoning_content", "reasoning")
"""Fields with a model's reasoning; some providers refuse a call if its reasoning is not sent back."""
_DETAILS = "reasoning_details"
_EXTRA = "extra_content"
"""Extra fields that some providers add to a call, such as a signature."""
_FINISHES = {
    "stop": StopReason.COMPLETE,
    "end_turn": StopReason.COMPLETE,
    "stop_sequence": StopReason.COMPLETE,
    "eos": StopReason.COMPLETE,
    "eos_token": StopReason.COMPLETE,
    "tool_calls": StopReason.CALLS,
    "function_call": StopReason.CALLS,
    "length": StopReason.LENGTH,
    "max_tokens": StopReason.LENGTH,
    "content_filter": StopReason.FILTERED,
}


def request(prompt: Prompt, served: RemoteModel, model: str, pictures: Mapping[str, bytes]) -> Json:
    """The request for one reply, as JSON."""
    messages = [*_system(prompt), *_messages(prompt, served.maker(model), pictures)]
    body: Json = {
        "model": model,
        "messages": messages,
        "stream": True,
        "stream_options": {"include_usage": True},
        # OpenAI's own models know only the newer name, most other servers only the older.
        "max_completion_tokens" if served.base_url is None else "max_tokens": served.max_output,
    }
    if prompt.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": dict(tool.parameters),
                },
            }
            for tool in prompt.tools
        ]
    if served.effort is not None:
        body["reasoning_effort"] = served.effort
    return body


def _system(prompt: Prompt) -> list[Json]:
    return [{"role": "system", "content": prompt.instructions}] if prompt.instructions.strip() else []


def _messages(prompt: Prompt, maker: str, pictures: Mapping[str, bytes]) -> Iterator[Json]:
    for turn in in_turns(prompt.messages, _TOGETHER):
        first = turn.messages[0]
        if turn.role is Role.USER:
            yield {"role": "user", "content": _content(turn, pictures)}
        elif turn.role is Role.ASSISTANT:
            yield _assistant(first, maker)
        else:
            yield {"role": "tool", "tool_call_id": first.call, "content": first.text or NO_OUTPUT}


def _content(turn: ProviderTurn, pictures: Mapping[str, bytes]) -> str | list[Json]:
    """A string for text alone, because the simplest servers know only that; a list of parts with pictures."""
    parts = [part for message in turn.messages for part in _parts(message, pictures)]
    if all(part["type"] == "text" for part in parts):
        return "\n\n".join(part["text"] for part in parts)
    return parts


def _parts(message: Message, pictures: Mapping[str, bytes]) -> Iterator[Json]:
    text = note_text(message.text) if message.role is Role.NOTE else message.text
    if text.strip():
        yield {"type": "text", "text": text}
    for file, words in files_in(message, pictures):
        if file.digest in pictures:
            url = f"data:{file.media_type};base64,{encoded(pictures[file.digest])}"
            yield {"type": "image_url", "image_url": {"url": url}}
        if words:
            yield {"type": "text", "text": words}


def _assistant(message: Message, maker: str) -> Json:
    kept = unpack(maker, message.opaque)
    said: Json = {"role": "assistant", "content": message.text or None, **kept.get("fields", {})}
    if message.calls:
        extras = kept.get("calls", [])
        said["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call_name(call.name),
                    "arguments": json.dumps(arguments_object(call.arguments)),
                },
                **(extras[number] if number < len(extras) else {}),
            }
            for number, call in enumerate(message.calls)
        ]
    return said


class _Call:
    def __init__(self, theirs: str) -> None:
        self.theirs = theirs
        """The provider's id of the call, if it came at once; the gateway gives its own."""
        self.name = ""
        self.arguments = ""
        self.extra: Json = {}


class OpenAIStream:
    """Collects chunks in their order; `replied` makes a reply of them, also of a stream that was cut."""

    def __init__(self) -> None:
        self.text = ""
        self.counted: Counted | None = None
        self._calls: dict[tuple[int, int], _Call] = {}
        """Calls by their index, and by their number among the calls with the same index."""
        self._finish: str | None = None
        self._fields: Json = {}

    @property
    def has_something(self) -> bool:
        """Whether there is text or a call to keep."""
        return bool(self.text or self._calls)

    @property
    def is_silent(self) -> bool:
        """Whether nothing has come, not even the end of the reply."""
        return not self.has_something and self._finish is None

    def take(self, chunk: Mapping[str, Any]) -> None:
        usage = chunk.get("usage")
        if usage:
            self.counted = _counted(usage)
        for choice in (chunk.get("choices") or ())[:1]:
            self._finish = choice.get("finish_reason") or self._finish
            self._delta(choice.get("delta") or {})

    def replied(self, maker: str) -> Replied:
        calls = [self._calls[index] for index in sorted(self._calls)]
        kept: Json = {}
        if self._fields:
            kept["fields"] = self._fields
        if any(call.extra for call in calls):
            kept["calls"] = [call.extra for call in calls]
        return Replied(
            self.text,
            self._marker(),
            tuple(
                ToolCall(CallId(str(number)), call.name, call.arguments or "{}")
                for number, call in enumerate(calls)
            ),
            pack(maker, kept),
        )

    def _marker(self) -> StopReason:
        finish = _FINISHES.get((self._finish or "").lower(), StopReason.CUT)
        return StopReason.CALLS if finish is StopReason.COMPLETE and self._calls else finish

    def _delta(self, delta: Mapping[str, Any]) -> None:
        self.text += (delta.get("content") or "") + (delta.get("refusal") or "")
        for name in _REASONING:
            if isinstance(delta.get(name), str):
                # An empty one too: some providers need even that sent back.
                self._fields[name] = self._fields.get(name, "") + delta[name]
        if isinstance(delta.get(_DETAILS), list):
            self._fields[_DETAILS] = _merged(self._fields.get(_DETAILS, []), delta[_DETAILS])
        for fragment in delta.get("tool_calls") or ():
            self._fragment(fragment)

    def _fragment(self, fragment: Mapping[str, Any]) -> None:
        """Add a piece of a call. Some servers send each call in one piece, without an index."""
        index, function = fragment.get("index"), fragment.get("function") or {}
        place = (len(self._calls) if index is None else index, 0)
        if index is not None:
            alike = [known for known in self._calls if known[0] == index]
            place = alike[-1] if alike else place
            if (
                alike
                and function.get("name")
                and fragment.get("id") not in (None, "", self._calls[place].theirs)
            ):
                # Some servers give all calls the same index: a name with a new id begins another call.
                place = (index, len(alike))
        call = self._calls.setdefault(place, _Call(fragment.get("id") or ""))
        call.name += function.get("name") or ""
        call.arguments += function.get("arguments") or ""
        if fragment.get(_EXTRA):
            call.extra[_EXTRA] = fragment[_EXTRA]


def _merged(known: list[Json], more: list[Json]) -> list[Json]:
    """Details come in pieces; the index of a piece says which detail it continues."""
    merged = [dict(one) for one in known]
    for piece in more:
        last = next((one for one in merged if one.get("index") == piece.get("index")), None)
        if last is None or piece.get("index") is None or last.get("type") != piece.get("type"):
            merged.append(dict(piece))
            continue
        for name, value in piece.items():
            joins = name in ("text", "summary", "data") and isinstance(last.get(name), str)
            last[name] = last[name] + value if joins and isinstance(value, str) else value
    return merged


def _counted(usage: Mapping[str, Any]) -> Counted:
    read = usage.get("prompt_tokens") or 0
    details = usage.get("prompt_tokens_details") or {}
    cached = min(read, details.get("cached_tokens") or usage.get("prompt_cache_hit_tokens") or 0)
    return Counted(read - cached, cached, output=usage.get("completion_tokens") or 0)
