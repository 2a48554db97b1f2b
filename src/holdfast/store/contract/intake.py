"""Verbs that take things in: instances, messages, commands, requests."""

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
    """Everything that enters the ledger from outside."""

    async def heartbeat(self) -> None:
        """Say that this process is alive. No rule of who owns what depends on it."""
        ...

    async def end_instance(self, how: Stopped) -> None:
        """Record an orderly end, once; a process run without this word has crashed."""
        ...

    async def instances(self, limit: int = 50) -> tuple[Instance, ...]:
        """The last process runs, newest first."""
        ...

    async def accept(self, batch: Batch, settings: ArrivalSettings = AS_CONFIGURED) -> tuple[Accepted, ...]:
        """Keep a batch, what could not be read of it and the read position it reaches: all or nothing.

        A fresh message is admitted in the same commit (`policy.intake.admission.admit`, on what the ledger
        says of its conversation): it waits, asks the running turn to stop, answers the open question, sets it
        aside (and then waits bound to it), drops the work that was asked about, or is offered or refused. The
        words that are true of it then are owed in that commit too, once; of several offers in one
        conversation the first alone is told. Of a message that is too long a beginning is kept.

        An event known before, also from an earlier process, is reported with its first position, changes
        nothing and owes nothing; one that was set aside or refused before stays so and is not reported. What
        is kept as a row is never set aside or refused later. Of those refused, a newcomer who knocks is given
        a code (`policy.intake.pairing.may_issue`), and who is let in but not the chat is told so once: the
        code, the refusal and the words owed are this commit, so that one event brings them once. A wake-up of
        an ended incarnation is kept as dropped. Only after this may the platform be told that the batch was
        received.
        """
        ...

    async def cursor(self, account: str, name: str) -> str | None:
        """How far this account has been read, as committed with the rows it covers."""
        ...

    async def revise(self, edit: Edit, settings: ArrivalSettings = AS_CONFIGURED) -> Position | None:
        """Change (or, without text, withdraw) a message that still waits; None when it is taken.

        A text that is too long leaves the message as it was, and its sender is told so, once per message.
        """
        ...

    async def commands(self, limit: int = 100) -> tuple[InboxRow, ...]:
        """Commands not yet carried out, in arrival order."""
        ...

    async def settle_row(
        self, position: Position, state: InboxState, reason: str | None = None, owe: tuple[Owed, ...] = ()
    ) -> None:
        """Close a waiting row (executed, refused, offered, dropped) together with what is said about it.

        An offered one can still be dropped. Raises `WrongState` when it is no longer waiting, so a command
        is carried out once.
        """
        ...

    async def take_up(self, position: Position) -> None:
        """Put an offered message back in line: the person wants it answered after all."""
        ...

    async def stop(self, key: Key, kind: StopKind, by: Position | None, tell: Telling = untold) -> StopResult:
        """Cancel the conversation's unfinished turn; for `new` also end the session and withdraw what waits.

        A turn nobody runs is ended in this commit, its calls settled. A running one gets the request as a
        column, which survives a crash, and its owner (or recovery) ends it. The command's row `by` is
        executed in the same commit; messages that arrived after it are kept. `tell` gives the words for what
        was found, owed in this commit as well.
        """
        ...

    async def configure_chat(self, chat: ChatAddress, settings: ChatSettings) -> None:
        """Keep what a chat chose; a None leaves that choice as it was."""
        ...

    async def chat_settings(self, chat: ChatAddress) -> ChatSettings:
        """What a chat chose; nothing, where nobody ever chose or wrote."""
        ...

    async def known_chats(self, chats: tuple[ChatAddress, ...]) -> frozenset[ChatAddress]:
        """Those of them from which somebody wrote, or that were told something."""
        ...

    async def request(
        self, what: str, dedupe: str, by: PersonId | None = None, after_turn: TurnId | None = None
    ) -> bool:
        """Ask something of the gateway once; False when this very request was known already."""
        ...

    async def requests(self) -> tuple[Request, ...]:
        """Requests not yet settled, oldest first; each names the run of the gateway it was asked of."""
        ...

    async def settle_request(self, id: int, outcome: str) -> None:
        """Record what became of a request, once; raises `WrongState` if it was settled before."""
        ...
