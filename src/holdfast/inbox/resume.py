"""`/resume` and `/release`: work that was left, parked or held goes on because a person wants it to."""

from __future__ import annotations

from holdfast.errors import NotFound
from holdfast.model import QuestionState, Session, SessionId, Turn, TurnState
from holdfast.store import FORGOTTEN

from . import replies
from .command_context import CommandCall, CommandContext, newest_turn, open_turn, refuse

GO_ON = "Go on with what was left unfinished."
_MANY = 1_000


async def resume(desk: CommandContext, asked: CommandCall) -> None:
    """Go on with what was left here, or with an earlier conversation named by the beginning of its id."""
    prefix = asked.command.args.lower()
    session = await _meant(desk, asked, prefix)
    if session is None or session.ended_why == FORGOTTEN:
        text = (
            f"No conversation here is called {replies.shown(prefix)}. /sessions lists them."
            if prefix
            else _NOTHING
        )
        await refuse(desk, asked, "not_found", text)
    elif session.suspended_at is not None and not asked.owner:
        await refuse(desk, asked, "not_owner", _PARKED)
    elif session.ended_at is None:
        await _revive(desk, asked, session)
    elif await open_turn(desk, await desk.store.live_session(session.key)) is not None:
        text = "Not done: a turn is unfinished here. Say /stop first, or wait for its end."
        await refuse(desk, asked, "unfinished", text)
    elif session.suspended_at is not None:
        reply = asked.reply(f"{_GOES_ON} The one that was live is kept: /sessions shows it.")
        await desk.store.reopen(session.id, asked.row.position, reply, GO_ON)
    else:
        text = (
            "That conversation goes on with your next message. The one before it is kept: /sessions shows it."
        )
        await desk.store.reopen(session.id, asked.row.position, asked.reply(text))


async def _meant(desk: CommandContext, asked: CommandCall, prefix: str) -> Session | None:
    """The session that is named, or the live one here; an owner may name one of any chat by its whole id."""
    key = asked.row.key
    if not prefix:
        return await desk.store.live_session(key)
    found = await desk.store.find_session(key, prefix)
    if found is not None or not asked.owner:
        return found
    try:
        return await desk.store.session(SessionId(prefix))
    except NotFound:
        return None


async def release(desk: CommandContext, asked: CommandCall) -> None:
    """Let the messages go on that wait for an owner because their conversation was parked too often."""
    session = await _meant(desk, asked, asked.command.args.lower())
    key = asked.row.key if session is None else session.key
    held = {one.key: one for one in await desk.store.on_hold(_MANY)}
    if not asked.owner:
        await refuse(
            desk, asked, "not_owner", "Not done: only an owner may release messages that are on hold."
        )
    elif key not in held:
        await refuse(
            desk, asked, "not_on_hold", "No messages are on hold here, so there was nothing to release."
        )
    else:
        text = "Released. What waits is answered in a fresh conversation; the parked one is kept."
        await desk.store.release_conversation(key, asked.row.position, asked.reply(text))


_NOTHING = "Nothing was left unfinished here. Write, and I answer."
_GOES_ON = "It goes on. All that was said and done in it is kept."
_PARKED = (
    "Not done: this conversation is parked, and only an owner can resume it. All of it is kept; without that "
    "your messages go to a fresh one."
)
_REVIVABLE = frozenset({TurnState.INTERRUPTED, TurnState.WAITING, TurnState.EXPIRED, TurnState.PARKED})


async def _revive(desk: CommandContext, asked: CommandCall, session: Session) -> None:
    turn = await newest_turn(desk, session)
    if turn is not None and turn.state in (TurnState.RUNNING, TurnState.QUEUED):
        await refuse(desk, asked, "unfinished", "The work here goes on already.")
    elif session.suspended_at is None and (turn is None or turn.state not in _REVIVABLE):
        await refuse(desk, asked, "nothing_to_resume", _NOTHING)
    elif (
        turn is not None and turn.state is TurnState.WAITING and (why := await _waits_for(desk, asked, turn))
    ):
        await refuse(desk, asked, "waiting", why)
    else:
        text = _GOES_ON
        # An owner may answer for the person who was asked.
        person = None if asked.owner else asked.row.sender
        await desk.store.revive(session.id, asked.row.position, GO_ON, asked.reply(text), person)


async def _waits_for(desk: CommandContext, asked: CommandCall, turn: Turn) -> str | None:
    """Why `/resume` does not answer the open question: it is the model's or another person's, or too late."""
    journal = await desk.store.journal(turn.id, turn.generation)
    questions = [one for one in journal.questions if one.state is QuestionState.OPEN]
    if any(one.call is not None for one in questions):
        return "It waits for an answer to its question; answer that to go on."
    if any(one.expires_at and desk.clock.now() >= one.expires_at for one in questions):
        return "The time to answer its question is up; the work is not taken up again by that."
    of = [one.asked_of for one in questions if one.asked_of is not None]
    if of and not asked.owner and asked.row.sender not in of:
        return "It waits for the person whose work it is: only they, or an owner, can let it go on."
    return None
