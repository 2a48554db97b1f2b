"""Whatever was recorded, and wherever a crash cut it off, no provider refuses what is made of it."""

from dataclasses import replace

import pytest
from hypothesis import given

from holdfast.agents import Prompt, anthropic_wire, openai_wire
from holdfast.agents.remote_model import RemoteModel
from holdfast.model import CallId, Entry, Replied, ToolCall
from holdfast.policy.turn.compaction import made_to_fit, to_sum_up
from holdfast.policy.turn.views import Message, Role, view
from holdfast.testing.fakes.models import RequestRefused
from holdfast.testing.fakes.models.anthropic import ANTHROPIC
from holdfast.testing.fakes.models.openai import OPENAI
from holdfast.tools import ToolSpec
from tests.support.transcripts import nonsense, plausible

SERVED = RemoteModel("agents.main", "scripted", "http://here/v1")
TOOLS = (ToolSpec("tool_a"),)


def judged(messages: tuple[Message, ...]) -> None:
    """Both servers read it, or refuse it by raising."""
    for tools in (TOOLS, ()):
        prompt = Prompt(messages, tools, "Be kind.")
        OPENAI.read(openai_wire.request(prompt, SERVED, "scripted", {}))
        ANTHROPIC.read(anthropic_wire.request(prompt, SERVED, "scripted", {}))


def due(entries: list[Entry]) -> tuple[Message, ...]:
    """What a model is shown, where one is asked at all."""
    messages = view(entries).messages
    return messages if messages and messages[-1].role is not Role.ASSISTANT else ()


@given(plausible)
def test_any_record_in_order_makes_a_legal_request(entries: list[Entry]) -> None:
    if due(entries):
        judged(due(entries))


@given(nonsense)
def test_a_damaged_record_makes_a_legal_request_too(entries: list[Entry]) -> None:
    if due(entries):
        judged(due(entries))


@given(plausible)
def test_calls_with_any_name_and_any_arguments_stay_legal(entries: list[Entry]) -> None:
    odd = [
        replace_calls(entry, "functions.run it!", '{"half": ')
        if isinstance(entry.body, Replied) and entry.body.calls
        else entry
        for entry in entries
    ]
    if due(odd):
        judged(made_to_fit(due(odd), 1))


def replace_calls(entry: Entry, name: str, arguments: str) -> Entry:
    assert isinstance(entry.body, Replied)
    calls = tuple(ToolCall(call.id, name, arguments) for call in entry.body.calls)
    return entry._replace(body=replace(entry.body, calls=calls))


@given(plausible)
def test_what_is_summed_up_never_reaches_into_the_open_turn(entries: list[Entry]) -> None:
    turn = view(entries).turn
    if turn is None:
        return
    found = to_sum_up(entries, turn, 1)
    if found is not None:
        of_it = [
            entry.seq for entry in entries if entry.turn == turn and found.first <= entry.seq <= found.last
        ]
        assert all(
            type(entry.body).__name__ in ("Summed", "Undone") for entry in entries if entry.seq in of_it
        )


@pytest.mark.parametrize(
    "messages",
    [
        (Message(Role.USER, ""),),
        (Message(Role.USER, "a"), Message(Role.ASSISTANT, "")),
        (Message(Role.USER, "a"), Message(Role.ASSISTANT, "b", (ToolCall(CallId("1"), "t", "{}"),))),
        (
            Message(Role.USER, "a"),
            Message(Role.ASSISTANT, "b", (ToolCall(CallId("1"), "t", "{}"),)),
            Message(Role.USER, "c"),
        ),
        (Message(Role.USER, "a"), Message(Role.TOOL, "b", call=CallId("1"))),
    ],
)
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_the_server_refuses_what_providers_refuse(provider: str, messages: tuple[Message, ...]) -> None:
    wire, protocol = (openai_wire, OPENAI) if provider == "openai" else (anthropic_wire, ANTHROPIC)
    with pytest.raises(RequestRefused):
        protocol.read(wire.request(Prompt(messages, TOOLS), SERVED, "scripted", {}))
