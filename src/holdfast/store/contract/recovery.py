"""Verbs of recovery, of people who look into the ledger, and of upkeep."""

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
    """Recovery reads what dead processes left and writes decisions back; it runs nothing."""

    async def mend(self) -> int:
        """Remove damage below the schema from open work; the damaged values are set aside and logged.

        An optional field that cannot be read counts as absent, and the rest of its row stays. A row whose
        state or key cannot be read ends alone. A turn ends as failed, its calls and questions are settled and
        its chat is told once. An owed part ends as failed, with a visible line in its place. Rows that were
        set aside because the gateway could not work on them are in line again. Returns the number of mended
        rows.
        """
        ...

    async def interrupt_orphans(self, limit: int = 500, running: tuple[TurnId, ...] | None = None) -> int:
        """Mark running turns whose process is dead as interrupted (`restart_interrupted`), strikes kept.

        If the process stopped in order and could not mark its turns, that stop counts as what cut them. With
        `running` given, also mark this process's own turns that are not among them: they have lost their run.
        A session remembers the age of its longest run whose process died (`longest_fatal`).
        """
        ...

    async def stale_turns(self, after: TurnId | None = None, limit: int = 500) -> tuple[StaleTurn, ...]:
        """A page of interrupted turns in id order, by index, however large the ledger is."""
        ...

    async def settle_stale(self, page: Sequence[StaleTurn], judge: JudgePage) -> Settled:
        """Let `judge` decide about interrupted turns and carry the decisions out, in one commit.

        A turn that goes on is guarded by the state and generation that the decision saw; its claim judges all
        else once more. A turn that does not go on is guarded by incarnation and consent as well. A turn that
        has changed meanwhile is left for the next look.
        """
        ...

    async def lane_taken(self) -> bool:
        """Whether a suspect runs or is queued, so that the next suspect has to wait."""
        ...

    async def sessions(
        self,
        before: SessionId | None = None,
        limit: int = 50,
        live_only: bool = False,
        key: Key | None = None,
    ) -> tuple[SessionLine, ...]:
        """A page of sessions, newest first; with a key, only of that conversation, by index."""
        ...

    async def chats(
        self, platform: str, account: str, before: TurnId | None = None, limit: int = 100
    ) -> tuple[ChatLine, ...]:
        """The chats of an account that have a live session, the one with the newest turn first.

        `before` is the turn of the last line seen. A page is read by index: its cost does not grow with the
        number of chats.
        """
        ...

    async def session(self, id: SessionId) -> Session:
        """One session; raises `NotFound`."""
        ...

    async def turns(self, session: SessionId, limit: int = 100) -> tuple[Turn, ...]:
        """A session's turns, newest first."""
        ...

    async def questions(self, turns: tuple[TurnId, ...]) -> tuple[QuestionRecord, ...]:
        """The questions of these turns, as they were asked, with how and by whom each was closed."""
        ...

    async def owner_questions(self, chat: ChatAddress, limit: int = 50) -> tuple[QuestionRecord, ...]:
        """The last questions to owners in this chat about the work of other people, in the order asked."""
        ...

    async def row(self, position: Position) -> InboxRow:
        """One inbox row; raises `NotFound`."""
        ...

    async def trace(self, position: Position) -> tuple[Happening, ...]:
        """Everything that happened to one message, across restarts, in order.

        The tool calls of its turn are part of it: name, class and states, never arguments or results.
        """
        ...

    async def continuity(self) -> Continuity:
        """What this boot found of the process run before it."""
        ...

    async def keep_continuity(self, report: str) -> bool:
        """Keep the report of this boot, as JSON, once per process run; False if it has one already."""
        ...

    async def continuity_reports(self, limit: int = 10) -> tuple[KeptReport, ...]:
        """The reports of the last boots, newest first; none of runs whose row upkeep has removed."""
        ...

    async def restored(self) -> tuple[HeldItem, ...]:
        """Work that was open in the restored backup and that the operator has not released or dropped."""
        ...

    async def verify(self) -> tuple[str, ...]:
        """Every broken invariant of the ledger, in words; empty when the ledger is sound."""
        ...

    async def retain(self, keep: Keep, limit: int = 500) -> int:
        """Remove a bounded batch of old finished upkeep rows; returns how many."""
        ...
