"""R14: default deny, by immutable id."""

from dataclasses import replace

import pytest

from holdfast.model import ChatAddress, ChatKind, Grant, GrantScope, Origin, PersonId, Place
from holdfast.policy.intake.access import (
    Access,
    Allowed,
    Denial,
    Denied,
    may_talk,
    still_allowed,
    with_grants,
)

NOW = 1_800_000_000_000
ROOM = Place("matrix", "bot", "!room")
DIRECT = Origin(Place("matrix", "bot", "!dm"), ChatKind.DIRECT, "@ann:example.org")
GROUP = Origin(ROOM, ChatKind.GROUP, "@ann:example.org")
ANN = PersonId("matrix:@ann:example.org")


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


def test_grants_let_in_beside_the_configuration_and_never_less() -> None:
    configured = Access(owners=frozenset({PersonId("x:boss")}), people=frozenset({PersonId("x:old")}))
    by = PersonId("web:local")
    found = with_grants(
        configured,
        (
            Grant(GrantScope.PERSON, ANN, by, NOW),
            Grant(GrantScope.OWNER, "x:second", by, NOW),
            Grant(GrantScope.CHAT, ROOM.address, by, NOW),
        ),
    )
    assert may_talk(GROUP, found, NOW) == Allowed(owner=False)
    assert still_allowed(PersonId("x:second"), found, NOW) == Allowed(owner=True)
    assert still_allowed(PersonId("x:boss"), found, NOW) == Allowed(owner=True)
    assert still_allowed(PersonId("x:old"), found, NOW) == Allowed(owner=False)
    assert found.chats == {ChatAddress(ROOM.address)}
    assert with_grants(configured, ()) == configured
