"""SIGKILL while a stranger is let in (R14): one code, one grant, nothing unsaid, nothing run too early."""

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.api.client import NotRunning, RequestDeclined
from holdfast.policy.delivery.parts import POSSIBLY_REPEATED
from holdfast.testing.fakes.botapi import Person
from tests.support.nursery import Nursery
from tests.support.outside import House
from tests.support.town import TOKEN, Office, Town

CODE = re.compile(r"holdfast pair ([A-Z0-9-]+)")
GIVING = (
    "telegram brought",
    "before accept",
    "after accept",
    "before confirm",
    "after claim_deliveries",
    "before telegram",
    "after telegram",
    "before record_delivery",
    "after record_delivery",
)
APPROVING = ("before pair", "after pair")
LET_IN = "You may talk to me now."


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    found = Nursery()
    yield found
    found.close()


@pytest.fixture
def town() -> Iterator[Town]:
    found = Town()
    yield found
    found.close()


@pytest.fixture
def office(tmp_path: Path, town: Town, nursery: Nursery) -> Iterator[Office]:
    found = Office(tmp_path, town, nursery)
    yield found
    found.close()


@pytest.fixture
def eve(town: Town) -> Person:
    """A stranger; the owner moved in before her."""
    town.add("Ada")
    return town.add("Eve")


def code_of(town: Town, eve: Person) -> str:
    """The one code she was given; if it was said twice, the second time with a word about that."""
    told = [text for text in town.hears(eve) if CODE.search(text)]
    assert sum(not text.startswith(POSSIBLY_REPEATED) for text in told) <= 1, told
    (code,) = {found[1] for text in told if (found := CODE.search(text))}
    return code


def talks(office: Office, town: Town, eve: Person) -> None:
    """She is let in: what she writes now is answered, what she wrote before was never seen by a model."""
    town.write(eve, "do read #later")
    town.until_heard(eve, "answer to later")
    office.until_settled()
    assert office.model_calls("early") == 0
    assert office.is_sound()
    assert not any(TOKEN in path.read_text(errors="replace") for path in _files(office))


def _files(house: House) -> list[Path]:
    return [path for path in house.home.rglob("*") if path.is_file() and path.name != "token"]


@pytest.mark.guards("R14", "E1", "E14")
@pytest.mark.parametrize("place", GIVING)
def test_killed_while_a_stranger_is_given_a_code_they_have_one_that_is_good(
    office: Office, town: Town, eve: Person, place: str
) -> None:
    office.hold(place)
    town.write(eve, "do read #early")
    gateway = office.begin()
    office.reached(place)
    gateway.kill()
    office.hold()
    office.begin().ready()
    town.until(lambda: any(CODE.search(text) for text in eve.hears()))
    office.until_settled()
    office.ask("pair", code=code_of(town, eve))
    town.until_heard(eve, LET_IN)
    talks(office, town, eve)


@pytest.mark.parametrize("place", APPROVING)
def test_killed_while_the_owner_approves_it_is_done_or_not_and_can_be_said_again(
    office: Office, town: Town, eve: Person, place: str
) -> None:
    office.hold(place)
    town.write(eve, "do read #early")
    gateway = office.begin().ready()
    town.until(lambda: any(CODE.search(text) for text in eve.hears()))
    office.until_settled()
    code = code_of(town, eve)
    cut: list[Exception] = []

    def approve() -> None:
        try:
            office.ask("pair", code=code)
        except (NotRunning, RequestDeclined) as error:
            cut.append(error)

    asking = threading.Thread(target=approve)
    asking.start()
    office.reached(place)
    gateway.kill()
    asking.join()
    assert cut
    office.hold()
    office.begin().ready()
    if place == "before pair":
        assert office.ask("people")["grants"] == []
        office.ask("pair", code=code)
    else:
        with pytest.raises(RequestDeclined, match="used before"):
            office.ask("pair", code=code)
    town.until_heard(eve, LET_IN)
    talks(office, town, eve)
    assert sum(LET_IN in text for text in town.hears(eve)) == 1


def test_who_is_taken_out_is_refused_at_once_and_after_a_kill(
    office: Office, town: Town, eve: Person
) -> None:
    gateway = office.begin().ready()
    office.ask("allow", who=f"telegram:{eve.id}")
    talks(office, town, eve)
    office.ask("remove", who=f"telegram:{eve.id}")
    gateway.kill()
    office.begin().ready()
    town.write(eve, "do read #early")
    town.until(lambda: any(CODE.search(text) for text in eve.hears()))
    assert office.model_calls("early") == 0


def test_in_a_group_chat_and_sender_have_to_be_let_in(office: Office, town: Town, eve: Person) -> None:
    office.begin().ready()
    # The first group there is stands in the configuration.
    _, group = (town.do(lambda: town.people.group("Guests", eve)) for _ in range(2))
    office.ask("allow", who=f"telegram:{eve.id}")
    town.write(eve, "do read #early", group)
    town.until_heard(eve, f"holdfast people allow telegram/1000/{group}", group)
    office.ask("allow", who=f"telegram/1000/{group}")
    town.write(eve, "do read #later", group)
    town.until_heard(eve, "answer to later", group)
    assert office.model_calls("early") == 0
    office.ask("remove", who=f"telegram:{eve.id}")
    town.write(eve, "do read #early", group)
    office.until_settled()
    assert office.model_calls("early") == 0
