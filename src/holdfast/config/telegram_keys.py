"""The keys of `[telegram]`. Like those of the tables that people name, none of them holds a secret."""

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
        texts("a list of names, as their packages offer them"),
        "platforms of other packages that are served",
    ),
    Key(
        "telegram.token_env",
        "telegram.token_env",
        optional(variable()),
        "the variable that holds the bot's token; with it, or token_file, the bot is served",
    ),
    Key("telegram.token_file", "telegram.token_file", optional(file()), "a file that holds it, instead"),
    Key(
        "telegram.base_url",
        "telegram.base_url",
        url(),
        "where the Bot API is: Telegram's own, or a server of yours",
    ),
    Key(
        "telegram.reading",
        "telegram.reading",
        choice(Reading),
        "whether we ask for what people write, or Telegram brings it",
    ),
    Key(
        "telegram.webhook_url",
        "telegram.webhook_url",
        optional(matching(_PUBLIC, 'an address, like "https://bot.example.org/telegram"')),
        "where Telegram brings it; a proxy of yours hands it on to webhook_port",
    ),
    Key("telegram.webhook_host", "telegram.webhook_host", host(), "the address we listen at for it"),
    Key("telegram.webhook_port", "telegram.webhook_port", count(1, 65_535), "and the port"),
)
