"""Carry commands out beside the queue, oldest first, each in one commit with its reply.

After a crash before that commit the gateway repeats the command. The guard of its row lets it count once.
"""

from __future__ import annotations

from holdfast.clock import Rng, first_of
from holdfast.errors import Refused, Report, StoreClosed, StoreFault, SyncFailed, unreported
from holdfast.model import (
    BusyMode,
    ChatSettings,
    InboxKind,
    InboxRow,
    Owed,
    Position,
    Session,
    StopKind,
)
from holdfast.policy.ages import age
from holdfast.policy.delivery.retry import delay
from holdfast.policy.intake.access import Access, Denial, Denied, still_allowed
from holdfast.policy.intake.parse_input import Command, parse_command
from holdfast.policy.settings import HOUR, SECOND, RetrySettings
from holdfast.policy.turn.partials import STOPPED_HERE, kept_reply
from holdfast.policy.turn.undo import LastTurn, last_shown_turn, lasting_calls, reply_lasts
from holdfast.records import dataclass
from holdfast.store import StopResult

from . import choose_agent, replies
from .allowed import allowed
from .command_context import Carry, CommandCall, CommandContext, NotYet, done, open_turn, refuse
from .forget import forget
from .goals import goal
from .resume import release, resume

PATIENCE = RetrySettings(first=SECOND // 2, most=30 * SECOND)
LONG_LOOKED = 8
"""After so many looks in a row that left a begun command unfinished, the log says that it waits."""
TRIES = 3
"""After so many refusals by the ledger the command is refused with a reply: its facts were old each time."""
_MANY = 1_000


async def _end(context: CommandContext, asked: CommandCall, kind: StopKind) -> None:
    """Stop the unfinished turn; the reply says what the commit itself found."""
    row = asked.row

    def tell(found: StopResult) -> tuple[Owed, ...]:
        said = asked.reply(replies.stopped(kind, found))
        if found.turn is None:
            return said
        chat = row.place.address
        kept = kept_reply(chat, found.turn, found.partial, context.longest, STOPPED_HERE, found.reply_to)
        return (*kept, *said)

    await context.store.stop(row.key, kind, row.position, tell)


async def _stop(context: CommandContext, asked: CommandCall) -> None:
    await _end(context, asked, StopKind.STOP)


async def _new(context: CommandContext, asked: CommandCall) -> None:
    await _end(context, asked, StopKind.NEW)


@dataclass(frozen=True, slots=True)
class _Undoing:
    """The facts that `/undo` and `/retry` need."""

    session: Session
    last: LastTurn
    reply_lasts: bool
    read_up_to: int


async def _to_undo(context: CommandContext, asked: CommandCall) -> _Undoing | None:
    """The last finished turn, or None after the person was told why there is no turn to undo."""
    session = await context.store.live_session(asked.row.key)
    if await open_turn(context, session) is not None:
        text = "Not done: a turn is unfinished here. Say /stop first, or wait until it ends."
        await refuse(context, asked, "unfinished", text)
        return None
    entries = await context.store.transcript(session.id) if session else ()
    last = last_shown_turn(entries)
    if session is None or last is None:
        await refuse(context, asked, "nothing_to_undo", "There is no finished turn here to undo.")
        return None
    turns = await context.store.turns(session.id, limit=_MANY)
    lasts = any(reply_lasts(turn) for turn in turns if turn.id == last.turn)
    return _Undoing(session, last, lasts, entries[-1].seq)


async def _undo(context: CommandContext, asked: CommandCall) -> None:
    found = await _to_undo(context, asked)
    if found is None:
        return
    session, last = found.session, found.last
    calls = lasting_calls(await context.store.journal(last.turn, session.generation))
    await context.store.mark(
        session.id,
        session.generation,
        last.undone,
        found.read_up_to,
        asked.row.position,
        asked.reply(replies.undone(calls, found.reply_lasts)),
    )


async def _retry(context: CommandContext, asked: CommandCall) -> None:
    found = await _to_undo(context, asked)
    if found is None:
        return
    session, last = found.session, found.last
    if not last.said:
        await refuse(context, asked, "nothing_to_retry", "There is no message here to answer again.")
        return
    calls = lasting_calls(await context.store.journal(last.turn, session.generation))
    # A turn without a message of the person had a wake-up: the retry is a wake-up again, not a message.
    said = [one for one in last.said if not one.woken] or last.said
    text = "\n\n".join(one.text for one in said)
    await context.store.retry(
        session.id,
        session.generation,
        last.undone,
        text,
        tuple(file for one in said for file in one.attachments),
        asked.row.sender,
        asked.row.position,
        asked.reply(replies.retried(calls, found.reply_lasts, text)),
        InboxKind.WAKEUP if said[0].woken else InboxKind.MESSAGE,
    )


async def _status(context: CommandContext, asked: CommandCall) -> None:
    turn = await open_turn(context, await context.store.live_session(asked.row.key))
    waiting = await context.store.waiting(asked.row.key, limit=_MANY)
    now, draining = context.clock.now(), context.arrival().draining
    answers = await choose_agent.answers_here(context, asked)
    held = any(one.key == asked.row.key for one in await context.store.on_hold(_MANY))
    text = replies.status(turn, len(waiting), context.safe_mode(), draining, now, answers, held)
    await done(context, asked, text)


async def _sessions(context: CommandContext, asked: CommandCall) -> None:
    found = await context.store.sessions(limit=_MANY, key=asked.row.key)
    await done(context, asked, replies.sessions(found, context.clock.now()))


async def _queue(context: CommandContext, asked: CommandCall) -> None:
    """Show or set the busy mode of the chat: what happens to a message that comes during a turn."""
    wanted = asked.command.args.lower()
    chat = asked.row.place.address
    if not wanted:
        chosen = (await context.store.chat_settings(chat)).busy
        await done(context, asked, replies.modes(context.arrival().busy, chosen))
    elif wanted not in tuple(BusyMode):
        text = (
            f"There is no mode {replies.excerpt(wanted)}; nothing was changed. Modes: {', '.join(BusyMode)}."
        )
        await refuse(context, asked, "unknown_mode", text)
    else:
        mode = BusyMode(wanted)
        await context.store.configure_chat(chat, ChatSettings(busy=mode))
        await done(context, asked, f"From now on: {replies.MODES[mode]}.")


async def _restart(context: CommandContext, asked: CommandCall) -> None:
    """Ask for exactly one restart per command; the gateway carries it out."""
    row = asked.row
    if not asked.owner:
        await refuse(context, asked, "not_owner", "Not done: only an owner may restart the gateway.")
        return
    # The time alone does not decide: after the clock was set back, every new command would look old.
    if asked.found and row.accepted_at < context.began_at:
        await done(context, asked, "The gateway has already restarted since you asked for it.")
        return
    await context.store.request("restart", f"restart:{row.account}/{row.event_id}", row.sender)
    text = "I asked for a restart. Unfinished work is kept; I'll try to resume it after the restart."
    await done(context, asked, text)


async def _help(context: CommandContext, asked: CommandCall) -> None:
    await done(context, asked, HELP)


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """One command: its line in the help, and the function that carries it out."""

    usage: str
    says: str
    carry_out: Carry


COMMANDS: dict[str, CommandEntry] = {
    "new": CommandEntry("/new", "end this conversation and begin a new one", _new),
    "stop": CommandEntry("/stop", "stop the current work; the conversation is kept", _stop),
    "retry": CommandEntry("/retry", "answer the last message once more", _retry),
    "undo": CommandEntry("/undo", "hide the last turn from me; the record keeps it", _undo),
    "status": CommandEntry("/status", "show the current work, waiting messages and safe mode", _status),
    "sessions": CommandEntry("/sessions", "list the conversations of this chat", _sessions),
    "agent": CommandEntry(
        "/agent [NAME]", "show which agent answers here, or choose another one", choose_agent.agent
    ),
    "model": CommandEntry(
        "/model [NAME]", "show which model answers here, or choose another one", choose_agent.model
    ),
    "resume": CommandEntry(
        "/resume [ID]", "go on with unfinished work, or with an earlier conversation", resume
    ),
    "release": CommandEntry("/release [ID]", "answer messages that wait for an owner (owners)", release),
    "queue": CommandEntry(
        "/queue [MODE]", "show or set what I do with messages that come while I work", _queue
    ),
    "goal": CommandEntry(
        "/goal [TEXT|stop]", "show, set or stop the goal I work at by myself, turn after turn", goal
    ),
    "allowed": CommandEntry(
        "/allowed", "list the calls that run here without a question; owners can revoke one", allowed
    ),
    "forget": CommandEntry("/forget", "erase this conversation; you confirm it first", forget),
    "restart": CommandEntry("/restart", "restart the gateway (owners)", _restart),
    "help": CommandEntry("/help", "show this list", _help),
}
HELP = "\n".join(f"{entry.usage}: {entry.says}" for entry in COMMANDS.values())


class Commands:
    """Carries commands out for ever, also while turns run or hang."""

    def __init__(self, context: CommandContext, rng: Rng, report: Report = unreported) -> None:
        self._context = context
        self._report = report
        self._rng = rng
        self._refusals: dict[Position, int] = {}
        """How often the ledger refused a command. A fresh process counts from 0 again."""
        self._found: frozenset[Position] | None = None
        """The commands that already waited when this process looked first."""
        self._begun = 0
        """How many commands the last look left begun and not done."""
        self._looks = 0
        """How many looks in a row left such commands."""

    async def work(self) -> None:
        """Carry out the waiting commands, then sleep until another comes; a full disk only delays this."""
        store, faults = self._context.store, 0
        while True:
            seen = store.version("inbox")
            try:
                looked_at = await self.carry_out_all()
                if self._begun:
                    await first_of(store.changed("inbox", seen), self._context.clock.sleep(self._patience()))
                elif not looked_at:
                    await store.changed("inbox", seen)
                faults = 0
            except (SyncFailed, StoreClosed):
                raise
            except Exception as fault:  # noqa: BLE001 - a /stop must work whatever fails
                faults += 1
                self._report("carrying out commands", fault)
                await self._context.clock.sleep(delay(faults, PATIENCE, self._rng.random()) / SECOND)

    async def carry_out_all(self) -> int:
        """Carry out every command that waits, oldest first; returns how many were looked at."""
        rows = await self._context.store.commands()
        if self._found is None:
            self._found = frozenset(row.position for row in rows)
        self._begun = 0
        for row in rows:
            await self._carry_out(row)
        self._looks = self._looks + 1 if self._begun else 0
        return len(rows)

    def _patience(self) -> float:
        return delay(self._looks, PATIENCE, self._rng.random()) / SECOND

    async def _carry_out(self, row: InboxRow) -> None:
        try:
            await self._dispatch(row)
        except StoreFault:
            raise
        except NotYet as waits:
            self._begun += 1
            if self._looks == LONG_LOOKED:
                self._report(f"carrying out command {row.position}", waits)
            return
        except Refused as refusal:
            # The ledger changed between the look and the commit: look again, a few times.
            count = self._refusals[row.position] = self._refusals.get(row.position, 0) + 1
            if count < TRIES:
                return
            await self._give_up(row, refusal)
        except Exception as error:  # noqa: BLE001 - one command that fails must not keep the others waiting
            await self._give_up(row, error)
        self._refusals.pop(row.position, None)

    async def _dispatch(self, row: InboxRow) -> None:
        context = self._context
        command = parse_command(row.text)
        now = context.clock.now()
        allowed = still_allowed(row.sender, self._who_may(), now)
        is_owner = not isinstance(allowed, Denied) and allowed.owner
        longest = context.longest(row.place.address)
        asked = CommandCall(
            row, command or Command("", ""), is_owner, longest, row.position in (self._found or ())
        )
        backlog = context.arrival().queue.backlog
        entry = COMMANDS.get(asked.command.name)
        if isinstance(allowed, Denied) and not asked.begun:
            await refuse(context, asked, allowed.reason, _denied(allowed.reason))
        elif row.sent_at is not None and age(row.accepted_at, row.sent_at) > backlog:
            text = (
                f"You sent this more than {backlog // HOUR} hours before it reached me, so I did not do it."
            )
            await refuse(context, asked, "too_old", f"{text} Send it again if you still want it.")
        elif entry is None:
            name = replies.excerpt(row.text, 40)
            text = f"I do not know the command {name}; nothing was done. /help lists all commands."
            await refuse(context, asked, "unknown_command", text)
        else:
            await entry.carry_out(context, asked)

    def _who_may(self) -> Access | None:
        try:
            return self._context.access()
        except Exception as error:  # noqa: BLE001 - a person who cannot be checked is not allowed
            self._report("reading who may talk", error)
            return None

    async def _give_up(self, row: InboxRow, error: Exception) -> None:
        self._report(f"carrying out command {row.position}", error)
        text = "I could not do that just now; nothing was changed. Try again in a moment."
        asked = CommandCall(
            row, Command("", ""), owner=False, longest=self._context.longest(row.place.address)
        )
        try:
            await refuse(self._context, asked, type(error).__name__, text)
        except Refused as refusal:
            # The command was carried out after all: its row says so.
            self._report(f"refusing command {row.position}", refusal)


def _denied(reason: Denial) -> str:
    if reason is Denial.UNREADABLE:
        return "Not done: I cannot check just now who is allowed here. Try again later."
    return "Not done: you are not allowed here any more."
