"""What an agent writes is shown as Markdown and never runs; who is not signed in sees nothing."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.houses import House, opened, picture, say

expect.set_options(timeout=30_000)

HOSTILE = """say # Title <img src=x onerror="window.ran=1">

<script>window.ran = 1</script>
<iframe src="javascript:window.ran=1"></iframe>

[press](javascript:window.ran=1) [me](data:text/html,<script>1</script>) [too](JaVaScRiPt:1) [ok](https://example.org/a?b=1&c=2)
![picture](javascript:1) <javascript:alert(1)> [x](vbscript:1) [y](/api/status) [z](blob:x)

| a | <b>b</b> |
|---|---:|
| `<i>` | <svg onload="window.ran=1"> |

```html
<script>window.ran = 1</script>
```"""

RICH = """say ## A heading

Some *emphasis*, some **weight**, `code`, ~~gone~~, and https://example.org/path_(x). And snake_case_words.

1. one
2. two
   - inner *item*
   - another

> quoted
> twice

| left | right |
|:-----|------:|
| a | 1 |

```python
def f(x):  # a comment
    return "text" + str(42)
```

---
Done, in the end."""


@pytest.mark.guards("R14")
def test_nothing_an_agent_writes_runs_or_becomes_markup(page: Page) -> None:
    say(page, HOSTILE)
    answer = page.locator(".answer:not(.live) .md")
    expect(answer).to_be_visible()
    assert answer.locator("script, img, iframe, svg, b, i, style, object").count() == 0
    links = answer.locator("a")
    expect(links).to_have_count(1)
    expect(links).to_have_attribute("href", "https://example.org/a?b=1&c=2")
    expect(links).to_have_attribute("rel", "noopener noreferrer nofollow")
    expect(answer).to_contain_text("<script>window.ran")
    assert page.evaluate("window.ran") is None


def test_markdown_is_set_as_it_was_meant(page: Page) -> None:
    say(page, RICH)
    answer = page.locator(".answer:not(.live) .md")
    expect(answer.locator("h2")).to_have_text("A heading")
    expect(answer.locator("em").first).to_have_text("emphasis")
    expect(answer.locator("strong")).to_have_text("weight")
    expect(answer.locator("p code")).to_have_text("code")
    expect(answer.locator("del")).to_have_text("gone")
    expect(answer.locator("a")).to_have_attribute("href", "https://example.org/path_(x)")
    expect(answer).to_contain_text("snake_case_words")
    expect(answer.locator("ol > li")).to_have_count(2)
    expect(answer.locator("ol ul > li")).to_have_count(2)
    expect(answer.locator("blockquote")).to_contain_text("quoted")
    expect(answer.locator("td.right")).to_have_text("1")
    expect(answer.locator("pre .k").first).to_have_text("def")
    expect(answer.locator("pre .c")).to_have_text("# a comment")
    expect(answer.locator("hr")).to_have_count(1)


def test_code_can_be_copied(page: Page, context: BrowserContext) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    say(page, "say ```sh\necho 'hi' # there\n```")
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "echo 'hi' # there"


# Signing in.


@pytest.fixture
def stranger(browser: Browser, house: House) -> Iterator[Page]:
    context = browser.new_context(base_url=house.url)
    context.set_default_timeout(30_000)
    yield context.new_page()
    context.close()


@pytest.mark.guards("R14")
def test_a_stranger_is_sent_to_the_door(stranger: Page) -> None:
    stranger.goto("/")
    stranger.wait_for_url("**/login")
    picture(stranger, "login")


def test_a_link_signs_in_once_and_leaves_no_secret_in_the_address(stranger: Page, house: House) -> None:
    link = house.link()
    stranger.goto(link)
    expect(stranger.locator("#empty")).to_be_visible()
    assert "key" not in stranger.url
    stranger.goto(link)
    expect(stranger.locator("#empty")).to_be_visible()  # a browser that is signed in goes on
    stranger.context.clear_cookies()
    stranger.goto(link)
    expect(stranger.locator("h1")).to_have_text("Not signed in")
    expect(stranger.locator("#wrong")).to_contain_text("it works once, for 15 minutes")
    picture(stranger, "login-link-spent")
    assert "key" not in stranger.url
    stranger.goto(house.link())  # into the tab that is there already: no page is loaded for it
    expect(stranger.locator("#empty")).to_be_visible()


def test_a_token_signs_in_and_a_wrong_one_is_said_to_be_wrong(stranger: Page, house: House) -> None:
    stranger.goto("/login")
    stranger.get_by_label("Token").fill("not the token")
    stranger.get_by_role("button", name="Sign in").click()
    expect(stranger.locator("#wrong")).to_have_text("This is not the token of this gateway.")
    stranger.get_by_label("Token").fill(house.token)
    stranger.get_by_role("button", name="Sign in").click()
    expect(stranger.locator("#empty")).to_be_visible()
    cookie = stranger.context.cookies()[0]
    assert cookie["httpOnly"] and cookie["sameSite"] == "Strict"


def test_what_was_written_before_the_sign_in_ran_out_is_sent_after_it(
    context: BrowserContext, house: House, chat: str
) -> None:
    page = opened(context, chat)
    context.clear_cookies()
    say(page, "written just in time")
    page.wait_for_url("**/login")
    page.get_by_label("Token").fill(house.token)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator(".answer:not(.live)")).to_contain_text("Heard: written just in time")
