"""Both protocols, event by event: what a stream amounts to, and what is sent back of it."""

import json
from typing import Any

import pytest

from holdfast.agents import (
    CallId,
    Message,
    Prompt,
    Role,
    StopReason,
    ToolCall,
    anthropic_wire,
    openai_wire,
    wire_common,
)
from holdfast.agents.remote_model import Counted, Prices, RemoteModel, fault, retry_after, shown
from holdfast.model import Replied, Usage

HERE = RemoteModel("agents.main", "m", "http://here/v1", "top-secret")
OWN = RemoteModel("agents.main", "m")
MAKER = HERE.maker("m")


def openai(*chunks: dict[str, Any]) -> Replied:
    stream = openai_wire.OpenAIStream()
    for chunk in chunks:
        stream.take(chunk)
    return stream.replied(MAKER)


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def anthropic(*events: dict[str, Any]) -> Replied:
    stream = anthropic_wire.AnthropicStream()
    for event in events:
        stream.take(event)
    return stream.replied(MAKER)


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    begun = {"type": "content_block_start", "index": index, "content_block": start}
    return [begun, *({"type": "content_block_delta", "index": index, "delta": one} for one in deltas)]


def stop(reason: str | None) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 4}}


@pytest.mark.parametrize(
    ("word", "finish"),
    [
        ("stop", StopReason.COMPLETE),
        ("STOP", StopReason.COMPLETE),
        ("eos_token", StopReason.COMPLETE),
        ("tool_calls", StopReason.CALLS),
        ("length", StopReason.LENGTH),
        ("content_filter", StopReason.FILTERED),
        ("something new", StopReason.CUT),
        (None, StopReason.CUT),
    ],
)
def test_every_marker_of_the_one_is_one_of_ours(word: str | None, finish: StopReason) -> None:
    assert openai(delta(content="hi"), delta(word)) == Replied("hi", finish)


@pytest.mark.parametrize(
    ("word", "finish"),
    [
        ("end_turn", StopReason.COMPLETE),
        ("stop_sequence", StopReason.COMPLETE),
        ("tool_use", StopReason.CALLS),
        ("max_tokens", StopReason.LENGTH),
        ("model_context_window_exceeded", StopReason.LENGTH),
        ("refusal", StopReason.FILTERED),
        ("pause_turn", StopReason.CUT),
        (None, StopReason.CUT),
    ],
)
def test_every_marker_of_the_other_is_one_of_ours(word: str | None, finish: StopReason) -> None:
    text = block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "hi"})
    assert anthropic(*text, stop(word)) == Replied("hi", finish)


def test_fragments_of_calls_belong_where_their_index_says_in_whatever_order_they_come() -> None:
    reply = openai(
        delta(tool_calls=[{"index": 1, "id": "b", "function": {"name": "second", "arguments": '{"b"'}}]),
        delta(tool_calls=[{"index": 0, "id": "a", "function": {"name": "first", "arguments": ""}}]),
        delta(tool_calls=[{"index": 1, "function": {"arguments": ": 1}"}}]),
        delta("stop"),
    )
    assert [(call.name, call.arguments) for call in reply.calls] == [("first", "{}"), ("second", '{"b": 1}')]
    assert reply.finish is StopReason.CALLS, "some servers say stop after calls as well"


def test_calls_without_an_index_are_each_whole() -> None:
    calls = [{"function": {"name": name, "arguments": "{}"}} for name in ("one", "two")]
    assert [call.name for call in openai(delta("tool_calls", tool_calls=calls)).calls] == ["one", "two"]


def fragment(index: int, id_: str | None, name: str | None, arguments: str) -> dict[str, Any]:
    said = {"index": index, "id": id_, "function": {"name": name, "arguments": arguments}}
    return delta(tool_calls=[said])


def test_calls_with_the_same_index_are_told_apart_by_their_ids() -> None:
    reply = openai(
        fragment(0, "x1", "first", '{"a": '),
        fragment(0, None, None, "1}"),
        fragment(0, "x2", "second", "{}"),
        delta("tool_calls"),
    )
    assert [(call.name, call.arguments) for call in reply.calls] == [("first", '{"a": 1}'), ("second", "{}")]


def test_an_id_that_is_another_in_every_piece_begins_no_new_call() -> None:
    reply = openai(fragment(0, "x1", "first", "{"), fragment(0, "x2", None, "}"), delta("tool_calls"))
    assert [(call.name, call.arguments) for call in reply.calls] == [("first", "{}")]


def test_two_calls_with_the_same_id_are_two() -> None:
    reply = openai(fragment(0, "x", "first", "{}"), fragment(1, "x", "second", "{}"), delta("tool_calls"))
    assert [call.name for call in reply.calls] == ["first", "second"]
    assert len({call.id for call in reply.calls}) == 2


def test_a_thought_that_broke_off_is_not_sent_back() -> None:
    text = block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "hi"})
    whole = [{"type": "thinking_delta", "thinking": "so"}, {"type": "signature_delta", "signature": "s"}]
    half = block(2, {"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": "and"})
    reply = anthropic(*block(0, {"type": "thinking", "thinking": ""}, *whole), *text, *half)
    assert (reply.text, reply.finish) == ("hi", StopReason.CUT)
    sent = anthropic_wire.request(
        Prompt((Message(Role.ASSISTANT, reply.text, opaque=reply.opaque), Message(Role.USER, "go on"))),
        HERE,
        "m",
        {},
    )
    assert [one.get("signature", one["type"]) for one in sent["messages"][0]["content"]] == ["s", "text"]


def test_reasoning_goes_back_as_it_came_also_an_empty_one() -> None:
    reply = openai(
        delta(reasoning_content=""),
        delta(reasoning_details=[{"index": 0, "type": "reasoning.text", "text": "a"}]),
        delta(reasoning_details=[{"index": 0, "type": "reasoning.text", "text": "b", "signature": "s"}]),
        delta(
            tool_calls=[{"index": 0, "function": {"name": "t", "arguments": "{}"}, "extra_content": {"x": 1}}]
        ),
        delta("tool_calls"),
    )
    asked = Message(Role.ASSISTANT, reply.text, reply.calls, opaque=reply.opaque)
    (sent,) = openai_wire.request(Prompt((asked,)), HERE, "m", {})["messages"]
    assert sent["reasoning_content"] == ""
    assert sent["reasoning_details"] == [
        {"index": 0, "type": "reasoning.text", "text": "ab", "signature": "s"},
    ]
    assert sent["tool_calls"][0]["extra_content"] == {"x": 1}
    for other in (
        openai_wire.request(Prompt((asked,)), OWN, "m", {}),
        openai_wire.request(Prompt((asked,)), HERE, "n", {}),
    ):
        assert set(other["messages"][0]) == {"role", "content", "tool_calls"}


def test_thoughts_between_words_and_calls_stay_where_they_were() -> None:
    thought = {"type": "thinking", "thinking": "", "signature": ""}
    hidden = {"type": "redacted_thinking", "data": "zzz"}
    reply = anthropic(
        *block(
            0,
            thought,
            {"type": "thinking_delta", "thinking": "let me"},
            {"type": "thinking_delta", "thinking": " see"},
            {"type": "signature_delta", "signature": "sig"},
        ),
        *block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "First."}),
        *block(2, hidden),
        *block(3, {"type": "tool_use", "id": "x", "name": "t", "input": {}}),
        *block(4, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Then."}),
        stop("tool_use"),
    )
    assert reply.text == "First.Then."
    call = ToolCall(CallId("c9-1"), "t", "{}")
    asked = Message(Role.ASSISTANT, reply.text, (call,), opaque=reply.opaque)
    sent = anthropic_wire.request(Prompt((asked,)), HERE, "m", {})["messages"][0]["content"]
    assert sent == [
        {"type": "thinking", "thinking": "let me see", "signature": "sig"},
        {"type": "text", "text": "First."},
        hidden,
        {"type": "tool_use", "id": "c9-1", "name": "t", "input": {}},
        {"type": "text", "text": "Then."},
    ]
    other = anthropic_wire.request(Prompt((asked,)), OWN, "m", {})["messages"][0]["content"]
    assert [one["type"] for one in other] == ["text", "tool_use"]


def test_arguments_that_are_none_are_shown_as_what_they_were() -> None:
    calls = (ToolCall(CallId("c1"), "t", '{"half": '), ToolCall(CallId("c2"), "t", "[1]"))
    asked = Prompt((Message(Role.ASSISTANT, "", calls),))
    one = openai_wire.request(asked, HERE, "m", {})["messages"][0]["tool_calls"]
    other = anthropic_wire.request(asked, HERE, "m", {})["messages"][0]["content"]
    for given in (
        [json.loads(call["function"]["arguments"]) for call in one],
        [block["input"] for block in other],
    ):
        assert given == [{"malformed_arguments": '{"half": '}, {"malformed_arguments": "[1]"}]


def test_notes_are_told_from_what_people_say_and_results_come_first() -> None:
    messages = (
        Message(Role.USER, "do"),
        Message(Role.ASSISTANT, "", (ToolCall(CallId("c1"), "t", "{}"),)),
        Message(Role.TOOL, "done", call=CallId("c1")),
        Message(Role.NOTE, "restarted"),
        Message(Role.USER, "go on"),
    )
    note = "[A note from the gateway, not from the person]\nrestarted\n[End of the note]"
    one = openai_wire.request(Prompt(messages), HERE, "m", {})["messages"]
    assert [message["role"] for message in one] == ["user", "assistant", "tool", "user"]
    assert one[1]["content"] is None
    assert one[3]["content"] == f"{note}\n\ngo on"
    other = anthropic_wire.request(Prompt(messages), HERE, "m", {})["messages"]
    assert [message["role"] for message in other] == ["user", "assistant", "user"]
    assert [part["type"] for part in other[2]["content"]] == ["tool_result", "text", "text"]
    assert [part["text"] for part in other[2]["content"][1:]] == [note, "go on"]


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"prompt_tokens": 100, "completion_tokens": 7}, Counted(100, 0, 0, 7)),
        (
            {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 60}},
            Counted(40, 60, 0, 7),
        ),
        (
            {"prompt_tokens": 100, "completion_tokens": 7, "prompt_cache_hit_tokens": 60},
            Counted(40, 60, 0, 7),
        ),
    ],
)
def test_cached_tokens_are_counted_where_they_are_said(usage: dict[str, Any], counted: Counted) -> None:
    stream = openai_wire.OpenAIStream()
    stream.take({"choices": [], "usage": usage})
    assert stream.counted == counted


def test_later_figures_of_a_stream_replace_earlier_ones() -> None:
    stream = anthropic_wire.AnthropicStream()
    begun = {
        "input_tokens": 5,
        "cache_read_input_tokens": 90,
        "cache_creation_input_tokens": 20,
        "output_tokens": 1,
    }
    stream.take({"type": "message_start", "message": {"usage": begun}})
    stream.take(stop("end_turn"))
    assert stream.counted == Counted(5, 90, 20, 4)


def test_a_call_costs_what_its_tokens_cost() -> None:
    prices = Prices(input=3_000_000, output=15_000_000, cached=300_000, keeping=1.25)
    counted = Counted(input=1_000_000, cached=1_000_000, kept=1_000_000, output=1_000_000)
    assert counted.usage("m", prices) == Usage(
        "m", 3_000_000, 1_000_000, 3_000_000 + 300_000 + 3_750_000 + 15_000_000
    )
    dear = Prices(input=3_000_000)
    assert Counted(cached=1_000_000).usage("m", dear).cost_microusd == 3_000_000, "no word of a lower price"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after": "Fri, 01 Jan"}, None),
        ({}, None),
    ],
)
def test_how_long_to_wait_is_read_where_it_is_said_in_seconds(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers) == seconds
    assert fault(HERE, "m", 429, "later", headers).retry_after == seconds


def test_no_words_hold_a_secret_or_go_on_for_ever() -> None:
    words = shown(HERE, f"the key top-secret and Bearer abcdefghijkl {'x' * 900}")
    assert "top-secret" not in words
    assert "abcdefghijkl" not in words
    assert len(words) <= 301


def test_what_only_the_providers_own_server_knows_is_asked_of_no_other() -> None:
    prompt = Prompt((Message(Role.USER, "hi"),))
    assert "max_tokens" in openai_wire.request(prompt, HERE, "m", {})
    assert "max_completion_tokens" in openai_wire.request(prompt, OWN, "m", {})
    assert "cache_control" not in anthropic_wire.request(prompt, HERE, "m", {})
    assert "cache_control" in anthropic_wire.request(prompt, OWN, "m", {})
    assert json.dumps(openai_wire.request(prompt, HERE, "m", {})).count("top-secret") == 0


@pytest.mark.parametrize("depth", [63, 65, 900])
def test_arguments_too_deep_to_be_written_again_are_shown_as_text(depth: int) -> None:
    text = '{"a": ' * depth + "1" + "}" * depth
    assert ("malformed_arguments" in wire_common.arguments_object(text)) is (depth > 63)


def test_halves_of_a_character_are_put_together_and_one_alone_is_replaced() -> None:
    assert wire_common.whole_text("a \ud83d\ude00 b") == "a \U0001f600 b"
    assert wire_common.whole_text("a \ud83d") == "a \ufffd"
    assert wire_common.whole_text("\udcff ä") == "\ufffd ä"
