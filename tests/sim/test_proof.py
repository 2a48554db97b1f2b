"""The long run, for a moment: it plays something of everything, and says what."""

from pathlib import Path

from tests.sim.proof import run


def test_even_the_shortest_run_tries_something_of_everything(tmp_path: Path) -> None:
    report = run(0.0, seed=7, folder=tmp_path)
    assert report["violations"] == []
    counted = [report[name] for name in ("worlds", "kills", "messages", "points", "found_earlier")]
    assert all(isinstance(number, int) and number > 0 for number in counted), report
    assert list(tmp_path.iterdir()) == []
