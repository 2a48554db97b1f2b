"""Who answers where: by the chat's word, by route, by default; durable, and honest about who is gone."""

from pathlib import Path

import pytest

from holdfast.agents import Agent, Agents, OnText, Prompt, Replied, unheard
from holdfast.model import ChatSettings, StopReason
from holdfast.turns import Pool, Runner
from tests.scenario.test_inbox_commands import said
from tests.support.ledger import SETTINGS, Ledger, address, resume_all
from tests.support.stage import NoChance


class Says:
    """A model that says its name, and which of its models it was asked to be."""

    def __init__(self, name: str) -> None:
        self._name = name

    async def reply(self, prompt: Prompt, on_text: OnText = unheard) -> Replied:
        return Replied(
            f"{self._name} {prompt.model or 'itself'} {prompt.instructions}".strip(), StopReason.COMPLETE
        )


def agents(*names: str, routes: tuple[tuple[str, str], ...] = ()) -> Agents:
    made = {name: Agent(Says(name), (), f"I am {name}.", None, (f"{name}-1", f"{name}-2")) for name in names}
    return Agents(made, names[0], routes)


async def answered(ledger: Ledger, chooser: Agents, chat: str = "c1") -> str:
    await ledger.say("hello", chat)
    runner = Runner(ledger.store, ledger.clock, NoChance(), chooser, Path("workspace"))
    await Pool(ledger.store, ledger.clock, runner, lambda: SETTINGS, resume_all).work_once()
    return (await ledger.outbox(chat))[-1].text


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (ChatSettings(), "work"),
        (ChatSettings(agent="home"), "home"),
        (ChatSettings(agent=""), "work"),
    ],
)
def test_a_chats_own_word_goes_before_its_route(chosen: ChatSettings, expected: str) -> None:
    there = agents("main", "work", "home", routes=(("fake/bot/*", "work"), ("*", "home")))
    assert there.choose(address(), chosen).name == expected


def test_who_is_gone_is_replaced_in_words() -> None:
    choice = agents("main", "work").choose(address(), ChatSettings(agent="old", model="old-1"))
    assert (choice.name, choice.model) == ("main", None)
    assert (
        "The agent old, which this chat chose, is not configured any more, so main answers." in choice.words
    )


async def test_a_chat_chooses_its_agent_and_model_for_good(ledger: Ledger) -> None:
    there = agents("main", "work")
    assert await answered(ledger, there) == "main itself I am main."
    assert "From the next turn on: work answers, with work-1." in await said(
        ledger, "/agent work", agents=there
    )
    assert await answered(ledger, there) == "work itself I am work."
    assert "work answers, with work-2" in await said(ledger, "/model work-2", agents=there)
    await ledger.crash()
    assert await answered(ledger, there) == "work work-2 I am work."
    assert "In this chat, work answers, with work-2." in await said(ledger, "/status", agents=there)
    assert await answered(ledger, there, "c2") == "main itself I am main.", "another chat chose nothing"
    assert "main answers, with main-1" in await said(ledger, "/agent default", agents=there)
    assert await answered(ledger, there) == "main itself I am main."
    told = [part.text for part in await ledger.outbox()]
    assert not [text for text in told if "any more" in text], "a model that was chosen goes with its agent"


async def test_what_there_is_to_choose_is_listed_and_what_there_is_not_is_refused(ledger: Ledger) -> None:
    there = agents("main", "work")
    await answered(ledger, there)
    assert await said(ledger, "/agent", agents=there) == (
        "Now: main.\n/agent main\n/agent work\n/agent default: as configured"
    )
    assert "/model main-2" in await said(ledger, "/model", agents=there)
    refused = await said(ledger, "/agent nobody", agents=there)
    assert refused == "There is no agent nobody; nothing was changed. Choose one of: main, work."
    assert "Choose one of: main-1, main-2." in await said(ledger, "/model work-1", agents=there)
    assert await answered(ledger, there) == "main itself I am main."
    assert "no other agent" in await said(ledger, "/agent")


async def test_a_turn_whose_agent_is_gone_goes_on_with_another_and_that_is_said_once(ledger: Ledger) -> None:
    await answered(ledger, agents("main", "work"))
    await said(ledger, "/agent work", agents=agents("main", "work"))
    claimed = await ledger.begin("go on")
    assert claimed.settings.agent == "work"
    await ledger.recover()
    assert "main itself" in await answered(ledger, agents("main"))
    await answered(ledger, agents("main"))
    told = [part.text for part in await ledger.outbox() if "not configured any more" in part.text]
    assert len(told) == 1
