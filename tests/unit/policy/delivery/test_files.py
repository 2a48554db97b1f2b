"""R24: what people are told of a file."""

import pytest

from holdfast.policy.delivery.files import size_of


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1_000, "1.0 kB"),
        (9_949, "9.9 kB"),
        (10_000, "10 kB"),
        (999_999, "999 kB"),
        (1_000_000, "1.0 MB"),
        (10_000_000, "10 MB"),
        (1_500_000_000, "1.5 GB"),
    ],
)
def test_a_size_is_said_in_its_largest_unit_and_exactly_only_below_ten(size: int, words: str) -> None:
    assert size_of(size) == words
