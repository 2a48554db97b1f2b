"""The reader of Git's configuration finds what Git finds; it never runs Git."""

import os
import subprocess
from pathlib import Path

import pytest

from holdfast.tools import ToolFailed
from holdfast.tools.containment.git_configuration import read

WRITTEN = (
    "[core]\n\thooksPath = .husky\n",
    "[CORE]\nHooksPath=.husky # said so\n",
    "[core] hooksPath = .husky ; said so\n",
    '[core]\n\thooksPath = "my hooks" \n',
    '[core]\n\thooksPath = "a\\"b\\\\c # d"  e\n',
    "[core]\n\thooksPath = first\\\n second\n",
    "[core]\r\n\thooksPath = .husky\r\n",
    "\ufeff[core]\n\thooksPath = .husky\n",
    '[branch "a]b\\"c"]\n\tx = 1\n[core]\n\thooksPath = .husky\n',
    "# a comment that ends so: \\\n[core]\n\thooksPath = .husky\n",
    "[core]\n\tbare\n\thooksPath = .husky\n",
)


@pytest.mark.parametrize("written", WRITTEN)
def test_what_git_reads_is_read(tmp_path: Path, written: str) -> None:
    file = tmp_path / "config"
    file.write_bytes(written.encode())
    asked = ["git", "config", "--file", str(file), "core.hooksPath"]
    told = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.removesuffix("\n")
    assert told in read(file).hooks


def test_files_are_included_from_where_they_are_named_and_each_once(tmp_path: Path) -> None:
    (tmp_path / "config").write_text('[include]\npath = sub/a\n[includeIf "gitdir:/x/"]\npath = ~/b\n')
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a").write_text("[include]\npath = ../config\n[core]\nhooksPath = h\nworktree = w\n")
    found = read(tmp_path / "config")
    included = {tmp_path / "sub" / "a", Path.home() / "b", tmp_path / "config"}
    assert (found.hooks, found.worktrees) == (("h",), (tmp_path / "sub" / "w",))
    assert set(found.included) == included


def test_a_pipe_in_the_place_of_a_file_names_nothing_and_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config")
    assert read(tmp_path / "config").hooks == ()


def test_more_than_anybody_configures_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"#" * 1_000_001)
    (tmp_path / "many").write_text("[include]\n" + "".join(f"path = {name}\n" for name in range(101)))
    for name, words in (("large", "too many for a configuration"), ("many", "more than 100 files")):
        with pytest.raises(ToolFailed, match=words):
            read(tmp_path / name)
