import ast
from pathlib import Path

import pytest

from tests.unit.project.tree import PACKAGE, ROOT, imports, modules, parse

PURE_PACKAGES = ("model", "policy")

# What a pure module may import. A list of what is allowed, so that nothing impure gets in for lack of a ban.
ALLOWED = {
    *("__future__", "abc", "base64", "binascii", "bisect", "collections", "copy", "dataclasses", "datetime"),
    *(
        "decimal",
        "enum",
        "fnmatch",
        "fractions",
        "functools",
        "hashlib",
        "heapq",
        "hmac",
        "itertools",
        "pathlib.PurePath",
        "json",
        "math",
    ),
    *(
        "operator",
        "re",
        "re2",
        "string",
        "struct",
        "textwrap",
        "types",
        "typing",
        "unicodedata",
        "urllib.parse",
    ),
    *("holdfast.errors", "holdfast.model", "holdfast.records"),
}
ALSO_ALLOWED = {"model": set[str](), "policy": {"holdfast.policy"}}
EFFECTS = {"open", "print", "input", "exec", "eval", "__import__", "breakpoint"}


def is_allowed(imported: str, allowed: set[str]) -> bool:
    return any(imported == name or imported.startswith(f"{name}.") for name in allowed)


def impurities(path: Path, allowed: set[str]) -> list[str]:
    found = [(line, f"imports {name}") for line, name in imports(path) if not is_allowed(name, allowed)]
    for node in ast.walk(parse(path)):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in EFFECTS:
                found.append((node.lineno, f"calls {name}()"))
            case ast.AsyncFunctionDef() | ast.Await() | ast.AsyncFor() | ast.AsyncWith():
                found.append((node.lineno, "is asynchronous"))
            case ast.Global():
                found.append((node.lineno, "changes module state"))
    return [f"{path.name}:{line} {what}" for line, what in sorted(found)]


@pytest.mark.parametrize("package", PURE_PACKAGES)
def test_the_rules_depend_on_nothing_but_their_arguments(package: str) -> None:
    allowed = ALLOWED | ALSO_ALLOWED[package]
    found = {str(p.relative_to(ROOT)): impurities(p, allowed) for p in modules(PACKAGE / package)}
    assert {path: what for path, what in found.items() if what} == {}


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("import asyncio", "m.py:1 imports asyncio"),
        ("from os import path", "m.py:1 imports os.path"),
        ("def f():\n    import sqlite3", "m.py:2 imports sqlite3"),
        ("from ..store import Store", "m.py:1 imports holdfast.store.Store"),
        ("import holdfast.clock", "m.py:1 imports holdfast.clock"),
        ("open('x')", "m.py:1 calls open()"),
        ("async def f() -> None: ...", "m.py:1 is asynchronous"),
    ],
)
def test_an_impure_module_is_noticed(
    source: str, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.unit.project.tree.SRC", tmp_path)
    path = tmp_path / "holdfast" / "policy" / "m.py"
    path.parent.mkdir(parents=True)
    path.write_text(source)
    assert impurities(path, ALLOWED) == [complaint]
