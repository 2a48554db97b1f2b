"""`/resume` and `/release`: a person lets unfinished, parked or held work go on."""

from __future__ import annotations

from holdfast.errors import NotFound
from holdfast.model import QuestionState, Session, SessionId, Turn, TurnState
from holdfast.store import FORGOTTEN

from . import replies
from .command_context import CommandCall, CommandContext, newest_turn, open_turn, refuse

GO_ON = "Go on with what was left unfinished."
_MANY = 1_000


async def resume(context: CommandContext, asked: CommandCall) -> None:
    """Go on with the unfinished work here, or with an earlier conversation named by the start of its id."""
    prefix = asked.command.args.lower()
    session = await _named_session(context, asked, prefix)
    if session is None or session.ended_why == FORGOTTEN:
        text = (
            f"No conversation here has the id {replies.excerpt(prefix)}. /sessions lists them."
            if prefix
            else _NOTHING
        )
        await refuse(context, asked, "not_found", text)
    elif session.suspended_at is not None and not asked.owner:
        await refuse(context, asked, "not_owner", _PARKED)
    elif session.ended_at is None:
        await _revive(context, asked, session)
    elif await open_turn(context, await context.store.live_session(session.key)) is not None:
        text = "Not done: a turn is unfinished here. Say /stop first, or wait until it ends."
        await refuse(context, asked, "unfinished", text)
    elif session.suspended_at is not None:
        reply = asked.reply(f"{_GOES_ON} The newer one is kept too: /sessions shows it.")
        await context.store.reopen(session.id, asked.row.position, reply, GO_ON)
    else:
        text = (
            "Your next message goes on with that conversation. The newer one is kept too: /sessions shows it."
        )
        await context.store.reopen(session.id, asked.row.position, asked.reply(text))


async def _named_session(context: CommandContext, asked: CommandCall, prefix: str) -> Session | None:
    """The named session, or else the live one here. An owner may name one of any chat by its full id."""
    key = asked.row.key
    if not prefix:
        return await context.store.live_session(key)
    found = await context.store.find_session(key, prefix)
    if found is not None or not asked.owner:
        return found
    try:
        return await context.store.session(SessionId(prefix))
    except NotFound:
        return None


async def release(context: CommandContext, asked: CommandCall) -> None:
    """Answer the messages that wait for an owner because their conversation was parked too often."""
    session = await _named_session(context, asked, asked.command.args.lower())
    key = asked.row.key if session is None else session.key
    held = {one.key: one for one in await context.store.on_hold(_MANY)}
    if not asked.owner:
        await refuse(
            context, asked, "not_owner", "Not done: only an owner may release messages that are on hold."
        )
    elif key not in held:
        await refuse(
            context, asked, "not_on_hold", "No messages are on hold here, so there was nothing to release."
        )
    else:
        text = "Released. I'll answer the waiting messages in a new conversation; the parked one is kept."
        await context.store.release_conversation(key, asked.row.position, asked.reply(text))


_NOTHING = "There is no unfinished work here. Send a message, and I'll answer it."
_GOES_ON = "The conversation goes on. Everything said and done in it is kept."
_PARKED = (
    "Not done: this conversation is parked, and only an owner can resume it. Everything in it is kept. Until "
    "then I answer your messages in a new conversation."
)
_REVIVABLE = frozenset({TurnState.INTERRUPTED, TurnState.WAITING, TurnState.EXPIRED, TurnState.PARKED})


async def _revive(context: CommandContext, asked: CommandCall, session: Session) -> None:
    turn = await newest_turn(context, session)
    if turn is not None and turn.state in (TurnState.RUNNING, TurnState.QUEUED):
        await refuse(context, asked, "unfinished", "I am already going on with the work here.")
    elif session.suspended_at is None and (turn is None or turn.state not in _REVIVABLE):
        await refuse(context, asked, "nothing_to_resume", _NOTHING)
    elif (
        turn is not None
        and turn.state is TurnState.WAITING
        and (why := await _waits_for(context, asked, turn))
    ):
        await refuse(context, asked, "waiting", why)
    else:
        text = _GOES_ON
        # An owner may answer for the person who was asked.
        person = None if asked.owner else asked.row.sender
        await context.store.revive(session.id, asked.row.position, GO_ON, asked.reply(text), person)


async def _waits_for(context: CommandContext, asked: CommandCall, turn: Turn) -> str | None:
    """Why `/resume` cannot answer the open question: it is the model's, another person's, or too old."""
    journal = await context.store.journal(turn.id, turn.generation)
    questions = [one for one in journal.questions if one.state is QuestionState.OPEN]
    if any(one.call is not None for one in questions):
        return "The work waits for an answer to its question. Answer the question to go on."
    if any(one.expires_at and context.clock.now() >= one.expires_at for one in questions):
        return "The time to answer its question is up, so /resume cannot go on with the work."
    of = [one.asked_of for one in questions if one.asked_of is not None]
    if of and not asked.owner and asked.row.sender not in of:
        return "The work waits for the person who asked for it. Only they or an owner can let it go on."
    return None
