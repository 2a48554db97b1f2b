"""The keys of `[telegram]` and of platforms from other packages. None of them holds a secret."""

from __future__ import annotations

import re

from .keys import Key
from .kinds import choice, count, host
from .named_tables import file, matching, optional, texts, url, variable
from .settings import Reading

_PUBLIC = re.compile(r"https?://[^\s/?#@]+(?:/[^\s?#]*)?")

PLATFORM_KEYS: tuple[Key, ...] = (
    Key(
        "platforms.use",
        "platforms",
        texts("a list of names that the packages give them"),
        "platforms from other packages that the gateway serves",
    ),
    Key(
        "telegram.token_env",
        "telegram.token_env",
        optional(variable()),
        "the variable that holds the bot's token; with it, or with token_file, the gateway serves the bot",
    ),
    Key(
        "telegram.token_file", "telegram.token_file", optional(file()), "a file that holds the token instead"
    ),
    Key(
        "telegram.base_url",
        "telegram.base_url",
        url(),
        "the address of the Bot API: Telegram's own, or your own server's",
    ),
    Key(
        "telegram.reading",
        "telegram.reading",
        choice(Reading),
        "polling: the gateway asks Telegram for messages; webhook: Telegram sends them to webhook_url",
    ),
    Key(
        "telegram.webhook_url",
        "telegram.webhook_url",
        optional(matching(_PUBLIC, 'an address, like "https://bot.example.org/telegram"')),
        "the address to which Telegram sends messages; your proxy passes them on to webhook_port",
    ),
    Key("telegram.webhook_host", "telegram.webhook_host", host(), "the address the gateway listens on"),
    Key("telegram.webhook_port", "telegram.webhook_port", count(1, 65_535), "the port it listens on"),
)
