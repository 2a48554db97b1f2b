"""Which modules no world enters: the part of `docs/explanation/proof.md` that is measured, not written.

After a change that is meant:  .venv/bin/python -m tests.sim.modules_page
"""

import ast
import sys
from collections import defaultdict
from pathlib import Path
from types import FrameType

from holdfast.testing import Options, random_world, run_world
from tests.sim.scenarios import CANONICAL, SEED
from tests.unit.project.tree import PACKAGE, ROOT, module_name, modules, parse

PAGE = ROOT / "docs" / "explanation" / "proof.md"
UPDATE = ".venv/bin/python -m tests.sim.modules_page"
BEGIN, END = "<!-- modules: written by tests/sim/modules_page.py -->", "<!-- end of modules -->"
WORLDS = range(40)
"""Random worlds that are played besides the canonical ones."""
_FUNCTION = 1  # CO_OPTIMIZED: set for functions, and neither for modules nor for the bodies of classes.

ELSEWHERE = {
    "agents": "against servers that speak the providers' protocols, and the drill's agent in real processes",
    "api": "over HTTP and from the command line, by their own tests",
    "cli": "by tests that run the commands, and the drill",
    "config": "by tests of their own, and by real processes",
    "gateway": "in real processes that are killed, and by tests of their own",
    "holdfast": "by a test that asks for every public name",
    "inbox": "by tests of their own",
    "installation": "by a test in an empty environment",
    "maintenance": "by tests of their own, and by the commands",
    "platforms": "by tests of their own; a webhook needs a server that listens",
    "policy": "by tables of cases",
    "process": "in real processes that are killed",
    "store": "by the contract that every store keeps, and by power cuts: a world writes without threads",
    "telemetry": "by tests of their own",
    "tools": "by tests with real commands, real files and real MCP servers: a world has a machine of its own",
    "turns": "by tests of their own",
    "web": "over HTTP by its own tests, and in a real browser",
}
"""What tries those of a package that no world does."""


def entered() -> set[str]:
    """Play worlds, and say in which modules of the product a function was called meanwhile."""
    files: set[str] = set()

    def see(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_flags & _FUNCTION:
            files.add(code.co_filename)

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        for scenario in CANONICAL.values():
            run_world(scenario, Options(seed=SEED, readers=True))
        for seed in WORLDS:
            run_world(*random_world(seed))
    finally:
        sys.setprofile(before)
    return {module_name(path) for path in product() if str(path) in files}


def product() -> list[Path]:
    """The modules of what people run; the simulator and the other tools for tests are none of it."""
    return [path for path in modules() if "testing" not in path.relative_to(PACKAGE).parts]


def has_functions(path: Path) -> bool:
    """Whether there is anything to call; a contract only names its verbs."""
    return any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not all(map(_is_said, node.body))
        for node in ast.walk(parse(path))
    )


def _is_said(line: ast.stmt) -> bool:
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)


def section() -> str:
    """The measured part, as it should stand on the page."""
    counted = [path for path in product() if has_functions(path)]
    known = entered()
    by_package: dict[str, list[str]] = defaultdict(list)
    for path in counted:
        name = module_name(path)
        if name not in known:
            _, package, *rest = [*name.split("."), ""]
            package = package or "holdfast"
            by_package[package].append(".".join(filter(None, rest)) or package)
    missing = sum(map(len, by_package.values()))
    lines = [
        BEGIN,
        f"Worlds call functions of {len(counted) - missing} of the {len(counted)} modules that have any. "
        "No world enters these:",
        "",
        "| package | modules | what tries them instead |",
        "|---|---|---|",
        *(
            f"| {package} | {', '.join(f'`{name}`' for name in sorted(names))} | {ELSEWHERE[package]} |"
            for package, names in sorted(by_package.items())
        ),
        END,
    ]
    return "\n".join(lines)


def page() -> str:
    """The page with this part as it should stand."""
    text = PAGE.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    return f"{head}{section()}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
