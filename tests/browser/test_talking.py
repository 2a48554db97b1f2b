"""Saying something in the page, and what is seen of the answer."""

import re

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.browser.houses import LONG_CHAT, TOLD, House, opened, picture, say
from tests.browser.scripted import WORDS

expect.set_options(timeout=30_000)


def test_an_answer_streams_and_becomes_the_committed_one_in_its_place(page: Page, house: House) -> None:
    house.hold(WORDS)
    say(page, "say This grows word by word.")
    live = page.locator(".answer.live")
    # The page holds back the last letters while they may begin a secret, and a token begins with any letter.
    expect(live).to_have_text(re.compile("This grows word( b| by)?$"))
    page.evaluate("document.querySelector('.answer').known = true")
    top = live.bounding_box()
    house.go()
    answer = page.locator(".answer:not(.live)")
    expect(answer).to_have_text(re.compile("This grows word by word."))
    assert page.evaluate("document.querySelector('.answer').known") is True, "the answer is another node"
    now = answer.bounding_box()
    assert top and now and (top["x"], top["y"]) == (now["x"], now["y"])


def test_a_message_is_shown_once_and_so_is_its_answer(page: Page) -> None:
    say(page, "hello there")
    expect(page.locator(".answer:not(.live)")).to_have_count(1)
    expect(page.locator(".you")).to_have_count(1)
    page.reload()
    expect(page.locator(".answer")).to_have_text(re.compile("Heard: hello there"))
    expect(page.locator(".you")).to_have_count(1)


def test_a_reload_in_the_middle_of_an_answer_shows_what_is_written_and_then_all_of_it(
    page: Page, house: House
) -> None:
    house.hold(WORDS)
    say(page, "say one two three")
    expect(page.locator(".answer.live")).to_have_text(re.compile("one two?$"))
    page.reload()
    expect(page.locator(".answer.live")).to_have_text(re.compile("one two?$"))
    house.go()
    expect(page.locator(".answer:not(.live)")).to_have_text(re.compile("one two three"))
    expect(page.locator(".answer")).to_have_count(1)


def test_steps_are_shown_as_they_come_and_folded_away_later(page: Page, house: House) -> None:
    house.hold("tool-2")
    say(page, "steps 3")
    expect(page.locator(".step.running")).to_contain_text("Step 2 of 3")
    expect(page.locator("#activity")).to_be_visible()
    house.go()
    expect(page.locator(".answer:not(.live)")).to_contain_text("All 3 steps are done.")
    expect(page.locator(".step.done")).to_have_count(3)
    expect(page.locator("#activity")).to_be_hidden()
    page.reload()
    expect(page.locator(".fold > summary")).to_have_text("3 steps")
    page.click(".fold > summary")
    expect(page.locator(".fold .step")).to_have_count(3)


def test_a_waiting_message_can_be_edited_and_withdrawn_in_place(page: Page, house: House) -> None:
    house.hold(WORDS)
    say(page, "say first things first")
    expect(page.locator(".answer.live")).to_be_visible()
    say(page, "a second thing")
    say(page, "a third thing")
    queued = page.locator("#waiting .queued")
    expect(queued).to_have_count(2)
    queued.nth(0).get_by_role("button", name="Edit").click()
    page.get_by_label("Edit the queued message").fill("a better thing")
    picture(page, "queued")
    page.get_by_role("button", name="Save").click()
    expect(queued.nth(0)).to_contain_text("a better thing")
    queued.nth(1).get_by_role("button", name="Withdraw").click()
    expect(queued).to_have_count(1)
    house.go()
    expect(page.locator(".answer:not(.live)").nth(1)).to_contain_text("a better thing")
    expect(page.locator("#log")).not_to_contain_text("third")
    expect(page.locator("#waiting > li")).to_have_count(0)


def test_two_tabs_show_the_same_conversation(page: Page, context: BrowserContext, chat: str) -> None:
    other = opened(context, chat)
    say(page, "from the first")
    expect(other.locator(".answer:not(.live)")).to_have_count(1)
    say(other, "from the second")
    for tab in (page, other):
        expect(tab.locator(".answer:not(.live)")).to_have_text(
            [re.compile("Heard: from the first"), re.compile("Heard: from the second")]
        )
        expect(tab.locator(".you")).to_have_count(2)
        expect(tab.locator("#waiting > li")).to_have_count(0)


def test_enter_sends_and_shift_enter_makes_a_line(page: Page) -> None:
    page.fill("#text", "one")
    page.press("#text", "Shift+Enter")
    page.keyboard.type("two")
    page.press("#text", "Enter")
    expect(page.locator(".you .bubble")).to_have_text("one\ntwo")
    expect(page.locator("#text")).to_have_value("")


def test_stop_ends_the_work_in_hand(page: Page, house: House) -> None:
    house.hold(WORDS)
    say(page, "say this is never said")
    expect(page.locator(".answer.live")).to_be_visible()
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator(".notice")).to_have_count(1)
    expect(page.locator("#activity")).to_be_hidden()
    expect(page.locator(".answer")).to_have_text("Agent: this is never[Stopped here.]")


def test_starting_over_is_asked_about_first_and_what_was_said_before_stays_readable(page: Page) -> None:
    say(page, "hello")
    expect(page.locator(".answer:not(.live)")).to_have_count(1)
    page.get_by_role("button", name="Start over").click()
    page.keyboard.press("Escape")
    expect(page.locator(".notice")).to_have_count(0)
    page.get_by_role("button", name="Start over").click()
    page.locator("#ask-yes").click()
    expect(page.locator(".notice")).to_have_count(1)
    say(page, "hello again")
    expect(page.locator(".answer:not(.live)")).to_have_count(2)
    page.reload()
    expect(page.locator(".you .bubble")).to_have_text(["hello", "hello again"])


def test_a_draft_survives_a_reload(page: Page) -> None:
    page.fill("#text", "not yet")
    page.reload()
    expect(page.locator("#text")).to_have_value("not yet")
    expect(page.locator("#send")).to_be_enabled()


def test_chats_are_listed_and_a_new_one_is_empty(page: Page, chat: str) -> None:
    say(page, "say the list knows me")
    expect(page.locator("#chats [aria-current]")).to_contain_text("say the list knows me")
    page.get_by_role("button", name="New chat").click()
    expect(page.locator("#empty")).to_be_visible()
    page.keyboard.press("Control+k")
    expect(page.locator("#chats [aria-current]")).to_be_focused()
    page.get_by_role("link", name="say the list knows me").click()
    expect(page.locator(".answer")).to_contain_text("the list knows me")


CARRY = """(element, kinds) => {
    const carried = new DataTransfer();
    carried.items.add(new File(["hello"], "a.png", { type: "image/png" }));
    const more = { bubbles: true, cancelable: true };
    for (const kind of kinds) {
        element.dispatchEvent(kind === "paste"
            ? new ClipboardEvent(kind, { clipboardData: carried, ...more })
            : new DragEvent(kind, { dataTransfer: carried, ...more }));
    }
}"""


@pytest.mark.parametrize("how", ["button", "drop", "paste"])
def test_a_file_goes_with_a_message(page: Page, how: str) -> None:
    if how == "button":
        page.set_input_files("#files", {"name": "a.png", "mimeType": "image/png", "buffer": b"hello"})
    elif how == "drop":
        page.locator("#log").evaluate(CARRY, ["dragover"])
        expect(page.locator("body")).to_have_class(re.compile("dragging"))
        page.locator("#log").evaluate(CARRY, ["drop"])
        expect(page.locator("body")).not_to_have_class(re.compile("dragging"))
    else:
        page.locator("#text").evaluate(CARRY, ["paste"])
    expect(page.locator("#chips .chip")).to_contain_text("a.png")
    page.fill("#text", "look at this")
    expect(page.locator("#send")).to_be_enabled()
    page.press("#text", "Enter")
    expect(page.locator(".answer:not(.live)")).to_have_count(1)
    expect(page.locator("#log .you .chip")).to_have_text(re.compile(r"a\.png\s*5 B"))
    expect(page.locator("#chips .chip")).to_have_count(0)


def test_earlier_messages_come_when_they_are_asked_for_and_nothing_moves(context: BrowserContext) -> None:
    page = opened(context, LONG_CHAT)
    told = page.locator("#log > .answer")
    expect(told.last).to_contain_text("Heard: hello")
    page.reload()
    expect(told).to_have_count(200)
    expect(told.last).to_be_in_viewport()
    first = page.get_by_text(f"told {TOLD - 199}", exact=True)
    first.scroll_into_view_if_needed()
    before = first.bounding_box()
    page.get_by_role("button", name="Earlier messages").click()
    expect(told).to_have_count(TOLD)
    expect(page.locator("#earlier")).to_be_hidden()
    after = first.bounding_box()
    assert before and after and abs(before["y"] - after["y"]) < 2
    assert told.first.inner_text().endswith("told 1")
    newest = page.get_by_role("button", name="Newest")
    newest.click()
    expect(told.last).to_be_in_viewport()
    expect(newest).to_be_hidden()


def test_a_message_that_is_refused_says_why_and_is_sent_again_or_discarded(
    page: Page, context: BrowserContext
) -> None:
    answer = {"error": {"code": "refused", "words": "there is no room"}}

    def refuse(route: Route) -> None:
        if route.request.method == "POST":
            route.fulfill(status=409, json=answer)
        else:
            route.continue_()

    context.route("**/messages*", refuse)
    say(page, "never mind")
    say(page, "but this")
    refused = page.locator("#waiting .you").filter(has_text="Not taken: there is no room")
    expect(refused).to_have_count(2)
    picture(page, "refused")
    refused.filter(has_text="never mind").get_by_role("button", name="Discard").click()
    expect(refused).to_have_count(1)
    context.unroute("**/messages*")
    refused.get_by_role("button", name="Try again").click()
    expect(page.locator(".answer:not(.live)")).to_have_text(re.compile("Heard: but this"))
    expect(page.locator("#waiting > li")).to_have_count(0)
    expect(page.locator(".you")).to_have_count(1)


def test_work_that_takes_long_is_said_to_go_on_in_one_line(
    context: BrowserContext, house: House, chat: str
) -> None:
    page = context.new_page()
    page.clock.install()
    page.goto(f"/#{chat}")
    house.hold("tool-1")
    say(page, "steps 1")
    expect(page.locator(".step.running")).to_be_visible()
    expect(page.locator("#activity")).to_have_text("Working")
    page.clock.fast_forward(25_000)
    still = page.get_by_text("Still working")
    expect(still).to_have_text(re.compile(r"^Still working · \d\d s$"))
    page.clock.fast_forward(10_000)
    expect(still).to_have_count(1)
    house.go()
    expect(page.locator(".answer:not(.live)")).to_have_count(1)
    expect(still).to_be_hidden()


def test_a_whole_visit_needs_no_mouse(page: Page, house: House) -> None:
    keys = page.keyboard
    expect(page.locator("#text")).to_be_focused()
    keys.type("say one")
    keys.press("Shift+Enter")
    keys.type("two")
    keys.press("Enter")
    expect(page.locator(".answer:not(.live)")).to_have_count(1)
    expect(page.locator("#chats [aria-current]")).to_contain_text("say one two")
    keys.press("Control+k")
    press_until(page, "ArrowUp", "New chat")
    keys.press("Enter")
    expect(page.locator("#empty")).to_be_visible()
    expect(page.locator("#text")).to_be_focused()
    keys.press("Control+k")
    keys.press("ArrowDown")
    keys.press("Enter")
    expect(page.locator(".you")).to_have_count(1)
    page.locator("#text").focus()
    house.hold(WORDS)
    for words in ("say held back", "a mistake"):
        keys.type(words)
        keys.press("Enter")
    expect(page.locator("#waiting .queued")).to_have_count(1)
    press_until(page, "Shift+Tab", "Withdraw")
    keys.press("Enter")
    expect(page.locator("#waiting .queued")).to_have_count(0)
    expect(page.locator("#text")).to_be_focused()


def press_until(page: Page, key: str, words: str) -> None:
    """Press a key until what has the focus says this."""
    for _ in range(99):
        page.keyboard.press(key)
        if page.evaluate("document.activeElement.textContent.trim()") == words:
            return
    raise AssertionError(f"{key} never leads to {words}")
