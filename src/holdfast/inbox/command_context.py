"""The parts a command works with, and its end: one commit that also owes its reply."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import field

from holdfast.agents import Chooser, echo_agent
from holdfast.clock import Clock
from holdfast.model import InboxRow, InboxState, Owed, OwedKind, Session, Turn
from holdfast.policy.delivery.parts import Longest, parts_for, usual
from holdfast.policy.intake.access import Access
from holdfast.policy.intake.parse_input import Command
from holdfast.policy.recovery.strikes import SafeMode
from holdfast.records import dataclass
from holdfast.store import BEGUN, ArrivalSettings, Store


def _off() -> SafeMode:
    return SafeMode(active=False)


async def keep_files() -> None:
    """Remove nothing: the default for a gateway without files."""


@dataclass(frozen=True, slots=True)
class CommandContext:
    """The parts that a command works with."""

    store: Store
    clock: Clock
    access: Callable[[], Access | None]
    arrival: Callable[[], ArrivalSettings] = ArrivalSettings
    safe_mode: Callable[[], SafeMode] = _off
    longest: Longest = usual
    began_at: int = 0
    """When this process began."""
    sweep: Callable[[], Awaitable[None]] = keep_files
    """Removes from the disk every attachment that the ledger does not know."""
    goal_budget: int = 20
    """How many turns a standing goal may take."""
    agents: Chooser = field(default_factory=echo_agent)
    """Chooses the agent of each chat."""


@dataclass(frozen=True, slots=True)
class CommandCall:
    """One command of a person who is allowed."""

    row: InboxRow
    command: Command
    owner: bool
    longest: int
    """How many characters one message of the answer may have."""
    found: bool = False
    """The command already waited when this process looked first."""

    @property
    def begun(self) -> bool:
        """Its first step is done. It must be finished, even if its person is no longer allowed."""
        return self.row.reason == BEGUN

    def reply(self, text: str) -> tuple[Owed, ...]:
        """The one answer to this command: its key lets it be owed only once."""
        row = self.row
        once = f"command:{row.position}"
        parts = parts_for(text, self.longest)
        return (Owed(row.place.address, once, parts, OwedKind.NOTICE, row.message_id),)


class NotYet(Exception):
    """The command has begun and waits for something: its row stays, and `Commands` looks at it again."""


Carry = Callable[[CommandContext, CommandCall], Awaitable[None]]


async def newest_turn(context: CommandContext, session: Session | None) -> Turn | None:
    """The newest turn of a session, if it has any."""
    turns = await context.store.turns(session.id, limit=1) if session else ()
    return next(iter(turns), None)


async def open_turn(context: CommandContext, session: Session | None) -> Turn | None:
    """The turn of a session that has not ended, if there is one."""
    turn = await newest_turn(context, session)
    return turn if turn is not None and turn.ended_at is None else None


async def refuse(context: CommandContext, asked: CommandCall, reason: str, text: str) -> None:
    await context.store.settle_row(asked.row.position, InboxState.REFUSED, reason, asked.reply(text))


async def done(context: CommandContext, asked: CommandCall, text: str) -> None:
    await context.store.settle_row(asked.row.position, InboxState.EXECUTED, None, asked.reply(text))
