"""The gateway dies under the page: what was said is kept, what was begun goes on, nothing is shown twice."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Route, expect

from tests.browser.houses import SETTINGS, House, house, opened, picture, say, signed_in
from tests.browser.scripted import WORDS

expect.set_options(timeout=30_000)

CUT = re.compile(r"The gateway ended unexpectedly\. The work resumed .+ later, after step 1\.")
STORY = [
    "The gateway kept your message",
    "The work began",
    "A new process found the work cut off",
    "The work resumed",
    "The work was done",
    "The answer was sent",
]
AWAY = "The gateway does not answer. Reconnecting… Nothing is lost."
ANSWERS = [re.compile("All 3 steps are done."), re.compile(r"Heard: what was that\?")]


@pytest.mark.guards("R2.3")
def test_killed_under_two_tabs_the_answer_goes_on_once_in_each_with_one_honest_line(
    page: Page, context: BrowserContext, chat: str, house: House
) -> None:
    other = opened(context, chat)
    faults = watched(page)
    page.evaluate(LISTEN)
    house.hold("tool-2")
    say(page, "steps 3")
    for tab in (page, other):
        expect(tab.locator(".step.running")).to_contain_text("Step 2 of 3")
    house.kill()
    for tab in (page, other):
        expect(tab.locator("#banner")).to_have_text(AWAY)
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
    assert len([words for words in page.evaluate("heard") if CUT.search(words)]) == 1
    page.reload()
    expect(page.locator(".answer:not(.live)")).to_have_text(ANSWERS)
    expect(page.locator(".you")).to_have_count(2)
    expect(page.locator(".cut .said")).to_have_text(CUT)
    expect(page.locator("#spoken")).to_have_text("")
    assert faults == []


LISTEN = """() => {
    window.heard = [];
    const spoken = document.querySelector("#spoken");
    new MutationObserver(() => heard.push(spoken.textContent)).observe(spoken, { childList: true });
}"""
"""Keep what a screen reader would say."""


def watched(page: Page) -> list[str]:
    """What the page complains of, but for requests that nobody answered."""
    faults: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith("Failed to load resource"):
            faults.append(message.text)

    page.on("console", hear)
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    return faults


def test_a_connection_that_has_gone_silent_is_given_up_and_made_anew(
    context: BrowserContext, chat: str
) -> None:
    page = context.new_page()
    page.clock.install()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/events?" in request.url else None)
    page.goto(f"/#{chat}")
    say(page, "hello")
    expect(page.locator(".answer:not(.live)")).to_have_count(1)
    expect(page.locator("#activity")).to_be_hidden()
    before = len(asked)
    page.clock.fast_forward(20_000)
    assert len(asked) == before
    kills = page.locator("button:visible", has_text="kill -9")
    expect(kills).to_have_count(2)
    context.route("**/events?*", lambda route: route.abort())
    page.clock.fast_forward(41_000)
    expect(page.locator("#banner")).to_be_visible()
    for kill in kills.all():
        expect(kill).to_be_disabled()
    context.unroute("**/events?*")
    expect(page.locator("#banner")).to_be_hidden()
    assert all("after=1" in url for url in asked[before:])
    say(page, "still there?")
    expect(page.locator(".answer:not(.live)")).to_have_count(2)


def test_days_stand_between_what_was_said_on_them(page: Page) -> None:
    shown = page.evaluate("""async () => {
        const { Conversation } = await import("/conversation.js");
        const talk = new Conversation("a");
        const day = 24 * 3600 * 1000, today = Date.now();
        [today - 2 * day, today - day, today - day, today].forEach((at, place) =>
            talk.hearDelivery({ number: place + 1, kind: "notice", text: "n", at }));
        return talk.items().map((item) => item.kind);
    }""")
    assert shown == ["day", "notice", "day", "notice", "notice", "day", "notice"]


def test_words_that_come_after_their_commit_are_not_shown_again(page: Page) -> None:
    """Of what a model writes the page hears on another way than of what is committed."""
    shown = page.evaluate("""async () => {
        const { Conversation } = await import("/conversation.js");
        const talk = new Conversation("a");
        talk.hearStanding({ session: "s", turn: { id: "t" }, said: [], interruptions: [] });
        const shown = () => talk.items().map((item) => [item.kind, item.text]);
        talk.hearPreview("Step 1");
        const step = { seq: 1, turn: "t", at: Date.now(), kind: "replied", text: "Step 1 of 2" };
        talk.hearStep({ ...step, calls: [{ name: "note" }] }, "s");
        talk.hearPreview("Step 1 of");
        const late = shown();
        talk.hearPreview("");
        talk.hearPreview("what it puts out");
        const output = shown();
        talk.hearStep({ seq: 2, turn: "t", at: Date.now(), kind: "returned", state: "done", text: "" }, "s");
        talk.hearPreview("Step");
        return [late, output, shown()];
    }""")
    step = ["step", "Step 1 of 2"]
    assert shown == [[step], [step, ["output", "what it puts out"]], [step, ["live", "Step"]]]


def test_a_message_that_was_taken_up_is_not_shown_among_the_waiting_as_well(page: Page) -> None:
    """That it was taken up the page hears on another way than what waits, and sometimes before."""
    shown = page.evaluate("""async () => {
        const { Conversation } = await import("/conversation.js");
        const talk = new Conversation("a");
        const waits = (position, text) => ({ position, text, at: 1000 + position, state: "waiting" });
        const still = { session: "s", turn: null, said: [], interruptions: [] };
        const stands = (seq, ...waiting) => ({ ...still, waiting, cursor: { session: "s", seq } });
        const said = (seq, text, at) => talk.hearStep({ seq, turn: `t${seq}`, at, kind: "said", text }, "s");
        const shown = () => talk.waiting.map((row) => row.position);
        said(1, "yes", 500);
        talk.hearStanding(stands(1, waits(7, "yes"), waits(8, "go"), waits(9, "yes")));
        const before = shown();
        said(2, "yes", 2000);
        const taken = shown();
        talk.hearStanding(stands(1, waits(7, "yes"), waits(8, "go"), waits(9, "yes")));
        const late = shown();
        talk.hearStanding(stands(2, waits(8, "go"), waits(9, "yes")));
        return [before, taken, late, shown()];
    }""")
    assert shown == [[7, 8, 9], [8, 9], [8, 9], [8, 9]]


def test_what_was_cut_off_is_not_shown_beside_what_took_its_place(page: Page) -> None:
    """The page hears the step or the answer on another way than the standing, and sometimes before."""
    shown = page.evaluate("""async () => {
        const { Conversation } = await import("/conversation.js");
        const hear = (talk, step) => talk.hearStep({ turn: "t", at: Date.now(), ...step }, "s");
        const begun = (...cut_off) => {
            const talk = new Conversation("a");
            const turn = { id: "t", cut_off };
            const cursor = { session: "s", seq: 1 };
            talk.hearStanding({ session: "s", turn, said: [], interruptions: [], cursor });
            hear(talk, { seq: 1, kind: "replied", text: "Step 1", calls: [{ id: "c" }] });
            return talk;
        };
        const shown = (talk) => talk.items().map((item) => [item.kind, item.text, item.cut ?? false]);
        const half = { call: null, text: "The ans" };
        const stays = begun(half);
        const answer = begun(half);
        const reply = { number: 1, kind: "reply", text: "The answer", turn: "t", files: [] };
        answer.hearDelivery({ ...reply, at: Date.now() });
        const step = begun(half);
        hear(step, { seq: 2, kind: "replied", text: "Step 2", calls: [{ id: "d" }] });
        const output = begun({ call: "c", text: "1 of 2" });
        const before = shown(output);
        hear(output, { seq: 2, kind: "returned", call: "c", state: "done", text: "" });
        return [shown(stays), shown(answer), shown(step), before, shown(output)];
    }""")
    first = ["step", "Step 1", False]
    assert shown == [
        [first, ["live", "The ans", True]],
        [first, ["reply", "The answer", False]],
        [first, ["step", "Step 2", False]],
        [first, ["output", "1 of 2", True]],
        [first],
    ]


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
    expect(page.locator(".cut .why")).to_contain_text("ended without warning")
    expect(page.locator(".cut .why")).to_contain_text("The gateway told the agent")
    expect(page.locator(".cut dd")).to_have_text(STORY)
    page.get_by_role("link", name="All details").click()
    expect(page.locator("#title")).to_have_text("Session")
    expect(page.locator(".decisions")).to_contain_text("Cut off: the process died")


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
