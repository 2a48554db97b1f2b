"""The public surface of Holdfast, read from the source, one dotted name a line in `surface.txt`.

After a change that is meant:  .venv/bin/python -m tests.unit.project.surface
"""

import ast
from pathlib import Path

from tests.unit.project.tree import PACKAGE, module_name, modules, parse

RECORD = Path(__file__).with_name("surface.txt")
UPDATE = ".venv/bin/python -m tests.unit.project.surface"


def declared(path: Path) -> list[str] | None:
    """The names in a module's `__all__`, or None where it has none."""
    for node in parse(path).body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                return [str(name) for name in ast.literal_eval(value)]
            case ast.AnnAssign(target=ast.Name(id="__all__"), value=ast.expr() as value):
                return [str(name) for name in ast.literal_eval(value)]
    return None


def defined(path: Path) -> list[str]:
    """The public names a module defines at its top level."""
    names: list[str] = []
    for node in parse(path).body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.append(name)
            case ast.Assign(targets=targets):
                names += [target.id for target in targets if isinstance(target, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.append(name)
    return [name for name in names if not name.startswith("_")]


def is_public(path: Path) -> bool:
    """Packages at any depth and the modules right below `holdfast`; the rest is private to its package."""
    if any(part.startswith("_") for part in module_name(path).split(".")):
        return False
    return path.name == "__init__.py" or path.parent == PACKAGE


def packages_without_all() -> list[str]:
    """Packages whose `__init__` says something and yet has no `__all__`."""
    return [
        module_name(path)
        for path in modules()
        if path.name == "__init__.py"
        and is_public(path)
        and len(parse(path).body) > 1
        and declared(path) is None
    ]


def surface() -> list[str]:
    names: list[str] = []
    for path in filter(is_public, modules()):
        listed = declared(path)
        names += [f"{module_name(path)}.{name}" for name in (defined(path) if listed is None else listed)]
    return sorted(names)


def recorded() -> list[str]:
    return RECORD.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    RECORD.write_text("".join(f"{name}\n" for name in surface()), encoding="utf-8")
