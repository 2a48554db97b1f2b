"""`scripts/mutate` on a small project: what it changes, what it reports, and that it goes on where it was."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from tests.mutation.__main__ import main
from tests.mutation.operators import Mutation, enums_of, mutations
from tests.mutation.report import PAGE, REPORT, publish, with_table
from tests.mutation.sample import drawn, equivalents, population
from tests.unit.project.tree import ROOT

RULES = """\
from enum import StrEnum


class Colour(StrEnum):
    RED = "red"
    GREEN = "green"


LIMIT = 3


def allowed(age: int, known: bool) -> bool:
    if known and age >= 18:
        return True
    return False


def forgotten(colour: Colour) -> int:
    return 1 if colour is Colour.RED else 2


def never_run(number: int) -> int:
    return number + 1
"""
TESTS = """\
from holdfast.policy.rules import LIMIT, Colour, allowed, forgotten


def test_adults_we_know_are_allowed() -> None:
    assert LIMIT == 3
    assert allowed(18, True)
    assert not allowed(17, True)
    assert not allowed(18, False)


def test_a_weak_test_that_runs_the_line_and_asserts_nothing() -> None:
    forgotten(Colour.RED)
"""


def small_project(folder: Path) -> Path:
    for name, words in {
        "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['.']\n",
        "src/holdfast/__init__.py": "",
        "src/holdfast/policy/__init__.py": "",
        "src/holdfast/policy/rules.py": RULES,
        "tests/unit/test_rules.py": TESTS,
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(words)
    return folder


def report(project: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[dict[str, object], str]:
    """What a run says as JSON, and what it says of its progress."""
    assert main([*options, "--json", "--jobs", "1", f"--project={project}"]) == 0
    said = capsys.readouterr()
    return json.loads(said.out), said.err


def found_in(source: str) -> list[Mutation]:
    return mutations("rules.py", source, enums_of([source]))


def changes(source: str) -> set[tuple[str, str]]:
    return {(one.was, one.becomes) for one in found_in(source)}


def test_a_change_that_only_a_weak_test_runs_is_reported_as_a_survivor_and_a_noticed_one_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said, _ = report(small_project(tmp_path), capsys, "policy", "--sample", "0")
    assert said["seed"] == 7
    assert said["sample"] == 0
    packages = said["packages"]
    assert isinstance(packages, dict)
    assert set(packages) == {"policy"}
    policy = packages["policy"]
    assert policy["mutants"] == policy["sample"] == policy["killed"] + policy["survived"]
    assert policy["equivalent"] == 0
    survivors = {(one["function"], one["was"]): one for one in policy["survivors"]}
    assert {function for function, _ in survivors} == {"forgotten", "never_run"}
    weak = survivors["forgotten", "colour is Colour.RED"]
    assert (weak["becomes"], weak["tests"]) == ("colour is not Colour.RED", 1)
    assert weak["file"] == "policy/rules.py"
    uncovered = survivors["never_run", "number + 1"]
    assert uncovered["tests"] == 0
    assert policy["rate"] == round(100 * policy["killed"] / policy["sample"], 1)
    assert (tmp_path / "src/holdfast/policy/rules.py").read_text() == RULES


def test_a_run_that_was_stopped_goes_on_and_a_survivor_is_tried_again_when_a_test_has_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = small_project(tmp_path)
    whole, _ = report(project, capsys, "--sample", "0")
    verdicts = project / ".mutation" / "verdicts.jsonl"
    lines = verdicts.read_text().splitlines(keepends=True)
    verdicts.write_text("".join(lines[:5]) + lines[5][:20])
    again, progress = report(project, capsys, "--sample", "0")
    assert f"{len(lines)} mutants, 5 known from before" in progress
    assert again == whole

    better = "\n\ndef test_green_counts_two() -> None:\n    assert forgotten(Colour.GREEN) == 2\n"
    (project / "tests/unit/test_more.py").write_text(
        "from holdfast.policy.rules import Colour, forgotten\n" + better
    )
    last, progress = report(project, capsys, "--sample", "0")
    assert "1 of 2 test files" in progress
    packages = last["packages"]
    assert isinstance(packages, dict)
    known = packages["policy"]["killed"]
    alive = {(one["function"], one["was"]) for one in packages["policy"]["survivors"]}
    assert ("forgotten", "colour is Colour.RED") not in alive
    assert ("never_run", "number + 1") in alive
    before = whole["packages"]
    assert isinstance(before, dict)
    assert f"{len(lines)} mutants, {before['policy']['killed']} known from before" in progress
    assert known > before["policy"]["killed"]


def test_a_mutant_listed_as_equivalent_is_neither_tried_nor_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = small_project(tmp_path)
    (project / "equivalent.toml").write_text(
        '[[equivalent]]\nfile = "policy/rules.py"\nfunction = "never_run"\nwas = "number + 1"\n'
        'becomes = "number - 1"\nreason = "it is never run"\n'
    )
    said, _ = report(project, capsys, "policy/rules.py", "--sample", "0")
    packages = said["packages"]
    assert isinstance(packages, dict)
    policy = packages["policy"]
    assert policy["equivalent"] == 1
    assert policy["mutants"] == policy["sample"] == policy["killed"] + policy["survived"] + 1
    assert "number - 1" not in {one["becomes"] for one in policy["survivors"]}


def test_a_mutant_that_never_ends_is_noticed_by_its_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = small_project(tmp_path)
    (project / "src/holdfast/policy/rules.py").write_text(
        "def count(most):\n    here = 0\n    while here < most:\n        here += 1\n    return here\n"
    )
    (project / "tests/unit/test_rules.py").write_text(
        "from holdfast.policy.rules import count\n\n\ndef test_it_counts():\n    assert count(2) == 2\n"
    )
    said, _ = report(project, capsys, "--sample", "0")
    packages = said["packages"]
    assert isinstance(packages, dict)
    assert packages["policy"]["ended"]["timeout"] >= 1
    assert "here += 1" not in {one["was"] for one in packages["policy"]["survivors"]}


def test_a_test_that_fails_without_any_change_notices_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = small_project(tmp_path)
    (project / "tests/unit/test_rules.py").write_text(
        "import sys\n\nfrom holdfast.policy.rules import never_run\n\n\n"
        "def test_it_passes_only_while_lines_are_collected():\n"
        "    never_run(1)\n    assert sys.gettrace() is not None\n"
    )
    said, _ = report(project, capsys, "--sample", "0")
    packages = said["packages"]
    assert isinstance(packages, dict)
    assert packages["policy"]["killed"] == 0


def test_a_name_that_is_no_package_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["polcy", f"--project={small_project(tmp_path)}"]) == 2
    assert "no module called polcy" in capsys.readouterr().err


def test_the_sample_is_the_same_each_time_and_hardly_changes_with_the_code_around_it(tmp_path: Path) -> None:
    before = population(small_project(tmp_path))["policy"]
    (tmp_path / "src/holdfast/policy/rules.py").write_text(
        RULES.replace("LIMIT = 3\n", "LIMIT = 3\nMORE = 4\n")
    )
    after = population(tmp_path)["policy"]
    first = [one.key for one in drawn(before, 8, seed=7)]
    assert first == [one.key for one in drawn(before, 8, seed=7)]
    assert first != [one.key for one in drawn(before, 8, seed=8)]
    assert len(set(first) - {one.key for one in drawn(after, 8, seed=7)}) <= 2


@pytest.mark.parametrize(
    ("source", "was", "becomes"),
    [
        ("def f(a, b):\n    return a < b", "a < b", "a <= b"),
        ("def f(a, b):\n    return a and b", "a and b", "a or b"),
        ("def f(a, b):\n    return a and b", "a and b", "b"),
        ("def f(a):\n    return not a", "not a", "a"),
        ("def f(a):\n    if a:\n        return 1", "a", "not a"),
        ("def f(a):\n    return [b for b in a if b.c]", "b.c", "not b.c"),
        ("TABLE = 5", "5", "4"),
        ("TABLE = 5", "5", "6"),
        ("def f(a=True): ...", "True", "False"),
        ("def f(a):\n    return a - 1", "a - 1", "a + 1"),
        ("def f(a):\n    return max(a, 1)", "max(a, 1)", "min(a, 1)"),
        ("async def f(a):\n    await a.close()", "await a.close()", "pass"),
        ("def f(a):\n    a.b = 1", "a.b = 1", "pass"),
        ("def f(a):\n    raise a", "raise a", "pass"),
        ("def f(a):\n    return g(a, to=a)", "g(… to=a)", "(dropped)"),
        ("KNOWN = {'a': 1, 'b': 2}", "'b': 2", "(dropped)"),
        ("KNOWN = ('a', 'b')", "'a' of ('a', 'b')", "(dropped)"),
        ("def f(a):\n    for b in a:\n        break", "break", "continue"),
        ("def f(a):\n    return a.b", "return a.b", "return None"),
        ("def f(a) -> bool:\n    return a.b", "return a.b", "return not a.b"),
        (RULES, "Colour.RED", "Colour.GREEN"),
    ],
)
def test_the_slips_it_makes(source: str, was: str, becomes: str) -> None:
    assert (was, becomes) in changes(source)


@pytest.mark.parametrize(
    "source",
    [
        '"""Words 1."""',
        "def f(a: 'int | 3') -> 'Literal[1]': ...",
        "X = dict[str, int]",
        "@decorated(1)\ndef f(): ...",
        "def f(a):\n    assert a == 1",
        "def f(a):\n    return None",
        "if TYPE_CHECKING:\n    X = 1",
        "__all__ = ['a', 'b']",
    ],
)
def test_what_it_leaves_alone(source: str) -> None:
    assert changes(source) == set()


def test_every_mutant_of_a_module_is_another_program() -> None:
    file = ROOT / "src/holdfast/policy/recovery/outcome.py"
    source = file.read_text()
    unharmed = ast.dump(ast.parse(source))
    found = found_in(source)
    assert len(found) > 100
    assert len({one.key for one in found}) == len(found)
    assert [str(one) for one in found if ast.dump(ast.parse(one.applied_to(source))) == unharmed] == []


def test_each_equivalent_mutant_is_still_there_and_has_its_reason() -> None:
    listed = equivalents()
    every = [
        one
        for found in population(ROOT, sorted({e.file for e in listed}) or ["policy"]).values()
        for one in found
    ]
    assert [one for one in listed if len(one.reason) < 20] == []
    assert [one for one in listed if not any(one.is_about(m) for m in every)] == [], (
        "the code is not there any more: take the entry out of equivalent.toml"
    )


def test_the_page_of_the_proof_holds_the_table_of_the_kept_report() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_table(page, json.loads(REPORT.read_text(encoding="utf-8")))


def test_publishing_one_package_keeps_what_is_known_of_the_others(tmp_path: Path) -> None:
    kept, page = tmp_path / "report.json", tmp_path / "page.md"
    row = {"date": "2026-11-30", "mutants": 1000, "sample": 150, "killed": 140, "survived": 8}
    row |= {"equivalent": 2, "rate": 94.6}
    page.write_text(with_table("before\n", {}) + "\nafter\n")
    publish({"policy": row}, kept, page)
    publish({"inbox": row | {"killed": 1}}, kept, page)
    assert set(json.loads(kept.read_text())) == {"policy", "inbox"}
    assert "| `policy` | 2026-11-30 | 1,000 | 150 | 140 | 8 | 2 | 94.6 % |" in page.read_text()
    assert page.read_text().startswith("before\n")
    assert page.read_text().endswith("\nafter\n")
