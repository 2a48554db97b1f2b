"""python -m tests.browser.portrait FILE    the README's picture: a real gateway, killed under the page."""

import sys
import tempfile
from pathlib import Path

from tests.browser.houses import House, chromium, free_port, opened, say, signed_in
from tests.support.commands import up

SIZE = {"width": 1200, "height": 800}
EARLIER = {
    "notes": "What have you done?",
    "release": "Do 2 steps for the release notes.",
    "invoices": "Sort the invoices of March, in 4 steps.",
}


def portrait(file: Path) -> None:
    """One conversation with the demonstration that went through a kill -9."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        house = House(Path(folder), free_port())
        with up(house.home, "--port", house.port, pace="0.15"):
            context = signed_in(browser, house, viewport=SIZE, color_scheme="light")
            for chat, words in EARLIER.items():
                page = opened(context, chat)
                say(page, words)
                page.locator(".answer:not(.live)").wait_for()
                page.close()
            page = opened(context, "plan")
            page.get_by_role("button", name="Close this tour").click()
            say(page, "Work through 6 steps. I am going to kill you in the middle.")
            page.locator(".step.done").nth(2).wait_for()
            house.kill()
            page.locator(".cut").wait_for()
            page.locator(".answer:not(.live)").wait_for()
            page.locator("#chats [aria-current] .when").wait_for()
            page.screenshot(path=file, animations="disabled")
            context.close()


if __name__ == "__main__":
    portrait(Path(sys.argv[1]))
