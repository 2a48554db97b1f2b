"""Looking for words in what a conversation said, also in sessions that are over."""

from __future__ import annotations

from holdfast.model import Key, Replied, Returned, Said, SessionId, TurnId
from holdfast.store.contract import Remembered
from holdfast.store.verbs import rows
from holdfast.store.verbs.tx import Read

WITHIN = 5_000
"""The newest entries of a conversation that are looked through."""
_LONGEST = 60
"""Characters of a word that the database looks for; the rest of it is looked for in what that finds."""
_READ = 500
"""Rows read of those with the longest word: some lack the others, or hold it only in their make."""


def search(
    read: Read, key: Key, words: tuple[str, ...], but: TurnId, limit: int = 20
) -> tuple[Remembered, ...]:
    wanted = [word.casefold() for word in words if word.strip()]
    if not wanted:
        return ()
    pattern = _pattern(max(wanted, key=len)[:_LONGEST])
    found = (
        Remembered(SessionId(row[0]), rows.entry(row[1:]))
        for row in read.all("search_entries", key=key, within=WITHIN, but=but, pattern=pattern, limit=_READ)
    )
    return tuple(one for one in found if _holds(one, wanted))[:limit]


def _pattern(word: str) -> str:
    """Finds at least every body with the word; case is SQLite's to fold in plain letters only."""
    plain = "".join(letter if letter.isascii() and letter.isalnum() else "%" for letter in word)
    return f"%{plain}%"


def _holds(found: Remembered, words: list[str]) -> bool:
    body = found.entry.body
    text = body.text.casefold() if isinstance(body, (Said, Replied, Returned)) else ""
    return all(word in text for word in words)
