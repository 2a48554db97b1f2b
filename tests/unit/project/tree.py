"""Where the project's files are, and what they say to a reader that does not run them."""

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SRC = ROOT / "src"
PACKAGE = SRC / "holdfast"


def modules(folder: Path = PACKAGE) -> list[Path]:
    return sorted(folder.rglob("*.py"))


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def module_name(path: Path) -> str:
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Every module a file imports, as (line, absolute dotted name); `from a import b` gives `a.b`."""
    package = module_name(path).split(".")
    if path.name != "__init__.py":
        package.pop()
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                yield node.lineno, f"{origin}.{alias.name}"


def repository_files() -> list[Path]:
    """The files git tracks or would add; without git (an unpacked archive), all outside hidden folders."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode == 0:
        found = {ROOT / name for name in listed.stdout.split("\0") if name}
    else:
        found = {
            path
            for path in ROOT.rglob("*")
            if not any(p.startswith(".") for p in path.relative_to(ROOT).parts)
        }
    return sorted(path for path in found if path.is_file() and "__pycache__" not in path.parts)
