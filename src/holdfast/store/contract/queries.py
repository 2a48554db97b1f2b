"""Verbs that only read the ledger, for people and for the reports made for them."""

from __future__ import annotations

from typing import Protocol

from holdfast.model import (
    ChatAddress,
    Delivery,
    DeliveryId,
    Entry,
    InboxRow,
    Instance,
    Journal,
    Key,
    Partial,
    Position,
    Process,
    QuestionRecord,
    Request,
    Session,
    SessionId,
    Turn,
    TurnId,
)

from .allowed_calls import LookingAtAllowedCalls
from .delivery import FIRST
from .drain import RunningTurn
from .overview import Operators
from .people import LookingAtPeople
from .values import ChatLine, Continuity, Happening, HeldItem, KeptReport, SessionLine


class Queries(Operators, LookingAtPeople, LookingAtAllowedCalls, Protocol):
    """What a store of a running gateway and a ledger opened for reading both have; `Store` explains each."""

    async def instances(self, limit: int = 50) -> tuple[Instance, ...]: ...

    async def requests(self) -> tuple[Request, ...]: ...

    async def live_session(self, key: Key) -> Session | None: ...

    async def waiting(self, key: Key, limit: int = 50) -> tuple[InboxRow, ...]: ...

    async def transcript(self, session: SessionId, after: int = 0) -> tuple[Entry, ...]: ...

    async def journal(self, turn: TurnId, generation: int) -> Journal: ...

    async def partials(self, turn: TurnId) -> tuple[Partial, ...]: ...

    async def deliveries(
        self, chat: ChatAddress, after: int = 0, limit: int = 100
    ) -> tuple[Delivery, ...]: ...

    async def in_doubt(self, limit: int = 100, platform: str | None = None) -> tuple[Delivery, ...]: ...

    async def last_number(self, chat: ChatAddress) -> int: ...

    async def unsettled(
        self, after: DeliveryId = FIRST, limit: int = 100, unknown_only: bool = False
    ) -> tuple[Delivery, ...]: ...

    async def processes(self, session: SessionId | None = None) -> tuple[Process, ...]: ...

    async def running_turns(self) -> tuple[RunningTurn, ...]: ...

    async def sessions(
        self,
        before: SessionId | None = None,
        limit: int = 50,
        live_only: bool = False,
        key: Key | None = None,
    ) -> tuple[SessionLine, ...]: ...

    async def chats(
        self, platform: str, account: str, before: TurnId | None = None, limit: int = 100
    ) -> tuple[ChatLine, ...]: ...

    async def session(self, id: SessionId) -> Session: ...

    async def turns(self, session: SessionId, limit: int = 100) -> tuple[Turn, ...]: ...

    async def questions(self, turns: tuple[TurnId, ...]) -> tuple[QuestionRecord, ...]: ...

    async def owner_questions(self, chat: ChatAddress, limit: int = 50) -> tuple[QuestionRecord, ...]: ...

    async def row(self, position: Position) -> InboxRow: ...

    async def trace(self, position: Position) -> tuple[Happening, ...]: ...

    async def continuity(self) -> Continuity: ...

    async def continuity_reports(self, limit: int = 10) -> tuple[KeptReport, ...]: ...

    async def restored(self) -> tuple[HeldItem, ...]: ...

    async def verify(self) -> tuple[str, ...]: ...
