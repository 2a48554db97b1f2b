"""R14: newcomers ask by a code, which an owner approves once."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model import ChatKind, PersonId, Place
from holdfast.policy.intake.access import Denial
from holdfast.policy.intake.pairing import (
    CODE_ALPHABET,
    Paired,
    Pairing,
    PairingRefusal,
    PairingRefused,
    Wants,
    approve,
    chat_words,
    code_from,
    code_words,
    may_issue,
    read_code,
    shown_code,
    wants,
)
from holdfast.policy.settings import HOUR, PairingSettings

NOW = 1_800_000_000_000
ANN = PersonId("matrix:@ann:example.org")
SETTINGS = PairingSettings()

CODE = Pairing("ABCD2345", ANN, NOW)


@pytest.mark.parametrize(
    ("pairing", "by_owner", "tries", "later", "outcome"),
    [
        (CODE, True, 0, 0, Paired(ANN)),
        (CODE, True, 4, HOUR - 1, Paired(ANN)),
        (CODE, True, 0, HOUR, PairingRefused(PairingRefusal.EXPIRED)),
        (replace(CODE, used_at=NOW), True, 0, 0, PairingRefused(PairingRefusal.USED)),
        (replace(CODE, used_at=NOW), True, 0, 2 * HOUR, PairingRefused(PairingRefusal.USED)),
        (None, True, 0, 0, PairingRefused(PairingRefusal.UNKNOWN)),
        (CODE, True, 5, 0, PairingRefused(PairingRefusal.TOO_MANY_TRIES)),
        (None, True, 5, 0, PairingRefused(PairingRefusal.TOO_MANY_TRIES)),
        (CODE, False, 0, 0, PairingRefused(PairingRefusal.NOT_OWNER)),
        (None, False, 0, 0, PairingRefused(PairingRefusal.NOT_OWNER)),
    ],
)
def test_a_code_is_good_once_in_time_and_for_an_owner(
    pairing: Pairing | None, by_owner: bool, tries: int, later: int, outcome: Paired | PairingRefused
) -> None:
    assert approve(pairing, by_owner, tries, NOW + later, SETTINGS) == outcome


def test_a_newcomer_gets_a_few_codes_and_then_waits() -> None:
    assert may_issue(2, 0, SETTINGS)
    assert not may_issue(3, 0, SETTINGS)
    assert not may_issue(0, 0, PairingSettings(codes=0))


def test_a_crowd_of_strangers_is_not_answered_one_by_one() -> None:
    assert may_issue(0, 49, SETTINGS)
    assert not may_issue(0, 50, SETTINGS)


@given(st.integers(0, 2**80 - 1))
def test_a_code_is_read_back_as_people_type_it(chance: int) -> None:
    code = code_from(chance)
    assert len(code) == 8 and set(code) <= set(CODE_ALPHABET)
    assert read_code(f" {code[:4].lower()}-{code[4:]} ") == code


@pytest.mark.parametrize("text", ["", "ABCD234", "ABCD23456", "ABCD234O", "ABCD234!"])
def test_what_is_no_code_is_not_read_as_one(text: str) -> None:
    assert read_code(text) is None


@pytest.mark.parametrize(
    ("kind", "denial", "wanted"),
    [
        (ChatKind.DIRECT, Denial.PERSON, Wants.PERSON),
        (ChatKind.DIRECT, Denial.GRANT_ENDED, Wants.PERSON),
        (ChatKind.GROUP, Denial.PERSON, None),
        (ChatKind.GROUP, Denial.GRANT_ENDED, None),
        (ChatKind.GROUP, Denial.CHAT, Wants.CHAT),
        (ChatKind.DIRECT, Denial.UNREADABLE, None),
        (ChatKind.GROUP, Denial.UNREADABLE, None),
        (ChatKind.DIRECT, Denial.NOBODY, None),
        (ChatKind.GROUP, Denial.NOBODY, None),
    ],
)
def test_a_stranger_is_answered_where_nobody_else_reads_it(
    kind: ChatKind, denial: Denial, wanted: Wants | None
) -> None:
    assert wants(kind, denial) is wanted


def test_the_words_with_a_code_say_what_was_kept_what_to_do_and_for_how_long() -> None:
    words = code_words("ABCD2345", 0, SETTINGS)
    assert "I kept nothing of what you wrote" in words
    assert "holdfast pair ABCD-2345" in words and "60 minutes" in words and "last code" not in words
    assert "last code" in code_words("ABCD2345", 2, SETTINGS)
    assert read_code(shown_code("ABCD2345")) == "ABCD2345"


def test_of_a_group_the_whole_chat_is_named_not_the_topic_written_in() -> None:
    assert chat_words(Place("telegram", "1000", "-100", "7")).endswith(
        "`holdfast people allow telegram/1000/-100`"
    )
