import os
import re
from pathlib import Path

import pytest

from holdfast.config.keys import KEYS, value_at
from holdfast.config.kinds import shown_time
from holdfast.config.load import Loaded, StartContext, describe, load_settings, secret, surroundings
from holdfast.config.named_tables import SECTIONS
from holdfast.config.settings import LOCAL_PERSON, NamedAgent, Provider, Settings
from holdfast.errors import BadConfig
from holdfast.model import BusyMode, EffectClass, OnInterruption, PersonId
from holdfast.policy.settings import DAY, HOUR, MINUTE, SECOND, Rule, Ruling


def load(home: Path, toml: str = "", **environment: str) -> Loaded:
    (home / "holdfast.toml").write_text(toml)
    return load_settings(home, environment)


def complaint(home: Path, toml: str = "", **environment: str) -> BadConfig:
    with pytest.raises(BadConfig) as caught:
        load(home, toml, **environment)
    return caught.value


def test_without_a_word_from_anybody_the_defaults_hold(tmp_path: Path) -> None:
    loaded = load_settings(tmp_path, {})
    assert loaded.settings == Settings(tmp_path)
    assert loaded.settings.gateway.drain.wait == 60 * SECOND
    assert loaded.settings.gateway.recovery.window == HOUR
    assert loaded.settings.access.owners == {LOCAL_PERSON}
    assert loaded.sources == {}


def test_the_file_says_what_it_says(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        """
        owners = ["telegram:7"]
        workers = 3
        busy = "steer"
        on_interruption = "ask"
        agent.use = "my.module:agent"
        [drain]
        wait = 90
        teardown = "1m"
        [resume]
        window = "2h"
        [reset]
        idle = "7d"
        [groups]
        per_person = false
        """,
    ).settings
    assert settings.access.owners == {PersonId("telegram:7"), LOCAL_PERSON}
    gateway = settings.gateway
    assert (gateway.workers, gateway.busy, gateway.on_interruption) == (
        3,
        BusyMode.STEER,
        OnInterruption.ASK,
    )
    assert settings.agent.use == "my.module:agent"
    assert (gateway.drain.wait, gateway.drain.teardown) == (90 * SECOND, MINUTE)
    assert (gateway.recovery.window, gateway.reset.idle) == (2 * HOUR, 7 * DAY)
    assert gateway.sharing.groups_per_person is False


def test_the_environment_wins_over_the_file_and_says_so(tmp_path: Path) -> None:
    loaded = load(tmp_path, "workers = 3\ndrain.wait = 5", HOLDFAST_WORKERS="4")
    assert loaded.settings.gateway.workers == 4
    assert loaded.settings.gateway.drain.wait == 5 * SECOND
    lines = {line.key: line for line in describe(loaded)}
    assert (lines["workers"].value, lines["workers"].source, lines["workers"].default) == (
        4,
        "HOLDFAST_WORKERS",
        32,
    )
    assert lines["drain.wait"].source == str(tmp_path / "holdfast.toml")
    assert (lines["drain.wait"].value, lines["drain.wait"].default) == ("5s", "1m")
    assert lines["busy"].source == "default"


@pytest.mark.parametrize(
    ("toml", "key", "value", "allowed"),
    [
        ("workers = 0", "workers", 0, "a whole number from 1 to 256"),
        ('workers = "many"', "workers", "many", "a whole number"),
        ("workers = true", "workers", True, "a whole number"),
        ('busy = "loud"', "busy", "loud", "queue, collect, interrupt, steer"),
        ('drain.wait = "soon"', "drain.wait", "soon", "a time"),
        ("drain.wait = 86400", "drain.wait", 86400, "from 0s to 1h"),
        ('drain.wait = "-1"', "drain.wait", "-1", "from 0s"),
        ('owners = "telegram:7 8"', "owners", "telegram:7 8", "immutable ids"),
        ("owners = [7]", "owners", [7], "immutable ids"),
        ('chats = ["telegram"]', "chats", ["telegram"], "addresses"),
        ('groups.per_person = "maybe"', "groups.per_person", "maybe", "true or false"),
        ('agent.use = "gpt"', "agent.use", "gpt", "demo, echo, or module:object"),
        ("[progress]\nwarn = 100\nabort = 50", "progress.abort", 50.0, "at least progress.warn"),
    ],
)
def test_a_bad_value_is_named_with_its_key_and_what_is_allowed(
    tmp_path: Path, toml: str, key: str, value: object, allowed: str
) -> None:
    error = complaint(tmp_path, toml)
    assert (error.key, error.value) == (key, value)
    assert allowed in error.allowed


@pytest.mark.parametrize(
    ("toml", "suggested"),
    [("drian.wait = 5", "drain.wait"), ("worker = 5", "workers"), ("[resume]\nwindows = 5", "resume.window")],
)
def test_an_unknown_key_is_an_error_that_names_the_nearest(tmp_path: Path, toml: str, suggested: str) -> None:
    assert f"did you mean {suggested}?" in complaint(tmp_path, toml).allowed


def test_a_slip_in_a_variables_name_is_noticed_and_other_peoples_variables_are_not(tmp_path: Path) -> None:
    error = complaint(tmp_path, HOLDFAST_DRAIN_WIAT="5")
    assert "HOLDFAST_DRAIN_WAIT" in error.allowed
    load(tmp_path, HOLDFAST_SOMETHING_ELSE_ENTIRELY="5", HOLDFAST_HOME=str(tmp_path))


def test_a_bad_variable_is_named_as_the_variable_it_is(tmp_path: Path) -> None:
    assert complaint(tmp_path, HOLDFAST_WORKERS="x").key == "HOLDFAST_WORKERS"


def test_a_file_that_is_no_toml_is_named_with_the_line(tmp_path: Path) -> None:
    error = complaint(tmp_path, "workers: 5")
    assert error.key == str(tmp_path / "holdfast.toml")
    assert "line 1" in str(error.value)


def test_a_file_in_the_place_of_the_home_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "file"
    home.write_text("")
    with pytest.raises(BadConfig, match="a folder"):
        load_settings(home, {})


def test_every_key_stands_in_the_settings_and_its_default_reads_back_as_itself(tmp_path: Path) -> None:
    settings = Settings(tmp_path)
    for key in KEYS:
        value = value_at(settings, key.path)
        assert key.kind.read(key.kind.show(value)) == value, key.name
        assert re.fullmatch(r"HOLDFAST_[A-Z_]+", key.variable)
    assert len({key.variable for key in KEYS}) == len(KEYS)


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [(0, "0s"), (1, "1ms"), (1500, "1500ms"), (60_000, "1m"), (90_000, "90s"), (DAY, "1d"), (None, "never")],
)
def test_times_are_shown_as_people_write_them(milliseconds: int | None, words: str) -> None:
    assert shown_time(milliseconds) == words


def test_who_started_us_is_read_once_and_a_watchdog_meant_for_another_is_not_ours() -> None:
    assert surroundings({}) == StartContext()
    told = {"NOTIFY_SOCKET": "/run/n", "WATCHDOG_USEC": "2000000", "INVOCATION_ID": "x"}
    assert surroundings(told) == StartContext("/run/n", 2.0, under_systemd=True)
    assert surroundings({**told, "WATCHDOG_PID": "1"}).watchdog_seconds is None


def test_the_service_that_a_desktop_session_is_does_not_keep_us_up() -> None:
    elsewhere = {"INVOCATION_ID": "x", "SYSTEMD_EXEC_PID": str(os.getpid() + 1)}
    assert not surroundings(elsewhere).under_systemd
    assert surroundings({**elsewhere, "SYSTEMD_EXEC_PID": str(os.getpid())}).under_systemd


def test_rules_for_tool_calls_are_read_in_their_order(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        """
        [approvals]
        effect = "ask"
        expires = "10m"
        [[approvals.rules]]
        tool = "terminal"
        arguments = {command = 'git (status|diff)'}
        then = "allow"
        [[approvals.rules]]
        tool = ["terminal", "*_file"]
        effect = "effect"
        chat = "telegram/*"
        matches = "rm"
        then = "deny"
        """,
    )
    found = loaded.settings.gateway.approvals
    assert (found.effect, found.read, found.expires) == (Ruling.ASK, Ruling.ALLOW, 10 * MINUTE)
    assert found.rules == (
        Rule(Ruling.ALLOW, ("terminal",), arguments=(("command", "git (status|diff)"),)),
        Rule(Ruling.DENY, ("terminal", "*_file"), EffectClass.EFFECT, "telegram/*", "rm"),
    )
    (described,) = [line for line in describe(loaded) if line.key == "approvals.rules"]
    assert described.value == [
        {"tool": "terminal", "arguments": {"command": "git (status|diff)"}, "then": "allow"},
        {
            "tool": ["terminal", "*_file"],
            "effect": "effect",
            "chat": "telegram/*",
            "matches": "rm",
            "then": "deny",
        },
    ]


def test_one_line_has_a_tool_asked_about_in_the_file_or_the_environment(tmp_path: Path) -> None:
    rules = (Rule(Ruling.ASK, ("terminal", "write_file")),)
    line = 'approvals.rules = [{tool = ["terminal", "write_file"], then = "ask"}]'
    assert load(tmp_path, line).settings.gateway.approvals.rules == rules
    said = '[{"tool": ["terminal", "write_file"], "then": "ask"}]'
    assert load(tmp_path, HOLDFAST_APPROVALS_RULES=said).settings.gateway.approvals.rules == rules


@pytest.mark.parametrize(
    "rule",
    [
        '"ask"',
        "{}",
        '{tool = "terminal"}',
        '{tool = "terminal", then = "maybe"}',
        '{tool = "terminal", then = "ask", when = "night"}',
        '{tool = [], then = "ask"}',
        '{tool = 3, then = "ask"}',
        '{effect = "bad", then = "ask"}',
        '{matches = "(", then = "ask"}',
        '{arguments = {command = "("}, then = "ask"}',
        '{arguments = "x", then = "ask"}',
        '{chat = 1, then = "ask"}',
    ],
)
def test_a_rule_that_cannot_be_followed_keeps_the_gateway_from_starting(tmp_path: Path, rule: str) -> None:
    found = complaint(tmp_path, f"approvals.rules = [{rule}]")
    assert "approvals.rules" in str(found) and "then is allow, ask or deny" in str(found)


TWO_AGENTS = """
agent.use = "main"
[routes]
"telegram/bot/*" = "local"
"web/*" = "echo"
[agents.main]
provider = "anthropic"
model = "claude-x"
key_env = "ANTHROPIC_API_KEY"
price_input = 3
[agents.local]
base_url = "http://127.0.0.1:11434/v1"
model = "qwen3:8b"
tools = ["terminal", "todo"]
instructions = "local.md"
"""


def test_tables_whose_names_people_give_have_the_same_keys_each_with_its_own_values(tmp_path: Path) -> None:
    settings = load(tmp_path, TWO_AGENTS).settings
    main, local = settings.agents["main"], settings.agents["local"]
    assert (main.provider, main.model, main.key_env) == (Provider.ANTHROPIC, "claude-x", "ANTHROPIC_API_KEY")
    assert (main.price_input, main.base_url, main.tools) == (3_000_000, None, NamedAgent().tools)
    assert (local.provider, local.base_url) == (Provider.OPENAI, "http://127.0.0.1:11434/v1")
    assert (local.tools, local.instructions) == (("terminal", "todo"), Path("local.md"))
    assert settings.agent.routes == (("telegram/bot/*", "local"), ("web/*", "echo"))


MODEL = '[agents.local]\nbase_url = "http://127.0.0.1:1/v1"\nmodel = "small"\n'


@pytest.mark.guards("R7.3")
@pytest.mark.parametrize(
    ("toml", "use", "effect"),
    [
        ("", "demo", Ruling.ALLOW),
        (MODEL, "local", Ruling.ASK),
        (f'agent.use = "echo"\napprovals.effect = "allow"\n{MODEL}', "echo", Ruling.ALLOW),
        (f'{MODEL}[agents.other]\nmodel = "large"', "local", Ruling.ASK),
        ('tools.use = ["terminal"]', "demo", Ruling.ASK),
    ],
    ids=["demonstration", "model", "said", "several", "tools"],
)
def test_a_model_in_the_file_answers_and_needs_consent_for_effects_unless_that_is_said_otherwise(
    tmp_path: Path, toml: str, use: str, effect: Ruling
) -> None:
    (tmp_path / "holdfast.toml").write_text(toml)
    settings = load_settings(tmp_path, {}).settings
    assert (settings.agent.use, settings.gateway.approvals.effect) == (use, effect)


def test_the_environment_wins_in_a_table_too(tmp_path: Path) -> None:
    loaded = load(
        tmp_path, TWO_AGENTS, HOLDFAST_AGENTS_LOCAL_BASE_URL="http://box:1/v1", HOLDFAST_ROUTES="a=echo"
    )
    assert loaded.settings.agents["local"].base_url == "http://box:1/v1"
    assert loaded.settings.agent.routes == (("a", "echo"),)
    lines = {line.key: line for line in describe(loaded)}
    assert lines["agents.local.base_url"].source == "HOLDFAST_AGENTS_LOCAL_BASE_URL"
    assert lines["agents.local.base_url"].default == "none"
    assert lines["agents.main.price_input"].value == "3"
    assert lines["agents.main.tools"].source == "default"
    assert (
        "HOLDFAST_AGENTS_LOCAL_MODEL"
        in complaint(tmp_path, TWO_AGENTS, HOLDFAST_AGENTS_LOCAL_MODLE="").allowed
    )


@pytest.mark.parametrize(
    ("toml", "key", "value", "allowed"),
    [
        ("[agents.main]", "agents.main.model", "", "the name of a model"),
        ("[agents.main]\nmodel = 3", "agents.main.model", 3, "the name of a model"),
        ("[agents.main]\nmodel = 'm'\nmodle = 3", "agents.main.modle", "[secret]", "mean agents.main.model?"),
        ("[agents.main]\nmodel = 'm'\nxyzzy = 3", "agents.main.xyzzy", "[secret]", "a known key: provider"),
        ("[agents.main]\nmodel = 'm'\nbase_url = 'box'", "agents.main.base_url", "box", "an address"),
        (
            "[agents.main]\nmodel = 'm'\nbase_url = 'http://me:pw@box/v1'",
            "agents.main.base_url",
            "[secret]",
            "an address without user and password",
        ),
        ("[mcp.far]\nurl = 'https://key@far/mcp'", "mcp.far.url", "[secret]", "without user and password"),
        ("telegram.base_url = 'http://me@box'", "telegram.base_url", "[secret]", "without user and password"),
        ("[agents.main]\nmodel = 'm'\ntools = 'a b'", "agents.main.tools", "a b", "a list of tools"),
        ("[agents.main]\nmodel = 'm'\ncontext = 1", "agents.main.context", 1, "a whole number from 1000"),
        ("[agents.Main]\nmodel = 'm'", "agents.Main", "Main", "small letters"),
        ("[agents]\nmain = 'm'", "agents.main", "m", "a table: [agents.main]"),
        ("agents = 1", "agents", 1, "tables: [agents.NAME]"),
        ("agent.use = 'main'\n[agents.other]\nmodel = 'm'", "agent.use", "main", "there are: other"),
        ("[routes]\n'web/*' = 'main'", "routes", "main", "there are: none"),
        ("routes = 3", "routes", 3, "a table of addresses and agents"),
    ],
)
def test_a_bad_table_is_named_with_its_key_and_what_is_allowed(
    tmp_path: Path, toml: str, key: str, value: object, allowed: str
) -> None:
    error = complaint(tmp_path, toml)
    assert (error.key, error.value) == (key, value)
    assert allowed in error.allowed


def test_a_secret_written_where_its_variable_should_be_named_is_not_repeated(tmp_path: Path) -> None:
    for line in ("key_env = 'sk-proj-123'", "key = 'sk-proj-123'", "api_key = 'sk-proj-123'"):
        error = complaint(tmp_path, f"[agents.main]\nmodel = 'm'\n{line}")
        assert "sk-proj" not in str(error)
        assert "key_env" in str(error)


def test_a_secret_is_read_where_it_is_and_what_holds_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("from a file\n")
    assert secret("agents.main.key", None, None, tmp_path, {}) is None
    assert secret("agents.main.key", "KEY", None, tmp_path, {"KEY": " told "}) == "told"
    assert secret("agents.main.key", None, Path("key"), tmp_path, {}) == "from a file"
    with pytest.raises(BadConfig, match="agents.main.key_env = 'KEY'"):
        secret("agents.main.key", "KEY", None, tmp_path, {"KEY": ""})
    with pytest.raises(BadConfig, match="agents.main.key_file = 'other'"):
        secret("agents.main.key", None, Path("other"), tmp_path, {})
    with pytest.raises(BadConfig, match="only one of"):
        secret("agents.main.key", "KEY", Path("key"), tmp_path, {"KEY": "told"})


def test_the_keys_of_tables_read_back_too_and_no_variable_could_mean_two_of_them() -> None:
    for section in SECTIONS:
        for key in section.keys:
            value = value_at(section.make(), key.path)
            if key.name not in section.needed:
                assert key.kind.read(key.kind.show(value)) == value, key.name
            others = [other.name for other in section.keys if other is not key]
            assert not any(key.name.endswith(f"_{other}") for other in others), key.name
