import io
import json

import pytest
from rich.console import Console

from bench.report import (
    Limit,
    Row,
    above_floor,
    as_json,
    as_table,
    as_text,
    at_least,
    at_most,
    exit_code,
    up_to,
)


@pytest.mark.parametrize(
    ("limit", "value", "floor", "ok"),
    [
        (at_most(1.3), 13.0, 10.0, True),
        (at_most(1.3), 13.1, 10.0, False),
        (at_least(15), 150.0, 10.0, True),
        (at_least(15), 149.0, 10.0, False),
        (above_floor(10), 40.0, 30.0, True),
        (above_floor(10), 40.1, 30.0, False),
    ],
)
def test_a_row_is_ok_within_its_limit(limit: Limit, value: float, floor: float, ok: bool) -> None:
    assert Row("turn", "ms", value, floor, limit).ok is ok


def test_a_limit_of_the_value_itself_needs_no_floor() -> None:
    assert Row("memory", "MB", 80.0, limit=up_to(80)).ok
    assert not Row("memory", "MB", 80.1, limit=up_to(80)).ok
    assert str(up_to(0.5)) == "value ≤ 0.5"


def test_a_row_without_a_limit_is_there_to_be_read() -> None:
    assert Row("p99", "ms", 3.0).ok
    assert Row("p99", "ms", 3.0).ratio is None


def test_a_limit_without_a_floor_is_not_reached() -> None:
    assert not Row("turn", "ms", 3.0, None, at_most(2)).ok


def test_the_exit_code_tells_of_any_row_that_misses() -> None:
    good, bad = Row("a", "ms", 1.0, 1.0, at_most(1)), Row("b", "ms", 2.0, 1.0, at_most(1))
    assert exit_code([good]) == 0
    assert exit_code([good, bad]) == 1


def test_json_is_one_object_with_the_agreed_fields() -> None:
    found = json.loads(as_json([Row("turn", "ms", 2.61234, 2.0, at_most(1.3)), Row("p99", "ms", 3.0)]))
    assert found == {
        "rows": [
            {
                "what": "turn",
                "unit": "ms",
                "value": 2.612,
                "floor": 2.0,
                "ratio": 1.306,
                "limit": "≤ 1.3 ×",
                "ok": False,
            },
            {
                "what": "p99",
                "unit": "ms",
                "value": 3.0,
                "floor": None,
                "ratio": None,
                "limit": None,
                "ok": True,
            },
        ]
    }


def test_text_says_which_row_misses_its_limit() -> None:
    text = as_text(
        [Row("turn", "ms", 2.0, 1.0, at_most(1.3)), Row("memory", "MB", 31.0, 30.0, above_floor(10))]
    )
    head, turn, memory = text.splitlines()
    assert head.split() == ["what", "value", "floor", "ratio", "limit", "ok"]
    assert turn.split() == ["turn", "2", "ms", "1", "ms", "2.00", "≤", "1.3", "×", "NO"]
    assert memory.endswith("≤ floor + 10  yes")


@pytest.mark.parametrize("terminal", [True, False])
def test_a_table_names_every_row(terminal: bool) -> None:
    out = io.StringIO()
    rows = [Row("one", "ms", 2.0, 1.0, at_most(1.3)), Row("other", "ms", 1.0)]
    as_table(rows, Console(file=out, force_terminal=terminal, width=100))
    assert "one" in out.getvalue()
    assert "other" in out.getvalue()
