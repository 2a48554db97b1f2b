"""The names of the simulated bot, for code that runs without the bot's dependencies."""

from __future__ import annotations

from holdfast.model import Place

BOT = "bot"
"""The name of the platform in scenarios."""
TOKEN = "1000:a-token-for-tests"
ACCOUNT = "1000"
OWNER = "person-a"
"""The first of all people, so that the id is always the same."""
OWNER_CHAT = Place("telegram", ACCOUNT, "1001")
