"""What an agent may ask of the gateway itself: a restart, a look back, the rest of a long result."""

from __future__ import annotations

from holdfast.model import EffectClass
from holdfast.tools.functions import tool
from holdfast.tools.intentions import READ_OUTPUT, ReadOutput, SearchHistory, WantRestart


@tool(EffectClass.IDEMPOTENT)
async def restart_gateway(reason: str = "") -> WantRestart:
    """Have the gateway you run in restarted, once, after your reply of this turn is delivered.

    The conversation goes on afterwards by itself. Only when the person asks for it.

    Args:
        reason: Why, in a few words.
    """
    return WantRestart(reason)


@tool(EffectClass.READ)
async def history_search(words: str, limit: int = 20) -> SearchHistory:
    """Find what was said in this conversation, also in its earlier sessions and before summaries.

    Args:
        words: Found is what holds all of these words, in any case.
        limit: How many finds to show at most, newest first.
    """
    return SearchHistory(words, limit)


@tool(EffectClass.READ, name=READ_OUTPUT)
async def read_output(output: str, first_line: int = 1, lines: int = 200) -> ReadOutput:
    """Show lines of a tool's result that was too long to be shown whole.

    Args:
        output: The name it is kept by, as the shortened result says it.
        first_line: The first line to show, counted from 1.
        lines: How many lines to show at most.
    """
    return ReadOutput(output, first_line, lines)
