"""Fetching from real servers on this machine, which stand for the net: what may be reached, and how much."""

import gzip
import tracemalloc
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import pytest

from holdfast.policy.settings import SECOND, FetchSettings
from holdfast.tools import ToolFailed
from holdfast.tools.builtin import fetch_url
from holdfast.tools.builtin.fetch_url import is_public
from holdfast.tools.builtin.pages import page_text
from tests.support.loops import on_a_loop
from tests.support.net import Net, fetch, leads, says


@pytest.fixture
def net(monkeypatch: pytest.MonkeyPatch) -> Iterator[Net]:
    made = Net()
    real = is_public
    # The one address a test can reach stands for a public one; every other is what it is.
    monkeypatch.setattr(fetch_url, "is_public", lambda address: address == "127.0.0.1" or real(address))
    yield made
    made.close()


@on_a_loop
async def test_a_text_is_given_as_it_is_under_the_name_that_was_asked_for(net: Net) -> None:
    net.answers["/a?b=c"] = says("grüezi".encode())
    assert await fetch(net, net.url("/a?b=c#part")) == "grüezi"
    assert net.asked == [(f"site.example:{net.port}", "/a?b=c")]


@on_a_loop
async def test_a_page_is_given_as_its_text(net: Net) -> None:
    net.answers["/"] = says(
        b"<html><head><title>T</title></head><body><p>Hi <b>you</b></p></body>", "text/html"
    )
    assert await fetch(net, net.url("/")) == "T\n\nHi you"


@pytest.mark.parametrize(
    "url",
    ["ftp://site.example/", "file:/etc/passwd", "site.example", "http://", "http://me@site.example/"],
)
@on_a_loop
async def test_only_plain_addresses_of_the_web_are_fetched(net: Net, url: str) -> None:
    with pytest.raises(ToolFailed, match="is not an address like"):
        await fetch(net, url)


PRIVATE = [
    "127.0.0.2",
    "10.0.0.1",
    "192.168.1.1",
    "172.16.0.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "224.0.0.1",
    "::1",
    "fe80::1%eth0",
    "fc00::1",
    "::ffff:10.0.0.1",
    "::ffff:127.0.0.1",
    "2002:7f00:1::",
    "64:ff9b::7f00:1",
    "::",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_that_is_not_public_is_known_as_such(address: str) -> None:
    assert not is_public(address)


def test_a_public_address_is_known_as_such() -> None:
    assert all(map(is_public, ["1.1.1.1", "2606:4700:4700::1111", "64:ff9b::101:101"]))


@on_a_loop
async def test_a_name_of_a_private_address_is_not_fetched_unless_that_is_allowed(net: Net) -> None:
    net.names["inside.example"] = [["127.0.0.2"]]
    net.answers["/"] = says(b"hello")
    with pytest.raises(ToolFailed, match=r"\(127.0.0.2\) is not public"):
        await fetch(net, net.url("/", "inside.example"))
    with pytest.raises(ToolFailed, match="is not public"):
        await fetch(net, net.url("/", "[::1]"))
    net.names["inside.example"] = [["127.0.0.1"]]
    assert await fetch(net, net.url("/", "inside.example"), FetchSettings(allow_private=True)) == "hello"


@on_a_loop
async def test_one_private_address_among_public_ones_is_enough(net: Net) -> None:
    net.names["both.example"] = [["127.0.0.1", "10.0.0.1"]]
    with pytest.raises(ToolFailed, match="is not public"):
        await fetch(net, net.url("/", "both.example"))
    assert net.asked == []


@on_a_loop
async def test_what_leads_to_a_private_address_is_not_followed(net: Net) -> None:
    net.names["inside.example"] = [["10.0.0.1"]]
    net.answers |= {
        "/": leads(net.url("/secret", "inside.example")),
        "/meta": leads("http://169.254.169.254/"),
    }
    for path in ("/", "/meta"):
        with pytest.raises(ToolFailed, match="is not public"):
            await fetch(net, net.url(path))


@on_a_loop
async def test_what_leads_elsewhere_is_followed_and_not_for_ever(net: Net) -> None:
    net.answers |= {"/a": leads("/b"), "/b": leads(net.url("/c", "other.example")), "/c": says(b"there")}
    assert await fetch(net, net.url("/a")) == "there"
    assert net.resolved == ["site.example", "site.example", "other.example"]
    net.answers["/round"] = leads("/round")
    with pytest.raises(ToolFailed, match="more than 5 times"):
        await fetch(net, net.url("/round"))


@on_a_loop
async def test_a_name_that_means_something_else_a_moment_later_changes_nothing(net: Net) -> None:
    """The second answer of the resolver is an address of the inside: it is never asked for."""
    net.names["rebind.example"] = [["127.0.0.1"], ["10.0.0.1"]]
    net.answers["/"] = says(b"outside")
    assert await fetch(net, net.url("/", "rebind.example")) == "outside"
    assert net.resolved == ["rebind.example"], "looked up once: what was checked is what is talked to"


@on_a_loop
async def test_a_huge_answer_is_cut(net: Net) -> None:
    def endless(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/plain")
        handler.end_headers()
        try:
            while not net.hold.is_set():
                handler.wfile.write(b"x" * 10_000)
        except OSError:
            return

    net.answers["/"] = endless
    found = await fetch(net, net.url("/"), FetchSettings(most=50_000))
    assert found == "x" * 50_000 + "\n[the answer is longer; this is its beginning]"


@on_a_loop
async def test_a_little_that_becomes_a_lot_is_cut(net: Net) -> None:
    net.answers["/"] = says(gzip.compress(b"x" * 50_000_000), Content_Encoding="gzip")
    await fetch(net, net.url("/"), FetchSettings(most=50_000))
    tracemalloc.start()
    found = await fetch(net, net.url("/"), FetchSettings(most=50_000))
    _, most_held = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found) < 51_000
    assert most_held < 10_000_000, "what is cut was never unpacked"
    net.answers["/br"] = says(b"?", Content_Encoding="br")
    with pytest.raises(ToolFailed, match="compressed in an unknown way"):
        await fetch(net, net.url("/br"))


@on_a_loop
async def test_an_answer_that_does_not_come_is_not_waited_for(net: Net) -> None:
    def slow(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        net.hold.wait()

    net.answers["/"] = slow
    with pytest.raises(ToolFailed, match="did not answer within 0.2 seconds"):
        await fetch(net, net.url("/"), FetchSettings(timeout=SECOND // 5))


@on_a_loop
async def test_what_is_no_answer_is_said(net: Net) -> None:
    net.answers |= {"/gone": says(b"no such page", code=404), "/picture": says(b"\x89PNG", "image/png")}
    with pytest.raises(ToolFailed, match="404 Not Found: no such page"):
        await fetch(net, net.url("/gone"))
    with pytest.raises(ToolFailed, match="is not text but image/png"):
        await fetch(net, net.url("/picture"))
    net.close()
    with pytest.raises(ToolFailed, match="cannot be reached"):
        await fetch(net, net.url("/gone"))


def test_a_page_as_its_text() -> None:
    page = """<!doctype html><html><head><title> A  page </title><style>p {}</style></head><body>
    <script>alert("no")</script><h2>Head</h2><p>One &amp; <a href="/x">two</a>.</p><ul><li>a<li>b</ul>
    <pre>  kept
    so</pre><p>open"""
    assert page_text(page) == "A page\n\n## Head\n\nOne & two (/x).\n\n- a\n- b\n\nkept\n    so\n\nopen"
