import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from holdfast.agents import Agents, demo_agent
from holdfast.clock import SystemClock
from holdfast.config.load import load_settings
from holdfast.errors import BadAgent, BadConfig
from holdfast.gateway.build.agents import load_agents
from holdfast.model import ChatAddress, ChatSettings
from holdfast.tools import Tool

MAIN = """
agent.use = "main"
[routes]
"telegram/*" = "echo"
[agents.main]
model = "big"
models = ["small", "big"]
key_env = "KEY"
instructions = "me.md"
tools = ["terminal"]
context = 10000
max_output = 1000
"""


def loaded(
    home: Path, toml: str, tools: list[tuple[str, Sequence[str]]] | None = None, **known: str
) -> Agents:
    (home / "holdfast.toml").write_text(toml)

    def wanted(agent: str, names: Sequence[str]) -> tuple[Tool, ...]:
        (tools if tools is not None else []).append((agent, names))
        return demo_agent(SystemClock()).tools

    return load_agents(load_settings(home, known).settings, SystemClock(), wanted, known)


def test_the_agents_of_the_tables_answer_beside_our_own(tmp_path: Path) -> None:
    (tmp_path / "me.md").write_text("Be brief.")
    asked: list[tuple[str, Sequence[str]]] = []
    agents = loaded(tmp_path, MAIN, asked, KEY="k")
    assert agents.names == ("main", "echo")
    main = agents.choose(ChatAddress("web/local/x"), ChatSettings()).agent
    assert (main.instructions, main.room, main.models) == ("Be brief.", 9_000, ("big", "small"))
    assert len(main.tools) == len(demo_agent(SystemClock()).tools)
    assert asked == [("main", ("terminal",))]
    assert agents.choose(ChatAddress("telegram/bot/1"), ChatSettings()).name == "echo"
    assert "k" not in repr(main.model)


def test_what_keeps_one_of_them_from_answering_is_said_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="agents.main.key_env = 'KEY'"):
        loaded(tmp_path, MAIN)
    with pytest.raises(BadConfig, match="agents.main.instructions = 'me.md'"):
        loaded(tmp_path, MAIN, KEY="k")


def test_a_provider_whose_library_is_not_there_is_named_with_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.installation.find_spec", lambda name: None)
    (tmp_path / "me.md").write_text("")
    with pytest.raises(BadAgent, match=r"install .*\[openai\]'"):
        loaded(tmp_path, MAIN, KEY="k")


def test_a_gateway_without_such_an_agent_does_not_wait_for_any_providers_library() -> None:
    look = (
        "import sys, holdfast.process.main; "
        "sys.exit(any(n in sys.modules for n in ('openai', 'anthropic', 'holdfast.gateway.build.providers')))"
    )
    assert subprocess.run([sys.executable, "-c", look], timeout=60).returncode == 0
    providers = "holdfast.gateway.build.providers"
    look = f"import sys, {providers}; sys.exit(any(n in sys.modules for n in ('openai', 'anthropic')))"
    assert subprocess.run([sys.executable, "-c", look], timeout=60).returncode == 0, (
        "nor one with it to start"
    )
