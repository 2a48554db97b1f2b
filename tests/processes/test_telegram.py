"""SIGKILL of a gateway that serves a bot, with real polling and real sends, at every place of its work.

Ada works in two topics at once. What is judged is what she sees: every message of hers answered in the topic
it stands in, nothing said twice unless it says so, nothing that nobody asked for.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from holdfast.clock import SystemRng
from holdfast.policy.parts import POSSIBLY_REPEATED
from holdfast.testing.botapi import Person, Slow
from tests.support.inside import EFFECTS
from tests.support.town import Office, Town, free_port

READING = ("telegram brought", "before accept", "after accept", "before confirm", "after claim_ready")
WORKING = (
    "model a 0",
    "before effect a",
    "after effect a",
    "before its result",
    "model a 1",
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


@dataclass(frozen=True)
class Case:
    """Killed at one place of the work and, if it says so, again while starting."""

    work: str
    start: str | None = None

    def __str__(self) -> str:
        return self.work + (f", then {self.start}" if self.start else "")


CASES = (
    *(Case(work) for work in (*READING, *WORKING, *SENDING)),
    *(Case(work, start) for start in STARTING for work in (*READING, *WORKING, *SENDING)),
)


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
    yield from (f"nobody asked for {text!r}" for text in others if "Queued." not in text)


def answered_in(text: str) -> set[str]:
    """The tags that a text answers: a turn that was cut off also takes the message that waited for it."""
    return set(text.partition("answer to ")[2].split(","))


def kill_at(office: Office, town: Town, topics: Topics, case: Case, deletes: bool = False) -> None:
    """Kill it there, let it start and finish; `deletes`: what is answered is gone by then."""
    office.hold(*() if case.work == IN_THE_REQUEST else (case.work,))
    if case.work == IN_THE_REQUEST:
        town.do(lambda: town.api.faults.add(Slow(3_600.0), "sendMessage"))
    asked = town.write(topics.ada, "do effect #a", topics.chat, topics.one)
    gateway = office.begin()
    if case.work == IN_THE_REQUEST:
        town.until(lambda: any(one.text == "answer to a" for one in town.api.shown))
    else:
        office.reached(case.work)
    gateway.kill()
    if deletes:
        # Then only the address says which topic it was.
        town.do(lambda: topics.ada.delete(asked, topics.chat))
    town.write(topics.ada, "do effect #b", topics.chat, topics.other)
    if case.start is not None:
        office.hold(case.start)
        gateway = office.begin()
        office.reached(case.start)
        gateway.kill()
    office.hold()
    gateway = office.begin().ready()
    for tag, thread in (("a", topics.one), ("b", topics.other)):
        town.until_heard(topics.ada, f"answer to {tag}", topics.chat, thread)
    office.until_settled()
    gateway.stop()


@pytest.mark.guards("R10.1", "R10.2", "D5", "E1", "O2")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_killed_anywhere_every_topic_gets_its_answer(office: Office, town: Town, case: Case) -> None:
    number = CASES.index(case)
    topics = (in_her_chat if number % 2 else in_a_forum)(town)
    kill_at(office, town, topics, case, deletes=number % 3 == 0)
    assert list(wrongs(town, topics, {"a": topics.one, "b": topics.other})) == []
    assert (office.times(EFFECTS, "a") <= 1, office.times(EFFECTS, "b")) == (True, 1)
    assert office.is_sound()
    assert office.leaks() == [], "the token stands in its own file and nowhere else"


BROUGHT = ("telegram brought", "before accept", "after accept", "before confirm", "after claim_ready")


@pytest.mark.guards("O2")
@pytest.mark.parametrize("place", BROUGHT)
def test_killed_anywhere_what_telegram_brings_is_kept_once(
    open_office: Callable[[str], Office], town: Town, place: str
) -> None:
    port = free_port()
    office = open_office(
        f'telegram.reading = "webhook"\ntelegram.webhook_port = {port}\n'
        f'telegram.webhook_url = "http://127.0.0.1:{port}/bring"\n'
    )
    topics = in_her_chat(town)
    kill_at(office, town, topics, Case(place))
    assert list(wrongs(town, topics, {"a": topics.one, "b": topics.other})) == []
    assert (office.times(EFFECTS, "a"), office.times(EFFECTS, "b")) == (1, 1)
    assert office.leaks() == []


MESSAGES, DEATHS = 12, 10


@pytest.mark.guards("R10.1", "R10.2", "E16")
@pytest.mark.parametrize("seed", [1, 2])
def test_a_long_conversation_in_two_topics_with_deaths_at_any_moment(
    open_office: Callable[[str], Office], town: Town, seed: int
) -> None:
    """The moments are counted in requests that reach Telegram: reads, sends, typing, all of them."""
    chance = SystemRng(seed)
    office = open_office("safe_mode.exits = 100\nresume.strikes = 20\n")
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
