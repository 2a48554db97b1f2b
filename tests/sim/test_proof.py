"""The long run, for a moment: it plays something of everything, and says what."""

import json
from pathlib import Path

import pytest

from tests.soak import main


def test_even_the_shortest_run_tries_something_and_says_what(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = ["--only", "worlds", "--only", "mutants", "--found", str(tmp_path)]
    assert main(["--minutes", "0", "--seed", "7", "--json", *chosen]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["violations"], report["what_was_wrong"]) == (0, [])
    counted = [report[name] for name in ("worlds", "kills", "messages", "points", "found_earlier")]
    assert all(number > 0 for number in counted), report
    assert report["mutants"] == {"planted": 0, "caught": 0}
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_number_of_minutes_is_refused_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--minutes", "-1"])
    assert "-1 is no number of minutes" in capsys.readouterr().err
