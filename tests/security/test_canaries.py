"""A secret in every place it can come from: after kills, nothing that the gateway wrote holds it."""

import asyncio
import json
import sys
import tarfile
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from holdfast.app.client import listen
from tests.support.commands import holdfast
from tests.support.outside import LONG, House

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="commands run contained on Linux")

TOKEN = "own-canary+6f0d2e/91:41c7aa0b35e8-token"
REPLACED = "new-canary-3b1d77e0a9c24f55-token"
KEY = "key-canary/81c+5e:77d2b1a09f3c"
SETTINGS = """\
tools.use = ["terminal"]
approvals.effect = "allow"
tools.terminal.env = ["A_COPY", "ANOTHER", "THE_KEY"]
agents.spare.provider = "openai"
agents.spare.model = "spare"
agents.spare.base_url = "http://127.0.0.1:9/v1"
agents.spare.key_env = "THE_KEY"
"""
PRINTS = r"""
echo "whole: $A_COPY $THE_KEY"
for name in "$A_COPY" "$THE_KEY"; do
  for before in "" x xx; do printf '%s' "$before$name" | base64; done
  { printf 'x%.0s' {1..47}; printf '%s' "$name"; printf 'y%.0s' {1..60}; } | base64
done
python3 -c 'import os, urllib.parse as u
for name in ("A_COPY", "THE_KEY"): print(u.quote(os.environ[name], ""), u.quote_plus(os.environ[name]))'
seq 20000; echo "and at the end of a long result: $A_COPY"
"""
HALVES = r"""
printf 'half: %s' "${A_COPY:0:12}"; sleep 0.3; printf '%s\nshown\n' "${A_COPY:12}"; sleep 600
"""


def forms(value: str) -> list[bytes]:
    """The value, and what of it stands in base64 wherever it begins."""
    encoded = [b64encode(b"x" * before + value.encode())[4:-4] for before in range(3)]
    return [value.encode(), quote(value, safe="").encode(), json.dumps(value).encode(), *encoded]


def command(house: House, tag: str, text: str) -> None:
    (house.home / f"terminal-{tag}.json").write_text(json.dumps({"command": text}))


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    monkeypatch.setenv("A_COPY", TOKEN)
    monkeypatch.setenv("ANOTHER", REPLACED)
    monkeypatch.setenv("THE_KEY", KEY)
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "token").write_text(f"{TOKEN}\n")
    found = House(home, SETTINGS)
    yield found
    found.close()


async def previewed(house: House, words: str) -> list[str]:
    """What people were shown beside the messages, up to these words."""
    texts: list[str] = []
    async for event in listen(house.home, "/api/chats/home/events"):
        texts.append(json.dumps(event.data))
        if words in texts[-1]:
            return texts
    raise AssertionError(f"the gateway went; it showed {texts}")


def recorded(house: House, words: str) -> None:
    """Wait until the ledger keeps what was shown."""
    while not any(words.encode() in path.read_bytes() for path in house.home.glob("ledger.db*")):
        house.ask("status")


@pytest.mark.guards("R22.7", "R14")
def test_no_secret_is_in_anything_that_was_written_or_shown(house: House, tmp_path: Path) -> None:
    command(house, "a", PRINTS)
    command(house, "b", HALVES)
    command(house, "c", 'echo "$ANOTHER"; echo over')
    gateway = house.up()
    shown = [gateway.words]
    house.say("home", f"my key is {KEY}, I think #n")
    house.say("home", "do terminal #a")
    shown += house.heard("home", "answer to a")
    house.say("home", "do terminal #b")
    shown += asyncio.run(asyncio.wait_for(previewed(house, "half: [secret]"), LONG))
    recorded(house, "half: [secret]")
    gateway.kill()
    gateway = house.up()
    shown += house.heard("home", "answer to b")
    # A token that is replaced while the gateway runs is a secret at once.
    (house.home / "token").write_text(f"{REPLACED}\n")
    house.say("home", "do terminal #c")
    shown += house.heard("home", "answer to c")
    (session,) = house.look("sessions")["sessions"]
    for words in (["backup", tmp_path / "kept.tar"], ["export", session["id"], tmp_path / "incident.json"]):
        done = holdfast(*words, "--home", house.home)
        assert done.returncode == 0, done.stderr
        shown += [done.stdout, done.stderr]
    shown += [json.dumps(house.look("session", session=session["id"])), gateway.words]
    gateway.stop()
    assert "[secret]" in "".join(shown)
    results = [text for role, text, _ in house.shown("c") if role == "tool"]
    assert results[-1].startswith("[secret]") and "over" in results[-1]

    (tmp_path / "shown.txt").write_text("\n".join(shown))
    with tarfile.open(tmp_path / "kept.tar") as kept:
        kept.extractall(tmp_path / "kept", filter="data")
    inputs = {"token", "holdfast.toml", "inside.py"}
    written = [one for one in tmp_path.rglob("*") if one.is_file() and one.name not in inputs]
    assert len(written) > 10
    found = [
        f"{one.relative_to(tmp_path)}: {form!r}"
        for one in written
        for form in (*forms(TOKEN), *forms(REPLACED), *forms(KEY))
        if form in one.read_bytes()
    ]
    assert not found
