import re
from pathlib import Path

from tests.unit.project.tree import ROOT, repository_files

LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The headings of a page, written as browsers and code hosts write them into an address."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(page: Path) -> list[str]:
    found = []
    for link in LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        address, _, anchor = link.partition("#")
        if "://" in address:
            continue
        target = (page.parent / address).resolve() if address else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            found.append(f"{page.relative_to(ROOT)}: {link}")
    return found


def test_every_link_of_the_documentation_leads_to_a_page_and_a_heading() -> None:
    pages = [path for path in repository_files() if path.suffix == ".md"]
    assert [link for page in pages for link in broken(page)] == []


def test_a_heading_is_known_by_its_address(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# What is *not* promised\n\n```\n# no heading\n```\n", encoding="utf-8")
    assert anchors(page) == {"what-is-not-promised"}
