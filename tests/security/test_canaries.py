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

from holdfast.api.client import listen
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
PLAIN_NAME = "pat-canary-5d0e9b7c11f24a-end"
ADDRESS = "postgres://holdfast:db-canary+77e1c0@db.example/holdfast"
HELPERS = """\
tools.use = ["terminal", "files", "processes"]
approvals.effect = "allow"
tools.terminal.env = ["A_COPY", "THE_KEY", "GITHUB_PAT", "DATABASE_URL"]
agents.spare.provider = "openai"
agents.spare.model = "spare"
agents.spare.base_url = "http://127.0.0.1:9/v1"
agents.spare.key_env = "THE_KEY"
[mcp.box]
command = "python3"
args = ["box.py"]
env = ["A_COPY", "THE_KEY", "GITHUB_PAT", "DATABASE_URL"]
"""
SAYS = r"""
import base64, os, sys, urllib.parse
for out in (sys.stderr, sys.stdout):
    for name in ("A_COPY", "THE_KEY", "GITHUB_PAT", "DATABASE_URL"):
        value = os.environ[name]
        for text in (value, urllib.parse.quote(value, ""), urllib.parse.unquote(value[-40:])):
            # In halves, so that a border of pieces is inside of it.
            for half in (text[: len(text) // 2], text[len(text) // 2 :]):
                out.write(half)
                out.flush()
            out.write("\n")
        for before in (0, 1, 2, 47):
            print(base64.encodebytes(b"x" * before + value.encode() + b"y" * 60).decode(), file=out)
    print("x" * 16_370 + os.environ["A_COPY"], file=out)
print("over", file=sys.stderr)
"""
FILES = {
    "plain.txt": "printf 'a key: %s' \"$GITHUB_PAT\"",
    "encoded.bin": "{ printf '\\377\\0'; printf '%s' \"$THE_KEY\" | base64; }",
    "wide.txt": "printf '%s' \"$A_COPY\" | iconv -t UTF-16LE",
}
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
def settings() -> str:
    return SETTINGS


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str) -> Iterator[House]:
    known = {"A_COPY": TOKEN, "ANOTHER": REPLACED, "THE_KEY": KEY}
    known |= {"GITHUB_PAT": PLAIN_NAME, "DATABASE_URL": ADDRESS}
    for name, value in known.items():
        monkeypatch.setenv(name, value)
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "token").write_text(f"{TOKEN}\n")
    found = House(home, settings)
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
    assert not found_in(tmp_path, TOKEN, REPLACED, KEY)


def found_in(folder: Path, *values: str) -> list[str]:
    """Where any of these is in what the gateway and its helpers wrote; what agents wrote is theirs."""
    inputs = {"token", "holdfast.toml", "inside.py"}
    written = [
        one
        for one in folder.rglob("*")
        if one.is_file() and one.name not in inputs and "workspace" not in one.relative_to(folder).parts
    ]
    assert len(written) > 10
    return [
        f"{one.relative_to(folder)}: {form!r}"
        for one in written
        for form in (form for value in values for form in forms(value))
        if form in one.read_bytes()
    ]


def wait_for(house: House, pattern: str, words: bytes) -> list[bytes]:
    """Wait until a file of the home holds these words; all files of this name."""
    while not any(words in path.read_bytes() for path in house.home.glob(pattern)):
        house.ask("status")
    return [path.read_bytes() for path in house.home.glob(pattern)]


@pytest.mark.guards("R22.7", "R14")
@pytest.mark.parametrize("settings", [HELPERS])
def test_no_secret_is_in_what_helpers_keep_or_in_what_people_are_sent(house: House, tmp_path: Path) -> None:
    (house.workspace / "box.py").write_text(SAYS)
    said = f"cat > says.py <<'END'\n{SAYS}\nEND\npython3 says.py"
    (house.home / "process_start-p.json").write_text(json.dumps({"command": said, "notify": False}))
    made = "; ".join(f"{writes} > {name}" for name, writes in FILES.items())
    command(house, "f", f"{made}; echo nothing > harmless.txt")
    gateway = house.up()
    house.say("home", "do process_start #p")
    house.heard("home", "answer to p")
    house.say("home", "do terminal #f")
    house.heard("home", "answer to f")
    for at, name in enumerate((*FILES, "harmless.txt")):
        (house.home / f"send_file-s{at}.json").write_text(json.dumps({"path": name}))
        house.say("home", f"do send_file #s{at}")
        house.heard("home", f"answer to s{at}")
    wait_for(house, "processes/*/ended.json", b"code")
    (output,) = wait_for(house, "processes/*/output.0", b"over")
    (log,) = wait_for(house, "logs/mcp-box.log", b"over")
    gateway.stop()
    results = [text for role, text, _ in house.shown("s3") if role == "tool"]
    assert all("holds a secret" in text for text in results[-4:-1])
    assert "is sent" in results[-1]
    assert all(text.count(b"[secret]") >= 4 * 2 * 6 for text in (output, log))
    assert not found_in(tmp_path, TOKEN, KEY, PLAIN_NAME, ADDRESS, "db-canary+77e1c0")
