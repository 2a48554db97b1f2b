"""SIGKILL of a gateway that serves a bot, with real polling and real sends, at every place of its work.

Ada works in two topics at once. What is judged is what she sees: every message of hers answered in the topic
it stands in, nothing said twice unless it says so, nothing that nobody asked for.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from holdfast.clock import SystemRng
from holdfast.policy.delivery.parts import POSSIBLY_REPEATED
from holdfast.testing.fakes.botapi import Person, Slow
from tests.support.inside import EFFECTS
from tests.support.town import Office, Town, free_port

READING = ("telegram brought", "before accept", "after accept", "before confirm", "after claim_ready")
WORKING = (
    "model {tag} 0",
    "before effect {tag}",
    "after effect {tag}",
    "before its result",
    "model {tag} 1",
    "before finish",
)
SENDING = (
    "after finish",
    "before claim_deliveries",
    "after claim_deliveries",
    "before telegram",
    "in the request",
    "after telegram",
    "before record_delivery",
    "after record_delivery",
)
STARTING = ("before interrupt_orphans", "after interrupt_orphans")
IN_THE_REQUEST = "in the request"
"""Telegram has taken the message, and its answer is on the way."""


PLACES = (*READING, *WORKING, *SENDING)


@dataclass(frozen=True)
class Topics:
    """Two topics of Ada's chat, or of a group."""

    ada: Person
    chat: int
    one: int
    other: int


def in_her_chat(town: Town) -> Topics:
    ada = town.add("Ada")
    one, other = (town.do(lambda name=name: ada.open_topic(name)) for name in ("one", "other"))  # type: ignore[misc]  # bound at once
    return Topics(ada, ada.id, one, other)


def in_a_forum(town: Town) -> Topics:
    ada = town.add("Ada")
    forum = town.do(lambda: town.people.group("Forum", ada, topics=True))
    one, other = (town.do(lambda name=name: ada.open_topic(name, forum)) for name in ("one", "other"))  # type: ignore[misc]  # bound at once
    return Topics(ada, forum, one, other)


def wrongs(town: Town, topics: Topics, asked: dict[str, int]) -> Iterator[str]:
    """What is wrong with what was ever put before people; `asked` says in which topic each tag stands."""
    said = [one for one in town.api.shown if one.how == "message"]
    for tag, thread in asked.items():
        answers = [one for one in said if tag in answered_in(one.text)]
        plain = [one for one in answers if not one.text.startswith(POSSIBLY_REPEATED)]
        if not answers:
            yield f"{tag} was never answered"
        if len(plain) > 1:
            yield f"{tag} was answered {len(plain)} times without a word about it"
        yield from (
            f"{tag} was answered in {one.chat}/{one.thread}"
            for one in answers
            if (one.chat, one.thread) != (topics.chat, thread)
        )
    others = [one.text for one in said if not answered_in(one.text) & asked.keys()]
    acks = ("Queued.", "Kept.")
    yield from (f"nobody asked for {text!r}" for text in others if not any(ack in text for ack in acks))


def answered_in(text: str) -> set[str]:
    """The tags that a text answers: a turn that was cut off also takes the message that waited for it."""
    return set(text.partition("answer to ")[2].split(","))


class Deaths:
    """One home over many deaths: whoever started after one, and put all in order, dies at the next place."""

    def __init__(self, office: Office, town: Town, topics: Topics) -> None:
        self._office = office
        self._town = town
        self._topics = topics
        self._asked: dict[str, int] = {}
        self._gateway = office.begin().ready()

    def die(self, place: str, start: str | None = None, deletes: bool = False) -> int:
        """Die there, and again while starting if `start` says so; how often what was asked for was then done.

        `deletes`: what is answered is gone by then.
        """
        number, town, office = len(self._asked), self._town, self._office
        cut, later = f"a{number}", f"b{number}"
        place = place.format(tag=cut)
        message = self._lead_to(place, cut)
        self._gateway.kill()
        if deletes:
            # Then only the address says which topic it was.
            town.do(lambda: self._topics.ada.delete(message, self._topics.chat))
        self._ask(later, self._topics.other)
        if start is not None:
            office.hold(start)
            gateway = office.begin()
            office.reached(start)
            gateway.kill()
        office.hold()
        self._gateway = office.begin().ready()
        for tag in (cut, later):
            town.until_heard(self._topics.ada, f"answer to {tag}", self._topics.chat, self._asked[tag])
        office.until_settled()
        assert list(wrongs(town, self._topics, self._asked)) == [], f"killed at {place}, then {start}"
        assert office.times(EFFECTS, later) == 1
        return office.times(EFFECTS, cut)

    def _lead_to(self, place: str, tag: str) -> int:
        """Ask for something, and let the gateway come to that place with it."""
        if place != IN_THE_REQUEST:
            self._office.hold(place)
            message = self._ask(tag, self._topics.one)
            self._office.reached(place)
            return message
        self._town.do(lambda: self._town.api.faults.add(Slow(3_600.0), "sendMessage"))
        message = self._ask(tag, self._topics.one)
        self._town.until(lambda: any(one.text == f"answer to {tag}" for one in self._town.api.shown))
        return message

    def _ask(self, tag: str, thread: int) -> int:
        self._asked[tag] = thread
        return self._town.write(self._topics.ada, f"do effect #{tag}", self._topics.chat, thread)

    def end(self) -> None:
        """An orderly stop, after which everything is right."""
        self._gateway.stop()
        assert self._office.is_sound()
        assert self._office.leaks() == [], "the token stands in its own file and nowhere else"


ENDLESS = "safe_mode.exits = 100\n"
"""Deaths without end are what these tests are about."""


@pytest.mark.guards("R10.1", "R10.2", "D5", "E1", "O2")
@pytest.mark.parametrize("where", [in_her_chat, in_a_forum])
def test_killed_anywhere_every_topic_gets_its_answer(
    open_office: Callable[[str], Office], town: Town, where: Callable[[Town], Topics]
) -> None:
    """Every second death is followed by one while starting; in the other chat it is the other half."""
    deaths = Deaths(open_office(ENDLESS), town, where(town))
    for number, place in enumerate(PLACES):
        again = (number + (where is in_a_forum)) % 2
        start = STARTING[number // 2 % 2] if again else None
        assert deaths.die(place, start, deletes=number % 3 == 0) <= 1
    deaths.end()


@pytest.mark.guards("O2")
def test_killed_anywhere_what_telegram_brings_is_kept_once(
    open_office: Callable[[str], Office], town: Town
) -> None:
    port = free_port()
    office = open_office(
        f'{ENDLESS}telegram.reading = "webhook"\ntelegram.webhook_port = {port}\n'
        f'telegram.webhook_url = "http://127.0.0.1:{port}/bring"\n'
    )
    deaths = Deaths(office, town, in_her_chat(town))
    for place in READING:
        assert deaths.die(place) == 1
    deaths.end()


MESSAGES, DEATHS = 12, 10


@pytest.mark.guards("R10.1", "R10.2", "E16")
@pytest.mark.parametrize("seed", [1, 2])
def test_a_long_conversation_in_two_topics_with_deaths_at_any_moment(
    open_office: Callable[[str], Office], town: Town, seed: int
) -> None:
    """The moments are counted in requests that reach Telegram: reads, sends, typing, all of them."""
    chance = SystemRng(seed)
    office = open_office(f"{ENDLESS}resume.strikes = 20\n")
    topics = in_a_forum(town)
    asked = {f"m{number}": (topics.one, topics.other)[number % 2] for number in range(MESSAGES)}
    waiting, written = list(asked.items()), set[str]()
    for _ in range(DEATHS):
        for tag, thread in waiting[:2]:
            town.write(topics.ada, f"do effect #{tag}", topics.chat, thread)
            written.add(tag)
        del waiting[:2]
        gateway = office.begin()
        moment = len(town.api.log) + 1 + int(chance.random() * 12)
        _until_asked(town, moment, written)
        gateway.kill()
    gateway = office.begin().ready()
    _until_asked(town, 10**9, written)
    office.until_settled()
    gateway.stop()
    assert list(wrongs(town, topics, asked)) == []
    assert all(office.times(EFFECTS, tag) <= 1 for tag in asked)
    assert office.is_sound()
    assert office.leaks() == []


def _until_asked(town: Town, moment: int, written: set[str]) -> None:
    """Until Telegram was asked so often, or has nothing more to be asked for."""

    def answered() -> bool:
        return written <= set[str]().union(*(answered_in(one.text) for one in town.api.shown))

    town.until(lambda: len(town.api.log) >= moment or answered())
