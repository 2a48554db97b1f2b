"""A tool's result for the model: text as it is, everything else in words, all of limited length."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from holdfast.telemetry.known_secrets import NONE, KnownSecrets
from holdfast.tools.base import ToolFailed

LONGEST = 200_000
"""Characters of a result that the gateway keeps."""


def told(result: CallToolResult, known: KnownSecrets = NONE) -> str:
    """The result in words without known secrets; raises `ToolFailed` if the server calls it an error."""
    texts = [text for block in result.content for text in _shown(block)]
    texts += _structured(result.structured_content, texts)
    words = shortened("\n".join(texts), known)
    if result.is_error:
        raise ToolFailed(words or "the server says that the call failed, but not why")
    return words


def shortened(text: str, known: KnownSecrets = NONE) -> str:
    """The beginning of a long text, without known secrets, and how much more there was."""
    more = len(text) - LONGEST
    words = known.cut(text, LONGEST)
    return words if more <= 0 else f"{words}\n[{more} more characters were left out]"


def _shown(block: ContentBlock) -> Iterator[str]:
    match block:
        case TextContent():
            yield block.text
        case ImageContent() | AudioContent():
            kind = "picture" if isinstance(block, ImageContent) else "sound"
            yield f"[a {kind}, {block.mime_type}, {_size(block.data)}, which cannot be shown here]"
        case ResourceLink():
            what = ", ".join(word for word in (block.name, block.mime_type, block.description) if word)
            yield f"[a link to {block.uri}: {what}]"
        case EmbeddedResource(resource=TextResourceContents() as text):
            yield f"[{text.uri}]"
            yield text.text
        case EmbeddedResource(resource=BlobResourceContents() as blob):
            yield f"[{blob.uri}, {blob.mime_type or 'data'}, {_size(blob.blob)}, which cannot be shown here]"


def _size(encoded: str) -> str:
    return f"about {max(1, len(encoded) * 3 // 4 // 1024)} kB"


def _structured(content: object, texts: Sequence[str]) -> list[str]:
    """Structured content as JSON, unless a text of the result says the same."""
    if content is None:
        return []
    same = [content]
    if isinstance(content, dict) and list(content) == ["result"]:
        same.append(content["result"])
    if any(text in same or _read(text) in same for text in texts):
        return []
    if isinstance(same[-1], list) and texts and [_read(text) for text in texts] == same[-1]:
        return []
    return [json.dumps(content, ensure_ascii=False)]


def _read(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
