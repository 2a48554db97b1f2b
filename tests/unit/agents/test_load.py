"""Bringing your own agent: the example in the documentation runs, and what is wrong is said in words."""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from holdfast.agents import Agent, DemoModel, EchoModel, EffectClass, load_agent, replies_of
from holdfast.clock import SystemClock
from holdfast.errors import BadAgent, Unusable
from holdfast.policy.settings import ToolSettings
from holdfast.tools import Tool
from holdfast.tools.builtin import builtin_tools
from tests.unit.project.tree import ROOT

CLOCK = SystemClock()
PAGE = ROOT / "docs" / "howto" / "bring-your-own-agent.md"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home folder whose modules are forgotten afterwards."""
    path, modules = list(sys.path), set(sys.modules)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def write(home: Path, name: str, text: str) -> None:
    (home / f"{name}.py").write_text(text, encoding="utf-8")


def example(number: int = 0) -> str:
    return str(re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[number])


def test_the_example_with_effects_inside_loads_and_declares_them(home: Path) -> None:
    write(home, "framework", example(1))
    assert replies_of(load_agent("framework:agent", CLOCK, home).model) is EffectClass.EFFECT


@pytest.mark.parametrize("replies", ["EffectClass.RECONCILABLE", "'effect'", "None"])
def test_a_model_cannot_declare_what_the_gateway_cannot_do(home: Path, replies: str) -> None:
    write(home, "odd", example(1).replace("EffectClass.EFFECT", replies))
    with pytest.raises(BadAgent, match=r"replies = .*; allowed: EffectClass.READ"):
        load_agent("odd:agent", CLOCK, home)


def test_ours_are_known_by_name(tmp_path: Path) -> None:
    assert isinstance(load_agent("demo", CLOCK, tmp_path).model, DemoModel)
    assert isinstance(load_agent("echo", CLOCK, tmp_path).model, EchoModel)


def test_a_function_is_given_the_clock(home: Path) -> None:
    lines = (
        "from holdfast.agents import Agent, DemoModel",
        "def make(clock):",
        "    return Agent(DemoModel(clock, 3.0))",
    )
    write(home, "made_by_me", "\n".join(lines))
    assert load_agent("made_by_me:make", CLOCK, home).model == DemoModel(CLOCK, 3.0)


def test_a_file_in_the_home_hides_nothing_that_is_installed(home: Path) -> None:
    write(home, "colorsys", "raise RuntimeError('the wrong one')")
    sys.modules.pop("colorsys", None)
    with pytest.raises(BadAgent, match="has no attribute"):
        load_agent("colorsys:agent", CLOCK, home)


MODEL = "from holdfast.agents import Agent, EchoModel\nfrom holdfast.tools import EffectClass\n"
TOOL = "class T:\n    name = 'dig'\n    effect = EffectClass.READ\n    async def run(self, c, a): return ''\n"


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ("import no_such_thing", "ModuleNotFoundError: No module named 'no_such_thing'"),
        ("agent = 1 / 0", "ZeroDivisionError"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("def def", "SyntaxError"),
        ("other = 1", "AttributeError"),
        ("agent = 42", "it is a int, not an Agent"),
        ("def agent(clock):\n    raise ValueError('no key')", "ValueError: no key"),
        ("def agent(clock):\n    return None", "it is a NoneType"),
        (f"{MODEL}agent = Agent(object())", "has no method `reply`"),
        (f"{MODEL}agent = Agent(EchoModel(), (object(),))", "has no `name`"),
        (f"{MODEL}{TOOL}agent = Agent(EchoModel(), (T(), T()))", "two of its tools are called 'dig'"),
        (f"{MODEL}{TOOL}T.effect = 'read'\nagent = Agent(EchoModel(), (T(),))", "has no `effect`"),
        (f"{MODEL}{TOOL}T.run = None\nagent = Agent(EchoModel(), (T(),))", "has no method `run`"),
    ],
)
def test_an_agent_that_cannot_be_used_is_named_with_the_cause(home: Path, source: str, cause: str) -> None:
    write(home, "broken", source)
    with pytest.raises(BadAgent) as caught:
        load_agent("broken:agent", CLOCK, home)
    assert isinstance(caught.value, Unusable)
    assert "'broken:agent'" in str(caught.value)
    assert cause in str(caught.value)


@pytest.mark.parametrize("name", ["ours", "module:", ":object", "no.such.module:agent"])
def test_a_name_that_means_nothing_is_refused_in_words(home: Path, name: str) -> None:
    with pytest.raises(BadAgent, match=re.escape(name)):
        load_agent(name, CLOCK, home)


def test_the_example_in_the_documentation_has_twenty_lines_and_loads(home: Path) -> None:
    write(home, "dice", example())
    agent = load_agent("dice:agent", CLOCK, home)
    assert isinstance(agent, Agent)
    assert [tool.name for tool in agent.tools] == ["roll"]
    assert len([line for line in example().splitlines() if line.strip()]) <= 20


def given() -> tuple[Tool, ...]:
    return builtin_tools(("todo", "history"), ToolSettings(), CLOCK)


def test_it_is_given_the_tools_that_are_configured_besides_its_own(home: Path) -> None:
    write(home, "with_tools", f"{MODEL}{TOOL}agent = Agent(EchoModel(), (T(),))")
    agent = load_agent("with_tools:agent", CLOCK, home, tools=given())
    assert [tool.name for tool in agent.tools] == ["dig", "todo", "history_search", "read_output"]


def test_a_tool_of_its_own_may_not_have_the_name_of_one_it_is_given(home: Path) -> None:
    write(home, "same_name", f"{MODEL}{TOOL.replace('dig', 'todo')}agent = Agent(EchoModel(), (T(),))")
    with pytest.raises(BadAgent, match="two of its tools are called 'todo'"):
        load_agent("same_name:agent", CLOCK, home, tools=given())


def test_the_demonstrations_stay_as_they_are(tmp_path: Path) -> None:
    tools = load_agent("demo", CLOCK, tmp_path, tools=given()).tools
    assert [tool.name for tool in tools] == ["count", "write_note", "read_notes"]


def test_a_module_that_was_written_a_moment_ago_is_found(home: Path) -> None:
    with pytest.raises(BadAgent):
        load_agent("fresh:agent", CLOCK, home)
    seen = home.stat()
    write(home, "fresh", example())
    os.utime(home, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert load_agent("fresh:agent", CLOCK, home).tools


def test_loading_walks_no_table_that_other_threads_change(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Changing(dict[str, object]):
        """What is left of the table while another thread imports."""

        def items(self) -> NoReturn:
            raise RuntimeError("dictionary changed size during iteration")

    write(home, "fresh", example())
    monkeypatch.setattr(sys, "path_importer_cache", Changing(sys.path_importer_cache))
    assert load_agent("fresh:agent", CLOCK, home).tools
