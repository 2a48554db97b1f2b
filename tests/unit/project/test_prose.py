"""Plain English: the worst patterns stand in no sentence that a person, or a reader of the code, meets."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.project.tree import PACKAGE, ROOT, modules

WORST = re.compile(
    r"\b(nobody|somebody|whoever|whichever|anew|befall\w*|let(?:s|ting)? go of|begun with|grave"
    r"|lest|ere|in vain|to be had|comes? to rest|of ours|of theirs|by and by|stands? (?:so|there|in)\b"
    r"|how it stands|is theirs)\b",
    re.IGNORECASE,
)
"""Words that name no actor, archaic words and inverted ones (docs/reference/glossary.md has better ones)."""

PAGES = (
    *(ROOT / name for name in ("README.md", "AGENTS.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
)
STATIC = tuple(sorted((PACKAGE / "web" / "static").glob("*.js"))) + tuple(
    sorted((PACKAGE / "web" / "static").glob("*.html"))
)


def said(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a module that people read: strings, docstrings and comments; of other files, all."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        # Backticks hold names and commands.
        yield from enumerate((re.sub(r"`[^`]*`", "", line) for line in text.splitlines()), 1)
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.STRING, tokenize.COMMENT):
            for further, line in enumerate(token.string.splitlines()):
                yield token.start[0] + further, line


def worst(paths: Iterator[Path] | tuple[Path, ...] | list[Path]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{number}: {found[0]}"
        for path in paths
        for number, line in said(path)
        if (found := WORST.search(line))
    ]


def test_no_sentence_of_the_code_has_the_worst_patterns() -> None:
    assert worst(modules()) == []


def test_no_sentence_of_the_docs_or_the_page_has_the_worst_patterns() -> None:
    assert worst([path for path in (*PAGES, *STATIC) if path.exists()]) == []


@pytest.mark.parametrize(
    "line", ["Nobody was up for 7 s.", "What stands there is let go of.", "begun with anew"]
)
def test_the_check_finds_them(line: str) -> None:
    assert WORST.search(line)


def test_code_is_not_taken_for_a_sentence(tmp_path: Path) -> None:
    module = tmp_path / "m.py"
    module.write_text("grave = 1  # why\nx = 'Nobody asked.'\n")
    assert [line for _, line in said(module)] == ["# why", "'Nobody asked.'"]
    assert isinstance(ast.parse(module.read_text()), ast.Module)
