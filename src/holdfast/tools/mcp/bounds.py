"""How much of a server's message the SDK gets: it reads each message on the gateway's event loop.

`mcp_messages.py` and `http.py` limit the size of a message before it is parsed. This module limits what a
server can still make expensive within that size: the values that the SDK checks against its models, and the
description of a tool. The SDK would also check results against a server's own schema, whose patterns can take
for ever, so no schema for results reaches it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from mcp.shared.message import SessionMessage
from mcp_types import (
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from holdfast.records import dataclass
from holdfast.tools.containment.helper.mcp_messages import TOO_LONG, TOO_LONG_WORDS

MOST_TOOLS = 1_000
MOST_BLOCKS = 1_000
"""Parts of one result."""
MOST_CHECKED = 10_000
"""Values of one message that the SDK checks against models; a wrong value costs far more than a right one."""
MOST_FREE = 100_000
"""Values of one message in structured content, which has no model."""
LARGEST_TOOL = 100_000
"""Characters and values in the description of one tool."""
LARGEST_LISTING = 2_000_000
"""The same for all tools of a server together."""
_LONGEST_NAME = 200
_OF_TOOL = ("name", "title", "description", "inputSchema")
_NOT_OF_BLOCK = ("annotations", "icons", "_meta")


class TooMuch(Exception):
    """A message that no call waits for, with more values than the gateway reads."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """A message, reduced to what the gateway reads."""

    message: SessionMessage | TooMuch
    left_out: int = 0
    """Further tools of a listing, which were left out."""


def bounded(found: SessionMessage) -> Bounded:
    """The message for the SDK; an answer with too many values becomes an error for its call."""
    message = found.message
    if isinstance(message, JSONRPCResponse):
        left_out = _trim(message.result)
        return Bounded(found if _is_readable(message.result) else refusal(message), left_out)
    if isinstance(message, JSONRPCRequest | JSONRPCNotification) and has_more_than(
        MOST_CHECKED, message.params
    ):
        return Bounded(TooMuch())
    return Bounded(found)


def refusal(answer: JSONRPCResponse) -> SessionMessage:
    """The error that the waiting call gets instead of this answer."""
    error = ErrorData(code=TOO_LONG, message=TOO_LONG_WORDS)
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=answer.id, error=error))


def weight(value: object) -> int:
    """Number of values and characters; a string counts by its length."""
    return sum(len(one) if isinstance(one, str) else 1 for one in _values(value))


def has_more_than(most: int, value: object) -> bool:
    """Whether it has more values than this; reads no more of them than needed."""
    return next(islice(_values(value), most, None), None) is not None


def _values(value: object) -> Iterator[object]:
    """The value and everything inside it; a null counts as a word."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        yield "null" if one is None else one
        if isinstance(one, Mapping):
            yield from one
            waiting += one.values()
        elif isinstance(one, list | tuple):
            waiting += one


def _trim(result: dict[str, Any]) -> int:
    """Leave out what the gateway does not read and what is too much; returns how many tools that were."""
    tools, content = result.get("tools"), result.get("content")
    if isinstance(content, list):
        more = len(content) - MOST_BLOCKS
        result["content"] = [_block(one) for one in content[:MOST_BLOCKS]]
        if more > 0:
            result["content"].append({"type": "text", "text": f"[{more} more parts were left out]"})
    if not isinstance(tools, list):
        return 0
    kept = [_tool(one) for one in tools[:MOST_TOOLS]]
    result["tools"] = [one for one in kept if _is_small(one)]
    return len(tools) - len(result["tools"])


def _block(block: object) -> object:
    if not isinstance(block, dict):
        return block
    return {key: value for key, value in block.items() if key not in _NOT_OF_BLOCK}


def _tool(tool: object) -> object:
    """What agents see of a tool; above all not the server's schema for its results."""
    return {key: tool[key] for key in _OF_TOOL if key in tool} if isinstance(tool, dict) else tool


def _is_small(tool: object) -> bool:
    if has_more_than(LARGEST_TOOL, tool) or weight(tool) > LARGEST_TOOL:
        return False
    return not isinstance(tool, dict) or len(str(tool.get("name"))) <= _LONGEST_NAME


def _is_readable(result: Mapping[str, Any]) -> bool:
    free = (result.get("structuredContent"), result.get("tools"))
    checked = {key: value for key, value in result.items() if key not in ("structuredContent", "tools")}
    return not has_more_than(MOST_FREE, free) and not has_more_than(MOST_CHECKED, checked)
