"""The gateway dies under the page: what was said is kept, what was begun goes on, nothing is shown twice."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from tests.browser.houses import SETTINGS, House, house, opened, picture, say, signed_in
from tests.browser.scripted import WORDS

expect.set_options(timeout=30_000)

CUT = re.compile(r"The gateway ended unexpectedly\. It went on .+ later, after step 1\.")
ANSWERS = [re.compile("All 3 steps are done."), re.compile(r"Heard: what was that\?")]


@pytest.mark.guards("R2.3")
def test_killed_under_two_tabs_the_answer_goes_on_once_in_each_with_one_honest_line(
    page: Page, context: BrowserContext, chat: str, house: House
) -> None:
    other = opened(context, chat)
    house.hold("tool-2")
    say(page, "steps 3")
    for tab in (page, other):
        expect(tab.locator(".step.running")).to_contain_text("Step 2 of 3")
    house.kill()
    for tab in (page, other):
        expect(tab.locator("#banner")).to_have_text("Reconnecting… the gateway is away; nothing is lost.")
    picture(page, "away")
    for tab in (page, other):
        expect(tab.locator(".cut .said")).to_have_text(CUT)
        expect(tab.locator("#banner")).to_be_hidden()
    say(page, "what was that?")
    house.go()
    for tab in (page, other):
        expect(tab.locator(".answer:not(.live)")).to_have_text(ANSWERS)
        expect(tab.locator(".cut")).to_have_count(1)
        expect(tab.locator(".step")).to_have_count(3)
        expect(tab.locator(".you")).to_have_count(2)
    page.reload()
    expect(page.locator(".answer:not(.live)")).to_have_text(ANSWERS)
    expect(page.locator(".you")).to_have_count(2)
    expect(page.locator(".cut .said")).to_have_text(CUT)


def test_the_demonstration_kills_for_real_and_the_line_unfolds_to_say_why(page: Page, house: House) -> None:
    house.hold(WORDS)
    say(page, "say still here")
    expect(page.locator(".answer.live")).to_be_visible()
    before = (house.home / "lock").read_text()
    page.locator("#kill").click()
    picture(page, "kill")
    page.locator("#ask-yes").click()
    expect(page.locator(".cut")).to_have_count(1)
    assert (house.home / "lock").read_text() != before
    house.go()
    expect(page.locator(".answer:not(.live)")).to_contain_text("still here")
    page.click(".cut summary")
    expect(page.locator(".cut .why")).to_contain_text("gone without a word")
    expect(page.locator(".cut .why")).to_contain_text("The agent was told")
    expect(page.locator(".cut dd").filter(has_text="interrupted")).to_have_count(1)


def test_what_is_written_while_the_gateway_is_away_is_sent_once_when_it_is_back(
    page: Page, context: BrowserContext, chat: str
) -> None:
    context.route("**/api/**", lambda route: route.abort())
    say(page, "written in the dark")
    expect(page.locator(".you.sending")).to_contain_text("written in the dark")
    page.reload()
    expect(page.locator(".you.sending")).to_contain_text("written in the dark")
    expect(page.locator("#banner")).to_be_visible()
    context.unroute("**/api/**")
    expect(page.locator(".answer:not(.live)")).to_contain_text("Heard: written in the dark")
    expect(page.locator(".you")).to_have_count(1)


def test_a_message_whose_answer_was_lost_on_the_way_is_kept_once(page: Page, context: BrowserContext) -> None:
    lost: list[str] = []

    def lose(route: Route) -> None:
        if route.request.method != "POST" or lost:
            route.continue_()
            return
        route.fetch()  # it arrives, but nobody hears that it did
        lost.append(route.request.post_data or "")
        route.abort()

    context.route("**/messages", lose)
    say(page, "only once")
    expect(page.locator(".answer:not(.live)")).to_have_count(1)
    expect(page.locator("#waiting > li")).to_have_count(0)
    assert lost
    say(page, "and then")
    expect(page.locator(".answer:not(.live)")).to_have_text(
        [re.compile("Heard: only once"), re.compile("Heard: and then")]
    )
    expect(page.locator(".you")).to_have_count(2)


@pytest.mark.guards("R13")
def test_a_question_is_a_card_whose_button_answers_it_once(browser: Browser, tmp_path: Path) -> None:
    with house(tmp_path, f'{SETTINGS}on_interruption = "ask"\n') as asking:
        page = opened(signed_in(browser, asking), "asked")
        asking.hold("tool-2")
        say(page, "steps 3")
        expect(page.locator(".step.running")).to_contain_text("Step 2 of 3")
        asking.kill()
        card = page.locator(".question.open")
        expect(card).to_contain_text("Shall I continue with it, or drop it?")
        picture(page, "question")
        asking.go()
        card.get_by_role("button", name="continue").click()
        expect(page.locator(".answer:not(.live)")).to_contain_text("All 3 steps are done.")
        expect(page.locator(".question button")).to_have_count(0)
        expect(page.locator("#waiting > li")).to_have_count(0)
        expect(page.locator(".you")).to_have_count(1)
        page.context.close()
