"""The operator's pages, with what a real gateway left that was really killed."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from holdfast.clock import SystemClock, SystemIds
from holdfast.model import Batch, ChatAddress, Inbound, Key, Knock, Lost, Owed, PersonId, Place, SetAside
from holdfast.store import open_ledger
from tests.browser import houses
from tests.browser.houses import House, picture
from tests.browser.test_looks import SCHEMES, violations

expect.set_options(timeout=30_000)

PLACES = ("overview", "sessions", "outbox", "set-aside", "people", "restart")
CHAT = "operated"
LATELY = re.compile(
    r"^Last restart .+ The process before recorded no end: a crash, a kill or a power cut\. "
    r"The gateway was down for at most .+\. 1 unfinished turn resumed\.$"
)
DOUBTS = ("Three invoices are open.", "The backup is done.", "It rains.")


async def left_behind(home: Path) -> None:
    """What an earlier run left: sends to a platform that is no longer there, and input nobody could read."""
    clock = SystemClock()
    store = await open_ledger(home, clock, SystemIds(clock))
    for number, words in enumerate(DOUBTS):
        place = Place("elsewhere", "bot", f"c{number}")
        said = Inbound(f"e{number}", Key(place.address), place, PersonId("elsewhere:ann"), "hello")
        await store.accept(Batch("elsewhere/bot", (said,)))
        await store.owe(Owed(ChatAddress(place.address), f"n{number}", (words,)))
    for part in await store.claim_deliveries(("elsewhere",)):
        await store.record_delivery(part.id, Lost("the connection was lost"))
    strange = SetAside("u1", "neither text nor attachment", '{"sticker": {"emoji": "crab"}, "b": "<script>"}')
    await store.accept(Batch("elsewhere/bot", unreadable=(strange,)))
    knock = Knock("e9", PersonId("elsewhere:eve"), Place("elsewhere", "bot", "c9"), "ABCD2345")
    await store.accept(Batch("elsewhere/bot", refused=(("e9", "person_not_allowed"),), knocks=(knock,)))
    await store.close()


@pytest.fixture(scope="module")
def shared(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A gateway killed in the middle of a turn, and gone on since."""
    home = tmp_path_factory.mktemp("home")
    houses.apart(left_behind(home))
    with houses.house(home) as house:
        house.hold("tool-2")
        context = houses.signed_in(browser, house)
        page = houses.opened(context, CHAT)
        houses.say(page, "steps 3")
        expect(page.locator(".step.running")).to_contain_text("Step 2 of 3")
        house.kill()
        expect(page.locator(".cut")).to_have_count(1)
        house.go()
        expect(page.locator(".answer:not(.live)")).to_contain_text("All 3 steps are done.")
        context.close()
        yield house


def look(context: BrowserContext, place: str) -> Page:
    page = context.new_page()
    page.goto(f"/operator#{place}")
    page.locator("#page[aria-busy=false]").wait_for()
    return page


@pytest.fixture
def overview(context: BrowserContext) -> Page:
    return look(context, "overview")


def tile(page: Page, words: str) -> Locator:
    return page.locator(".tile").filter(has_text=words).locator("b")


def test_the_overview_says_how_the_gateway_stands(overview: Page) -> None:
    expect(overview.locator(".hero .state")).to_have_text("Running")
    expect(overview.locator(".hero")).to_contain_text("holdfast supervisor")
    expect(tile(overview, "unknown sends")).to_have_text("3")
    expect(tile(overview, "set aside")).to_have_text("1")
    expect(overview.locator("#badge-outbox")).to_have_text("3")
    expect(overview.locator(".lately")).to_have_text(LATELY)


def test_every_run_is_a_bar_with_its_end_in_words_and_what_became_of_what_it_left(overview: Page) -> None:
    expect(overview.locator(".run.crashed .end").last).to_contain_text("crashed within")
    expect(overview.locator(".run.running .end")).to_contain_text("running for")
    killed = overview.locator(".run.crashed").last
    expect(killed).to_have_attribute("aria-label", re.compile("crash.*Left: 1 turn: 1 resumed"))
    killed.focus()
    expect(overview.locator("#tip")).to_contain_text("1 turn: 1 resumed")
    overview.keyboard.press("Escape")
    expect(overview.locator("#tip")).to_be_hidden()
    overview.locator("summary", has_text="As a table").click()
    row = overview.get_by_role("region", name="Runs as a table").locator("tr").filter(has_text="1 resumed")
    expect(row).to_contain_text("crashed")


def test_the_plots_say_what_they_show(overview: Page) -> None:
    expect(overview.locator("svg.pace")).to_have_attribute("aria-label", re.compile(r"last hour: \d+ in all"))
    expect(overview.locator("svg.recovery")).to_have_attribute("aria-label", re.compile("newest .*, longest"))
    assert overview.locator("svg.recovery rect").count() >= 2


def test_the_last_start_is_explained_and_leads_to_the_conversation(overview: Page) -> None:
    report = overview.locator(".report")
    expect(report).to_contain_text("recorded no end")
    expect(report.locator(".fates .pill")).to_have_text("resumed")
    report.get_by_role("link", name="steps 3").click()
    expect(overview.locator("#title")).to_have_text("Session")
    expect(overview.locator(".transcript .said")).to_contain_text("steps 3")
    expect(overview.locator(".decisions")).to_contain_text("Cut off: the process died")
    expect(overview.locator(".decisions")).to_contain_text("Resumed after interruption 1")
    expect(overview.get_by_role("region", name="Tool calls").locator("code")).to_have_text(["note"] * 3)
    expect(overview.get_by_role("region", name="Outbox")).to_contain_text("All 3 steps are done.")


@pytest.mark.parametrize("width", [360, 1280])
def test_what_recovery_decided_is_read_in_whole_lines(overview: Page, width: int) -> None:
    overview.set_viewport_size({"width": width, "height": 800})
    overview.locator(".report").get_by_role("link", name="steps 3").click()
    panel = overview.get_by_role("region", name="What recovery decided")
    expect(panel.locator(".sentence").first).to_be_visible()
    narrow = panel.locator("li > p").evaluate_all(
        """all => all.filter((one) => one.offsetWidth < one.parentElement.offsetWidth * 0.9)
                     .map((one) => one.innerText)"""
    )
    assert narrow == []
    picture(overview, f"operator-session-{width}")


def test_a_turn_tells_its_whole_life(overview: Page) -> None:
    overview.locator(".report").get_by_role("link", name="steps 3").click()
    overview.locator("summary", has_text="Everything that happened").first.click()
    expect(overview.locator(".trace .break")).to_have_count(1)
    expect(overview.locator(".trace li").first).to_contain_text("accepted")


def test_sessions_are_found_by_text_and_state_and_the_address_keeps_it(context: BrowserContext) -> None:
    page = look(context, "sessions")
    rows = page.locator("tbody tr")
    expect(rows.filter(has_text=CHAT)).to_have_count(1)
    page.get_by_label("Conversation or session").fill("OPERA")
    expect(rows).to_have_count(1)
    expect(page).to_have_url(re.compile(r"#sessions\?q=OPERA"))
    expect(page.get_by_label("Conversation or session")).to_be_focused()
    page.get_by_label("Last turn").select_option("failed")
    expect(page.locator("#page")).to_contain_text("No session matches.")
    page.reload()
    expect(page.get_by_label("Last turn")).to_have_value("failed")
    page.get_by_label("Last turn").select_option("done")
    expect(rows).to_have_count(1)
    page.get_by_label("Platform").select_option("web")
    expect(rows).to_have_count(1)
    page.get_by_role("link", name="Sessions", exact=True).click()
    expect(page.get_by_label("Conversation or session")).to_have_value("")


HOLD_TIMERS = """
const real = setTimeout, forget = clearTimeout;
window.held = new Map();
window.setTimeout = (then, after, ...more) => {
    if (after !== 200) return real(then, after, ...more);
    const id = 1e9 + Math.random();
    held.set(id, then);
    return id;
};
window.clearTimeout = (id) => held.delete(id) || forget(id);
"""


def test_a_filter_typed_just_before_going_elsewhere_is_let_go_of(context: BrowserContext) -> None:
    context.add_init_script(HOLD_TIMERS)
    page = look(context, "sessions")
    expect(page.get_by_label("Conversation or session")).to_be_visible()
    held = page.evaluate("""() => {
        const box = document.querySelector("#tools input");
        box.value = "nobody";
        box.dispatchEvent(new Event("input", { bubbles: true }));
        const typed = held.size;
        dispatchEvent(new HashChangeEvent("hashchange"));
        for (const then of held.values()) then();
        return typed;
    }""")
    assert held > 0
    expect(page.get_by_label("Conversation or session")).to_have_value("")
    expect(page).to_have_url(re.compile(r"#sessions$"))


def test_sends_in_doubt_are_settled_one_by_one(context: BrowserContext) -> None:
    page = look(context, "outbox")
    cards = page.locator(".doubts > li")
    expect(cards).to_have_count(3)
    cards.filter(has_text=DOUBTS[0]).get_by_role("button", name="It arrived").click()
    expect(cards).to_have_count(2)
    cards.filter(has_text=DOUBTS[1]).get_by_role("button", name="Send again").click()
    expect(cards).to_have_count(1)
    cards.get_by_role("button", name="Drop it").click()
    page.get_by_role("button", name="Cancel").click()
    expect(cards).to_have_count(1)
    cards.get_by_role("button", name="Drop it").click()
    page.locator("#ask-yes").click()
    expect(page.locator("#page")).to_contain_text("No unknown sends")


def test_somebody_is_let_in_by_their_code_and_taken_out(context: BrowserContext) -> None:
    page = look(context, "people")
    expect(page.get_by_role("region", name="Who asks")).to_contain_text("elsewhere:eve")
    code = page.get_by_label("Code that the person got")
    code.fill("zzzz-9999")
    code.press("Enter")
    expect(page.locator("#toast")).to_contain_text("no such code")
    code.fill("abcd-2345")
    page.get_by_role("button", name="Let them in").click()
    expect(page.locator("#toast")).to_contain_text("elsewhere:eve is let in")
    granted = page.get_by_role("region", name="Who was let in").locator("tbody tr")
    expect(granted).to_contain_text("elsewhere:eve")
    expect(page.get_by_role("region", name="Who asks").locator("tbody tr")).to_have_count(0)
    granted.get_by_role("button", name="Remove").click()
    page.locator("#ask-yes").click()
    expect(granted).to_have_count(0)


def test_what_was_set_aside_is_shown_as_it_came(context: BrowserContext) -> None:
    page = look(context, "set-aside")
    expect(page.locator(".panel")).to_contain_text("neither text nor attachment")
    expect(page.locator("pre")).to_contain_text('"b": "<script>"')


def test_a_page_follows_what_happens_without_being_asked(
    context: BrowserContext, overview: Page, house: House
) -> None:
    house.hold("words")
    chat = houses.opened(context, "live")
    houses.say(chat, "say one two")
    expect(tile(overview, "turns at work")).to_have_text("1")
    row = look(context, "sessions").locator("tbody tr").filter(has_text="web · live")
    expect(row).to_contain_text("say one two")
    expect(row).to_contain_text("running")
    expect(row).not_to_contain_text("strike")
    house.go()
    expect(tile(overview, "turns at work")).to_have_text("0")


def test_a_restart_shows_its_plan_first_and_then_how_far_it_is(context: BrowserContext, house: House) -> None:
    house.hold("words")
    chat = houses.opened(context, "planned")
    houses.say(chat, "say one two")
    page = look(context, "restart")
    plan = page.locator("tbody tr").filter(has_text="planned")
    expect(plan).to_contain_text("resumes after the restart")
    page.get_by_role("button", name="Restart now").click()
    expect(page.locator("#ask")).to_contain_text("One turn runs.")
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Restart when quiet").click()
    expect(page.locator(".steps .did")).to_have_count(1)
    house.go()
    expect(page.locator(".steps .did")).to_have_count(4)
    expect(page.locator("#live")).to_have_text("Live")
    page.goto("/operator#overview")
    expect(page.locator(".run.restart .end").last).to_contain_text("restarted after")


def test_killed_under_the_page_it_says_so_and_comes_back_by_itself(overview: Page, house: House) -> None:
    before = overview.locator(".run").count()
    house.kill()
    expect(overview.locator("#live")).to_contain_text("does not answer")
    expect(overview.locator("#live")).to_have_text("Live")
    expect(overview.locator(".run")).to_have_count(before + 1)
    expect(overview.locator(".run.running")).to_have_count(1)


def test_a_fold_that_was_opened_and_the_focus_stay_while_the_page_renews_itself(
    overview: Page, context: BrowserContext
) -> None:
    overview.locator("summary", has_text="As a table").click()
    first = overview.locator(".run").first
    first.focus()
    chat = houses.opened(context, "renewed")
    houses.say(chat, "say hello")
    expect(chat.locator(".answer:not(.live)")).to_have_count(1)
    expect(overview.locator(".panel details")).to_have_attribute("open", "")
    expect(first).to_be_focused()


def test_everything_is_reached_by_keyboard(overview: Page) -> None:
    overview.keyboard.press("Tab")
    overview.keyboard.press("Enter")
    expect(overview.locator("#view")).to_be_focused()
    link = overview.get_by_role("link", name="Sessions", exact=True)
    link.focus()
    overview.keyboard.press("Enter")
    expect(overview.locator("#title")).to_have_text("Sessions")
    expect(overview.locator("#view")).to_be_focused()
    expect(link).to_have_attribute("aria-current", "page")


@pytest.mark.parametrize("width", [1360, 390])
def test_no_page_is_wider_than_its_window_nor_closed_to_anybody(
    browser: Browser, house: House, width: int
) -> None:
    context = houses.signed_in(browser, house, viewport={"width": width, "height": 860})
    page = look(context, "overview")
    session = page.evaluate("""async () => {
        const found = await (await import("/api.js")).get("/api/sessions?limit=1");
        return found.sessions[0].id;
    }""")
    for place in (*PLACES, f"session/{session}"):
        page.goto(f"/operator#{place}")
        page.locator("#page[aria-busy=false] > *").first.wait_for()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), place
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            picture(page, f"operator-{place.partition('/')[0]}-{width}-{scheme}")
            assert violations(page) == [], (place, scheme)
    context.close()
