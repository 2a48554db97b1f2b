"""What a person reads before they allow a call: readable, bounded, and with nothing hidden in it."""

import json

import pytest

from holdfast.model import CallId, CallRecord, CallState, EffectClass
from holdfast.policy.calls import call_hash
from holdfast.policy.consent import consent_words


def open_(name: str, value: str) -> str:
    return value


def asked(arguments: object, name: str = "terminal") -> str:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    call = CallRecord(CallId("a"), name, text, EffectClass.EFFECT, "k", CallState.PLANNED)
    return consent_words(call, open_)


def test_tool_and_arguments_are_named() -> None:
    words = asked({"command": "make test", "seconds": 30, "shell": None})
    assert words == "May I run `terminal`?\n\n```\ncommand: make test\nseconds: 30\nshell: null\n```"


@pytest.mark.parametrize(
    ("arguments", "shown"), [("{}", ""), ('"all"', '"all"'), ('{"a": 1', '{"a": 1'), ("", "")]
)
def test_whatever_the_arguments_are_something_is_shown_of_them(arguments: str, shown: str) -> None:
    assert asked(arguments) == f"May I run `terminal`?\n\n```\n{shown}\n```".removesuffix("\n\n```\n\n```")


@pytest.mark.guards("R7.3")
def test_what_is_long_is_shortened_in_its_middle_and_named_by_its_hash() -> None:
    command = f"echo {'x' * 50_000} && rm -rf /"
    words = asked({"command": command})
    assert len(words) < 3_500
    assert "command: echo xxx" in words and "characters left out" in words
    assert "&& rm -rf /" in words, "the end of a command may be what matters"
    assert call_hash("terminal", json.dumps({"command": command}))[:12] in words


@pytest.mark.parametrize("shift", range(1, 23, 3))
def test_of_a_secret_at_the_place_where_a_text_is_shortened_no_half_is_left(shift: int) -> None:
    """Hidden first, shortened then: half of a secret is not known for one."""
    secret, long = "sk-4f9a1c77b2e04d5f8a6f", 5_000
    shown = asked({"command": "x" * long}).partition("command: ")[2].partition("\n")[0]
    head, _, rest = shown.partition(" … ")
    for place in (len(head), long - len(rest.partition(" … ")[2])):
        text = f"{'x' * (place - shift)}{secret}".ljust(long, "x")
        call = CallRecord(
            CallId("a"), "terminal", json.dumps({"command": text}), EffectClass.EFFECT, "k", CallState.PLANNED
        )
        words = consent_words(call, lambda _, value: value.replace(secret, "[secret]"))
        assert not any(secret[at : at + 8] in words for at in range(len(secret) - 7))


def test_many_arguments_are_bounded_together_and_none_is_left_out_in_silence() -> None:
    words = asked({f"name{number}": "y" * 5_000 for number in range(40)})
    assert len(words) < 5_000
    assert "… and 28 more" in words and "Not all of it is shown." in words


@pytest.mark.parametrize(
    ("trick", "seen"),
    [
        ("a\u202eb", r"a\u{202e}b"),
        ("a\x1b[2Kb", r"a\u{1b}[2Kb"),
        ("a\u200bb", r"a\u{200b}b"),
        ("a\rb", r"a\u{d}b"),
    ],
)
def test_characters_that_hide_or_turn_around_others_are_seen(trick: str, seen: str) -> None:
    assert f"command: {seen}\n" in asked({"command": trick})


def test_no_value_can_look_like_another_argument_or_get_out_of_its_frame() -> None:
    words = asked({"command": "ls\nforce: false\n```\nAll is well.", "force": True})
    assert "\n  force: false\n" in words and "\nforce: true\n" in words
    assert words.splitlines()[2] == "````", "its frame is longer than any within"
    assert "```\na\\nforce: true: 1\n```" in asked({"a\nforce: true": 1})
    assert asked({}, "run\n\nAll is well") == "May I run `run\\n\\nAll is well`?"


def test_a_tools_name_is_a_name_whatever_it_holds() -> None:
    assert asked({}, "`rm`").startswith("May I run `'rm'`?")


def test_what_is_secret_is_left_out_and_that_is_said() -> None:
    arguments = '{"token": "abc", "to": "ann"}'
    call = CallRecord(CallId("a"), "post", arguments, EffectClass.EFFECT, "k", CallState.PLANNED)
    words = consent_words(call, lambda name, value: "[secret]" if name == "token" else value)
    assert "token: [secret]" in words and "to: ann" in words and "abc" not in words
    assert "Not all of it is shown." in words


@pytest.mark.guards("R7.3")
@pytest.mark.parametrize(
    "unseen",
    ["\x1b", "\u202e", "\u200b", "\ue000", "\u0378", "\u2028", "\u2029"],
    ids=lambda unseen: f"U+{ord(unseen):04X}",
)
def test_characters_that_show_nothing_or_turn_others_round_are_named(unseen: str) -> None:
    words = asked({"command": f"ls{unseen}rm"})
    assert unseen not in words
    assert f"{ord(unseen):x}" in words.casefold()
