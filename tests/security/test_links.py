"""Links that a model writes: only those of the web and of mail can be followed by a tap."""

import html
import re

import pytest

from holdfast.platforms.telegram.format import LONGEST, render
from holdfast.platforms.telegram.wire import text_for
from holdfast.policy.parts import width

LIVE = re.compile(r"(?:tg|ton|tonsite)://[a-z0-9_-]", re.IGNORECASE)
"""What Telegram makes a link of by itself, wherever it stands, as its own client library finds it."""
CODE = re.compile(r"<(code|pre)\b.*?</\1>", re.DOTALL)
ADDRESS = "tg://resolve?domain=thief&start=token"


@pytest.mark.parametrize(
    "text",
    [
        f"[Continue]({ADDRESS})",
        f"[Continue](<{ADDRESS}>)",
        f"![Continue]({ADDRESS})",
        f"[]({ADDRESS})",
        f"<{ADDRESS}>",
        f"press {ADDRESS} now",
        "press TG://resolve?domain=thief, ton://transfer/x, atonsite://x",
        "press tg:**//**resolve?domain=thief",
        "press tg\\://resolve?domain=thief",
        "press tg&colon;//resolve?domain=thief",
        f"# {ADDRESS}\n\n- {ADDRESS}\n\n> {ADDRESS}",
        f"| a | b |\n|---|---|\n| {ADDRESS} | x |",
        "[a](javascript:alert(1)) [b](tel:+1) [c](file:/etc/passwd) [d](intent://x) [e](data:text/html,x)",
        f"{ADDRESS} " * 300,
        "> " * 60 + ADDRESS,
    ],
)
def test_no_other_link_can_be_followed_on_telegram(text: str) -> None:
    for request in (text_for(text), text_for(text, plain=True)):
        sent = str(request["text"])
        if request.get("parse_mode") == "HTML":
            followed = [html.unescape(one) for one in re.findall(r'href="([^"]*)"', sent)]
            assert not [one for one in followed if not one.startswith(("http://", "https://", "mailto:"))]
            sent = html.unescape(re.sub("<[^>]*>", "", CODE.sub(" ", sent)))
        assert not LIVE.search(sent)


def test_links_of_the_web_stay_links_and_code_stays_as_it_is() -> None:
    shown = render(f"[a](https://example.org) `{ADDRESS}`")
    assert 'href="https://example.org"' in shown.text and html.escape(ADDRESS) in shown.text


def test_a_text_with_gaps_is_not_longer_than_before() -> None:
    text = ("tg://x " * 1_000)[:LONGEST]
    assert width(render(text).text) <= LONGEST
