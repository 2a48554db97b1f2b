"""What a person reads before they allow a call: readable, bounded, and with nothing hidden in it."""

import json

import pytest

from holdfast.model import CallId, CallRecord, CallState, EffectClass
from holdfast.policy.consent.card import LONGEST_CARD, CardNotes, ConsentCard, can_be_shown, consent_card
from holdfast.policy.delivery.parts import MARK, width


def open_(value: str) -> str:
    return value


def call(arguments: object, name: str = "terminal") -> CallRecord:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return CallRecord(CallId("a"), name, text, EffectClass.EFFECT, "k", CallState.PLANNED)


def card(arguments: object, name: str = "terminal") -> ConsentCard:
    return consent_card(call(arguments, name), open_)


def asked(arguments: object, name: str = "terminal") -> str:
    return card(arguments, name).text


def test_tool_and_arguments_are_named() -> None:
    words = asked({"command": "make test", "seconds": 30, "shell": None})
    assert words == "May I run `terminal`?\n\n```\ncommand: make test\nseconds: 30\nshell: null\n```"


@pytest.mark.parametrize(
    ("arguments", "shown"), [("{}", ""), ('"all"', '"all"'), ('{"a": 1', '{"a": 1'), ("", "")]
)
def test_whatever_the_arguments_are_something_is_shown_of_them(arguments: str, shown: str) -> None:
    assert asked(arguments) == f"May I run `terminal`?\n\n```\n{shown}\n```".removesuffix("\n\n```\n\n```")


@pytest.mark.guards("R22.4")
@pytest.mark.parametrize("longest", [300, 4096, 1_000_000])
@pytest.mark.parametrize(
    "command",
    [
        "x" * 11_000,
        "\n".join(f"echo {number}" for number in range(900)),
        "a b " * 2_000 + "; rm -rf ~",
        "😀" * 4_000,
        "```\n" * 500,
    ],
)
def test_the_parts_of_a_card_hold_the_whole_call_to_the_letter(command: str, longest: int) -> None:
    made = card({"command": command})
    parts = made.parts(longest)
    assert all(width(part) <= longest for part in parts)
    whole = ""
    for part in parts:
        head, _, inside = part.partition("\n```")
        inside = inside.partition("\n")[2].rpartition("\n")[0]
        whole += ("" if not whole or "in the middle of a line" in head else "\n") + inside
    assert whole == made.shown == f"command: {command}".replace("\n", "\n  ")
    assert (len(parts) == 1) == (width(made.text) + MARK <= longest)


@pytest.mark.guards("R22.4")
def test_a_part_of_a_card_ends_between_words_and_the_next_begins_with_the_blank() -> None:
    """Telegram drops blanks at the end of a message."""
    words = " ".join(f"word{number}" for number in range(300))
    parts = card({"command": words}).parts(500)
    inside = [part.partition("```\n")[2].partition("\n```")[0] for part in parts]
    assert all(piece.startswith(" word") for piece in inside[1:]) and len(inside) > 4
    assert {word for piece in inside for word in piece.split()} == {"command:", *words.split()}


@pytest.mark.guards("R22.4")
def test_a_call_is_shown_whole_or_not_at_all() -> None:
    assert can_be_shown(call({"command": "x" * (LONGEST_CARD - 100)}))
    assert not can_be_shown(call({"command": "x" * LONGEST_CARD}))
    assert not can_be_shown(call({f"name{number}": "y" * 400 for number in range(40)}))
    assert not can_be_shown(call({"command": "\u200b" * (LONGEST_CARD // 8)})), "as wide as it is shown"
    assert not can_be_shown(call({}, "n" * 300))
    assert not can_be_shown(call("[" * 10_000_000)), "and that costs nothing to find out"


def test_many_arguments_are_all_shown() -> None:
    words = asked({f"name{number}": "y" * 50 for number in range(40)})
    assert all(f"name{number}: " in words for number in range(40))


@pytest.mark.parametrize(
    ("trick", "seen"),
    [
        ("a\u202eb", r"a\u{202e}b"),
        ("a\x1b[2Kb", r"a\u{1b}[2Kb"),
        ("a\u200bb", r"a\u{200b}b"),
        ("a\rb", r"a\u{d}b"),
        ("a\u3164b", r"a\u{3164}b"),
        ("a\u115fb", r"a\u{115f}b"),
        ("a\u1160b", r"a\u{1160}b"),
        ("a\u2800b", r"a\u{2800}b"),
        ("a\u034fb", r"a\u{34f}b"),
        ("a\ufe0fb", r"a\u{fe0f}b"),
        ("a\u180eb", r"a\u{180e}b"),
        ("a\U000e0041b", r"a\u{e0041}b"),
        ("a\u00a0b", r"a\u{a0}b"),
        ("a\u3000b", r"a\u{3000}b"),
        (f"a{' ' * 900};b", r"a\u{20}×900;b"),
        (f"a{chr(10) * 900};b", r"a\u{a}×900;b"),
        (f"a{f' {chr(9)}' * 500};b", r"a(\u{20}\u{9})×500;b"),
        (f"a{f' {chr(10)}' * 2000};b", r"a(\u{20}\u{a})×2000;b"),
        (f"a{chr(10)}{' ' * 40};b", r"a\u{a}\u{20}×40;b"),
        (f"a{'`' * 4000};b", r"a\u{60}×4000;b"),
    ],
)
def test_characters_that_hide_or_turn_around_others_are_seen(trick: str, seen: str) -> None:
    assert f"command: {seen}\n" in asked({"command": trick})


def test_no_value_can_look_like_another_argument_or_get_out_of_its_frame() -> None:
    words = asked({"command": "ls\nforce: false\n```\nAll is well.", "force": True})
    assert "\n  force: false\n" in words and "\nforce: true\n" in words
    assert words.splitlines()[2] == "````", "its frame is longer than any within"
    assert '```\n"a\\nforce: true": 1\n```' in asked({"a\nforce: true": 1})
    assert asked({}, "run\n\nAll is well") == "May I run `run\\n\\nAll is well`?"


@pytest.mark.guards("R22.4")
@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("", '""'),
        ("force: true, path", '"force: true, path"'),
        ("  force", '"  force"'),
        ('"force"', r'"\"force\""'),
        ("force\u200b", r'"force\u{200b}"'),
        ("dry-run", "dry-run"),
        ("größe.max", "größe.max"),
    ],
)
def test_the_name_of_an_argument_is_in_quotes_unless_it_is_plainly_a_name(name: str, seen: str) -> None:
    assert card({name: "force: true", "force": False}).shown == f"{seen}: force: true\nforce: false"


def test_a_tools_name_is_a_name_whatever_it_holds() -> None:
    assert asked({}, "`rm`").startswith("May I run `'rm'`?")


@pytest.mark.guards("R22.4")
def test_the_exact_value_of_a_known_secret_is_masked_and_the_card_says_so() -> None:
    given = {"token": "s3cr3t-value", "to": "ann", "key": "$(id)"}
    made = consent_card(call(given, "post"), lambda value: value.replace("s3cr3t-value", "[secret]"))
    assert "token: [secret]" in made.text and "s3cr3t" not in made.text
    assert "to: ann" in made.text and "key: $(id)" in made.text
    assert "masked" in made.text and "masked" not in asked(given)


def test_what_is_said_beside_the_call_stands_around_it() -> None:
    notes = CardNotes("Bob asks in the club.", "It runs contained.", "It stores a rule.")
    made = consent_card(call({"command": "x" * 9_000}), open_, notes)
    first, *_, last = made.parts(4096)
    assert first.startswith("Bob asks in the club.\n\nMay I run `terminal`?") and "last part" in first
    assert last.endswith("It runs contained.\n\nIt stores a rule.")
    assert made.text.startswith("Bob asks") and made.text.endswith("a rule.")
    long = CardNotes("Bob asks. " * 30, "Contained. " * 30, "A rule. " * 30)
    assert all(width(part) <= 300 for part in consent_card(call({"command": "ls"}), open_, long).parts(300))


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
