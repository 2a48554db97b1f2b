"""SIGKILL around a file for a person: owed with the call that sends it, on Telegram and on the page.

The file is changed as soon as its call is settled: what arrives is what it was then.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.policy.delivery.parts import POSSIBLY_REPEATED
from tests.support.town import Office, Town
from tests.support.web import program

DATA, CHANGED = b"as it was", b"as it is now"
SETTINGS = 'tools.use = ["files"]\ntools.workspace = "agent"\n'
MARKED = f"{POSSIBLY_REPEATED}look"
BEFORE = "before its result"
"""The bytes are kept, and nothing is committed that names them."""


@pytest.fixture
def desk(open_office: Callable[[str], Office]) -> Office:
    """A gateway whose agent has a file to send."""
    office = open_office(SETTINGS)
    report(office).parent.mkdir(parents=True)
    report(office).write_bytes(DATA)
    (office.home / "send_file-a.json").write_text('{"path": "report.txt", "caption": "look"}')
    return office


def report(office: Office) -> Path:
    return office.home / "workspace" / "agents" / "inside:agent" / "report.txt"


@pytest.mark.guards("R10.2", "R14", "E1")
@pytest.mark.parametrize(
    ("place", "seen"),
    [
        (BEFORE, ["look"]),
        ("before telegram", [MARKED]),
        ("after telegram", ["look", MARKED]),
        ("after record_delivery", ["look"]),
    ],
)
def test_killed_anywhere_a_file_arrives_once_or_says_that_it_may_be_a_repeat(
    desk: Office, town: Town, place: str, seen: list[str]
) -> None:
    ada = town.add("Ada")
    town.write(ada, "do send_file #a")
    desk.hold(place)
    gateway = desk.begin()
    desk.reached(place)
    gateway.kill()
    if place != BEFORE:
        report(desk).write_bytes(CHANGED)
    desk.hold()
    gateway = desk.begin().ready()
    town.until_heard(ada, "answer to a")
    desk.until_settled()
    gateway.stop()
    files = town.do(lambda: [one.content for one in town.api.world.files.values()])
    assert [text for text in town.hears(ada) if "look" in text] == seen, desk.shown("a")
    assert files == [DATA] * len(seen)
    assert desk.is_sound()


@pytest.mark.guards("R10.2", "R14")
@pytest.mark.parametrize("place", [BEFORE, "model a 1"])
def test_killed_around_its_commit_a_file_is_on_the_page_once(desk: Office, place: str) -> None:
    desk.hold(place)
    gateway = desk.begin().ready()
    desk.say("home", "do send_file #a")
    desk.reached(place)
    gateway.kill()
    if place != BEFORE:
        report(desk).write_bytes(CHANGED)
    desk.hold()
    gateway = desk.begin().ready()
    desk.heard("home", "answer to a")
    with program(desk.home) as client:
        told = client.get("/api/chats/home/messages").json()["messages"]
        (file,) = [one for message in told for one in message["files"]]
        found = client.get(f"/api/blobs/{file['digest']}?name={file['name']}")
    assert (file["name"], file["media_type"], found.content) == ("report.txt", "text/plain", DATA)
    assert found.headers["content-disposition"] == 'attachment; filename="report.txt"'
    assert found.headers["x-content-type-options"] == "nosniff"
    gateway.stop()
    assert desk.is_sound()
