"""Search this conversation, with its earlier sessions, for words."""

from __future__ import annotations

from datetime import UTC, datetime

from holdfast.model import CallRecord, CallState, Claimed, Entry, Replied, Returned, Said
from holdfast.policy.settings import SECOND
from holdfast.store import Remembered, Step, Store
from holdfast.tools import SearchHistory, ToolFailed

_MOST = 50
_AROUND = 150
"""How many characters are shown on either side of the first word that was found."""


async def search_history(store: Store, claimed: Claimed, wanted: SearchHistory, call: CallRecord) -> Step:
    """Find entries that hold all words, except in the turn that asks: its model already sees that turn."""
    words = tuple(wanted.words.split())
    if not words:
        raise ToolFailed("say which words to look for")
    limit = max(1, min(wanted.limit, _MOST))
    found = await store.search(claimed.session.key, words, claimed.turn.id, limit)
    if not found:
        text = f"Nothing in this conversation holds all of: {', '.join(words)}."
    else:
        text = "\n".join(_line(one, words[0], one.session == claimed.session.id) for one in found)
    return Step((Returned(call.id, CallState.DONE, text),))


def _line(found: Remembered, word: str, same: bool) -> str:
    at = datetime.fromtimestamp(found.entry.at / SECOND, UTC)
    where = "" if same else ", in an earlier session"
    return f"{at:%Y-%m-%d %H:%M} UTC{where}, {_who(found.entry)}: {_excerpt(_text(found.entry), word)}"


def _who(entry: Entry) -> str:
    match entry.body:
        case Said(woken=True):
            return "the gateway"
        case Said():
            return "the person"
        case Replied():
            return "you"
        case _:
            return "a tool"


def _text(entry: Entry) -> str:
    body = entry.body
    return body.text if isinstance(body, (Said, Replied, Returned)) else ""


def _excerpt(text: str, word: str) -> str:
    """The words around the first find, on one line."""
    at = max(0, text.casefold().find(word.casefold()))
    start, end = max(0, at - _AROUND), at + len(word) + _AROUND
    part = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{part}{'…' if end < len(text) else ''}"
