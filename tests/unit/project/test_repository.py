"""Nothing in the repository ties it to the machine or the package index it was made on."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.unit.project.tree import ROOT, repository_files

PIN = re.compile(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.!]*")

# Written in pieces, so that this file does not find itself.
INDEX_OPTIONS = "|".join(
    ["--" + name for name in ("index-url", "extra-index-url", "find-links", "trusted-host")]
)
INDEX = re.compile(rf"(?:{INDEX_OPTIONS})[= ]|https?://[^\s\"'<>)]+/simp" + r"le\b|file:/" + r"//\w")
# A path is one when nothing that could be a longer path, a URL or a variable stands before it.
PATH_START = r"(?<![\w.~$}\])/-])"
HOME_FOLDER = re.compile(
    PATH_START + r"(?:/ro" + r"ot/|/ho" + r"me/\w|/Us" + r"ers/\w|[A-Z]:\\Us" + r"ers\\)"
)
THIS_FOLDER = re.compile(PATH_START + re.escape(str(ROOT)) + r"\b")


def lines() -> Iterator[tuple[str, str]]:
    for path in repository_files():
        content = path.read_bytes()
        if b"\0" not in content:
            for number, line in enumerate(content.decode("utf-8").splitlines(), 1):
                yield f"{path.relative_to(ROOT)}:{number}", line


def test_no_file_names_a_package_index() -> None:
    assert [where for where, line in lines() if INDEX.search(line)] == []


def test_no_file_names_a_path_of_one_machine() -> None:
    assert [where for where, line in lines() if HOME_FOLDER.search(line) or THIS_FOLDER.search(line)] == []


def test_constraints_are_plain_pins() -> None:
    content = Path(ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in content if not line.startswith("#") and not PIN.fullmatch(line)] == []


def test_no_lock_file_databases_or_environments_are_kept() -> None:
    unwanted = re.compile(r"(^|/)(uv\.lock|\.venv)(/|$)|\.(db|db-wal|db-shm|pyc)$")
    kept = [path.relative_to(ROOT).as_posix() for path in repository_files()]
    assert [name for name in kept if unwanted.search(name)] == []


def test_scripts_can_be_run() -> None:
    scripts = [path for path in (ROOT / "scripts").iterdir() if path.suffix == "" and path.is_file()]
    assert [path.name for path in [*scripts, ROOT / ".ci" / "run"] if not path.stat().st_mode & 0o100] == []
