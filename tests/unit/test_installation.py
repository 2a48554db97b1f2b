"""The line that installs an optional part is true for how this program was installed."""

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

from holdfast.installation import DISTRIBUTION, EXTRAS, install_line, missing_extra
from tests.unit.project.tree import ROOT, repository_files

CLONE: dict[str, Any] = {"url": Path("/srv/a clone").as_uri(), "dir_info": {}}
EDITABLE = {**CLONE, "dir_info": {"editable": True}}
WHEEL = {"url": "https://example.org/holdfast.whl", "archive_info": {}}
GIT = {"url": "https://example.org/h.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}}


@pytest.mark.parametrize(
    ("origin", "python", "line"),
    [
        (None, "/opt/v/bin/python", "/opt/v/bin/python -m pip install 'holdfast-gateway[mcp]'"),
        (
            EDITABLE,
            "/srv/a clone/.venv/bin/python",
            "cd '/srv/a clone' && .venv/bin/python -m pip install -e '.[mcp]'",
        ),
        (CLONE, "/opt/v/bin/python", "cd '/srv/a clone' && /opt/v/bin/python -m pip install '.[mcp]'"),
        (WHEEL, "p", "p -m pip install 'holdfast-gateway[mcp] @ https://example.org/holdfast.whl'"),
        (GIT, "p", "p -m pip install 'holdfast-gateway[mcp] @ git+https://example.org/h.git@abc'"),
    ],
    ids=["index", "editable clone", "clone", "wheel", "git"],
)
def test_the_line_installs_from_where_the_program_came_from(
    origin: dict[str, Any] | None, python: str, line: str
) -> None:
    assert install_line("mcp", origin, python, has_pip=True) == line


def test_an_environment_without_pip_is_served_by_uv() -> None:
    line = install_line("mcp", EDITABLE, "/opt/v/bin/python", has_pip=False)
    assert line == "cd '/srv/a clone' && uv pip install --python /opt/v/bin/python -e '.[mcp]'"


def test_this_very_clone_is_named_when_a_part_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [missing_extra(extra) for extra in EXTRAS] == [None] * len(EXTRAS)
    monkeypatch.setattr("holdfast.installation.find_spec", lambda name: None)
    line = missing_extra("telegram")
    assert line is not None
    assert shlex.split(line)[1] == str(ROOT) and "-e '.[telegram]'" in line


def test_the_parts_are_those_of_the_project_and_scripts_bring_them_all() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["name"] == DISTRIBUTION
    assert {*project["optional-dependencies"]} - {"dev"} == {*EXTRAS}
    wanted = ",".join(sorted(EXTRAS))
    assert f"{DISTRIBUTION}[{wanted}]" in project["optional-dependencies"]["dev"]
    assert f'resolve "$scratch/runtime.json" {wanted}\n' in (ROOT / "scripts" / "pin").read_text()
    assert f'OURS = "{DISTRIBUTION}"\n' in (ROOT / "scripts" / "_pin.py").read_text()


def test_the_pins_to_run_it_bring_every_optional_part() -> None:
    """The environment of `scripts/run` is made of these pins alone."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    parts = [project["optional-dependencies"][extra] for extra in EXTRAS]
    wanted = {re.split(r"[<>=\[]", one)[0] for part in (project["dependencies"], *parts) for one in part}
    to_run, _ = (ROOT / "constraints.txt").read_text().split("# To work on it")
    assert wanted <= set(re.findall(r"^([\w.-]+)==", to_run, re.MULTILINE))


# Written in two pieces, so that this file does not find itself.
STRANGER = re.compile("holdfast" + r"\[|install ['\"]?hold" + r"fast(?!-gateway)\b")


def test_no_line_installs_a_strangers_package() -> None:
    """The name of the command belongs to another project where packages are published."""
    found = [
        f"{path.relative_to(ROOT)}: {line}"
        for path in repository_files()
        if path.name != "CHANGELOG.md" and b"\0" not in (content := path.read_bytes())
        for line in content.decode("utf-8").splitlines()
        if STRANGER.search(line)
    ]
    assert found == []


def test_a_part_is_looked_for_without_being_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in EXTRAS["telegram"]:
        (tmp_path / f"{module}.py").write_text("raise AssertionError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    assert missing_extra("telegram") is None
