"""Writing the configuration for somebody: theirs stays theirs, and all is written or nothing."""

import os
import stat
import tomllib
from pathlib import Path

import pytest

from holdfast.config.edit_file import NotWritten, with_lines, write_all

KEYS = {"token_file": "telegram.token"}
OWNERS = {"owners": ["telegram:1"]}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# mine\n",
        'workers = 3  # few\n\n[drain]\nwait = 10\n\n[agents.main]\nmodel = "x"\n',
        '[telegram]\nbase_url = "http://127.0.0.1:1"\n\n[drain]\nwait = 10\n',
        "  [ drain ]\nwait = 10",
        'owners = ["telegram:9"] # old\n[telegram]\ntoken_file = "old"',
        '[telegram] # a bot\n# its token\ntoken_file = "old" # soon another\nreading = "polling"\n',
        "[telegram]",
    ],
)
def test_what_is_added_is_read_and_all_else_stays(text: str) -> None:
    made = with_lines(text, OWNERS, "telegram", KEYS)
    was, now = tomllib.loads(text), tomllib.loads(made)
    assert now == {**was, **OWNERS, "telegram": {**was.get("telegram", {}), **KEYS}}
    comments = [line for line in text.splitlines() if line.strip().startswith("#")]
    assert all(comment in made for comment in comments)
    assert with_lines(made, OWNERS, "telegram", KEYS) == made


@pytest.mark.parametrize(
    "text",
    [
        'owners = [\n  "telegram:9",\n]\n',
        'telegram.base_url = "http://127.0.0.1:1"\n',
        'telegram = { base_url = "http://127.0.0.1:1" }\n',
        'note = """\n[telegram]\n"""\n',
    ],
)
def test_a_file_written_in_another_way_is_left_alone_and_the_lines_are_told(text: str) -> None:
    with pytest.raises(NotWritten) as refused:
        with_lines(text, OWNERS, "telegram", KEYS)
    assert 'token_file = "telegram.token"' in str(refused.value)


def test_a_secret_is_its_owners_alone_and_the_mode_of_other_files_stays(tmp_path: Path) -> None:
    config, token = tmp_path / "home" / "holdfast.toml", tmp_path / "home" / "telegram.token"
    write_all({token: "1:x\n", config: "a = 1\n"}, frozenset({token}))
    assert stat.S_IMODE(token.stat().st_mode) == stat.S_IMODE(config.stat().st_mode) == 0o600
    config.chmod(0o640)
    token.chmod(0o644)
    write_all({token: "1:y\n", config: "a = 2\n"}, frozenset({token}))
    assert (stat.S_IMODE(token.stat().st_mode), stat.S_IMODE(config.stat().st_mode)) == (0o600, 0o640)
    assert (token.read_text(), config.read_text()) == ("1:y\n", "a = 2\n")
    assert sorted(os.listdir(config.parent)) == ["holdfast.toml", "telegram.token"]


@pytest.mark.parametrize("before", [None, "1:old\n"])
def test_if_one_cannot_be_written_none_is(tmp_path: Path, before: str | None) -> None:
    token, config = tmp_path / "telegram.token", tmp_path / "holdfast.toml"
    if before is not None:
        token.write_text(before)
    (config / "in the way").mkdir(parents=True)
    with pytest.raises(NotWritten, match="nothing was changed"):
        write_all({token: "1:new\n", config: "a = 1\n"}, frozenset({token}))
    assert (token.read_text() if token.exists() else None) == before
    assert {path.name for path in tmp_path.iterdir()} <= {"telegram.token", "holdfast.toml"}
