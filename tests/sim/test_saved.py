"""A world that goes wrong: written down, made smaller, and played again by one command."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from holdfast.cli.program import app
from holdfast.errors import Unusable
from holdfast.policy.turn import calls
from holdfast.testing import Die, Kill, Options, Say, Scenario, random_world, run_world
from holdfast.testing.explore.saved import is_world, load_world, save
from holdfast.testing.explore.shrink import shrink

SEEDS = range(12)
BUSY = Scenario(
    "much of everything",
    (
        *(Say(0.1 * number, "plain", "b") for number in range(4)),
        Say(0.5, "tools effect"),
        Die(9),
        Say(10, "plain", "c"),
    ),
)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_world_reads_back_as_it_was(seed: int, tmp_path: Path) -> None:
    scenario, options = random_world(seed)
    outcome = run_world(Scenario("nothing", ()), options)
    save(scenario, outcome, file := tmp_path / "world.json")
    assert is_world(file)
    assert load_world(file) == (scenario, options)


@pytest.fixture
def wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Effects that were cut off are run again."""
    monkeypatch.setattr(calls, "_cut_off", lambda call, allowed: calls.ToRun(call, again=True))


@pytest.mark.usefixtures("wrong")
def test_a_world_that_goes_wrong_is_made_smaller_and_is_still_wrong() -> None:
    first = _wrong()
    scenario, outcome = shrink(BUSY, first)
    assert outcome.violations
    assert len(scenario.acts) <= 3 < len(BUSY.acts)
    assert len(outcome.options.kills) < len(first.kills)
    assert run_world(scenario, outcome.options).digest == outcome.digest


@pytest.mark.usefixtures("wrong")
@pytest.mark.guards("R15")
def test_a_world_that_was_written_down_is_played_again_by_replay(tmp_path: Path) -> None:
    outcome = run_world(BUSY, _wrong())
    save(BUSY, outcome, file := tmp_path / "world.json")
    result = CliRunner().invoke(app, ["replay", str(file), "--json"])
    assert result.exit_code == 1
    told = json.loads(result.output)
    assert told["violations"] == list(outcome.violations)
    assert told["digest"] == outcome.digest


def _wrong() -> Options:
    """Somewhere in the middle of the effect."""
    for step in range(150, 1_500, 10):
        options = Options(seed=13, kills=(Kill(step=40), Kill(step=step), Kill(edge=90)))
        if run_world(BUSY, options).violations:
            return options
    raise AssertionError("nothing is wrong")


@pytest.mark.parametrize("text", ["", "[]", '{"format": "holdfast-world", "version": 99}'])
def test_what_is_no_world_is_refused_in_words(tmp_path: Path, text: str) -> None:
    (file := tmp_path / "x.json").write_text(text)
    with pytest.raises(Unusable, match="world"):
        load_world(file)
