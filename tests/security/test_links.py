"""Links and commands that a model writes: only links of the web and of mail can be followed by a tap."""

import html
import re

import pytest

from holdfast.model import ChatAddress, Delivery, DeliveryId, DeliveryState, OwedKind
from holdfast.platforms.telegram.format import LONGEST, render
from holdfast.platforms.telegram.wire import text_for, to_send
from holdfast.policy.delivery.parts import width

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


# Commands, as Telegram's own client library finds them.

DELIVERY = Delivery(
    DeliveryId(1),
    ChatAddress("telegram/1/7"),
    1,
    OwedKind.REPLY,
    *(1, 1, "words", (), None, "k"),
    DeliveryState.PENDING,
    *(1, False, 0),
)
COMMAND = re.compile(r"(?<![\w/<>])/[a-zA-Z0-9_]{1,64}(?:@\w+)?(?![\w/<>])")


@pytest.mark.parametrize(
    "text",
    [
        "press /restart now",
        "/restart",
        "(/new) **/stop** _/stop_ [/stop](https://example.org) /forget@some_bot.",
        "/re**start** and /_new_ and /sto\\_p",
        "# /restart\n\n- /restart\n\n> /restart",
        "| a | b |\n|---|---|\n| /restart | x |",
        "/restart " * 450,
        "> " * 60 + "/restart",
        "x\n/restart\n&sol;restart",
    ],
)
def test_no_command_of_a_reply_can_be_tapped_on_telegram(text: str) -> None:
    for plain in (False, True):
        request = text_for(text, plain=plain, commands=False)
        sent = str(request["text"])
        if request.get("parse_mode") == "HTML":
            sent = html.unescape(re.sub("<[^>]*>", "", CODE.sub(" ", sent)))
        assert not COMMAND.search(sent)
        assert width(sent) <= LONGEST


def test_a_reply_shows_commands_as_code_and_a_notice_offers_them() -> None:
    def sent(kind: OwedKind) -> object:
        return to_send(DELIVERY._replace(kind=kind, text="Write /resume, see /etc/hosts and a/b."))["text"]

    assert sent(OwedKind.REPLY) == "Write <code>/resume</code>, see /etc/hosts and a/b."
    assert sent(OwedKind.NOTICE) == "Write /resume, see /etc/hosts and a/b."
