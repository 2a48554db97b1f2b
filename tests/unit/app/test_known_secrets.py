"""Which values of a configuration are secrets, and from when on."""

from pathlib import Path

import pytest

from holdfast.app.config import load_settings
from holdfast.app.known_secrets import secrets_at, secrets_of
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
    "BOX_FOLDER": "/srv/files/of/a/test",
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
