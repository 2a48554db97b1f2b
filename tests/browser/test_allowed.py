"""R13 on the page: a card with three choices, and the rules of a chat with a button that revokes each."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.browser import houses
from tests.browser.houses import House, opened, picture, say, signed_in
from tests.browser.test_asking import CAREFUL, FITS, card, closed, deleted
from tests.browser.test_looks import violations

expect.set_options(timeout=30_000)

ALWAYS = "always allow this"
WIDTHS = [390, 1280]


@pytest.fixture(scope="module")
def shared(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with houses.house(tmp_path_factory.mktemp("allowing"), CAREFUL) as house:
        yield house


def wide(browser: Browser, house: House, width: int, chat: str) -> Page:
    touch = width < 500
    context = signed_in(browser, house, viewport={"width": width, "height": 760}, has_touch=touch)
    return opened(context, f"{chat}-{width}")


def shield(page: Page) -> Locator:
    return page.get_by_role("button", name="Allowed", exact=True)


def rules(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Always allowed here").get_by_role("listitem")


def allow(page: Page, file: str) -> None:
    say(page, f"delete {file}")
    card(page).get_by_role("button", name=ALWAYS).click()
    expect(closed(page).last).to_contain_text("Allowed, and always in its chat")


def is_tall_enough(one: Locator) -> bool:
    box = one.bounding_box()
    return box is not None and box["height"] >= 44


def operated(context: BrowserContext, page: Page, chat: str) -> Page:
    """The operator's page of the chat's session."""
    session = page.evaluate(
        """async (chat) => {
            const { chatPath, get } = await import("/api.js");
            return (await get(chatPath(chat))).session;
        }""",
        chat,
    )
    operator = context.new_page()
    operator.goto(f"/operator#session/{session}")
    return operator


@pytest.mark.guards("R13", "R22.4")
@pytest.mark.parametrize("width", WIDTHS)
def test_the_card_names_the_rule_and_has_three_buttons(browser: Browser, house: House, width: int) -> None:
    page = wide(browser, house, width, "card")
    say(page, "delete old.txt")
    expect(card(page).locator(".options button")).to_have_text(["allow once", "deny", ALWAYS])
    expect(card(page)).to_contain_text(
        "Always allow in this chat, while the agent scripted:agent answers: exactly this call."
    )
    expect(card(page)).to_contain_text("Or write yes, no or always below.")
    expect(shield(page)).to_be_hidden()
    picture(page, f"always-card-{width}")
    assert violations(page) == [] and page.evaluate(FITS)
    assert all(map(is_tall_enough, card(page).get_by_role("button").all()))
    card(page).get_by_role("button", name=ALWAYS).click()
    expect(closed(page)).to_contain_text("Allowed, and always in its chat")
    expect(shield(page)).to_be_visible()
    say(page, "delete old.txt")
    expect(page.locator(".answer:not(.live)")).to_have_count(2)
    expect(closed(page)).to_have_count(1)
    assert deleted(house, "old.txt") >= 2
    page.context.close()


@pytest.mark.guards("R13")
@pytest.mark.parametrize("width", WIDTHS)
def test_the_rules_of_the_chat_are_listed_and_revoked(browser: Browser, house: House, width: int) -> None:
    page = wide(browser, house, width, "rules")
    long = f"{'a-very-long-folder-name/' * 5}{width}.txt"
    for file in (f"one-{width}.txt", long):
        allow(page, file)
    shield(page).click()
    expect(rules(page)).to_have_count(2)
    expect(rules(page).first.locator("code")).to_have_text(["delete_file", "scripted:agent"])
    expect(rules(page).first).to_contain_text(f'exactly the call with {{"path": "one-{width}.txt"')
    expect(rules(page).first).to_contain_text("allowed by web:local")
    picture(page, f"always-rules-{width}")
    assert violations(page) == []
    assert page.evaluate("document.querySelector('#allowed').scrollWidth <= innerWidth") and page.evaluate(
        FITS
    )
    assert all(map(is_tall_enough, page.get_by_role("dialog").get_by_role("button").all()))
    rules(page).first.get_by_role("button", name="Revoke").click()
    page.get_by_role("button", name="Cancel").click()
    expect(rules(page)).to_have_count(2)
    rules(page).first.get_by_role("button", name="Revoke").click()
    picture(page, f"always-revoke-{width}")
    page.get_by_role("button", name="Revoke it").click()
    expect(rules(page)).to_have_count(1)
    expect(page.locator("#allowed-said")).to_contain_text("is revoked")
    picture(page, f"always-revoked-{width}")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    say(page, f"delete one-{width}.txt")
    expect(card(page)).to_be_visible()
    assert deleted(house, f"one-{width}.txt") == 1
    page.context.close()


@pytest.mark.guards("R13")
def test_a_rule_is_seen_in_every_tab_of_its_chat_and_in_no_other_chat(
    page: Page, context: BrowserContext, chat: str
) -> None:
    tab, other = opened(context, chat), opened(context, f"{chat}-other")
    allow(page, "tabs.txt")
    expect(shield(tab)).to_be_visible()
    expect(shield(other)).to_be_hidden()
    shield(page).click()
    _, number = rules(page).first.locator(".meta").inner_text().partition(",")[0].split()
    say(tab, f"/allowed revoke {number}")
    expect(rules(page)).to_have_count(0)
    expect(page.get_by_role("dialog")).to_contain_text("No rule is stored for this chat any more.")
    expect(shield(tab)).to_be_hidden()


@pytest.mark.guards("R13")
def test_the_operators_page_of_a_session_lists_its_rules_too(
    page: Page, context: BrowserContext, chat: str
) -> None:
    allow(page, "operated.txt")
    operator = operated(context, page, chat)
    panel = operator.get_by_role("region", name="Always allowed in this chat")
    expect(panel.locator("code")).to_have_text(["delete_file", "scripted:agent"])
    picture(operator, "always-operator")
    panel.get_by_role("button", name="Revoke").click()
    operator.get_by_role("button", name="Revoke it").click()
    expect(panel).to_have_count(0)
    expect(shield(page)).to_be_hidden()


@pytest.mark.guards("R13")
def test_the_life_of_a_message_says_which_rule_its_call_ran_by(
    page: Page, context: BrowserContext, chat: str
) -> None:
    allow(page, "traced.txt")
    say(page, "delete traced.txt")
    expect(page.locator(".answer:not(.live)")).to_have_count(2)
    operator = operated(context, page, chat)
    turn = operator.locator("details[data-trace]").first
    turn.locator("summary").click()
    expect(turn.locator(".life")).to_contain_text("by rule")
