"""`docs/reference/guarantees.md`, written from the capabilities of the platforms.

After a change that is meant:  .venv/bin/python -m tests.unit.platforms.guarantees_page
"""

# ruff: noqa: E501 - the prose of the page is as wide as the other pages are
from holdfast.platforms.guarantees import guarantees
from holdfast.platforms.registry import Known, known
from tests.unit.project.tree import ROOT

PAGE = ROOT / "docs" / "reference" / "guarantees.md"
UPDATE = ".venv/bin/python -m tests.unit.platforms.guarantees_page"

HEAD = """\
# What is promised where

<!-- Written by tests/unit/platforms/guarantees_page.py from the platforms' capabilities; do not edit by hand. -->

`holdfast guarantees` prints this for every platform on your machine, also for those that other packages bring. It follows
from what a platform can do ([its capabilities](platforms.md)) and from nothing else: one function makes these words, and
a conformance suite checks that a platform can do what it says.

`yes`: it holds through crashes, restarts and power cuts. `partly`: with the limit that is named. `no`: do not count on it.
"""


def section(one: Known) -> str:
    rows = "\n".join(
        f"| {each.about} | {each.holds} | {each.words} |" for each in guarantees(one.capabilities)
    )
    return f"\n## {one.name}\n\n| what | promised | how |\n|---|---|---|\n{rows}\n"


def page() -> str:
    """The whole page; only of what comes with Holdfast, whatever is installed besides."""
    return HEAD + "".join(section(one) for one in known(offered=()))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
