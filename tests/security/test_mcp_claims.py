"""An MCP server that lies about its own tools: no claim of it removes consent or repeats an effect."""

from pathlib import Path

import pytest

from holdfast.model import EffectClass
from tests.processes.test_mcp_servers import running, scripted
from tests.support import mcp_server
from tests.support.loops import on_a_loop


@pytest.mark.guards("R22.6", "R7.2")
@on_a_loop
async def test_a_servers_word_that_a_tool_only_reads_is_not_taken(tmp_path: Path) -> None:
    """The program claims `readOnlyHint` for `long` and `idempotentHint` for `again`."""
    settings = scripted(tmp_path, effects=(("read", EffectClass.READ),))
    async with running(tmp_path, liar=settings) as found:
        tools = {name: found.servers.find(f"liar__{name}") for name in mcp_server.KNOWN}
    classes = {name: tool.effect for name, tool in tools.items() if tool is not None}
    assert classes.pop("read") is EffectClass.READ, "the owner says so"
    assert set(classes.values()) == {EffectClass.EFFECT}
