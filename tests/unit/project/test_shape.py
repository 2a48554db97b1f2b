import ast
import re
from collections import Counter, defaultdict
from pathlib import Path

from tests.unit.project.tree import PACKAGE, ROOT, modules, parse

LONGEST = 450
MOST_MODULES = 20
"""In one folder. More are two ideas."""
VAGUE = frozenset(
    {
        *(
            "asked",
            "boundary",
            "crew",
            "desk",
            "door",
            "exits",
            "farewell",
            "guard",
            "hands",
            "keeper",
            "known",
        ),
        *(
            "launch",
            "live",
            "local",
            "looks",
            "minder",
            "outside",
            "owing",
            "places",
            "plain",
            "pulse",
            "reached",
        ),
        *(
            "reached",
            "readings",
            "remembering",
            "report",
            "restored",
            "revivals",
            "served",
            "shapes",
            "shield",
            "shown",
        ),
        *("standing", "toolbox", "ways", "working", "words"),
    }
)
"""Names that say nothing until the module is opened; each was replaced by a noun of the domain once."""
NOUNS = frozenset({"pairing", "routing"})
"""Words in -ing that are nouns of the domain."""

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


def test_no_module_is_named_by_a_bare_gerund_or_a_vague_word() -> None:
    """A module is a noun of the domain, or the one thing it holds: `committer`, not `keeping`."""
    names = {path: path.stem for path in modules()}
    vague = [path for path, name in names.items() if name in VAGUE]
    gerunds = [path for path, name in names.items() if re.fullmatch(r"[a-z]+ing", name) and name not in NOUNS]
    assert [str(path.relative_to(ROOT)) for path in (*vague, *gerunds)] == []


def test_no_folder_holds_too_many_modules() -> None:
    """A folder tells one idea. The file that makes it a package does not count."""
    count = Counter(path.parent for path in modules() if path.stem not in ("__init__", "__main__"))
    assert {str(f.relative_to(ROOT)): n for f, n in count.items() if n > MOST_MODULES} == {}


def test_no_public_class_name_is_used_twice() -> None:
    """One word, one meaning: a class is found by its name alone."""
    homes = defaultdict(list)
    for path in modules():
        for node in parse(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(str(path.relative_to(ROOT)))
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


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
