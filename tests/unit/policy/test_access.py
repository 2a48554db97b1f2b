"""R14: default deny, by immutable id."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model import ChatKind, Origin, PersonId, Place
from holdfast.policy.access import (
    CODE_ALPHABET,
    Access,
    Allowed,
    Denial,
    Denied,
    Paired,
    Pairing,
    PairingRefusal,
    PairingRefused,
    approve,
    code_from,
    may_issue,
    may_talk,
    read_code,
    still_allowed,
)
from holdfast.policy.settings import HOUR, PairingSettings

NOW = 1_800_000_000_000
ROOM = Place("matrix", "bot", "!room")
DIRECT = Origin(Place("matrix", "bot", "!dm"), ChatKind.DIRECT, "@ann:example.org")
GROUP = Origin(ROOM, ChatKind.GROUP, "@ann:example.org")
ANN = PersonId("matrix:@ann:example.org")
SETTINGS = PairingSettings()


def denied(origin: Origin, access: Access | None) -> Denial | None:
    found = may_talk(origin, access, NOW)
    return found.reason if isinstance(found, Denied) else None


def test_nobody_is_allowed_by_default() -> None:
    assert denied(DIRECT, Access()) is Denial.PERSON
    assert denied(GROUP, Access()) is Denial.PERSON


def test_what_cannot_be_read_lets_nobody_in() -> None:
    assert denied(DIRECT, None) is Denial.UNREADABLE


@pytest.mark.parametrize("sender", ["", "  "])
def test_a_sender_without_an_id_is_denied(sender: str) -> None:
    anybody = Access(people=frozenset({PersonId("matrix:"), PersonId(f"matrix:{sender}")}))
    assert denied(replace(DIRECT, sender=sender), anybody) is Denial.NOBODY


def test_a_named_person_may_talk_directly() -> None:
    assert may_talk(DIRECT, Access(people=frozenset({ANN})), NOW) == Allowed(owner=False)
    assert may_talk(DIRECT, Access(owners=frozenset({ANN})), NOW) == Allowed(owner=True)


def test_an_id_counts_on_its_own_platform_only() -> None:
    elsewhere = Access(people=frozenset({PersonId("telegram:@ann:example.org")}))
    assert denied(DIRECT, elsewhere) is Denial.PERSON


def test_an_id_must_match_to_the_letter() -> None:
    assert (
        denied(replace(DIRECT, sender="@Ann:example.org"), Access(people=frozenset({ANN}))) is Denial.PERSON
    )


def test_in_a_group_chat_and_person_must_both_be_allowed() -> None:
    chats, people = frozenset({ROOM.address}), frozenset({ANN})
    assert denied(GROUP, Access(people=people, chats=chats)) is None
    assert denied(GROUP, Access(people=people)) is Denial.CHAT
    assert denied(GROUP, Access(chats=chats)) is Denial.PERSON
    assert denied(GROUP, Access(owners=people)) is Denial.CHAT


def test_an_allowed_chat_covers_its_threads_and_an_allowed_thread_only_itself() -> None:
    thread = replace(ROOM, thread="t1")
    people = frozenset({ANN})
    whole, one = (
        Access(people=people, chats=frozenset({ROOM.address})),
        Access(people=people, chats=frozenset({thread.address})),
    )
    assert denied(replace(GROUP, place=thread), whole) is None
    assert denied(replace(GROUP, place=thread), one) is None
    assert denied(GROUP, one) is Denial.CHAT
    assert denied(replace(GROUP, place=replace(ROOM, thread="t2")), one) is Denial.CHAT


def test_a_grant_lets_in_until_it_ends() -> None:
    assert denied(DIRECT, Access(grants={ANN: None})) is None
    assert denied(DIRECT, Access(grants={ANN: NOW + 1})) is None
    assert denied(DIRECT, Access(grants={ANN: NOW})) is Denial.GRANT_ENDED


# Pairing

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
    assert may_issue(2, SETTINGS)
    assert not may_issue(3, SETTINGS)


@given(st.integers(0, 2**80 - 1))
def test_a_code_is_read_back_as_people_type_it(chance: int) -> None:
    code = code_from(chance)
    assert len(code) == 8 and set(code) <= set(CODE_ALPHABET)
    assert read_code(f" {code[:4].lower()}-{code[4:]} ") == code


@pytest.mark.parametrize("text", ["", "ABCD234", "ABCD23456", "ABCD234O", "ABCD234!"])
def test_what_is_no_code_is_not_read_as_one(text: str) -> None:
    assert read_code(text) is None


@pytest.mark.parametrize(
    ("access", "outcome"),
    [
        (None, Denied(Denial.UNREADABLE)),
        (Access(), Denied(Denial.PERSON)),
        (Access(people=frozenset({ANN})), Allowed(owner=False)),
        (Access(owners=frozenset({ANN})), Allowed(owner=True)),
        (Access(grants={ANN: NOW}), Denied(Denial.GRANT_ENDED)),
        (Access(grants={ANN: NOW + 1}), Allowed(owner=False)),
    ],
)
def test_who_was_let_in_is_asked_for_again_by_id(access: Access | None, outcome: Allowed | Denied) -> None:
    assert still_allowed(ANN, access, NOW) == outcome
