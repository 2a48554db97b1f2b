"""A real gateway, a real provider's library and a real server: killed while the model is asked."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.testing.fakes.models import (
    Conversation,
    FaultKind,
    ModelAnswer,
    ModelFault,
    ServeOptions,
    Who,
)
from tests.support.model_server import Outside, model_server
from tests.support.outside import Build, House

LONG = "word " * 120
"""A hundred and fifty tokens: three such messages fit, a fourth does not."""


def heard(conversation: Conversation) -> ModelAnswer:
    """Names what it was asked last, or sums up."""
    said = [turn.said for turn in conversation.turns if turn.said and turn.who is Who.USER][-1]
    if said.startswith("Sum up this conversation"):
        return ModelAnswer("They spoke of words.")
    return ModelAnswer(f"heard {said.rpartition('#')[2]}")


@pytest.fixture
def model() -> Iterator[Outside]:
    with model_server(ServeOptions(heard)) as outside:
        yield outside


def furnished(build: Build, home: Path, model: Outside, provider: str) -> House:
    """A home whose agent is that model."""
    url = model.server.openai_url if provider == "openai" else model.server.url
    house = build()
    (home / "holdfast.toml").write_text(
        f"""
        agent.use = "main"
        reconcile = "1s"
        [agents.main]
        provider = "{provider}"
        model = "scripted"
        base_url = "{url}"
        tools = []
        context = 1000
        max_output = 200
        """
    )
    return house


@pytest.mark.guards("B1", "R6.1")
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_killed_in_a_model_call_the_model_is_asked_again_with_one_note(
    build: Build, tmp_path: Path, model: Outside, provider: str
) -> None:
    house = furnished(build, tmp_path, model, provider)
    model.fault(ModelFault(FaultKind.HANG))
    gateway = house.up()
    house.say("home", "hello #a")
    model.asked(1)
    gateway.kill()
    gateway = house.up()
    assert house.heard("home", "heard a") == ["heard a"]
    gateway.stop()
    (turn,) = house.turns("home")
    assert (turn["state"], turn["interruptions"]) == ("done", 1)
    assert str(model.server.requests[-1]).count("[A note from the gateway") == 1
    assert house.is_sound()


def test_killed_while_the_past_is_summed_up_nothing_has_happened_and_it_is_tried_again(
    build: Build, tmp_path: Path, model: Outside
) -> None:
    house = furnished(build, tmp_path, model, "openai")
    gateway = house.up()
    for number in range(3):
        house.say("home", f"{LONG} #{number}")
        house.heard("home", f"heard {number}")
    model.fault(ModelFault(FaultKind.HANG))
    house.say("home", f"{LONG} #3")
    model.asked(4)
    assert "Sum up this conversation" in str(model.server.requests[-1])
    gateway.kill()
    assert not [one for one in entries(house) if one["kind"] == "summed"]
    gateway = house.up()
    house.heard("home", "heard 3")
    gateway.stop()
    assert len(model.server.requests) == 6, "asked for a summary once more, and then for the answer"
    assert "They spoke of words." in str(model.server.requests[-1])
    assert len([one for one in entries(house) if one["kind"] == "summed"]) == 1
    assert [turn["state"] for turn in house.turns("home")] == ["done"] * 4
    assert house.is_sound()


def entries(house: House) -> list[dict[str, object]]:
    (line,) = house.look("sessions", limit=10)["sessions"]
    found: list[dict[str, object]] = house.look("session", session=line["id"])["entries"]
    return found
