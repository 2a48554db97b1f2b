"""Markdown as Telegram's HTML: never refused, nothing left out, and never longer than a message may be."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.platforms.telegram import render, to_send
from holdfast.platforms.telegram.format import LONGEST, NOTHING_SEEN, has_something_to_see
from holdfast.policy.delivery.parts import POSSIBLY_REPEATED, parts_for, width
from holdfast.testing.fakes.botapi import Formatted, length16, parse_html
from holdfast.testing.fakes.botapi.entities import cleaned, settled
from tests.unit.platforms.telegram.payloads import delivery


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("plain & <simple>", "plain &amp; &lt;simple&gt;"),
        ("**b** *i* ~~s~~ `c<d`", "<b>b</b> <i>i</i> <s>s</s> <code>c&lt;d</code>"),
        ("# Title\n\ntext", "<b>Title</b>\n\ntext"),
        ("- a\n- b\n  - c", "• a\n• b\n   • c"),
        ("3. a\n4. b", "3. a\n4. b"),
        ("> quoted\n> > deeper", "<blockquote>quoted\n\ndeeper</blockquote>"),
        ("```py\na < b\n```", '<pre><code class="language-py">a &lt; b</code></pre>'),
        ("```\nx\n```", "<pre>x</pre>"),
        ('[words](https://a.b/?c=1&d="2")', '<a href="https://a.b/?c=1&amp;d=%222%22">words</a>'),
        ("[words](docs/a.md)", "words (docs/a.md)"),
        ("![alt](https://a.b/c.png)", '<a href="https://a.b/c.png">alt</a>'),
        ("[x](javascript:alert(1))", "[x](javascript:alert(1))"),
        ("<b>not ours</b>", "&lt;b&gt;not ours&lt;/b&gt;"),
        ("|a|b|\n|-|-|\n|1|2|3|", "<pre>|a|b|\n|-|-|\n|1|2|3|</pre>"),
        ("[a]: https://b.c", "[a]: https://b.c"),
        ("a\n\n---\n\nb", "a\n\n———\n\nb"),
        ("2 * 3 * 4 and snake_case_name", "2 * 3 * 4 and snake_case_name"),
    ],
)
def test_what_models_write(markdown: str, html: str) -> None:
    assert render(markdown).text == html


def taken(text: str, html: bool) -> str:
    """What Telegram would show of it; raises if Telegram would refuse it."""
    formatted = settled(parse_html(text) if html else Formatted(cleaned(text)))
    assert formatted.text, "text must be non-empty"
    assert length16(formatted.text) <= 4096, "message is too long"
    text.encode()
    return formatted.text


def test_a_text_without_anything_to_see_is_still_a_message() -> None:
    for nothing in ("", "  \n", "\x01", "\u200b"):
        assert render(nothing).text == NOTHING_SEEN
    for little in ("[](x)", "```\n```", "half \ud83d"):
        assert taken(render(little).text, render(little).html)


@pytest.mark.parametrize("inside", ["> ", "- ", "1. ", "> - "])
def test_what_is_nested_too_deep_stays_plain_and_whole(inside: str) -> None:
    for depth in (10, 60, 98, 99, 100, 101, 200):
        text = inside * depth + "word"
        rendered = render(text)
        assert "word" in taken(rendered.text, rendered.html)


def test_looks_that_make_a_text_too_long_are_left_away() -> None:
    long = "\n".join("1. a" for _ in range(819))
    assert width(long) <= LONGEST
    rendered = render(long)
    assert (taken(rendered.text, rendered.html), rendered.html) == (long, False)


PIECES = st.sampled_from(
    [
        *("*", "**", "_", "__", "`", "```", "~~", "~~~", "#", "# ", "> ", "- ", "1. ", "1) ", "|", "|-|"),
        *("[", "]", "(", ")", "](", "!", "<", ">", "</b>", "<b>", "&", "&lt;", "&#0;", "&#x110000;", "\\"),
        *("\n", "\n\n", "  ", "    ", "\t", "http://a.b", "<http://c.d>", "word", "ünï", "🌊", "\ud83d"),
        *("'", '"', "```py\n", "\r", "\u2028", "\u202e", "=", "===", "---", "\x00", "e\u0301", "🌊\u200d🌊"),
    ]
)
MARKDOWN = st.lists(PIECES | st.text(st.characters(), max_size=4), max_size=30).map("".join)


@given(MARKDOWN, st.booleans())
@settings(max_examples=1_000)
def test_telegram_never_refuses_what_a_model_wrote(markdown: str, repeated: bool) -> None:
    mark = POSSIBLY_REPEATED if repeated else ""
    rendered = render(markdown, mark)
    shown = taken(rendered.text, rendered.html)
    assert shown.startswith(mark.strip())
    request = to_send(delivery(text=markdown, repeated=repeated), plain=True)
    assert taken(str(request["text"]), html=False)


@given(MARKDOWN)
@settings(max_examples=500)
def test_no_word_that_a_model_wrote_is_left_out(markdown: str) -> None:
    rendered = render(markdown)
    for word in ("word", "ünï", "🌊"):
        shown = rendered.text if rendered.html else rendered.seen
        assert shown.count(word) >= markdown.count(word) or "](" in markdown


@given(
    st.lists(MARKDOWN | st.sampled_from(["🌊" * 300, "x" * 900, "```py\n" + "🌊 = 1\n" * 200]), max_size=8)
)
@settings(max_examples=300)
def test_parts_fit_however_many_emoji_there_are_and_code_stays_code(pieces: list[str]) -> None:
    text = "\n".join(pieces)
    for part in parts_for(text, LONGEST):
        rendered = render(part, POSSIBLY_REPEATED)
        assert taken(rendered.text, rendered.html)


def test_a_block_of_code_that_is_cut_is_code_in_every_part() -> None:
    parts = parts_for("```py\n" + "🌊 = 1\n" * 2_000 + "```", LONGEST)
    assert len(parts) > 2
    for part in parts:
        rendered = render(part)
        assert rendered.html
        assert re.fullmatch(r'<pre><code class="language-py">[^<]*</code></pre>', rendered.text)
        assert width(part) <= LONGEST - len(POSSIBLY_REPEATED)
    assert sum(part.count("🌊") for part in parts) == 2_000


def test_what_is_seen_counts() -> None:
    assert has_something_to_see("x") and not has_something_to_see("\u200b \n\x00")
