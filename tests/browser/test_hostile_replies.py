"""No reply breaks its chat: neither what comes after it, nor the tab it is shown in."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser import houses
from tests.browser.houses import House, opened, say
from tests.browser.test_asking import CAREFUL

expect.set_options(timeout=30_000)

ENDLESS = {
    "quotes in quotes": ">" * 6_000,
    "quotes with blanks": "> " * 6_000,
    "lists in lists": "+ " * 6_000,
    "lists of two kinds": "1. + " * 3_000,
    "brackets": "[" * 20_000,
    "a heading with a gap": f"# a{' ' * 30_000}b",
    "a wide table of short rows": f"{'|a' * 2_000}|\n{'|-' * 2_000}|\n{'|' * 4 + chr(10)}" * 2,
}
"""What once overflowed the stack, or held the tab for seconds."""


@pytest.fixture(scope="module")
def shared(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with houses.house(tmp_path_factory.mktemp("asks"), CAREFUL) as house:
        yield house


@pytest.mark.guards("R22.8")
def test_a_chat_goes_on_behind_replies_that_are_hard_to_draw(context: BrowserContext, chat: str) -> None:
    page = opened(context, chat)
    for number, (what, reply) in enumerate(ENDLESS.items(), start=1):
        say(page, f"say {reply}")
        expect(page.locator(".answer:not(.live)"), what).to_have_count(number)
    say(page, "say All is well.")
    say(page, "delete report.txt")
    for _ in range(2):
        expect(page.locator(".answer .md").last).to_contain_text("All is well.")
        expect(page.locator(".question.consent.open pre")).to_contain_text("path: report.txt")
        page.reload()
    page.get_by_role("button", name="Allow once").click()
    expect(page.locator(".question.consent .outcome")).to_be_visible()


def test_quotes_and_lists_that_are_too_deep_are_shown_as_text(page: Page) -> None:
    say(page, f"say {'>' * 50} the end")
    answer = page.locator(".answer:not(.live) .md")
    expect(answer).to_contain_text(f"{'>' * 20} the end")
    assert 5 < answer.locator("blockquote").count() < 40


@pytest.mark.guards("R22.8")
def test_a_message_that_cannot_be_drawn_is_shown_as_plain_text(page: Page) -> None:
    shown = page.evaluate("""async () => {
        const { showMarkdown } = await import("/markdown.js");
        const element = document.createElement("div");
        showMarkdown(element, "**before**");
        const split = String.prototype.split;
        String.prototype.split = () => { throw new RangeError("too deep"); };
        try { showMarkdown(element, "**a** <b>"); } finally { String.prototype.split = split; }
        const broken = element.innerHTML;
        showMarkdown(element, "**after**");
        return [broken, element.innerHTML];
    }""")
    assert shown == ["<pre>**a** &lt;b&gt;</pre>", "<p><strong>after</strong></p>"]


def test_an_item_that_cannot_be_drawn_keeps_no_other_from_being_drawn(page: Page) -> None:
    shown = page.evaluate("""async () => {
        const { Keyed } = await import("/keyed.js");
        const list = document.createElement("ol");
        const fill = (node, item) => {
            if (item.key === 2) throw new RangeError("too deep");
            node.replaceChildren(item.text.toUpperCase());
        };
        new Keyed(list, fill).show([1, 2, 3].map((key) => ({ key, text: `<b>${key}</b> a` })));
        return [...list.children].map((node) => node.textContent);
    }""")
    assert shown == ["<B>1</B> A", "<b>2</b> a", "<B>3</B> A"]


# Time. Each text is made of n and of 8n characters; the square would take 64 times as long.

REPEATED = [
    *(
        "[",
        "]",
        "[a](",
        "[a](b ",
        '[a](b "',
        "![",
        "[x][",
        "[[a]",
        "[a]((b)",
        "<http://a",
        "<",
        "\\",
        "(",
        ")",
    ),
    *(
        "*a ",
        "**a ",
        "**a",
        "***a_",
        "*a**",
        "_a ",
        "__a ",
        "~~a ",
        "~~~",
        "``a`",
        "`a ``b ",
        "*[`_",
        "**a *b ",
    ),
    *("http://a", "https://a.", "http://a) ", "http://((a))", "a@b.", "tg://a "),
    *(
        "- a\n",
        "  - ",
        "+ ",
        "1. ",
        "1. + ",
        "> ",
        ">",
        ">\n",
        "> - ",
        "- a\n\n",
        "a\n\n",
        "a\n",
        "  \n",
        " \n\t",
    ),
    *(
        "|",
        "|\n",
        "|a|b\n|-|-\n",
        "a|b\n",
        "-|",
        ":-",
        "---\n",
        "- - -x\n",
        "* * x\n",
        "# a\n",
        "# a #\n",
        "#",
    ),
    *(
        "```a\n",
        "```js\n/*\n```\n",
        "```py\n'''a\n```\n",
        "~~~\n",
        " ",
        "\t",
        "\n",
        "\r",
        "\u2028",
        "- \u2028a",
        "a",
    ),
]
BEGUN = [
    *(("# a", " ", "b"), ("# ", " #", "b"), ("# a ", "#", "b"), ("a|b\n", " ", "x-"), ("a|b\n", "-", "x")),
    *(
        ("a|b\n|", " -", "x"),
        ("```", " ", "`"),
        ("```", "a", "`"),
        ("~~~", "a", "`"),
        ("`", "``", "a"),
        ("*", " ", "x"),
    ),
    *(
        ("- ", " ", "a\u2028"),
        ("- ", " ", ""),
        ("a|", "\\|", "\n-|-"),
        ("https://a", ".", "b"),
        ("https://a", ")", ""),
    ),
    *(
        ("https://a", "(", ""),
        ("https://a", ").", ""),
        ("*", "a ", ""),
        ("**", "a ", "*"),
        ("[", "[a]", ""),
        ("[a](", "b", ""),
    ),
    *(
        ("[a](b", " ", "c"),
        ("a", "  ", "b\n"),
        ("```js\n", "/*", "\n```"),
        ("```js\n", '"\\', "\n```"),
        ("```js\n", "1.", "x"),
    ),
    *(
        ("```js\n", "`${", "\n```"),
        ("```js\n", "1", "g\n```"),
        ("```html\n", "<!--", "\n```"),
        ("```js\n", "'\n", "\n```"),
    ),
]
TEXTS = [*(("", unit, "") for unit in REPEATED), *BEGUN]

MEASURED = """async (texts) => {
    const { showMarkdown } = await import("/markdown.js");
    const SMALL = 40;  // milliseconds in which nothing can be compared, nor held up
    const timed = (text) => {
        const began = performance.now();
        showMarkdown(document.createElement("div"), text);
        return performance.now() - began;
    };
    const least = (text) => Math.min(timed(text), timed(text), timed(text));
    // A busy machine makes one comparison wrong, not three in a row.
    const isOnce = (made) => least(made(40_000)) > Math.max(SMALL, 24 * least(made(5_000)));
    const isSteep = (made) => isOnce(made) && isOnce(made) && isOnce(made);
    const steep = [];
    for (const [begin, unit, end] of texts) {
        const made = (n) => begin + unit.repeat(Math.ceil(n / unit.length)) + end;
        if (timed(made(40_000)) > SMALL && isSteep(made)) steep.push([begin, unit, end]);
    }
    return steep;
}"""


@pytest.mark.guards("R22.8")
def test_the_time_to_draw_a_reply_grows_no_faster_than_the_reply(page: Page) -> None:
    page.set_default_timeout(300_000)
    assert page.evaluate(MEASURED, TEXTS) == []


# A card reads in the order of its characters.

TO_THE_LEFT = "rm \u05d0\u05d1/\u05d2 \u0627\u0628 1 2 \u05d4"


@pytest.mark.guards("R22.4")
def test_letters_that_run_to_the_left_move_nothing_on_a_card(page: Page) -> None:
    say(page, f"delete {TO_THE_LEFT}")
    expect(page.locator(".question.consent.open pre")).to_contain_text("path: rm")
    places = page.evaluate("""() => {
        const text = document.querySelector(".question.consent .argument").firstChild;
        return [...text.data.trimEnd()].map((_, at) => {
            const range = document.createRange();
            range.setStart(text, at);
            range.setEnd(text, at + 1);
            const box = range.getBoundingClientRect();
            return [Math.round(box.top), Math.round(box.left)];
        });
    }""")
    assert len(places) == len(f"path: {TO_THE_LEFT}")
    assert places == sorted(places), json.dumps(places)


@pytest.mark.guards("R22.4")
def test_the_line_above_a_card_hides_no_character_of_the_call_either(page: Page) -> None:
    say(page, "delete \u202egpj.yadiloh\u200b \u3164x")
    named = r"\u{202e}gpj.yadiloh\u{200b} \u{3164}x"
    expect(page.locator(".question.consent.open pre")).to_contain_text(named)
    expect(page.locator(".step .tool-name")).to_have_text(f"delete_file {named}")
