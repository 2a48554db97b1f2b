"""R13 and R7.3 on the page: a question is a card that works after a kill, once, and says its end."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.browser import houses
from tests.browser.houses import SETTINGS, House, opened, picture, say, signed_in
from tests.browser.test_looks import violations

expect.set_options(timeout=30_000)

CAREFUL = f"""{SETTINGS}
approvals.rules = [{{tool = "delete_*", then = "ask"}}]
"""

FITS = """[...document.querySelectorAll("html, #scroll, .question pre")]
    .every((one) => one.scrollWidth <= one.clientWidth)"""
"""Nothing has to be scrolled to the side to be read."""
ROWS = """(pre) => {
    const texts = document.createTreeWalker(pre, NodeFilter.SHOW_TEXT);
    const seen = document.createRange(), rows = new Map();
    let at = 0;
    for (let node = texts.nextNode(); node; node = texts.nextNode()) {
        for (let place = 0; place < node.length; place += 1, at += 1) {
            if (!node.data[place].trim()) continue;
            seen.setStart(node, place);
            seen.setEnd(node, place + 1);
            const { top, left } = seen.getBoundingClientRect();
            const row = Math.round(top);
            if (!rows.has(row) || rows.get(row)[1] > left) rows.set(row, [at, left]);
        }
    }
    return [...rows.values()];
}"""
"""Of each row of a text the place in the text of what is first seen in it, and how far right that stands."""


@pytest.fixture(scope="module")
def shared(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with houses.house(tmp_path_factory.mktemp("careful"), CAREFUL) as house:
        yield house


def card(page: Page) -> Locator:
    return page.locator(".question.open")


def closed(page: Page) -> Locator:
    return page.locator(".question .outcome")


def deleted(house: House, path: str) -> int:
    file = house.home / "deleted"
    return file.read_text().count(path) if file.exists() else 0


def is_back(page: Page) -> None:
    """The gateway was away, and the page has found it again."""
    expect(page.locator("#banner")).to_be_hidden()


@pytest.mark.guards("R7.3", "R13", "F11")
def test_killed_while_permission_is_asked_for_the_same_button_works_once(page: Page, house: House) -> None:
    say(page, "delete old.txt")
    expect(card(page)).to_contain_text("May I run delete_file?")
    expect(card(page)).to_contain_text("path: old.txt")
    expect(page.locator("#activity")).to_have_text("Waiting for your answer")
    picture(page, "permission")
    house.kill()
    expect(page.locator("#banner")).to_be_visible()
    is_back(page)
    assert deleted(house, "old.txt") == 0
    card(page).get_by_role("button", name="allow once").click()
    expect(page.locator(".answer:not(.live)")).to_contain_text("You said: deleted")
    expect(closed(page)).to_contain_text("Allowed, this once")
    expect(page.locator(".question .options button")).to_have_count(0)
    expect(page.locator("#waiting > li")).to_have_count(0)
    expect(page.locator(".you")).to_have_count(1)
    assert deleted(house, "old.txt") == 1
    page.reload()
    expect(closed(page)).to_contain_text("Allowed, this once")
    picture(page, "permission-given")


@pytest.mark.guards("R7.3", "R13")
def test_what_is_pressed_while_the_gateway_is_away_is_kept_across_a_reload_and_cannot_be_pressed_again(
    page: Page, house: House, context: BrowserContext, chat: str
) -> None:
    say(page, "delete kept.txt")
    expect(card(page)).to_be_visible()
    context.route("**/messages", lambda route: route.abort())
    card(page).get_by_role("button", name="deny").click()
    for tab in (page, opened(context, chat)):
        expect(card(tab)).to_contain_text("deny")
        for name in ("allow once", "deny"):
            expect(card(tab).get_by_role("button", name=name)).to_be_disabled()
    context.unroute("**/messages")
    page.reload()
    expect(closed(page)).to_contain_text("Not allowed")
    expect(page.locator(".answer:not(.live)")).to_contain_text("was not run")
    assert deleted(house, "kept.txt") == 0


@pytest.mark.guards("R13")
def test_a_free_question_has_a_field_whose_words_survive_a_kill(page: Page, house: House) -> None:
    say(page, "ask Which **colour** shall it be?")
    field = card(page).get_by_label("Your answer")
    expect(card(page).locator("strong")).to_have_text("colour")
    field.fill("a warm grey")
    house.kill()
    expect(page.locator("#banner")).to_be_visible()
    is_back(page)
    expect(field).to_have_value("a warm grey")
    picture(page, "free-question")
    card(page).get_by_role("button", name="Answer").click()
    expect(closed(page)).to_contain_text("Answered: a warm grey")
    expect(page.locator(".answer:not(.live)")).to_contain_text("You said: a warm grey")


@pytest.mark.guards("R13")
@pytest.mark.parametrize(
    ("words", "end"),
    [("2", "Answered: blue"), ("none of these", "Closed: another message"), ("/stop", "Withdrawn")],
)
def test_what_is_typed_closes_the_card_too_and_it_says_how(page: Page, words: str, end: str) -> None:
    say(page, "ask Which one? | red | blue")
    expect(card(page).get_by_role("button")).to_have_text(["red", "blue"])
    say(page, words)
    expect(closed(page)).to_contain_text(end)
    expect(page.locator(".question .options button")).to_have_count(0)


def test_two_tabs_show_one_card_and_its_end(page: Page, context: BrowserContext, chat: str) -> None:
    say(page, "ask Which one? | red | blue")
    expect(card(page)).to_be_visible()
    other = opened(context, chat)
    card(other).get_by_role("button", name="red").click()
    for tab in (page, other):
        expect(closed(tab)).to_contain_text("Answered: red")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_card_fits_a_narrow_phone(browser: Browser, house: House, scheme: str) -> None:
    size = {"width": 360, "height": 740}
    context = signed_in(browser, house, viewport=size, color_scheme=scheme, has_touch=True)
    page = opened(context, f"phone-{scheme}")
    say(page, f"delete {'a-very-long-folder-name/' * 6}old.txt")
    expect(card(page)).to_be_visible()
    picture(page, f"permission-phone-{scheme}")
    assert violations(page) == []
    assert page.evaluate(FITS)
    for one in card(page).get_by_role("button").all():
        box = one.bounding_box()
        assert box is not None and box["height"] >= 44
    say(page, "no")
    say(page, f"ask Where to? | {'a long way to say it ' * 4} | here")
    expect(card(page)).to_contain_text("Where to?")
    picture(page, f"question-phone-{scheme}")
    assert page.evaluate(FITS)
    say(page, "2")
    say(page, "ask And why?")
    expect(card(page).get_by_label("Your answer")).to_be_visible()
    picture(page, f"free-phone-{scheme}")
    say(page, "because")
    expect(closed(page)).to_have_count(3)
    picture(page, f"closed-phone-{scheme}")
    context.close()


UNANSWERED = [
    ("clarify", "expired", "No answer came in time, so the work was stopped. The finished part is kept"),
    ("clarify", "undeliverable", "The question could not be delivered, so the work was stopped"),
    ("approval", "expired", "No answer came in time, so this was not allowed"),
    ("continue", "expired", "No answer came in time, so the work was dropped"),
    ("clarify", "cancelled", "Withdrawn: the work was stopped"),
]


@pytest.mark.guards("R13")
def test_the_card_of_a_question_without_an_answer_says_so_and_how_to_go_on(page: Page) -> None:
    ends = page.evaluate(
        """async (questions) => {
            const { questionEnd } = await import("/words.js");
            return questions.map(([kind, state]) => questionEnd({ kind, state, answer: null }));
        }""",
        [[kind, state] for kind, state, _ in UNANSWERED],
    )
    for told, (_, _, words) in zip(ends, UNANSWERED, strict=True):
        assert told.startswith(words)
    assert ["/resume" in told for told in ends] == [True, True, False, False, False]


@pytest.mark.guards("R22.4")
@pytest.mark.parametrize("width", [360, 1280])
def test_a_long_call_can_be_allowed_only_once_its_end_was_in_sight(
    page: Page, house: House, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 740})
    path = "; ".join(f"step-{number}" for number in range(700)) + "; the end"
    say(page, f"delete {path}")
    allow, deny = (card(page).get_by_role("button", name=name) for name in ("allow once", "deny"))
    expect(card(page)).to_contain_text("the end")
    expect(deny).to_be_enabled()
    expect(allow).to_be_disabled()
    expect(card(page)).to_contain_text("Scroll to the end")
    assert page.evaluate(FITS)
    picture(page, f"permission-long-{width}")
    page.reload()
    expect(allow).to_be_disabled()
    card(page).locator("pre").evaluate("(one) => one.scrollTo(0, one.scrollHeight)")
    expect(allow).to_be_enabled()
    picture(page, f"permission-long-{width}-read")
    allow.click()
    expect(closed(page)).to_contain_text("Allowed, this once")


@pytest.mark.guards("R22.4")
@pytest.mark.parametrize(
    "value",
    [f"{'-' * 11} {'force: false ' * 9}end", "old.txt\nforce: false\n\n  path: b"],
    ids=["wrapped", "lines"],
)
def test_on_a_narrow_screen_only_an_argument_stands_where_arguments_begin(
    page: Page, context: BrowserContext, value: str
) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    say(page, f"delete {value}")
    code = card(page).locator("pre")
    first = f"path: {value}\n".replace("\n", "\n  ").removesuffix("  ")
    expect(card(page)).to_contain_text("force: true")
    assert code.text_content() == f"{first}force: true"
    picture(page, f"permission-rows-{len(value)}")
    rows = dict(code.evaluate(ROWS))
    margin = rows.pop(0)
    assert rows.pop(len(first)) == margin, "the other argument begins a row, as far left"
    assert len(rows) >= 2 and min(rows.values()) > margin + 20, "what is no argument does not"
    assert page.evaluate(FITS)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    code.evaluate("(pre) => getSelection().selectAllChildren(pre)")
    page.keyboard.press("Control+C")
    assert page.evaluate("navigator.clipboard.readText()") == f"{first}force: true"
