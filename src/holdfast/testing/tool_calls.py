"""One call of a tool, as the gateway makes it: for the tests of your tools."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.model import SessionId, TurnId
from holdfast.tools import Intention, Tool, ToolContext, ToolFailed


async def called(
    tool: Tool, arguments: Mapping[str, Any], *, workspace: Path = Path(), key: str = "t1:c1"
) -> str | Intention:
    """Run a tool once; return what the model would read, or the intention that the gateway would carry out.

    A call that the tool refuses or fails returns the words of `ToolFailed`, as the model reads them.
    """
    context = ToolContext(SessionId("s1"), TurnId("t1"), 1, workspace, key, effect=tool.effect)
    try:
        return await tool.run(context, json.dumps(dict(arguments)))
    except ToolFailed as failed:
        return str(failed)
