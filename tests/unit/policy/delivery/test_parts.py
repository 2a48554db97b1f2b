import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model import ChatAddress, Delivery, DeliveryId, DeliveryState, OwedKind
from holdfast.policy.delivery.parts import CAPTION, MARK, mark_for, parts_for, parts_with_file, split, width

PART = Delivery(
    DeliveryId(1),
    ChatAddress("web/bot/c"),
    1,
    OwedKind.REPLY,
    *(1, 1, "words", (), None, "k"),
    DeliveryState.PENDING,
    *(0, False, 0),
)
CODE = "```python\nfirst = 1\nsecond = 2\nthird = 3\n```"


@pytest.mark.parametrize(
    ("text", "longest", "parts"),
    [
        ("short", 10, ["short"]),
        ("just right", 10, ["just right"]),
        ("one one.\n\ntwo two.\nthree", 20, ["one one.", "two two.\nthree"]),
        ("one one\ntwo two\nthree", 16, ["one one\ntwo two", "three"]),
        ("One of it. Two of it! Three", 24, ["One of it. Two of it!", "Three"]),
        ("one two three four", 9, ["one two", "three", "four"]),
        ("abcdefghij", 4, ["abcd", "efgh", "ij"]),
        ("a\n\nlong stretch of words", 16, ["a\n\nlong stretch", "of words"]),
        ("  indented\n    more", 12, ["  indented", "    more"]),
        (" " * 30, 10, [" " * 10]),
        (" " * 30 + "word", 10, ["word"]),
    ],
)
def test_a_long_text_is_cut_at_the_best_boundary_there_is(text: str, longest: int, parts: list[str]) -> None:
    assert list(split(text, longest)) == parts


def test_a_block_that_goes_over_a_cut_is_closed_and_opened_again() -> None:
    assert split(CODE, 40) == ("```python\nfirst = 1\nsecond = 2\n```", "```python\nthird = 3\n```")


def test_a_block_is_not_left_empty_before_a_cut() -> None:
    text = f"Some words before it.\n{CODE}"
    assert split(text, 40)[0] == "Some words before it."
    assert split(text, 40)[1].startswith("```python\nfirst = 1")


def test_a_block_that_ends_at_a_cut_is_not_opened_again() -> None:
    text = "```\none\ntwo\n```\nand some words behind it"
    assert split(text, 18) == ("```\none\ntwo\n```", "and some words", "behind it")


@given(st.text(st.sampled_from("a😀 \n"), max_size=1_100))
def test_what_stands_with_a_file_fits_there_and_nothing_is_left_out(text: str) -> None:
    first, *rest = parts_with_file(text, 4_096)
    assert width(first) <= CAPTION - MARK
    assert (first, rest) == (text, []) or (first, tuple(rest)) == ("", parts_for(text, 4_096))


def test_what_stands_with_a_file_is_counted_as_platforms_count_it() -> None:
    """A smiling face counts twice in UTF-16: as many as would fit by characters do not."""
    fits = "😀" * ((CAPTION - MARK) // 2)
    assert parts_with_file(fits, 4_096) == (fits,)
    assert parts_with_file(f"{fits}😀", 4_096) == ("", f"{fits}😀")


def test_every_part_leaves_room_for_its_mark() -> None:
    assert max(map(len, parts_for("word " * 100, 100))) <= 100 - MARK


@pytest.mark.parametrize("late", [None, 1])
@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("parts", [1, 999])
def test_a_mark_says_what_a_part_is_and_fits(late: int | None, repeated: bool, parts: int) -> None:
    mark = mark_for(PART._replace(aside_at=late, repeated=repeated, part=parts, parts=parts))
    assert width(mark) <= MARK
    assert ("late" in mark, "repeated" in mark) == (late is not None, repeated)
    assert ("part 999 of 999" in mark) == (late is not None and parts > 1)


PIECES = st.sampled_from(
    ["word", "a", ".", "!", " ", "  ", "\n", "\n\n", "```", "```py\n", "\n```\n", "~~~", "    x", "é" * 9]
)
TEXTS = st.lists(PIECES, max_size=60).map("".join)
FENCE_LINE = re.compile(r"^ {0,3}[`~]{3,}.*$", re.MULTILINE)


@given(TEXTS, st.integers(1, 60))
def test_parts_are_never_longer_and_lose_nothing_but_blanks(text: str, longest: int) -> None:
    parts = split(text, longest)
    assert parts
    assert all(len(part) <= longest for part in parts)
    bare = re.sub(r"[\s`~]", "", text)
    # Fences are repeated; whatever else is not blank stands once, in order.
    found = re.sub(r"[\s`~]", "", "".join(parts))
    assert bare == found or FENCE_LINE.search(text)
    assert _is_within(bare, found)


@given(st.lists(st.text("abc", min_size=1, max_size=8), min_size=1), st.integers(8, 60))
def test_words_that_fit_are_never_broken(words: list[str], longest: int) -> None:
    parts = split(" ".join(words), longest)
    assert [word for part in parts for word in part.split()] == words


@given(st.lists(st.sampled_from(["x = 1", "if x:", "    y"]), min_size=1), st.integers(24, 80))
def test_every_part_of_a_block_is_a_block(lines: list[str], longest: int) -> None:
    parts = split("\n".join(["```py", *lines, "```"]), longest)
    assert all(part.startswith("```py\n") and part.endswith("\n```") for part in parts)
    assert [line for part in parts for line in part.split("\n")[1:-1]] == lines


def _is_within(small: str, large: str) -> bool:
    rest = iter(large)
    return all(letter in rest for letter in small)


def test_words_with_a_file_leave_the_room_that_the_strictest_platform_gives() -> None:
    """Telegram takes 1,024 in UTF-16."""
    (fits,) = parts_with_file("x" * (1_024 - MARK), 4_096)
    assert width(fits) + MARK == 1_024
    assert parts_with_file("x" * (1_025 - MARK), 4_096)[0] == ""
