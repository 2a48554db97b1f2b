import json
import subprocess
import sys
from pathlib import Path

from holdfast.cli.drill.agent import answered, asking, drill_reply
from holdfast.cli.drill.command import SabotageName
from holdfast.cli.drill.sabotage import SABOTAGES
from holdfast.model import CallState, Replied, StopReason
from holdfast.policy.turn.views import Message, Role


def run_to_answer(messages: list[Message], state: CallState = CallState.DONE) -> tuple[list[str], Replied]:
    """Play the turn to its end; every call gets a result in that state."""
    made: list[str] = []
    while (reply := drill_reply(messages)).finish is StopReason.CALLS:
        (call,) = reply.calls
        unique = call.__class__(type(call.id)(f"{call.id}-{len(made)}"), call.name, call.arguments)
        given = json.loads(call.arguments)
        made.append(f"{call.name} {given['message']} {given['step']}")
        messages.append(Message(Role.ASSISTANT, "", (unique,)))
        messages.append(Message(Role.TOOL, "ok", call=unique.id, state=state))
    messages.append(Message(Role.ASSISTANT, reply.text))
    return made, reply


def test_it_makes_every_step_once_and_names_what_it_answers() -> None:
    messages = [Message(Role.USER, asking("a-1", 3))]
    made, reply = run_to_answer(messages)
    assert made == ["look a-1 1", "mark a-1 2", "look a-1 3"]
    assert answered(reply.text) == ("a-1",)


def test_an_effect_of_unknown_outcome_is_not_asked_for_again() -> None:
    made, _ = run_to_answer([Message(Role.USER, asking("a-1", 2))], CallState.UNKNOWN)
    assert made == ["look a-1 1", "mark a-1 2"]


def test_two_messages_in_one_turn_are_answered_together_and_answered_ones_are_left_alone() -> None:
    messages = [Message(Role.USER, asking("a-1", 1))]
    run_to_answer(messages)
    messages += [Message(Role.USER, asking("a-2", 1)), Message(Role.USER, asking("a-3", 2))]
    made, reply = run_to_answer(messages)
    assert made == ["look a-2 1", "look a-3 1", "mark a-3 2"]
    assert answered(reply.text) == ("a-2", "a-3")


def test_every_sabotage_can_be_named_and_still_fits_the_product() -> None:
    assert [name.value for name in SabotageName] == list(SABOTAGES)
    # Planting changes the classes for good, so another process does it.
    code = "from holdfast.cli.drill.sabotage import SABOTAGES\nfor one in SABOTAGES.values(): one.plant()"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parent)
