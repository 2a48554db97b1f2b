"""`/forget`: the person confirms it, then the gateway erases in steps until no content is left."""

from __future__ import annotations

from holdfast.model import SessionId
from holdfast.store import Scope

from . import replies
from .command_context import CommandCall, CommandContext, NotYet, done, refuse


async def forget(context: CommandContext, asked: CommandCall) -> None:
    """Erase this conversation after the person confirmed it; an owner may name one session."""
    row, wanted = asked.row, asked.command.args.lower()
    word, _, session = wanted.partition(" ")
    scope = Scope(row.key, row.position, SessionId(session) if session else None)
    if asked.begun:
        await _erase(context, asked, scope)
    elif not wanted:
        await done(context, asked, replies.FORGET)
    elif wanted != replies.EVERYTHING and not (word == replies.SESSION and session):
        text = f"Nothing was erased: I do not know {replies.excerpt(wanted)}. {replies.FORGET}"
        await refuse(context, asked, "unconfirmed", text)
    elif not asked.owner and (session or await context.store.others_spoke(row.key, row.sender)):
        text = "Nothing was erased: other people have written here too, so only an owner may erase it."
        await refuse(context, asked, "not_owner", text)
    else:
        await _erase(context, asked, scope)


async def _erase(context: CommandContext, asked: CommandCall, scope: Scope) -> None:
    """Erase in steps that can each be repeated after a crash; the reply comes when all steps are done."""
    store = context.store
    if not await store.quiet(scope):
        raise NotYet("a turn of the conversation to erase still runs, or a delivery of it is being sent")
    await store.erase(scope)
    await context.sweep()
    if not await store.scrub():
        raise NotYet(
            "the ledger's file could not be rewritten: another process reads it, or the disk is full"
        )
    await done(context, asked, replies.ERASED_ONE if scope.session else replies.ERASED_ALL)
