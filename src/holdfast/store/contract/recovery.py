"""Verbs of recovery, of people who look, and of upkeep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from holdfast.model import (
    ChatAddress,
    InboxRow,
    Key,
    Position,
    QuestionRecord,
    Session,
    SessionId,
    Turn,
    TurnId,
)

from .values import (
    ChatLine,
    Continuity,
    Happening,
    HeldItem,
    JudgePage,
    Keep,
    KeptReport,
    SessionLine,
    Settled,
    StaleTurn,
)


class Recovery(Protocol):
    """Recovery reads what dead owners left and writes decisions back; it runs nothing."""

    async def mend(self) -> int:
        """Take damage below the schema out of open work; what stood there is set aside and logged.

        An optional field that cannot be read counts as absent, and the rest of its row holds. A row whose
        state or key cannot be read ends alone: a turn as failed, with its calls and questions settled and its
        chat told once; a part that is owed as failed, with a visible line in its place. What was laid aside
        because it could not be worked on is in line once more. Says how many rows were mended.
        """
        ...

    async def interrupt_orphans(self, limit: int = 500, running: tuple[TurnId, ...] | None = None) -> int:
        """Running turns whose owner is dead become interrupted (`restart_interrupted`), strikes kept.

        Those of an owner that stopped in order and could not mark them count as cut by that stop.
        With `running` given, also this process's own turns that are not among them: nobody runs those any
        more. A session remembers how long its longest run lived whose process died (`longest_fatal`).
        """
        ...

    async def stale_turns(self, after: TurnId | None = None, limit: int = 500) -> tuple[StaleTurn, ...]:
        """A page of interrupted turns in id order, by index, whatever else the ledger holds."""
        ...

    async def settle_stale(self, page: Sequence[StaleTurn], judge: JudgePage) -> Settled:
        """Have interrupted turns judged and carry that out, in one commit.

        What goes on is guarded by the state and generation it was decided on: its claim asks once more about
        all else, as it is then. What does not go on is guarded by incarnation and consent as well. One that
        moved on is left for the next look.
        """
        ...

    async def lane_taken(self) -> bool:
        """Whether a suspect runs, or is queued to: the next one has to wait."""
        ...

    async def sessions(
        self,
        before: SessionId | None = None,
        limit: int = 50,
        live_only: bool = False,
        key: Key | None = None,
    ) -> tuple[SessionLine, ...]:
        """A page of sessions, newest first; with a key given, of that conversation alone, by index."""
        ...

    async def chats(
        self, platform: str, account: str, before: TurnId | None = None, limit: int = 100
    ) -> tuple[ChatLine, ...]:
        """Chats of an account whose conversation goes on, the one whose last turn began last first.

        `before` is the turn of the last line seen. By index: a page costs what is on it, however many chats
        there are.
        """
        ...

    async def session(self, id: SessionId) -> Session:
        """One session; raises `NotFound`."""
        ...

    async def turns(self, session: SessionId, limit: int = 100) -> tuple[Turn, ...]:
        """A session's turns, newest first."""
        ...

    async def questions(self, turns: tuple[TurnId, ...]) -> tuple[QuestionRecord, ...]:
        """What these turns asked people and how that was closed, by whom; in the order it was asked."""
        ...

    async def owner_questions(self, chat: ChatAddress, limit: int = 50) -> tuple[QuestionRecord, ...]:
        """What owners were asked in this chat about the work of others: the last ones, in that order."""
        ...

    async def row(self, position: Position) -> InboxRow:
        """One inbox row; raises `NotFound`."""
        ...

    async def trace(self, position: Position) -> tuple[Happening, ...]:
        """One message's whole life, across restarts, in the order it happened.

        The tool calls of its turn are part of it: name, class and states, never arguments or results.
        """
        ...

    async def continuity(self) -> Continuity:
        """What this boot found of the run before it."""
        ...

    async def keep_continuity(self, report: str) -> bool:
        """Keep what became of what this boot found, as JSON, once per process run; False if it was kept."""
        ...

    async def continuity_reports(self, limit: int = 10) -> tuple[KeptReport, ...]:
        """The reports of the last boots, newest first; of runs that are forgotten there are none."""
        ...

    async def restored(self) -> tuple[HeldItem, ...]:
        """What was open in the backup this ledger was restored from, and has not been released or dropped."""
        ...

    async def verify(self) -> tuple[str, ...]:
        """Every broken invariant of the ledger, in words; empty means sound."""
        ...

    async def retain(self, keep: Keep, limit: int = 500) -> int:
        """Remove old finished upkeep rows, a bounded batch at a time; returns how many."""
        ...
