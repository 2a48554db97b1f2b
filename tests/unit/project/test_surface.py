"""The public API: the names that `holdfast` exports, each with its line in the docs, and no others."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import holdfast
from tests.unit.project.tree import PACKAGE, ROOT, modules, parse

PAGE = ROOT / "docs" / "reference" / "public-api.md"
MOST = 50


def listed() -> list[str]:
    """The names in the tables of the page."""
    return re.findall(r"^\| `(\w+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def test_the_page_lists_every_public_name_once_and_no_other() -> None:
    assert sorted(listed()) == sorted(holdfast.__all__)


def test_every_public_name_is_there_and_there_are_few() -> None:
    assert [name for name in holdfast.__all__ if not hasattr(holdfast, name)] == []
    assert len(holdfast.__all__) == len(set(holdfast.__all__)) <= MOST


def test_a_name_that_is_not_public_is_refused_as_anywhere() -> None:
    assert not hasattr(holdfast, "Gateway")


def test_importing_holdfast_imports_nothing_of_it() -> None:
    look = "import sys, holdfast; sys.exit(any(name.startswith('holdfast.') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", look], check=False).returncode == 0


def test_type_checkers_and_programs_find_the_same_homes() -> None:
    """The imports for type checkers and the table for programs name the same modules."""
    typed = {
        alias.name: (node.module or "").removeprefix("holdfast.")
        for branch in parse(PACKAGE / "__init__.py").body
        if isinstance(branch, ast.If)
        for node in branch.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    found = {name: getattr(holdfast, name).__module__ for name in typed}
    assert sorted(typed) == sorted(set(holdfast.__all__) - {"__version__"})
    assert [name for name, home in typed.items() if not found[name].startswith(f"holdfast.{home}")] == []


def test_every_package_with_exports_says_which() -> None:
    """A package whose `__init__` does more than say what it is for has an `__all__`."""
    silent = []
    for path in modules():
        body = parse(path).body
        assigned = [ast.unparse(node.targets[0]) for node in body if isinstance(node, ast.Assign)]
        if path.name == "__init__.py" and len(body) > 2 and "__all__" not in assigned:
            silent.append(str(path.relative_to(ROOT)))
    assert silent == []


def test_the_example_of_the_page_runs_as_a_test_of_its_own(tmp_path: Path) -> None:
    (example,) = re.findall(r"in 20 lines\n\n```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    lines = [line for line in example.splitlines() if line.strip()]
    (tmp_path / "test_example.py").write_text(example)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_example.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, "2 passed" in ran.stdout) == (0, True), ran.stdout
    assert len(lines) <= 20
