"""How the simulated bot is called, for who does not have what it takes to run one."""

from __future__ import annotations

from holdfast.model import Place

BOT = "bot"
"""What scenarios call the platform."""
TOKEN = "1000:a-token-for-tests"
ACCOUNT = "1000"
OWNER = "person-a"
"""The first of all people, so that their id is always the same."""
OWNER_CHAT = Place("telegram", ACCOUNT, "1001")
