"""Which values of a configuration are secrets, and from when on."""

from pathlib import Path

import pytest

from holdfast.config.load import load_settings
from holdfast.config.secret_values import secrets_at, secrets_of
from holdfast.telemetry import SECRET

SETTINGS = """
telegram.token_env = "BOT"
[agents.main]
provider = "openai"
model = "m"
key_env = "OPENAI_KEY"
[agents.other]
provider = "anthropic"
model = "m"
key_file = "key"
[mcp.box]
command = "box"
env = ["BOX_TOKEN", "BOX_FOLDER", "BOX_SERVER", "BOX_HOOK"]
[mcp.far]
url = "https://example.org/mcp"
headers = { Authorization = "Bearer $FAR" }
"""
VALUES = {
    "BOT": "1000:bot-token-of-a-test",
    "OPENAI_KEY": "openai-key-of-a-test",
    "BOX_TOKEN": "box-token-of-a-test",
    "BOX_FOLDER": "/usr/files/of/a/test",
    "BOX_SERVER": "https://box.example:8443/",
    "BOX_HOOK": "https://box.example/hooks/1f4b77",
    "FAR": "far-key-of-a-test",
}
MASKED = ("BOT", "OPENAI_KEY", "BOX_TOKEN", "BOX_HOOK", "FAR")


@pytest.mark.guards("R22.7")
def test_keys_tokens_and_variables_of_servers_are_secrets_and_places_are_not(tmp_path: Path) -> None:
    (tmp_path / "holdfast.toml").write_text(SETTINGS)
    (tmp_path / "key").write_text("anthropic-key-of-a-test\n")
    settings = load_settings(tmp_path, VALUES).settings
    known = secrets_of(settings, VALUES)()
    assert known.without("anthropic-key-of-a-test") == SECRET
    assert {name for name, value in VALUES.items() if SECRET in known.without(value)} == set(MASKED)


@pytest.mark.guards("R22.7", "R14")
def test_a_replaced_token_counts_at_once_and_the_one_before_stays_masked(tmp_path: Path) -> None:
    secrets = secrets_at(tmp_path)
    assert secrets().without("first-token-of-a-test") == "first-token-of-a-test"
    for token in ("first-token-of-a-test", "second-token-of-a-test"):
        (tmp_path / "token").write_text(f"{token}\n")
        assert secrets().without(token) == SECRET
    assert secrets().without("first-token-of-a-test") == SECRET


def test_a_configuration_that_cannot_be_used_still_has_a_token(tmp_path: Path) -> None:
    (tmp_path / "holdfast.toml").write_text("nonsense")
    (tmp_path / "token").write_text("token-of-a-broken-home\n")
    assert secrets_at(tmp_path)().without("token-of-a-broken-home") == SECRET


@pytest.mark.guards("R22.7")
@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("GITHUB_PAT", "github-pat-of-a-test", True),
        ("DATABASE_URL", "postgres://me:pw@db.example/data", True),
        ("CREDENTIAL", "/usr/looks/like/a/path", True),
        ("SIGNING", "/kX9+no/folder/like/this==", True),
        ("PLAIN", "short", False),
        ("NODE_ENV", "production", False),
        ("DATA", "/usr/share/data", False),
        ("CACHE", "~/.cache/of/a/test", False),
        ("SERVICE", "http://127.0.0.1:8080", False),
        ("TERM", "xterm-256color", False),
        ("PATH", "/no-such-folder/bin:/usr/bin", False),
    ],
)
def test_what_commands_are_given_by_name_is_secret_unless_it_plainly_is_not(
    tmp_path: Path, name: str, value: str, expected: bool
) -> None:
    (tmp_path / "holdfast.toml").write_text(f'tools.terminal.env = ["{name}"]\n')
    known = secrets_of(load_settings(tmp_path, {}).settings, {name: value})()
    assert (SECRET in known.without(f"it is {value}")) is expected


@pytest.mark.guards("R22.7")
def test_the_password_inside_of_an_address_is_a_secret_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "holdfast.toml").write_text('tools.terminal.env = ["DATABASE_URL"]\n')
    address = "postgres://me:pass%2Fword-of-a-test@db.example/data"
    known = secrets_of(load_settings(tmp_path, {}).settings, {"DATABASE_URL": address})()
    for written in (address, "pass%2Fword-of-a-test", "pass/word-of-a-test"):
        assert known.without(f"it is {written}.") == f"it is {SECRET}."
