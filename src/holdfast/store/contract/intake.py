"""Verbs of everything that enters the ledger: process runs, messages, commands, requests."""

from __future__ import annotations

from typing import Protocol

from holdfast.model import (
    Accepted,
    Batch,
    ChatAddress,
    ChatSettings,
    InboxRow,
    InboxState,
    Instance,
    Key,
    Owed,
    PersonId,
    Position,
    Request,
    StopKind,
    Stopped,
    TurnId,
)

from .arrival import AS_CONFIGURED, ArrivalSettings
from .values import Edit, StopResult, Telling, untold


class Intake(Protocol):
    """Messages, commands and requests, and the process runs that take them in."""

    async def heartbeat(self) -> None:
        """Record that this process is alive. No rule of ownership depends on it."""
        ...

    async def end_instance(self, how: Stopped) -> None:
        """Record an orderly end, once; a process run without this record has crashed."""
        ...

    async def instances(self, limit: int = 50) -> tuple[Instance, ...]:
        """The last process runs, newest first."""
        ...

    async def accept(self, batch: Batch, settings: ArrivalSettings = AS_CONFIGURED) -> tuple[Accepted, ...]:
        """Keep a batch, its unreadable events and the read position it reaches: all or nothing.

        Only after this verb returns may the platform be told that the gateway has received the batch.

        The same commit admits each new message (`policy.intake.admission.admit`, with what the ledger knows
        of its conversation): the message waits, asks the running turn to stop, answers the open question,
        sets that question aside (and then waits bound to it), drops the work that was asked about, or is
        offered or refused. The commit also owes the chat the words that are true of the message then, once.
        Of several offers in one conversation only the first is told. Of a message that is too long the
        beginning is kept.

        An event that the ledger knows, also from an earlier process, is reported with its first position,
        changes nothing and owes nothing. An event that was set aside or refused stays so and is not reported.
        An event that is kept as a row is never set aside or refused later.

        A newcomer whose message is refused may get a code (`policy.intake.pairing.may_issue`). An allowed
        person in a chat that is not allowed is told so once. The code, the refusal and the words are part of
        this commit, so that one event brings them once. A wake-up of an ended incarnation is kept as dropped.
        """
        ...

    async def cursor(self, account: str, name: str) -> str | None:
        """How far this account has been read, as committed with the rows it covers."""
        ...

    async def revise(self, edit: Edit, settings: ArrivalSettings = AS_CONFIGURED) -> Position | None:
        """Change (or, without text, withdraw) a message that still waits; None when a turn has taken it.

        A text that is too long changes nothing; its sender is told so, once per message.
        """
        ...

    async def commands(self, limit: int = 100) -> tuple[InboxRow, ...]:
        """Commands not yet carried out, in arrival order."""
        ...

    async def settle_row(
        self, position: Position, state: InboxState, reason: str | None = None, owe: tuple[Owed, ...] = ()
    ) -> None:
        """Close a waiting row (executed, refused, offered, dropped) together with what is said about it.

        An offered row can still be dropped. Raises `WrongState` when the row is no longer waiting, so a
        command is carried out once.
        """
        ...

    async def take_up(self, position: Position) -> None:
        """Put an offered message back in line: the person wants it answered after all."""
        ...

    async def stop(self, key: Key, kind: StopKind, by: Position | None, tell: Telling = untold) -> StopResult:
        """Cancel the conversation's unfinished turn; for `new` also end the session and withdraw what waits.

        A turn that no process runs is ended in this commit, its calls settled. A running turn gets the
        request as a column, which survives a crash; the process that runs it (or recovery) ends it. The
        command's row `by` is executed in the same commit; messages that arrived after it are kept. `tell`
        gives the words for what the stop found; they are owed in this commit as well.
        """
        ...

    async def configure_chat(self, chat: ChatAddress, settings: ChatSettings) -> None:
        """Keep the settings that a chat chose; None leaves a setting as it was."""
        ...

    async def chat_settings(self, chat: ChatAddress) -> ChatSettings:
        """The settings that a chat chose; empty for a chat that chose none or is not known."""
        ...

    async def known_chats(self, chats: tuple[ChatAddress, ...]) -> frozenset[ChatAddress]:
        """Those of these chats that the ledger knows: a person wrote there, or the gateway did."""
        ...

    async def request(
        self, what: str, dedupe: str, by: PersonId | None = None, after_turn: TurnId | None = None
    ) -> bool:
        """Ask something of the gateway once; False when the ledger knew this request already."""
        ...

    async def requests(self) -> tuple[Request, ...]:
        """Requests not yet settled, oldest first; each names the run of the gateway that it asks."""
        ...

    async def settle_request(self, id: int, outcome: str) -> None:
        """Record the outcome of a request, once; raises `WrongState` if it was settled before."""
        ...
