import re
from pathlib import Path

from tests.unit.project.tree import PACKAGE, ROOT, modules

LONGEST = 450

# A silenced rule says why: the code, a dash, the reason (`BLE001 - the stage records the fault`).
SILENCED = re.compile(r"#\s*(?:noqa\b|type:\s*ignore\b).*", re.IGNORECASE)
WITH_REASON = re.compile(
    r"#\s*(?:noqa:\s*[A-Z]+[0-9]+(?:,\s*[A-Z]+[0-9]+)*|type:\s*ignore\[[^\]]+\])\s*[-#]+\s*\w+"
)


def where(path: Path, line: int) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


def test_no_module_outgrows_one_thought() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in modules()}
    too_long = [where(path, lines) for path, lines in lengths.items() if lines > LONGEST]
    assert too_long == [], f"over {LONGEST} lines: split by meaning"


def test_every_folder_with_modules_is_a_package() -> None:
    """A folder without `__init__.py` would be invisible to the import contract."""
    folders = {path.parent for path in modules()}
    assert [str(f.relative_to(PACKAGE)) for f in sorted(folders) if not (f / "__init__.py").exists()] == []


def test_every_silenced_rule_says_why() -> None:
    bare = [
        where(path, number)
        for path in modules()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if (found := SILENCED.search(line)) and not WITH_REASON.match(found.group())
    ]
    assert bare == [], "write the reason behind it: `# noqa: CODE - why`"
