"""What an agent may ask of the gateway itself: a restart, a search of the history, the rest of a result."""

from __future__ import annotations

from holdfast.model import EffectClass
from holdfast.tools.functions import tool
from holdfast.tools.intentions import READ_OUTPUT, ReadOutput, SearchHistory, WantRestart


@tool(EffectClass.IDEMPOTENT)
async def restart_gateway(reason: str = "") -> WantRestart:
    """Restart the gateway you run in, once, after it has delivered your reply of this turn.

    The conversation continues by itself afterwards. Use it only when the person asks for it.

    Args:
        reason: Why, in a few words.
    """
    return WantRestart(reason)


@tool(EffectClass.READ)
async def history_search(words: str, limit: int = 20) -> SearchHistory:
    """Find what was said in this conversation, including its earlier sessions and what summaries replaced.

    Args:
        words: A message matches if it contains all of these words, in upper or lower case.
        limit: How many matches to show at most, newest first.
    """
    return SearchHistory(words, limit)


@tool(EffectClass.READ, name=READ_OUTPUT)
async def read_output(output: str, first_line: int = 1, lines: int = 200) -> ReadOutput:
    """Show lines of a tool result that was too long to be shown completely.

    Args:
        output: The name of the result, as its shortened form gives it.
        first_line: The first line to show, counted from 1.
        lines: How many lines to show at most.
    """
    return ReadOutput(output, first_line, lines)
