"""Which chats reach one person alone: a rule for any other chat counts for more people than the reader."""

import pytest

from holdfast.model import ChatAddress, PersonId
from holdfast.policy.consent.approver import PERSON, OwnChats, is_own_chat

OWN = (OwnChats("telegram", "7", PERSON), OwnChats("web", "main", "permissions"))


@pytest.mark.guards("R13")
@pytest.mark.parametrize(
    ("chat", "is_own"),
    [
        ("telegram/7/1", True),
        ("telegram/7/1/42", True),
        ("telegram/7/2", False),
        ("telegram/7/-1001", False),
        ("telegram/7/-1001/1", False),
        ("telegram/8/1", False),
        ("fake/bot/1", False),
        ("web/main/home", True),
        ("web/other/home", False),
    ],
)
def test_a_chat_is_a_persons_own_if_its_account_names_it_by_their_id(chat: str, is_own: bool) -> None:
    assert is_own_chat(PersonId("telegram:1"), ChatAddress(chat), OWN) is is_own


def test_the_same_id_on_another_platform_is_another_person() -> None:
    assert not is_own_chat(PersonId("fake:1"), ChatAddress("telegram/7/1"), OWN)
