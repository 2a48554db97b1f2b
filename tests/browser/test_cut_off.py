"""What a person saw of an answer or of output stays in sight: stopped, killed, and after a reload."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.houses import House, opened, picture, say
from tests.browser.houses import house as a_house
from tests.browser.scripted import FIRST_WORD, TOOL, WORDS

expect.set_options(timeout=30_000)

RUNS = """async ([chat, cut]) => {
    try {
        const { turn } = await (await import("/api.js")).get(`/api/chats/${chat}`);
        return turn?.state === "running" && turn.interruptions === cut;
    } catch { return false; }
}"""
"""Whether the turn runs that was cut off so many times; False while no gateway answers."""
LONG = "say Holdfast keeps what it has written so far. " + "This sentence is one of many. " * 8 + "The end."
WIDTHS = (360, 1280)
SAID = ("say never heard", "say something else", "Go on with what was left unfinished.")


@pytest.fixture(scope="module")
def shared(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A gateway of this module's own: after many kills the supervisor waits ever longer."""
    with a_house(tmp_path_factory.mktemp("home")) as house:
        yield house


def until_recorded(page: Page, house: House, words: str) -> None:
    """Until the ledger has the words that the page shows."""
    for _ in range(2_000):
        with closing(sqlite3.connect(f"file:{house.home}/ledger.db?mode=ro", uri=True)) as db:
            if any(words in text for (text,) in db.execute("SELECT text FROM partials")):
                return
        page.wait_for_timeout(20)
    raise AssertionError(f"the ledger never heard of {words!r}")


def pictures(page: Page, name: str) -> None:
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        picture(page, f"{name}-{width}")


@pytest.mark.guards("R24.3")
def test_a_stopped_answer_stays_in_the_chat_marked_as_stopped(
    page: Page, context: BrowserContext, chat: str, house: House
) -> None:
    house.hold(WORDS)
    say(page, LONG)
    expect(page.locator(".answer.live")).to_contain_text("This sentence is one of many.")
    page.get_by_role("button", name="Stop", exact=True).click()
    answer = page.locator(".answer:not(.live)")
    expect(answer).to_contain_text("Holdfast keeps what it has written so far.")
    expect(answer).to_contain_text("[Stopped here.]")
    expect(page.locator(".answer.live")).to_have_count(0)
    pictures(page, "stopped-answer")
    page.reload()
    expect(page.locator(".answer")).to_contain_text("[Stopped here.]")
    house.go()
    say(page, "say go on")
    expect(page.locator(".answer").last).to_have_text("Agent: go on")
    other = opened(context, chat)
    expect(other.locator(".answer")).to_have_count(2)


@pytest.mark.guards("R24.3")
def test_an_answer_cut_by_a_kill_stays_in_sight_until_it_is_written_again(
    page: Page, context: BrowserContext, chat: str, house: House
) -> None:
    house.hold(WORDS)
    say(page, LONG)
    expect(page.locator(".answer.live")).to_contain_text("This sentence is one of many.")
    until_recorded(page, house, "This sentence is one of many.")
    house.hold(FIRST_WORD)
    house.kill()
    cut = page.locator(".answer.cut-off")
    expect(cut).to_contain_text("Holdfast keeps what it has written so far.")
    expect(cut).to_contain_text("Cut off here. The agent writes it again when the work goes on.")
    pictures(page, "cut-off-answer")
    other = opened(context, chat)
    expect(other.locator(".answer.cut-off")).to_contain_text("Holdfast keeps what it has written so far.")
    house.go()
    for tab in (page, other):
        expect(tab.locator(".answer")).to_have_count(1)
        expect(tab.locator(".answer")).to_contain_text("The end.")
        expect(tab.locator(".answer.cut-off")).to_have_count(0)


@pytest.mark.guards("R24.3")
def test_output_cut_by_a_kill_stands_beside_outcome_unknown(page: Page, chat: str, house: House) -> None:
    house.hold(TOOL)
    say(page, "copy the files")
    expect(page.locator(".answer.output")).to_contain_text("copied 2 of 3")
    until_recorded(page, house, "copied 2 of 3")
    house.kill()
    step = page.locator(".step")
    expect(step).to_contain_text("outcome unknown")
    expect(step.locator("pre").last).to_contain_text("copied 1 of 3\ncopied 2 of 3")
    pictures(page, "unknown-with-output")
    expect(page.locator(".answer:not(.live)")).to_contain_text("You said: ")
    page.reload()
    page.locator(".fold summary").first.click()
    expect(page.locator(".step pre").last).to_contain_text("copied 2 of 3")


@pytest.mark.guards("R8.2")
def test_the_button_of_a_parked_conversation_resumes_it_also_when_a_fresh_one_has_begun(
    page: Page, chat: str, house: House
) -> None:
    house.hold(FIRST_WORD)
    say(page, "say never heard")
    for cut in range(3):
        assert any(page.evaluate(RUNS, [chat, cut]) for _ in range(100_000))
        house.kill()
    notice = page.locator(".notice", has_text="so I parked this conversation")
    expect(notice).to_contain_text("The gateway crashed or was killed 3 times while it worked on this")
    pictures(page, "parked")
    house.go()
    say(page, "say something else")
    expect(page.locator(".answer").last).to_have_text("Agent: something else")
    page.reload()
    page.locator(".notice", has_text="so I parked").get_by_role("button", name="Resume it").click()
    expect(page.locator(".notice", has_text="The conversation goes on.")).to_be_visible()
    resumed = page.locator("#log > .you", has_text="Go on with what was left unfinished.")
    expect(resumed).to_have_count(1)
    for _ in ("as it came", "read again"):
        expect(page.locator("#log > .you")).to_have_text([f"You: {one}" for one in SAID])
        expect(page.locator(".you:has-text('something else') ~ .answer").first).to_have_text(
            "Agent: something else"
        )
        expect(page.locator(".cut-row").last).to_contain_text("the work did not resume by itself")
        pictures(page, "parked-resumed")
        page.reload()
