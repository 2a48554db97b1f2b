"""Search for words in a conversation, also in its ended sessions."""

from __future__ import annotations

from holdfast.model import Key, Replied, Returned, Said, SessionId, TurnId
from holdfast.store.contract import Remembered
from holdfast.store.verbs import rows
from holdfast.store.verbs.tx import Read

WITHIN = 5_000
"""How many of the newest entries of a conversation the search reads."""
_LONGEST = 60
"""How many characters of a word the database compares; the rest is compared here, in the rows it finds."""
_READ = 500
"""How many rows with the longest word are read: some lack the other words, or hold it in a JSON key only."""


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
    """A pattern that matches at least every body with the word; SQLite folds the case of ASCII only."""
    plain = "".join(letter if letter.isascii() and letter.isalnum() else "%" for letter in word)
    return f"%{plain}%"


def _holds(found: Remembered, words: list[str]) -> bool:
    body = found.entry.body
    text = body.text.casefold() if isinstance(body, (Said, Replied, Returned)) else ""
    return all(word in text for word in words)
