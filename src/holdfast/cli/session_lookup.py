"""Find the session that the argument of a command names."""

from __future__ import annotations

from contextlib import suppress

from holdfast.api.queries import GatewayQueries
from holdfast.errors import NotFound, Refused
from holdfast.model import Session, SessionId
from holdfast.store import ReadOnlyLedger

_PAGE = 500
_LOOKED_AT = 20
"""Pages that are searched for the beginning of an id: ten thousand sessions."""


class SeveralSessions(Refused):
    """The ids of several sessions begin with these characters."""

    def __init__(self, prefix: str, found: list[SessionId]) -> None:
        shown = ", ".join(found[:3])
        super().__init__(
            f"{len(found)} sessions begin with {prefix}: {shown}{', …' if len(found) > 3 else ''}"
        )
        self.found = found


async def find_session(ledger: ReadOnlyLedger, looks: GatewayQueries, which: str) -> Session:
    """The session with this id, with an id that begins so, or the live session of the chat of this name."""
    # Not a whole id: then it is the name of a chat, or the beginning of an id.
    with suppress(NotFound):
        return await ledger.session(SessionId(which))
    live = await looks.find(None, which)
    if live is not None:
        return live
    found = await _beginning_with(ledger, which)
    if len(found) > 1:
        raise SeveralSessions(which, found)
    if not found:
        raise NotFound("session", f"{which}; `holdfast sessions --all` lists them")
    return await ledger.session(found[0])


async def _beginning_with(ledger: ReadOnlyLedger, prefix: str) -> list[SessionId]:
    found: list[SessionId] = []
    before: SessionId | None = None
    for _ in range(_LOOKED_AT):
        page = await ledger.sessions(before, _PAGE)
        found += [line.id for line in page if line.id.startswith(prefix)]
        if len(page) < _PAGE:
            break
        before = page[-1].id
    return found
