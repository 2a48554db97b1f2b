"""`/forget`: asked for twice, then carried out in steps until nothing is left of what was said."""

from __future__ import annotations

from holdfast.model import SessionId
from holdfast.store import Scope

from . import words
from .desk import Asked, Desk, NotYet, done, refuse


async def forget(desk: Desk, asked: Asked) -> None:
    """Erase this conversation, once the person has said so in words; an owner may name one session."""
    row, wanted = asked.row, asked.command.args.lower()
    word, _, session = wanted.partition(" ")
    scope = Scope(row.key, row.position, SessionId(session) if session else None)
    if asked.begun:
        await _erase(desk, asked, scope)
    elif not wanted:
        await done(desk, asked, words.FORGET)
    elif wanted != words.EVERYTHING and not (word == words.SESSION and session):
        text = f"Nothing was erased: I do not know {words.shown(wanted)}. {words.FORGET}"
        await refuse(desk, asked, "unconfirmed", text)
    elif not asked.owner and (session or await desk.store.others_spoke(row.key, row.sender)):
        text = "Nothing was erased: others have written here too, so only an owner may have all of it erased."
        await refuse(desk, asked, "not_owner", text)
    else:
        await _erase(desk, asked, scope)


async def _erase(desk: Desk, asked: Asked, scope: Scope) -> None:
    """In steps that can each be done again: a crash in between begins anew; told when all of it is done."""
    store = desk.store
    if not await store.quiet(scope):
        raise NotYet("what is to be forgotten still runs, or is being sent")
    await store.erase(scope)
    await desk.sweep()
    if not await store.scrub():
        raise NotYet("the ledger's file could not be rewritten: somebody reads it, or there is no room")
    await done(desk, asked, words.ERASED_ONE if scope.session else words.ERASED_ALL)
