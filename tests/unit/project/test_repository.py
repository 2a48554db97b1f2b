"""Nothing in the repository ties it to the machine or the package index it was made on."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tests.unit.project.tree import ROOT, repository_files

PIN = re.compile(r"[a-z0-9-]+==[A-Za-z0-9.+!-]+(?: --hash=sha256:[0-9a-f]{64})+")

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


def test_constraints_are_pins_with_hashes() -> None:
    content = Path(ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in content if line and not line.startswith("#") and not PIN.fullmatch(line)] == []


def test_what_builds_the_package_is_pinned_and_has_its_hash() -> None:
    (backend,) = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"][
        "requires"
    ]
    assert f"{backend} --hash=sha256:" in (ROOT / "constraints.txt").read_text(encoding="utf-8")


def test_what_tests_install_from_npm_has_its_hash_and_names_no_registry() -> None:
    lock = json.loads((ROOT / "tests/support/npm/package-lock.json").read_text(encoding="utf-8"))
    packages = {name: one for name, one in lock["packages"].items() if name}
    assert packages
    assert [name for name, one in packages.items() if "resolved" in one or "integrity" not in one] == []


def test_no_lock_file_databases_or_environments_are_kept() -> None:
    unwanted = re.compile(r"(^|/)(uv\.lock|\.venv)(/|$)|\.(db|db-wal|db-shm|pyc)$")
    kept = [path.relative_to(ROOT).as_posix() for path in repository_files()]
    assert [name for name in kept if unwanted.search(name)] == []


def test_scripts_can_be_run() -> None:
    scripts = [path for path in (ROOT / "scripts").iterdir() if path.suffix == "" and path.is_file()]
    assert [path.name for path in [*scripts, ROOT / ".ci" / "run"] if not path.stat().st_mode & 0o100] == []
