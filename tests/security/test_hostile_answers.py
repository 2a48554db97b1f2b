"""Pages and answers that are made to stop, fill or break whoever fetches them."""

import asyncio
import gzip
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from holdfast.clock import SystemClock
from holdfast.model import SessionId, TurnId
from holdfast.policy.settings import FetchSettings
from holdfast.tools import ToolContext, ToolFailed
from holdfast.tools.builtin import fetch_url
from holdfast.tools.builtin.fetch_url import FetchUrl, Resolver, is_public
from holdfast.tools.builtin.pages import page_text
from holdfast.tools.limited_child import ChildFailed, ChildLimits, LimitedChildren
from tests.support.loops import on_a_loop
from tests.support.net import Answer, Net, fetch, says


@pytest.mark.guards("R22.8")
@on_a_loop
async def test_a_page_that_takes_for_ever_to_read_costs_the_gateway_next_to_nothing(net: Net) -> None:
    """For this page the parser takes time that grows with the square of its length."""
    began = time.thread_time()
    page_text("<a " * 4_000)
    one_fiftieth = time.thread_time() - began
    net.answers["/"] = says(b"<a " * 200_000, "text/html")
    began = time.thread_time()
    with pytest.raises(ToolFailed, match="the page was received, but could not be read"):
        await fetch(net, net.url("/"), limits=ChildLimits(cpu=1, deadline=60))
    assert time.thread_time() - began < one_fiftieth


@on_a_loop
async def test_small_and_broken_pages_are_read(net: Net) -> None:
    net.answers |= {
        "/page": says(b"<p>Hello", "text/html"),
        "/odd": says(b"<p>Hello</p><![<![", "text/html"),
    }
    assert await fetch(net, net.url("/page")) == "Hello"
    assert (await fetch(net, net.url("/odd"))).startswith("Hello")


PARSER = """
import os, socket, sys

def hang(data):
    while True: sys.stdin.buffer.read()

def sleeps(data):
    import time
    time.sleep(1000)

def grows(data):
    return data * 10**9

def pours(data):
    while True: sys.stdout.buffer.write(data * 10_000)

def looks(data):
    tried = []
    for name, act in {
        "file": lambda: open("/etc/passwd").read(),
        "write": lambda: open("/tmp/written", "w"),
        "socket": lambda: socket.socket(),
        "environment": lambda: {}["x"] if not os.environ.get("HOME") else None,
    }.items():
        try:
            act()
            tried.append(name)
        except Exception:
            pass
    return " ".join(tried).encode()
"""


def our_children() -> set[str]:
    """The processes whose parent we are, also those that have ended and were not waited for."""
    lists = Path("/proc/self/task").glob("*/children")
    return {child for found in lists for child in found.read_text().split()}


@pytest.mark.guards("R22.8")
@on_a_loop
async def test_a_parser_that_an_input_has_taken_over_can_do_nothing(tmp_path: Path) -> None:
    parser, before = tmp_path / "parser.py", our_children()
    parser.write_text(PARSER)
    children = LimitedChildren(SystemClock(), ChildLimits(1, 30.0, 256 * 1024 * 1024, 1_000, 10_000))
    assert await children.run(parser, "looks", b"x") == b""
    for function, words in {
        "hang": "more than 1 seconds",
        "grows": "memory",
        "pours": "more than 10000 bytes",
        "nothing": "cannot be read at all",
    }.items():
        with pytest.raises(ChildFailed, match=words):
            await children.run(parser, function, b"x" * 100)
    # The reader is behind when it has had enough: what it has not read keeps no child from its end.
    children = LimitedChildren(SystemClock(), ChildLimits(1, 30.0, 256 * 1024 * 1024, 1_000, 4_000_000))
    for _ in range(10):
        with pytest.raises(ChildFailed, match="more than 4000000 bytes"):
            await children.run(parser, "pours", b"x" * 100)
    with pytest.raises(ChildFailed, match="more than 1000 bytes"):
        await children.run(parser, "looks", b"x" * 1_001)
    children = LimitedChildren(SystemClock(), ChildLimits(deadline=0.5))
    with pytest.raises(ChildFailed, match=r"longer than 0.5 seconds"):
        await children.run(parser, "sleeps", b"")
    assert our_children() == before, "every child has ended, and somebody has waited for it"


@pytest.mark.parametrize(
    "address",
    [
        *("fec0::1", "fed0::1", "3fff::1", "3fff:fff::1", "192.88.99.1", "192.0.0.9", "192.31.196.1"),
        *("192.52.193.1", "192.175.48.1", "198.18.0.1", "203.0.113.7", "255.255.255.255", "240.0.0.1"),
        *("100::1", "100:0:0:1::1", "2001::1", "2001:20::1", "2001:db8::1", "2620:4f:8000::1", "5f00::1"),
        *(
            "168.63.129.16",
            "64:ff9b:1::1",
            "2002:0101:0101::1",
            "4000::1",
            "::1.1.1.1",
            "::ffff:192.88.99.1",
            "ff0e::1",
        ),
    ],
)
def test_no_address_for_a_special_purpose_is_public(address: str) -> None:
    assert not is_public(address)


def bare(code: int, *headers: tuple[str, str], body: bytes = b"") -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(code)
        for name, value in headers:
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (bare(302), "302, without the address"),
        (bare(301, ("Location", "http://[")), "cannot be reached|is not an address"),
        (bare(302, ("Location", "http://\x7f\x01/")), "cannot be reached|is not an address|not found"),
        (bare(302, ("Location", "//b\xfccher.example:99999/")), "cannot be reached|is not an address"),
        (bare(302, ("Location", "javascript:alert(1)")), "cannot be reached|is not an address"),
        (bare(302, ("Location", "http://" + "a" * 70_000)), "cannot be reached|is not an address|not found"),
        (bare(304), "304"),
        (bare(200, ("Content-Encoding", "gzip"), body=b"this is not packed"), "compressed and damaged"),
        (bare(200, ("Content-Encoding", "gzip, br"), body=b"?"), "compressed in an unknown way"),
        (bare(599), "599"),
    ],
)
@on_a_loop
async def test_an_odd_answer_is_a_failure_in_words(net: Net, answer: Answer, words: str) -> None:
    net.answers["/"] = answer
    with pytest.raises(ToolFailed, match=words):
        await fetch(net, net.url("/"))


@pytest.mark.parametrize(
    "charset",
    [
        *("base64", "hex", "rot13", "zlib", "bz2", "uu", "quopri", "undefined", "idna", "punycode"),
        *("unicode_escape", "raw_unicode_escape", "nonsense", "../../etc", "x" * 5_000, "utf-8\x01", "mbcs"),
    ],
)
@on_a_loop
async def test_a_charset_that_is_none_is_read_as_utf_8(net: Net, charset: str) -> None:
    net.answers["/"] = bare(200, ("Content-Type", f"text/plain; charset={charset}"), body="grün".encode())
    assert await fetch(net, net.url("/")) == "grün"


@pytest.mark.parametrize(("charset", "codec"), [("windows-1252", "cp1252"), ("Shift_JIS", "shift_jis")])
@on_a_loop
async def test_charsets_of_pages_are_read(net: Net, charset: str, codec: str) -> None:
    net.answers["/"] = bare(200, ("Content-Type", f"text/plain; charset={charset}"), body="a§".encode(codec))
    assert await fetch(net, net.url("/")) == "a§"


@on_a_loop
async def test_an_answer_that_breaks_off_is_said_to(net: Net) -> None:
    packed = gzip.compress(b"hello " * 1_000)[:-20]
    net.answers["/"] = bare(200, ("Content-Type", "text/plain"), ("Content-Encoding", "gzip"), body=packed)
    assert "this is its beginning" in await fetch(net, net.url("/"))


@pytest.mark.guards("R22.8")
@on_a_loop
async def test_names_that_nobody_answers_for_keep_no_other_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = threading.Event()

    def nobody(*_: object, **__: object) -> list[object]:
        answered.wait()
        raise socket.gaierror("no such name")

    monkeypatch.setattr(socket, "getaddrinfo", nobody)
    resolver = Resolver()
    lookups = [asyncio.ensure_future(resolver(f"a{one}.example", 80)) for one in range(100)]
    assert await asyncio.to_thread(lambda: "done") == "done", "other work has threads while all names wait"
    assert not any(one.done() for one in lookups)
    answered.set()
    assert all(isinstance(one, OSError) for one in await asyncio.gather(*lookups, return_exceptions=True))


@pytest.mark.guards("R22.8")
@on_a_loop
async def test_an_address_of_this_machine_is_not_fetched_from_whatever_its_number(
    net: Net, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a server whose own interface has a public address."""
    monkeypatch.setattr(fetch_url, "is_public", lambda address: True)
    net.answers["/a"] = says(b"inside")
    clock = SystemClock()
    tool = FetchUrl(clock, FetchSettings(), LimitedChildren(clock), net.resolve)
    with pytest.raises(ToolFailed, match="is not public"):
        await tool.fetch_url(ToolContext(SessionId("s"), TurnId("t"), 1, Path("w"), "t:c"), net.url("/a"))
    assert net.asked == []
