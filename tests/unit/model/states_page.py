"""`docs/reference/states.md`, drawn from the state tables and the words beside them.

After a change that is meant:  .venv/bin/python -m tests.unit.model.states_page
"""

import ast

from holdfast.model import MACHINES, StateTable, diagram
from tests.unit.project.tree import PACKAGE, ROOT, parse

PAGE = ROOT / "docs" / "reference" / "states.md"
UPDATE = ".venv/bin/python -m tests.unit.model.states_page"
SOURCE = PACKAGE / "model" / "states.py"

HEAD = """\
# States

<!-- Written by tests/unit/model/states_page.py from holdfast.model.states; do not edit by hand. -->

Everything the ledger follows moves along one of these tables. The database refuses any other change of
state, and a state with no way out is final. Damage may leave a row in a state that its table does not have:
such a row ends alone, in the final state that the table names.
"""


def meanings() -> dict[str, tuple[str, dict[str, str]]]:
    """For each machine, what its enum and each of its states say of themselves."""
    found = {}
    for node in parse(SOURCE).body:
        if isinstance(node, ast.ClassDef) and node.name.endswith("State"):
            about = ast.get_docstring(node) or ""
            found[node.name.removesuffix("State").lower()] = about, words(node)
    return found


def words(node: ast.ClassDef) -> dict[str, str]:
    """The line under each member, empty where its name says enough."""
    said: dict[str, str] = {}
    state = None
    for line in node.body:
        match line:
            case ast.Assign(value=ast.Constant(value=str(name))):
                state = name
                said[state] = ""
            case ast.Expr(value=ast.Constant(value=str(text))) if state is not None:
                said[state] = text
    return said


def section(machine: StateTable) -> str:
    about, states = meanings()[machine.name]
    assert set(states) == set(machine.arrows), f"{machine.name}: the table and its words differ"
    lines = [f"\n## {machine.name.capitalize()}\n", f"{about}\n", "```mermaid", diagram(machine), "```\n"]
    lines += [f"A row whose state cannot be read ends as `{machine.unreadable}`.\n"]
    lines += ["| state | meaning |", "|---|---|"]
    lines += [f"| `{state}` | {words or ''} |".replace("|  |", "| |") for state, words in states.items()]
    return "\n".join(lines) + "\n"


def page() -> str:
    return HEAD + "".join(section(machine) for machine in MACHINES)


if __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
