"""What the documentation and the program print for installing, run as it is printed, in an empty environment.

The lines need the package index that made this environment as well; versions are the pinned ones.
"""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from holdfast.installation import EXTRAS
from tests.support.commands import environment
from tests.unit.project.tree import ROOT

PATIENCE = 600
"""Seconds; packages may have to be fetched."""
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
LINE = re.compile(r"(?m)^ {4}(pip install .*?)(?: {2,}#.*)?$|`(pip install [^`]*)`")
IMPORT_ALL = "import " + ", ".join(module for modules in EXTRAS.values() for module in modules)


def printed() -> list[str]:
    """Every line of the documentation that installs something, once each; the shortest first."""
    found = {code or inline for page in PAGES for code, inline in LINE.findall(page.read_text("utf-8"))}
    return sorted(found, key=lambda line: (len(line), line))


class Empty:
    """An environment in which nothing is installed, first in the path of a shell."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        make = [sys.executable, "-m", "venv"] if find_spec("ensurepip") else ["uv", "venv", "--seed", "-q"]
        subprocess.run([*make, folder], check=True, timeout=PATIENCE)

    def _versions(self) -> Path:
        """The pinned versions: a hash would be asked of our own folder as well, which has none."""
        found = self.bin.parent / "versions.txt"
        pins = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
        found.write_text("\n".join(pin.partition(" ")[0] for pin in pins if pin[:1] not in ("", "#")))
        return found

    def run(self, line: str, where: Path = ROOT) -> subprocess.CompletedProcess[str]:
        """One line, as a person at a shell in that folder runs it."""
        path = f"{self.bin}{os.pathsep}{os.environ['PATH']}"
        pinned = {"PIP_CONSTRAINT": str(self._versions())}
        return subprocess.run(
            ["bash", "-c", line],
            cwd=where,
            env=environment(PATH=path, VIRTUAL_ENV=str(self.bin.parent), **pinned),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )


def test_the_lines_of_the_documentation_install_this_program_and_every_part(tmp_path: Path) -> None:
    lines, empty = printed(), Empty(tmp_path / "env")
    assert "pip install ." in lines and "pip install '.[telegram]'" in lines
    for line in lines:
        done = empty.run(line)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
    assert empty.run("pip list").stdout.count("holdfast") == 1
    assert empty.run(f"holdfast --version && python -c '{IMPORT_ALL}'").returncode == 0


@pytest.mark.guards("R15", "R16")
def test_what_is_missing_is_said_before_anything_is_asked_and_the_line_it_prints_brings_it(
    tmp_path: Path,
) -> None:
    empty, home = Empty(tmp_path / "env"), tmp_path / "home"
    assert empty.run("pip install -e .").returncode == 0
    setup = f"holdfast setup telegram --home {home} --base-url http://127.0.0.1:9 --token-stdin <<< 1000:x"
    refused = empty.run(setup, tmp_path)
    assert refused.returncode == 78 and "nothing was asked or written" in refused.stderr
    assert not home.exists()

    home.mkdir()
    (home / "telegram.token").write_text("1000:x")
    (home / "holdfast.toml").write_text(
        'telegram.token_file = "telegram.token"\ntelegram.base_url = "http://127.0.0.1:9"'
    )
    line = refused.stderr.partition("run this again: ")[2].strip()
    looked = empty.run(f"holdfast doctor --home {home}", tmp_path)
    assert looked.returncode == 1 and looked.stdout.splitlines()[1].endswith(f"\t{line}")
    started = empty.run(f"holdfast up --no-supervise --home {home}", tmp_path)
    assert started.returncode == 78 and line in started.stderr

    done = empty.run(line, tmp_path)
    assert done.returncode == 0, done.stderr
    reached = empty.run(setup, tmp_path)
    assert reached.returncode == 1 and "gives no answer" in reached.stderr
    assert line not in empty.run(f"holdfast doctor --home {home}", tmp_path).stdout
