"""Every key of the configuration reaches a part of the gateway that is built, with the value that was said.

Two gateways are run with a value for each key, and one with none; what their parts were given is compared.
"""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from holdfast.config.keys import value_at
from holdfast.config.load import load_settings, reference
from holdfast.config.settings import Settings
from holdfast.errors import BadConfig, Unusable
from holdfast.gateway.build.platforms import check_platforms
from holdfast.gateway.lifecycle import longest_stop
from holdfast.policy.settings import SECOND
from tests.support.commands import PATIENCE, environment
from tests.support.reached import leaves

TABLE = "it"
"""What the tables are called whose names people give."""
SECRETS = {"A_KEY": "sk-by-variable", "BOT_TOKEN": "1000:by-variable", "TOOL_TOKEN": "t-1", "SEEN": "seen-1"}
FILES = {"key": "sk-by-file", "bot-token": "2000:by-file", "who.md": "Be brief, and nothing else."}
NOWHERE = "http://127.0.0.1:9"

# No value here is a default, and no two numbers are alike, so that none is taken for another. A new key needs
# a line in one of these two, or in OTHERWISE with the test that sees what it does.
FIRST: Mapping[str, object] = {
    "owners": ["telegram:11"],
    "people": ["telegram:12"],
    "chats": ["telegram/1000/-13"],
    "owner_chat": "telegram/1000/14",
    "alerts.deaf": 15.015,
    "alerts.disk": 16,
    "alerts.unsettled": 17.017,
    "alerts.hung": 117.017,
    "agent.use": TABLE,
    "routes": {"web/*": "echo", "telegram/*": "demo"},
    "agent.pace": 18.018,
    "workers": 19,
    "busy": "steer",
    "on_interruption": "ask",
    "grace": 1.019,
    "heartbeat": 20.02,
    "reconcile": 21.021,
    "drain.wait": 22.022,
    "drain.teardown": 23.023,
    "drain.reply": 24.024,
    "resume.window": 25.025,
    "resume.counts": 125.025,
    "resume.strikes": 13,
    "resume.interruptions": 27,
    "safe_mode.exits": 28,
    "safe_mode.within": 129.029,
    "safe_mode.clean": 130.03,
    "reset.idle": 131.031,
    "reset.daily_at": 32.032,
    "queue.most": 33,
    "queue.longest": 3434,
    "queue.backlog": 135.035,
    "retry.first": 36.036,
    "retry.most": 37.037,
    "retry.factor": 3.8,
    "retry.repeats": 39,
    "retry.aside": 139.039,
    "retry.age": 140.04,
    "progress.notice": 41.041,
    "progress.warn": 42.042,
    "progress.abort": 43.043,
    "progress.recorded": 4.343,
    "limits.steps": 44,
    "limits.turn_tokens": 45,
    "limits.turn_cost": 0.46,
    "limits.day_tokens": 47,
    "limits.day_cost": 0.48,
    "questions.expires": 149.049,
    "approvals.rules": [{"tool": "nothing_at_all", "then": "deny"}],
    "approvals.read": "deny",
    "approvals.idempotent": "ask",
    "approvals.reconcilable": "deny",
    "approvals.effect": "deny",
    "approvals.expires": 151.051,
    "approvals.people": "own",
    "tools.use": ["todo"],
    "tools.timeout": 52.052,
    "tools.shown": 5353,
    "tools.workspace": "agent",
    "tools.containment": "off",
    "tools.network": False,
    "tools.protected": ["a-place"],
    "tools.terminal.timeout": 54.054,
    "tools.terminal.memory": 155,
    "tools.terminal.processes": 56,
    "tools.terminal.output": 57057,
    "tools.terminal.env": ["SEEN"],
    "tools.fetch.allow_private": True,
    "tools.fetch.most": 58058,
    "tools.fetch.timeout": 59.059,
    "processes.most": 60,
    "processes.wakeups": 61,
    "processes.log": 62,
    "processes.keep": 63.063,
    "processes.grace": 64.064,
    "goals.budget": 65,
    "groups.per_person": False,
    "threads.per_person": True,
    "pairing.codes": 66,
    "pairing.lasts": 167.067,
    "pairing.open": 68,
    "keep.events": "69d",
    "keep.set_aside": "70d",
    "keep.instances": "71d",
    "web.host": "localhost",
    "web.hosts": ["gateway.example.org"],
    "web.patience": 7.007,
    "watchdog.loop": 72.072,
    "watchdog.slack": 13.013,
    "telegram.token_env": "BOT_TOKEN",
    "telegram.base_url": f"{NOWHERE}/a",
    f"agents.{TABLE}.provider": "anthropic",
    f"agents.{TABLE}.model": "model-a",
    f"agents.{TABLE}.models": ["model-b"],
    f"agents.{TABLE}.base_url": f"{NOWHERE}/b",
    f"agents.{TABLE}.key_env": "A_KEY",
    f"agents.{TABLE}.instructions": "who.md",
    f"agents.{TABLE}.tools": ["terminal", "fetch"],
    f"agents.{TABLE}.mcp": ["i*"],
    f"agents.{TABLE}.read": ["/usr/share"],
    f"agents.{TABLE}.write": ["/var/tmp"],
    f"agents.{TABLE}.images": False,
    f"agents.{TABLE}.context": 76076,
    f"agents.{TABLE}.max_output": 77,
    f"agents.{TABLE}.effort": "high",
    f"agents.{TABLE}.timeout": 78.078,
    f"agents.{TABLE}.price_input": 0.79,
    f"agents.{TABLE}.price_cached": 0.80,
    f"agents.{TABLE}.price_output": 0.81,
    f"mcp.{TABLE}.url": f"{NOWHERE}/c",
    f"mcp.{TABLE}.headers": {"Authorization": "Bearer $TOOL_TOKEN"},
    f"mcp.{TABLE}.tools": ["get_*"],
    f"mcp.{TABLE}.effects": {"get_*": "read"},
    f"mcp.{TABLE}.timeout": 83.083,
    f"mcp.{TABLE}.wait": 84.084,
}
SECOND_LIFE: Mapping[str, object] = {
    # What cannot be said beside the above.
    "routes": {"web/*": "echo"},
    "telegram.token_file": "bot-token",
    "telegram.base_url": f"{NOWHERE}/d",
    "telegram.reading": "webhook",
    "telegram.webhook_url": "https://bot.example.org/here",
    "telegram.webhook_host": "localhost",
    "web.demo": True,
    f"agents.{TABLE}.model": "model-c",
    f"agents.{TABLE}.key_file": "key",
    f"mcp.{TABLE}.command": "no-such-program-anywhere",
    f"mcp.{TABLE}.args": ["an argument"],
    f"mcp.{TABLE}.env": ["SEEN"],
    f"mcp.{TABLE}.cwd": "a-folder",
    f"mcp.{TABLE}.read": ["/usr/lib"],
    f"mcp.{TABLE}.write": ["/var/cache"],
    f"mcp.{TABLE}.network": False,
}
PORTS = ("web.port", "telegram.webhook_port")
"""Said too: free ones."""

OTHERWISE = ("web.allow_remote", "platforms.use", "web.demo")
"""Keys that are seen by what they do, below."""

SHARED = ("approvals.read", "approvals.idempotent", "approvals.reconcilable", "approvals.effect")
"""Keys with values that others have as well: only the name of what was given tells them apart."""

GIVEN: Mapping[str, Any] = {
    # Where another value than the one that was said is given to the parts: what it becomes on its way.
    "owners": lambda _: "telegram:11",
    "telegram.token_env": lambda _: SECRETS["BOT_TOKEN"],
    "telegram.token_file": lambda _: FILES["bot-token"],
    f"agents.{TABLE}.key_env": lambda _: SECRETS["A_KEY"],
    f"agents.{TABLE}.key_file": lambda _: FILES["key"],
    f"agents.{TABLE}.instructions": lambda _: FILES["who.md"],
    f"agents.{TABLE}.context": lambda said: said.agents[TABLE].context - said.agents[TABLE].max_output,
    f"agents.{TABLE}.mcp": lambda _: "i*__*",
    f"mcp.{TABLE}.headers": lambda _: f"Bearer {SECRETS['TOOL_TOKEN']}",
    "tools.terminal.env": lambda _: SECRETS["SEEN"],
    "watchdog.slack": lambda said: (
        (longest_stop(said.gateway.drain, said.gateway.grace) + said.watchdog.slack) / SECOND
    ),
}
NO_SETTINGS = (
    # Values that are called as a setting is, and are none.
    *(
        "(settings).retry.",
        ".settings.retry.",
    ),  # the waits between tries of a model, for which there is no key
    "reached(facts).spent.",  # what was used up, beside what may be
    "conversation_key(sharing).",  # a chat of the page has one person in it
)

GIVEN_TO: Mapping[str, str] = {
    # Where the value decides which part is built, rather than being given to one.
    f"agents.{TABLE}.provider": "holdfast.agents.anthropic.anthropic_model(",
    "telegram.reading": "holdfast.platforms.telegram.bot.telegram_bot(listening)",
    "tools.use": "holdfast.tools.builtin.builtin_tools(names)",
}


def test_every_key_has_a_case_here() -> None:
    known, here = {one.key.replace("NAME", TABLE) for one in reference()}, {*FIRST, *SECOND_LIFE}
    here |= {*PORTS, *OTHERWISE}
    assert known - here == set(), "give each of these a value of its own in FIRST"
    assert here - known == set(), "these keys are gone"


def toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{name}" = {toml(one)}' for name, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def free_ports(count: int) -> list[int]:
    found = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(one.getsockname()[1]) for one in found]
    for one in found:
        one.close()
    return ports


class Life:
    """One gateway that was run with these words in its file."""

    def __init__(self, home: Path, said: Mapping[str, object]) -> None:
        home.mkdir()
        for name, text in FILES.items():
            (home / name).write_text(text)
        (home / "holdfast.toml").write_text("".join(f"{key} = {toml(one)}\n" for key, one in said.items()))
        told = {name: value for name, value in environment(**SECRETS).items() if name != "HOLDFAST_WEB_PORT"}
        done = subprocess.run(
            [sys.executable, "-m", "tests.support.reached", home],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env=told,
        )
        assert done.returncode == 0, done.stderr
        self.said = said
        loaded = load_settings(home, told)
        self.settings: Settings = loaded.settings
        self.paths = {key.name: key.path for key in loaded.keys}
        found = json.loads(done.stdout)
        self.status = found["status"]
        self.seen = {(path, value) for path, value in found["seen"]}

    def named(self, key: str) -> tuple[str, str]:
        """How the path of a value ends that is called as this setting is."""
        name = self.paths[key].rpartition(".")[2]
        return f".{name}", f"({name})"


@pytest.fixture(scope="module")
def lives(tmp_path_factory: pytest.TempPathFactory) -> tuple[Life, Life, Life]:
    folder = tmp_path_factory.mktemp("homes")
    port, other, third, hook = free_ports(4)
    return (
        Life(folder / "plain", {"agent.use": "echo", "web.port": port}),
        Life(folder / "first", {**FIRST, "web.port": other}),
        Life(folder / "second", {**SECOND_LIFE, "web.port": third, "telegram.webhook_port": hook}),
    )


def wanted(key: str, life: Life) -> Iterator[tuple[object, object]]:
    """The values a part has to be given, each as it may be given: as it is, or in seconds."""
    value = GIVEN[key](life.settings) if key in GIVEN else value_at(life.settings, life.paths[key])
    for _, leaf in leaves(value, ""):
        yield leaf, leaf / SECOND if isinstance(leaf, (int, float)) else leaf


@pytest.mark.parametrize("key", dict.fromkeys([*FIRST, *SECOND_LIFE, *PORTS]))
def test_what_is_said_is_what_the_parts_are_given(key: str, lives: tuple[Life, Life, Life]) -> None:
    plain, *others = lives
    for life in (one for one in others if key in one.said and key not in OTHERWISE):
        new = life.seen - plain.seen
        if key in GIVEN_TO:
            assert any(path.startswith(GIVEN_TO[key]) for path, _ in new)
            continue
        for value, in_seconds in wanted(key, life):
            found = [path for path, given in new if given in (value, in_seconds)]
            if isinstance(value, bool) or key in SHARED:
                found = [path for path in found if path.endswith(life.named(key))]
            assert found, f"{key} = {value!r} was said, and no part was given it"


@pytest.mark.parametrize(
    # Tables have no default to be left, and whoever sits at the machine is an owner whatever is said.
    "key",
    [key for key in FIRST if not key.startswith(("agents.", "mcp.", "owners"))],
)
def test_no_part_is_given_the_default_any_more(key: str, lives: tuple[Life, Life, Life]) -> None:
    plain, life, _ = lives
    default = [(value, type(value)) for _, value in leaves(value_at(Settings(Path()), life.paths[key]), "")]
    left = [
        path
        for path, value in life.seen & plain.seen
        if (value, type(value)) in default and path.endswith(life.named(key))
        if not any(meant in path for meant in NO_SETTINGS)
    ]
    assert left == [], f"{key} was said, and these were given its default all the same"


def test_the_page_is_reached_from_other_machines_only_when_that_is_said(tmp_path: Path) -> None:
    file = tmp_path / "holdfast.toml"
    file.write_text('web.host = "0.0.0.0"')
    with pytest.raises(BadConfig, match="web.host"):
        load_settings(tmp_path, {})
    file.write_text('web.host = "0.0.0.0"\nweb.allow_remote = true')
    assert load_settings(tmp_path, {}).settings.web.host == "0.0.0.0"


def test_a_platform_of_another_package_is_looked_for(tmp_path: Path) -> None:
    (tmp_path / "holdfast.toml").write_text('platforms.use = ["pigeons"]')
    with pytest.raises(Unusable, match="'pigeons'"):
        check_platforms(load_settings(tmp_path, {}).settings)


def test_the_demonstration_is_offered_to_who_asks_for_it(lives: tuple[Life, Life, Life]) -> None:
    plain, _, second = lives
    assert (plain.status["demo"], second.status["demo"]) == (False, True)
