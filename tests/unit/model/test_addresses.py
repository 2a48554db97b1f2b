"""Which conversation a message belongs to, and addresses that come back as the place they name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model import ChatKind, Origin, PersonId, Place, Sharing, conversation_key, place_at

D, G = ChatKind.DIRECT, ChatKind.GROUP
SHARED = Sharing(groups_per_person=False)
SEPARATE = Sharing(threads_per_person=True)

# kind, thread, sharing, and whether the key is one per person.
KEYS = [
    (D, None, Sharing(), False),
    (D, "t", Sharing(), False),
    (D, None, SEPARATE, False),
    (D, "t", SEPARATE, False),
    (G, None, Sharing(), True),
    (G, "t", Sharing(), False),
    (G, None, SHARED, False),
    (G, "t", SHARED, False),
    (G, None, SEPARATE, True),
    (G, "t", SEPARATE, True),
]


def origin(kind: ChatKind = D, sender: str = "ann", **place: str | None) -> Origin:
    given = {"platform": "fake", "account": "bot", "chat": "c", **place}
    return Origin(Place(**given), kind, sender)  # type: ignore[arg-type]


@pytest.mark.parametrize(("kind", "thread", "sharing", "per_person"), KEYS)
def test_people_share_a_conversation_as_the_place_and_the_settings_say(
    kind: ChatKind, thread: str | None, sharing: Sharing, per_person: bool
) -> None:
    ann = conversation_key(origin(kind, "ann", thread=thread), sharing)
    bob = conversation_key(origin(kind, "bob", thread=thread), sharing)
    assert (ann != bob) is per_person
    assert ann == conversation_key(origin(kind, "ann", thread=thread), sharing)


@pytest.mark.parametrize("kind", [D, G])
def test_platform_account_chat_and_topic_each_make_another_conversation(kind: ChatKind) -> None:
    others = [
        origin(kind),
        origin(kind, platform="other"),
        origin(kind, account="other"),
        origin(kind, chat="other"),
        origin(kind, thread="one"),
        origin(kind, thread="two"),
    ]
    assert len({conversation_key(one, Sharing()) for one in others}) == len(others)


def test_a_reply_goes_to_the_topic_its_question_came_from() -> None:
    asked = origin(thread="topic")
    assert place_at(asked.place.address).thread == "topic"


def test_a_person_is_known_by_platform_and_immutable_id() -> None:
    assert origin(sender="42").person == PersonId("fake:42")


odd = st.text(min_size=0, max_size=12) | st.sampled_from(["/", "%", "@", "a/b", "%2F", "", " ", "ünï", "\n"])
places = st.builds(Place, odd, odd, odd, st.none() | odd)


@given(places)
def test_an_address_reads_back_as_the_place_it_names(place: Place) -> None:
    assert place_at(place.address) == place


@given(places, places)
def test_two_places_never_share_an_address(one: Place, two: Place) -> None:
    assert (one.address == two.address) is (one == two)


@given(places, odd, odd)
def test_one_persons_conversation_is_never_anothers_nor_the_whole_groups(
    place: Place, ann: str, bob: str
) -> None:
    threaded = Place(place.platform, place.account, place.chat)
    keys = {conversation_key(Origin(threaded, G, who), Sharing()) for who in (ann, bob)}
    assert len(keys) == (1 if ann == bob else 2)
    assert conversation_key(Origin(threaded, G, ann), SHARED) not in keys
