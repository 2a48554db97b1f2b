"""The keys of [telegram]: a token is named, never repeated, and costs who has none nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.config.load import describe, load_settings
from holdfast.config.telegram_keys import PLATFORM_KEYS
from holdfast.errors import BadConfig
from holdfast.gateway.build.platforms import check_platforms, telegram_token

TOKEN = "1000:canary"


def complaint(home: Path, toml: str = "", **environment: str) -> BadConfig:
    (home / "holdfast.toml").write_text(toml)
    with pytest.raises(BadConfig) as raised:
        telegram_token(load_settings(home, environment).settings, environment)
    assert "canary" not in str(raised.value)
    return raised.value


@pytest.mark.guards("R14")
def test_a_token_in_the_wrong_place_is_refused_and_not_repeated(tmp_path: Path) -> None:
    complaint(tmp_path, f'telegram.token = "{TOKEN}"')
    complaint(tmp_path, f'telegram.token_env = "{TOKEN}"')
    complaint(tmp_path, HOLDFAST_TELEGRAM_TOKEN=TOKEN)
    complaint(tmp_path, 'telegram.token_env = "BOT"', BOT="canary without a colon")
    assert complaint(tmp_path, 'telegram.token_env = "BOT"').key == "telegram.token_env"


def test_the_token_is_read_where_the_keys_say_and_stands_in_no_settings(tmp_path: Path) -> None:
    (tmp_path / "holdfast.toml").write_text('telegram.token_file = "token"')
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    loaded = load_settings(tmp_path, {})
    assert telegram_token(loaded.settings) == TOKEN
    assert TOKEN not in repr(loaded) + repr(describe(loaded))
    check_platforms(loaded.settings)


def test_a_webhook_needs_an_address(tmp_path: Path) -> None:
    assert complaint(tmp_path, 'telegram.reading = "webhook"').key == "telegram.webhook_url"


def test_every_key_has_a_default_that_reads_back(tmp_path: Path) -> None:
    shown = {one.key: one for one in describe(load_settings(tmp_path, {}))}
    for key in PLATFORM_KEYS:
        assert key.kind.show(key.kind.read(shown[key.name].default)) == shown[key.name].default


CHECKS = """
import sys, holdfast.web
from pathlib import Path
from holdfast.config.load import load_settings
from holdfast.gateway.build.platforms import check_platforms
check_platforms(load_settings(Path(sys.argv[1]), {}).settings)
sys.exit(bool({"aiogram", "aiohttp", "markdown_it"} & set(sys.modules)))
"""


def test_who_serves_no_bot_imports_nothing_for_it(tmp_path: Path) -> None:
    assert subprocess.run([sys.executable, "-c", CHECKS, tmp_path]).returncode == 0


KNOWS = """
import sys
from holdfast.platforms.telegram.adapter import capabilities
capabilities()
sys.exit("aiogram" in sys.modules)
"""


def test_what_a_bot_can_do_is_known_without_its_library() -> None:
    assert subprocess.run([sys.executable, "-c", KNOWS]).returncode == 0


PIGEONS = """
platforms.use = ["pigeons"]
[platforms.pigeons]
loft = "the barn"
feed = { each = 3 }
"""


def test_the_table_of_anothers_platform_is_handed_on_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "holdfast.toml").write_text(PIGEONS)
    loaded = load_settings(tmp_path, {})
    assert loaded.settings.platforms == ("pigeons",)
    assert loaded.settings.platform_tables == {"pigeons": {"loft": "the barn", "feed": {"each": 3}}}
    assert "barn" not in repr(describe(loaded)), "it may be a secret"


@pytest.mark.guards("R16")
def test_a_table_of_a_platform_that_is_not_served_is_refused(tmp_path: Path) -> None:
    (tmp_path / "holdfast.toml").write_text(PIGEONS.replace('["pigeons"]', '["owls"]'))
    with pytest.raises(BadConfig, match=r"platforms\.pigeons .*owls"):
        load_settings(tmp_path, {})
