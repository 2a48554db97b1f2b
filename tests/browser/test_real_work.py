"""An agent with a model behind it, from three lines of configuration: it works, is killed, asks, goes on.

A real gateway, a model server over HTTP, a real browser. Only the model is scripted.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from holdfast.testing.fakes.models import FaultKind, ModelFault
from tests.browser import houses
from tests.browser.houses import House, opened, picture, say, signed_in
from tests.browser.test_looks import violations
from tests.support.machine import gate, open_gate, wait_for
from tests.support.model_server import Outside, model_server

expect.set_options(timeout=60_000)

SETTINGS = """\
[agents.local]
base_url = "{url}"
model = "scripted"
write = ["{door}"]
"""


@pytest.fixture(scope="module")
def model() -> Iterator[Outside]:
    with model_server() as outside:
        yield outside


@pytest.fixture
def shared(browser: Browser, model: Outside, door: Path, tmp_path: Path) -> Iterator[House]:
    settings = SETTINGS.format(url=model.server.openai_url, door=door.parent)
    with houses.house(tmp_path, settings) as house:
        yield house


@pytest.fixture
def door(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place where a command waits for its test, or the test for a command."""
    return gate(tmp_path_factory.mktemp("door"), "door")


def step(tool: str, **arguments: object) -> str:
    """A line that the scripted model takes for a step."""
    return f"{tool} {json.dumps(arguments)}"


def card(page: Page) -> Locator:
    return page.locator(".question.open")


def allow(page: Page) -> None:
    card(page).get_by_role("button", name="allow once").click()


def killed(page: Page, house: House) -> None:
    """SIGKILL, and the page has found whoever came after."""
    house.kill()
    expect(page.locator("#banner")).to_be_visible()
    expect(page.locator("#banner")).to_be_hidden()


def in_workspace(house: House, name: str) -> str:
    return "".join(file.read_text() for file in (house.home / "workspace").rglob(name))


@pytest.mark.guards("R6.3", "R7.2", "R7.3", "R13")
def test_killed_in_a_model_call_with_a_card_open_and_in_a_command_it_does_its_work_once(
    page: Page, house: House, model: Outside, door: Path
) -> None:
    model.fault(ModelFault(FaultKind.HANG))
    said = [
        step("terminal", command=f"echo once >> runs.txt; echo at work; echo begun > {door}; exec sleep 600"),
        step("write_file", path="findings.md", content="# Findings\n"),
        step("ask_person", question="Is it good?", options=["good", "bad"]),
        step("read_file", path="findings.md"),
    ]
    asked = len(model.server.requests)
    say(page, "\n".join(said))
    model.asked(asked + 1)
    killed(page, house)
    expect(card(page)).to_contain_text("May I run terminal?")
    expect(card(page)).to_contain_text("echo once >> runs.txt")
    expect(page.locator("#chats .asks")).to_have_text("asks you")
    killed(page, house)
    assert in_workspace(house, "runs.txt") == ""
    allow(page)
    assert wait_for(door) == "begun\n"
    expect(page.locator(".output pre")).to_contain_text("at work")
    killed(page, house)
    expect(card(page)).to_contain_text("Is it good?")
    picture(page, "real-work")
    card(page).get_by_role("button", name="good").click()
    expect(page.locator(".answer:not(.live)")).to_have_text(["Agent: All steps are done."])
    assert in_workspace(house, "runs.txt") == "once\n"
    assert in_workspace(house, "findings.md") == "# Findings\n"
    expect(page.locator(".step.unknown")).to_contain_text("outcome unknown")
    last = page.locator(".step").last
    last.locator("summary").click()
    expect(last).to_contain_text("# Findings")
    expect(page.locator(".question .outcome")).to_have_count(2)
    expect(page.locator(".cut")).to_have_count(2)


@pytest.mark.guards("R11.1", "R11.2")
def test_a_background_process_is_shown_while_it_runs_through_a_kill_and_its_end_is_told_once(
    page: Page, house: House, door: Path, browser: Browser, chat: str
) -> None:
    beside = page.locator("#beside")
    expect(beside).to_be_hidden()
    say(page, step("process_start", command=f"echo compiling; cat {door}"))
    expect(card(page)).to_contain_text("May I run process_start?")
    allow(page)
    expect(beside).to_contain_text("In the background: echo compiling; cat")
    expect(beside).to_contain_text("compiling")
    killed(page, house)
    phone = signed_in(browser, house, viewport={"width": 360, "height": 740}, has_touch=True)
    small = opened(phone, chat)
    small.locator("#beside summary").click()
    expect(small.locator("#beside li")).to_contain_text([f"cat {door}"])
    assert violations(small) == []
    picture(small, "background-phone")
    phone.close()
    open_gate(door, "ready\n")
    expect(page.locator(".woken")).to_contain_text("exit code 0")
    expect(beside).to_be_hidden()
    expect(page.locator(".answer:not(.live)")).to_have_count(2)
    expect(page.locator(".you")).to_have_count(1)
    expect(page.locator(".woken")).to_have_count(1)
    picture(page, "background-ended")


@pytest.mark.guards("R10.1")
def test_a_file_that_the_agent_gives_is_seen_and_can_be_had_through_a_kill(
    page: Page, house: House, browser: Browser, chat: str
) -> None:
    drawn = page.screenshot(clip={"x": 0, "y": 0, "width": 60, "height": 40})
    say(page, step("write_file", path="notes.md", content="# Notes\n"))
    expect(page.locator(".answer:not(.live)")).to_have_count(1)
    (made,) = (house.home / "workspace").rglob("notes.md")
    (made.parent / "plan.png").write_bytes(drawn)
    words = [
        step("send_file", path="plan.png", caption="The plan."),
        step("send_file", path="notes.md"),
    ]
    say(page, "\n".join(words))
    expect(page.locator(".answer:not(.live)")).to_have_count(4)
    killed(page, house)
    files = page.locator(".answer .file")
    expect(files.locator(".name")).to_have_text(["plan.png", "notes.md"])
    expect(files.locator("img")).to_have_js_property("naturalWidth", 60)
    with page.expect_download() as had:
        files.nth(1).click()
    assert (had.value.suggested_filename, had.value.path().read_text()) == ("notes.md", "# Notes\n")
    phone = signed_in(browser, house, viewport={"width": 360, "height": 740}, has_touch=True)
    small = opened(phone, chat)
    expect(small.locator(".answer .file")).to_have_count(2)
    assert violations(small) == []
    picture(small, "files-phone")
    phone.close()


def below(page: Page) -> float:
    """How much of the chat is below what can be seen, once the page has settled."""
    found: float = page.evaluate(
        """() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
            const all = document.getElementById("scroll");
            done(all.scrollHeight - all.scrollTop - all.clientHeight);
        })))"""
    )
    return found


def test_a_picture_that_comes_late_leaves_the_reader_at_the_end(page: Page, house: House) -> None:
    page.set_viewport_size({"width": 390, "height": 500})
    drawn = page.screenshot()
    say(page, step("write_file", path="notes.md", content="# Notes\n"))
    expect(page.locator(".answer:not(.live)")).to_have_count(1)
    (made,) = (house.home / "workspace").rglob("notes.md")
    (made.parent / "plan.png").write_bytes(drawn)
    held: list[Route] = []
    page.route("**/api/blobs/*", lambda route: held.append(route))
    with page.expect_request("**/api/blobs/*"):
        say(page, step("send_file", path="plan.png"))
    expect(page.locator(".answer:not(.live)")).to_have_count(3)
    (late,) = held
    late.continue_()
    expect(page.locator(".answer .file img")).to_be_visible()
    assert below(page) < 2
    # A new message moves the page to its end, and another picture comes before the browser says so.
    page.evaluate(
        """() => {
            const [grows, all] = [document.createElement("div"), document.getElementById("scroll")];
            all.firstElementChild.append(grows);
            grows.style.height = "100px";
            all.scrollTop = all.scrollHeight;
            grows.style.height = "700px";
        }"""
    )
    assert below(page) < 2
    expect(page.locator("#to-end")).to_be_hidden()
    page.evaluate("() => { document.getElementById('scroll').scrollTop -= 20 }")
    assert below(page) == pytest.approx(20, abs=1), "a person may leave it in small steps"
    page.evaluate("() => { document.getElementById('scroll').scrollTop -= 300 }")
    expect(page.locator("#to-end")).to_be_visible()
