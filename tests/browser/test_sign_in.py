"""A sign-in in a real browser: what other ports learn of it, several tabs, signing out, the back button."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.houses import House, opened, picture, say


class Preview(HTTPServer):
    """A page of an agent on another port of this machine; it keeps what browsers send along."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Visit)
        self.visits: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}/"


class _Visit(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Preview)
        self.server.visits.append(str(self.headers))
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<h1>Preview</h1>")

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def preview() -> Iterator[Preview]:
    with Preview() as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield server
        server.shutdown()
        serving.join()


@pytest.mark.guards("R22.9")
def test_a_page_on_another_port_gets_the_cookie_and_cannot_read_or_change_a_thing(
    page: Page, house: House, preview: Preview
) -> None:
    other = page.context.new_page()
    other.goto(preview.url)
    stolen = next(line for line in preview.visits[0].splitlines() if line.startswith("Cookie:"))
    assert "holdfast-" in stolen, "the attack needs the cookie"
    assert other.evaluate("localStorage.length") == 0
    proof = page.evaluate("localStorage.getItem('holdfast.proof')")
    assert len(proof) == 64 and not any(proof in visit for visit in preview.visits)
    # With the browser of the person, from the other page, and from a program that has the cookie.
    asked = "(url) => fetch(url, {credentials: 'include'}).then((answer) => answer.status, () => 'refused')"
    assert other.evaluate(asked, f"{house.url}/api/chats") == "refused"
    with httpx.Client(headers={"Cookie": stolen.partition(": ")[2]}) as thief:
        assert thief.get(f"{house.url}/api/chats").status_code == 401
    say(page, "say still here")
    expect(page.locator(".answer:not(.live)")).to_contain_text("still here")


@pytest.mark.guards("R22.9")
def test_signing_out_ends_every_tab_and_the_back_button_shows_nothing(
    context: BrowserContext, house: House, chat: str
) -> None:
    page, other = opened(context, chat), opened(context, chat)
    say(page, "say a secret")
    expect(page.locator(".answer:not(.live)")).to_contain_text("a secret")
    page.get_by_role("button", name="Sign out").click()
    for each in (page, other):
        each.wait_for_url("**/login")
        assert each.evaluate("localStorage.getItem('holdfast.proof')") == ""
    picture(page, "signed-out")
    page.go_back()
    page.wait_for_url("**/login")
    page.get_by_label("Token").fill(house.token)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/#*")
    page.goto(f"/#{chat}")
    expect(page.locator(".answer:not(.live)")).to_contain_text("a secret")


def test_another_tab_that_signed_in_meanwhile_is_enough_for_this_one(
    context: BrowserContext, house: House, chat: str
) -> None:
    page, other = opened(context, chat), context.new_page()
    # The page hears of it by itself, and leaves; nothing of it is waited for inside.
    page.evaluate(
        "void fetch('/logout', {method: 'POST', headers: {'X-Holdfast': localStorage['holdfast.proof']}})"
    )
    page.wait_for_url("**/login")
    other.goto(house.link())
    expect(other.locator("#empty, #log > li").first).to_be_visible()
    page.goto(f"/#{chat}")
    say(page, "say hello again")
    expect(page.locator(".answer:not(.live)")).to_contain_text("hello again")


@pytest.mark.parametrize("width", [360, 1280])
def test_the_way_out_is_there_on_a_phone_and_on_a_desk(
    context: BrowserContext, chat: str, width: int
) -> None:
    page = opened(context, chat)
    page.set_viewport_size({"width": width, "height": 740})
    if width < 800:
        page.get_by_role("button", name="Chats").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    page.wait_for_function("document.getAnimations().length === 0")
    picture(page, f"way-out-chat-{width}")
    page.goto("/operator")
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    expect(page.locator("#live")).to_have_text("Live")
    picture(page, f"way-out-operator-{width}")
