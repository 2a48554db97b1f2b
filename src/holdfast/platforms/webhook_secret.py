"""The secret by which a webhook knows Telegram's requests; a module of its own, without any library."""

from __future__ import annotations

import hashlib


def webhook_secret(token: str) -> str:
    """The secret, made from the bot's token. Telegram gets it at every start, so no file keeps it."""
    return hashlib.sha256(f"holdfast webhook {token}".encode()).hexdigest()
