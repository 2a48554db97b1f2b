"""A file attached on the page: the model reads it, the agent finds it, and it is gone when forgotten."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from holdfast.testing.fakes.models import FaultKind, ModelFault
from tests.browser import houses
from tests.browser.houses import House, picture, say
from tests.browser.test_real_work import killed, step
from tests.support.model_server import Outside, model_server

expect.set_options(timeout=60_000)

SETTINGS = """\
[agents.local]
base_url = "{url}"
model = "scripted"
"""
TEXT = "milk\nbread\nseven eggs\n"


@pytest.fixture(scope="module")
def model() -> Iterator[Outside]:
    with model_server() as outside:
        yield outside


@pytest.fixture
def shared(browser: Browser, model: Outside, tmp_path: Path) -> Iterator[House]:
    with houses.house(tmp_path, SETTINGS.format(url=model.server.openai_url)) as house:
        yield house


def attach(page: Page, name: str = "list.txt", data: bytes = TEXT.encode()) -> None:
    page.set_input_files("#files", {"name": name, "mimeType": "text/plain", "buffer": data})
    expect(page.locator("#chips")).to_contain_text(name)
    expect(page.locator("#send")).to_be_enabled()


def placed(house: House) -> list[Path]:
    return sorted((house.home / "workspace").glob("sessions/*/attachments/*"))


@pytest.mark.guards("R24.1")
def test_what_is_in_a_file_that_was_attached_reaches_the_model_and_its_tools(
    page: Page, house: House
) -> None:
    attach(page)
    say(page, "what is in it?")
    answer = page.locator(".answer:not(.live)")
    expect(answer).to_contain_text("in the workspace as attachments/list.txt")
    expect(answer).to_contain_text("seven eggs")
    for width in (360, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        picture(page, f"attached-file-{width}")
    assert [file.read_text() for file in placed(house)] == [TEXT]
    say(page, step("read_file", path="attachments/list.txt"))
    read = page.locator(".step").last
    expect(read).to_contain_text("read_file attachments/list.txt")
    expect(read.locator("pre").last).to_have_text(TEXT.rstrip("\n"))
    page.set_viewport_size({"width": 1280, "height": 800})
    say(page, "/forget everything")
    expect(page.locator(".notice").last).to_contain_text("Erased.")
    assert placed(house) == []


def test_a_file_may_come_without_words(page: Page) -> None:
    attach(page)
    page.click("#send")
    expect(page.locator(".answer:not(.live)")).to_contain_text("seven eggs")
    expect(page.locator("#log .you .chip")).to_contain_text("list.txt")


@pytest.mark.guards("R24.1")
def test_an_empty_file_is_refused_in_words_and_not_to_be_tried_again(page: Page) -> None:
    page.set_input_files("#files", {"name": "empty.txt", "mimeType": "text/plain", "buffer": b""})
    expect(page.locator(".toast")).to_contain_text("empty.txt is empty and was not attached.")
    expect(page.locator("#chips")).to_be_hidden()


@pytest.mark.guards("R24.1")
def test_killed_before_the_model_has_answered_the_file_is_there_all_the_same(
    page: Page, house: House, model: Outside
) -> None:
    model.fault(ModelFault(FaultKind.HANG))
    asked = len(model.server.requests)
    attach(page, "../../notes.txt")
    say(page, "what is in it?")
    model.asked(asked + 1)
    killed(page, house)
    expect(page.locator(".answer:not(.live)")).to_contain_text("seven eggs")
    assert [file.read_text() for file in placed(house)] == [TEXT]
