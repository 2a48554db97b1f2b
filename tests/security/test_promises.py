"""SECURITY.md names tests that are there."""

import re

from tests.unit.project.tree import ROOT

_NAMED = re.compile(r"`(?:(tests/[\w/]+\.py)|…)(?:::(\w+))?`")


def test_every_promise_names_a_test_that_is_there() -> None:
    file, missing, count = "", [], 0
    for path, name in _NAMED.findall((ROOT / "SECURITY.md").read_text()):
        file = path or file
        count += 1
        if f"def {name}" not in (ROOT / file).read_text():
            missing.append(f"{file}::{name}")
    assert not missing
    assert count > 40
