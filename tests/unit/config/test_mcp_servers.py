"""`[mcp.NAME]`: what may stand there, and that no secret does."""

from pathlib import Path

import pytest

from holdfast.clock import SystemClock, SystemRng
from holdfast.config.load import describe, load_settings
from holdfast.errors import BadConfig, Unusable
from holdfast.gateway.build.agents import load_agents
from holdfast.gateway.build.mcp_servers import servers_of
from holdfast.model import EffectClass
from holdfast.policy.settings import Ruling, ToolSettings
from holdfast.tools.containment import Launcher
from holdfast.tools.mcp import McpSettings

PROGRAM = """\
[mcp.time]
command = "uvx"
args = ["mcp-server-time", "--local-timezone=Europe/Berlin, no"]
env = ["TIME_KEY"]
cwd = "clocks"
tools = ["get_*"]
timeout = "90s"
[mcp.time.effects]
"convert_*" = "effect"
"""
ADDRESS = """\
[mcp.far]
url = "https://tools.example.org/mcp"
headers = { Authorization = "Bearer $FAR_TOKEN", X-Plain = "$FAR_PLAIN" }
"""

LAUNCHER = Launcher(ToolSettings(), {})


def load(home: Path, text: str) -> dict[str, McpSettings]:
    (home / "holdfast.toml").write_text(text)
    return dict(load_settings(home, {}).settings.mcp)


def test_a_program_and_an_address_are_read(tmp_path: Path) -> None:
    found = load(tmp_path, PROGRAM + ADDRESS)
    assert found["time"] == McpSettings(
        command="uvx",
        args=("mcp-server-time", "--local-timezone=Europe/Berlin, no"),
        env=("TIME_KEY",),
        cwd=Path("clocks"),
        tools=("get_*",),
        effects=(("convert_*", EffectClass.EFFECT),),
        timeout=90_000,
    )
    assert found["far"].headers == (("Authorization", "Bearer $FAR_TOKEN"), ("X-Plain", "$FAR_PLAIN"))


@pytest.mark.guards("R16")
@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[mcp.a]\n", "mcp.a.command"),
        ('[mcp.a]\ncommand = "x"\nurl = "http://127.0.0.1/"\n', "mcp.a.command"),
        ('[mcp.a]\nurl = "http://127.0.0.1/"\nargs = ["x"]\n', "mcp.a.url"),
        ('[mcp.a]\ncommand = "x"\nheaders = { A = "$B" }\n', "mcp.a.headers"),
        ('[mcp.a]\ncommand = "x"\neffects = { a = "harmless" }\n', "mcp.a.effects"),
        ('[mcp.a__b]\ncommand = "x"\n', "mcp.a__b"),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_key(tmp_path: Path, text: str, key: str) -> None:
    with pytest.raises(BadConfig) as refused:
        load(tmp_path, text)
    assert refused.value.key == key


@pytest.mark.guards("R14")
@pytest.mark.parametrize(
    "text",
    [
        '[mcp.a]\nurl = "http://127.0.0.1/"\nheaders = { Authorization = "Bearer hunter2" }\n',
        '[mcp.a]\ncommand = "x"\nenv = ["KEY=hunter2"]\n',
        '[mcp.a]\ncommand = "x"\nkey = "hunter2"\n',
    ],
)
def test_a_secret_written_into_the_file_is_refused_and_not_repeated(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadConfig) as refused:
        load(tmp_path, text)
    assert "hunter2" not in str(refused.value)


@pytest.mark.guards("R14")
def test_secrets_are_read_at_the_start_and_shown_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "holdfast.toml").write_text(PROGRAM + ADDRESS)
    loaded = load_settings(tmp_path, {})
    with pytest.raises(BadConfig, match="mcp.time.env = 'TIME_KEY'"):
        servers_of(loaded.settings, LAUNCHER, SystemClock(), SystemRng())
    for name in ("TIME_KEY", "FAR_TOKEN", "FAR_PLAIN"):
        monkeypatch.setenv(name, f"hunter2-{name}")
    made = servers_of(loaded.settings, LAUNCHER, SystemClock(), SystemRng())
    assert made is not None
    assert [look.name for look in made.looks()] == ["time", "far"]
    assert "hunter2" not in repr((loaded, describe(loaded), made.looks()))


def test_without_the_package_a_gateway_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "holdfast.toml").write_text('[mcp.a]\ncommand = "x"\n')
    settings = load_settings(tmp_path, {}).settings
    monkeypatch.setattr("holdfast.installation.find_spec", lambda name: None)
    with pytest.raises(Unusable, match=r"install .*\[mcp\]'"):
        servers_of(settings, LAUNCHER, SystemClock(), SystemRng())


@pytest.mark.guards("R22.6")
@pytest.mark.parametrize("server", ['command = "x"', 'url = "http://127.0.0.1/"'])
def test_with_a_server_effects_need_consent_whoever_wrote_the_agent(tmp_path: Path, server: str) -> None:
    for text, ruling in (
        ("", Ruling.ALLOW),
        (f"[mcp.a]\n{server}\n", Ruling.ASK),
        (f'approvals.effect = "allow"\n[mcp.a]\n{server}\n', Ruling.ALLOW),
    ):
        (tmp_path / "holdfast.toml").write_text(text)
        assert load_settings(tmp_path, {}).settings.gateway.approvals.effect is ruling


def test_without_a_server_there_is_nothing_to_run(tmp_path: Path) -> None:
    assert servers_of(load_settings(tmp_path, {}).settings, LAUNCHER, SystemClock(), SystemRng()) is None


AGENT = '[agents.main]\nmodel = "m"\n'


def test_an_agent_is_given_the_servers_it_names_and_one_that_there_is_not_is_refused(tmp_path: Path) -> None:
    load(tmp_path, f'{AGENT}mcp = ["ti*"]\n{PROGRAM}')
    agent = load_agents(load_settings(tmp_path, {}).settings, SystemClock()).by_name["main"]
    assert agent.more == ("ti*__*",)
    with pytest.raises(BadConfig, match=r"agents\.main\.mcp.*there are: time"):
        load(tmp_path, f'{AGENT}mcp = ["tmie"]\n{PROGRAM}')
