"""Exact values are removed from text, in every form and over every border of pieces."""

from __future__ import annotations

import json
import re
import time
from base64 import b64encode, urlsafe_b64encode
from textwrap import wrap
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.telemetry import SECRET, KnownSecrets

VALUE = "c4n4ry/+ \"1000:AAE'x?&=é-end"
OTHER = "bot-9d2f6c1e-1f"
KNOWN = KnownSecrets((VALUE, OTHER))


@pytest.mark.guards("R22.7")
@pytest.mark.parametrize("write", [str, json.dumps, quote, quote_plus, lambda text: quote(text, safe="")])
def test_a_value_is_removed_as_it_is_and_as_addresses_and_json_write_it(write: object) -> None:
    text = f"before {write(VALUE)} after"  # type: ignore[operator]
    assert write(VALUE).strip('"') not in KNOWN.without(text)  # type: ignore[operator]
    assert KNOWN.without(text).replace('"', "") == f"before {SECRET} after"


@pytest.mark.guards("R22.7")
@pytest.mark.parametrize("encode", [b64encode, urlsafe_b64encode])
@pytest.mark.parametrize("before", range(7))
def test_a_value_is_removed_from_base64_wherever_it_begins(encode: object, before: int) -> None:
    data = b"x" * before + OTHER.encode() + b"yyyy"
    text = encode(data).decode()  # type: ignore[operator]
    assert SECRET in KNOWN.without(text)
    assert SECRET in KNOWN.without(quote(text))


@pytest.mark.guards("R22.7")
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_value_is_removed_from_base64_that_runs_over_the_end_of_a_line(end: str) -> None:
    for before in range(40, 70):
        lines = wrap(b64encode(b"x" * before + OTHER.encode() + b"y" * 60).decode(), 76)
        masked = KNOWN.without(end.join(lines))
        assert SECRET in masked
        stream = KNOWN.stream()
        shown = "".join(map(stream.feed, end.join(lines))) + stream.end()
        assert shown == masked


@pytest.mark.guards("R22.7", "R22.8")
@given(st.lists(st.sampled_from([VALUE, OTHER, "c4n4", "b", "bot-", "\n", "x", VALUE[:-1], OTHER[1:]])))
def test_a_stream_shows_what_the_whole_text_would_however_it_is_cut(parts: list[str]) -> None:
    text = "".join(parts)
    whole = KNOWN.without(text)
    for size in (1, 2, 3, 7, 1_000):
        stream = KNOWN.stream()
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        shown = "".join(map(stream.feed, pieces)) + stream.end()
        assert VALUE not in shown and OTHER not in shown
        # Values side by side are one gap in a whole text.
        assert re.sub(rf"(?:{re.escape(SECRET)})+", SECRET, shown) == whole


@pytest.mark.guards("R22.7", "R22.8")
@given(
    st.integers(0, 70),
    st.sampled_from([40, 64, 76]),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\r", "\r\n\n", "y\n", "\r\r\n"]),
    st.integers(1, 100),
)
def test_base64_is_found_over_line_ends_wherever_it_stands(
    before: int, width: int, end: str, around: str, size: int
) -> None:
    encoded = b64encode(b"x" * before + OTHER.encode() + b"y" * 60).decode()
    text = around + end.join(wrap(encoded, width)) + around
    shown = KNOWN.without(text)
    assert shown.startswith(around) and shown.endswith(around) and SECRET in shown
    stream = KNOWN.stream()
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert "".join(map(stream.feed, pieces)) + stream.end() == shown


@pytest.mark.guards("R22.8")
def test_many_short_lines_cost_hardly_more_than_one_long_line() -> None:
    """`yes` puts out lines of one character as fast as anybody reads them."""

    def cost(text: str) -> float:
        took = []
        for _ in range(5):
            stream, began = KNOWN.stream(), time.thread_time()
            for _ in range(4):
                stream.feed(text)
            took.append(time.thread_time() - began)
        return min(took)

    assert cost("y\n" * 100_000) < 5 * cost("y" * 200_000)


def test_a_line_is_shown_whole_as_soon_as_it_ends() -> None:
    stream = KNOWN.stream()
    assert stream.feed("ready: b") == "ready: "
    assert stream.feed("\n") == "b\n"


def test_parts_of_two_values_in_each_other_leave_nothing_between() -> None:
    known = KnownSecrets(("abcdefghij", "ghijklmnop"))
    assert known.without("<abcdefghijklmnop>") == f"<{SECRET}>"


def test_short_values_are_no_secrets_and_a_text_without_any_is_the_same_object() -> None:
    text = "the port is 8080808"
    assert KnownSecrets(("8080808", "")).without(text) is text
    assert KNOWN.without(text) is text


def test_values_are_not_shown_by_their_holder() -> None:
    assert VALUE not in repr(KNOWN) and OTHER not in repr(KNOWN)
    assert KnownSecrets(("\udcff-not-utf-8",)).without("\udcff-not-utf-8") == SECRET


@pytest.mark.guards("R22.7")
@pytest.mark.parametrize("most", range(100, 100 + len(VALUE) + 40))
def test_a_text_is_cut_without_a_part_of_a_value(most: int) -> None:
    text = f"{'x' * 100}{VALUE}{OTHER}{'y' * 100}"
    shown = KNOWN.cut(text, most)
    assert re.fullmatch(rf"x{{100}}(?:{re.escape(SECRET)})*y*", shown)
    assert KNOWN.cut(text, 1_000) == KNOWN.without(text)


def test_a_value_whose_end_begins_it_again_is_not_cut_open() -> None:
    known = KnownSecrets(["abcabc-0123-abc"])
    assert known.closed("x abcabc-0123-abc") == f"x {SECRET}"


@pytest.mark.guards("R22.7")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("before", [0, 7, 999_990, 1_000_000, 2_500_000])
def test_a_value_is_found_in_bytes_of_every_kind(encoding: str, before: int) -> None:
    data = b"\xff" * before + f"a {OTHER} b".encode(encoding)
    assert KNOWN.are_in(data)
    assert KNOWN.are_in(b"\xff\0" + b64encode(b"x" * (before % 3) + OTHER.encode()))
    assert not KNOWN.are_in(b"\xff" * before + OTHER[:-1].encode(encoding))


def test_a_helper_is_handed_the_values_and_knows_the_same_by_them() -> None:
    assert KnownSecrets(json.loads(KNOWN.handed_over())) == KNOWN
    assert KnownSecrets([VALUE]).and_more([OTHER]) == KNOWN
