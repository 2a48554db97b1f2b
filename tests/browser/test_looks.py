"""How the page looks and is used: widths, colours, keyboard, assistive technology; pictures are kept."""

from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped] # has no types
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.houses import House, opened, picture, say, signed_in
from tests.browser.test_safety import RICH

expect.set_options(timeout=30_000)

WIDE = {"width": 1280, "height": 820}
PHONE = {"width": 360, "height": 740}
LONG = (
    "say "
    + "unbreakable" * 40
    + "\n\n| "
    + " | ".join("wide column" for _ in range(9))
    + " |\n|"
    + "---|" * 9
)
LOOKS: dict[str, dict[str, object]] = {
    "wide": {"viewport": WIDE},
    "phone": {"viewport": PHONE, "is_mobile": True, "has_touch": True},
}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
LARGEST = 150_000


def test_the_page_is_accessible_in_every_look(browser: Browser, house: House) -> None:
    """A conversation with everything in it, at work and done, in each of the ways people see it."""
    pages = {name: opened(signed_in(browser, house, **look), "looks") for name, look in LOOKS.items()}
    first = pages["wide"]
    say(first, RICH)
    expect(first.locator(".answer:not(.live)")).to_have_count(1)
    house.hold("tool-2")
    say(first, "steps 3")
    expect(first.locator(".step.running")).to_contain_text("Step 2 of 3")
    house.kill()
    expect(first.locator(".cut")).to_have_count(1)
    say(first, "this one waits")
    for name, page in pages.items():
        expect(page.locator("#waiting .queued")).to_have_count(1)
        expect(page.locator("#kill")).to_be_enabled()
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            picture(page, f"working-{name}-{scheme}")
            assert violations(page) == []
    house.go()
    for name, page in pages.items():
        expect(page.locator(".answer:not(.live)")).to_have_count(3)
        page.click(".cut summary")
        expect(page.locator(".cut dd").first).to_be_visible()
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            picture(page, f"chat-{name}-{scheme}")
            assert violations(page) == []
        page.context.close()


def violations(page: Page) -> list[str]:
    """What axe finds wrong, each with where."""
    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found]


def test_the_door_is_accessible(browser: Browser, house: House) -> None:
    page = browser.new_page(base_url=house.url)
    page.goto("/login")
    assert violations(page) == []
    page.close()


def test_a_phone_has_no_sideways_scroll_and_large_targets(browser: Browser, house: House) -> None:
    context = signed_in(browser, house, viewport=PHONE, has_touch=True, is_mobile=True)
    page = opened(context, "narrow")
    say(page, LONG)
    expect(page.locator(".answer:not(.live)")).to_have_count(1)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert page.evaluate(
        "document.querySelector('#scroll').scrollWidth <= document.querySelector('#scroll').clientWidth"
    )
    small = page.evaluate(
        """() => [...document.querySelectorAll("button, .chats a, summary")]
            .filter((one) => one.checkVisibility({ visibilityProperty: true }))
            .map((one) => [one.getBoundingClientRect(), one.outerHTML.slice(0, 80)])
            .filter(([box]) => box.width < 44 || box.height < 44).map(([, html]) => html)"""
    )
    assert small == []
    page.get_by_role("button", name="Chats").click()
    expect(page.locator("#side")).to_be_visible()
    picture(page, "drawer")
    page.keyboard.press("Escape")
    expect(page.locator("#side")).to_be_hidden()
    context.close()


def test_the_skip_link_leads_to_the_box_and_back_to_its_buttons(page: Page) -> None:
    page.locator(".skip").press("Enter")
    expect(page.locator("#text")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(page.locator("#attach")).to_be_focused()


def test_whole_answers_are_read_out_and_single_words_are_not(page: Page, house: House) -> None:
    house.hold("words")
    say(page, "say read me out")
    expect(page.locator(".answer.live")).to_be_visible()
    expect(page.locator("#spoken")).to_have_text("")
    house.go()
    expect(page.locator("#spoken")).to_have_text("Answer: read me out")


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_nothing_moves_for_who_wants_it_still(browser: Browser, house: House, chat: str, motion: str) -> None:
    context = signed_in(browser, house, reduced_motion=motion)
    page = opened(context, chat)
    house.hold("words")
    say(page, "say one two")
    expect(page.locator(".answer.live")).to_be_visible()
    expect(page.locator("#activity .dots")).to_be_visible()
    moving = page.evaluate("document.getAnimations().length")
    assert (moving > 0) is (motion == "no-preference")
    context.close()


def test_colours_can_be_chosen_and_stay_chosen(page: Page) -> None:
    switch = page.locator("#theme")
    switch.click()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    switch.click()
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.locator("#theme").click()
    expect(page.locator("html")).not_to_have_attribute("data-theme", "light")


def test_the_tour_says_what_to_try_and_goes_away_for_good(page: Page) -> None:
    expect(page.locator("#tour")).to_be_visible()
    picture(page, "tour")
    page.get_by_role("button", name="Close this tour").click()
    expect(page.locator("#tour")).to_be_hidden()
    page.reload()
    expect(page.locator("#empty")).to_be_visible()
    expect(page.locator("#tour")).to_be_hidden()


@pytest.mark.parametrize("path", ["/", "/operator"])
def test_each_page_is_small(context: BrowserContext, path: str) -> None:
    """All files that are loaded for it, as they are before they are compressed."""
    page = context.new_page()
    page.goto(path)
    sizes: dict[str, int] = page.evaluate(
        """() => Object.fromEntries(["navigation", "resource"]
            .flatMap((kind) => performance.getEntriesByType(kind))
            .filter((one) => !one.name.includes("/api/"))
            .map((one) => [one.name, one.decodedBodySize]))"""
    )
    assert any(name.endswith("/style.css") for name in sizes)
    assert sum(sizes.values()) < LARGEST, sizes
