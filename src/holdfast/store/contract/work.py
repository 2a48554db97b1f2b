"""Verbs of a running turn. Each is fenced: a stale owner gets `StaleWrite` and changes nothing."""

from __future__ import annotations

from typing import Protocol

from holdfast.model import (
    Attachment,
    Body,
    ChatAddress,
    Claimed,
    Entry,
    Fence,
    InboxKind,
    InboxRow,
    Journal,
    Key,
    Owed,
    Partial,
    PersonId,
    Position,
    QuestionId,
    Session,
    SessionId,
    Summed,
    Tail,
    TurnId,
    TurnState,
    Undone,
    Usage,
)
from holdfast.policy.delivery.parts import Longest, usual
from holdfast.policy.limits import Spent
from holdfast.policy.settings import RecoverySettings

from .values import ClaimSettings, ExpiredQuestion, Judge, Recorded, Remembered, Step

AS_USUAL = RecoverySettings()


class Work(Protocol):
    """Claiming turns, recording their steps and ending them."""

    async def claim(self, settings: ClaimSettings, judge: Judge) -> Claimed | None:
        """Take the conversation that has been ready longest, or None: an empty claim moves nothing.

        One commit: the session is found or made (suspended, reset policy), generation, attempt and strikes
        grow by one, the turn is born from the oldest waiting row (or taken up again), the row is consumed
        and its message appended, with the one note it may need. Interrupted work is judged once more first;
        if it is not to be resumed it goes back to `interrupted` for recovery. At most one suspect runs.
        `Claimed.take` names waiting rows that belong into a turn that is taken up again. A row whose sender
        is no longer allowed begins no turn and belongs into none: it is refused (`not_allowed`) and passed
        over, in the same commit.
        """
        ...

    async def claim_ready(
        self, settings: ClaimSettings, judge: Judge, limit: int, resumes: int
    ) -> tuple[Claimed, ...]:
        """Take up to `limit` turns, each as `claim` would, all in one commit.

        Once `resumes` of them were taken up again, no further interrupted work is. Fewer than `limit` mean
        that nothing else can be claimed until `turns` changes, or until a turn ends that was taken up again
        or is a suspect: only those keep others out of a claim.
        """
        ...

    async def record(self, fence: Fence, step: Step) -> Recorded:
        """Append what happened and begin what comes next, in one commit.

        Of the rows to consume, each that still waits is appended after everything else, as it reads now
        (edits count), and taken by this turn; one that was withdrawn meanwhile is passed over. `Recorded`
        holds all entries as committed. A row of another conversation raises `WrongState`.

        Progress time moves with a person's message, model output or a real result, and with nothing else.
        Raises `StopAsked`, writing nothing, when a stop was asked and the step would start or plan calls,
        ask or consume; and `RuleRevoked` when a call would start under a rule that is no longer in force.
        """
        ...

    async def progress(self, fence: Fence, shown: tuple[Partial, ...] = ()) -> None:
        """Record that a tool or the model produced something, and what people were shown of it.

        Each of `shown` takes the place of what was recorded of that reply or call before. The entry that
        finishes it consumes it in its commit; the end of the turn keeps it: output stands in the result that
        says `unknown`, a reply becomes an entry that was stopped.
        """
        ...

    async def partials(self, turn: TurnId) -> tuple[Partial, ...]:
        """What is recorded of the turn's unfinished reply and calls."""
        ...

    async def finish(
        self,
        fence: Fence,
        state: TurnState,
        append: tuple[Body, ...] = (),
        owe: tuple[Owed, ...] = (),
        why: str | None = None,
        tail: Tail | None = None,
        usage: tuple[Usage, ...] = (),
    ) -> None:
        """End the turn as done, failed or cancelled, together with every reply owed for it, in one commit.

        Unsettled calls are settled in it (planned → skipped, started → unknown). Done and failed raise
        `StopAsked` when a stop was asked first; cancelled carries that stop out (and ends the session for
        `new`). Strikes: done sets them to 0, the others take the claim's strike back.
        """
        ...

    async def spent(self, turn: TurnId, chat: ChatAddress, since: int) -> Spent:
        """What the turn has used by all its runs, and its chat since that time, with what was granted."""
        ...

    async def wait(self, fence: Fence) -> None:
        """Let go of a turn whose question is open; raises `WrongState` when it was answered meanwhile.

        A turn whose own question was closed without an answer ends instead: `expired`, `unanswered`, its
        calls settled and its session free in the same commit.

        It may also have been set aside: then the row that did it waits with `InboxRow.question` naming it,
        and belongs into this turn. Raises `StopAsked` when a stop was asked: such a turn is cancelled, not
        laid down.
        """
        ...

    async def put_back(self, fence: Fence) -> None:
        """Return a claimed turn in which nothing has begun; it is claimed again first, with no mark.

        Raises `StopAsked` when a stop was asked.
        """
        ...

    async def interrupt(self, fence: Fence, reason: str) -> None:
        """Mark a turn about to be cut; its strike is taken back only if this run produced something."""
        ...

    async def stops(self) -> tuple[TurnId, ...]:
        """Running turns of this process that were asked to stop; topic `stops` changes when one is asked."""
        ...

    async def clear_suspect(self, fence: Fence) -> None:
        """The suspect has survived long enough: strikes to 0, and the quarantine lane is free."""
        ...

    async def mark(
        self,
        session: SessionId,
        generation: int,
        body: Undone | Summed,
        read_up_to: int,
        by: Position | None = None,
        owe: tuple[Owed, ...] = (),
    ) -> Entry:
        """Append an undo or a summary to a session with no unfinished turn.

        Guarded by the generation it was decided on; a summary is refused if an undo came after `read_up_to`.
        The command's row `by` is executed in the same commit, so that it is carried out once.
        """
        ...

    async def retry(
        self,
        session: SessionId,
        generation: int,
        body: Undone,
        text: str,
        attachments: tuple[Attachment, ...],
        sender: PersonId,
        by: Position,
        owe: tuple[Owed, ...] = (),
        kind: InboxKind = InboxKind.MESSAGE,
    ) -> Entry:
        """Undo as `mark` does and turn the command's row into a waiting message, in one commit.

        The row then causes the new turn, like any message, or like the wake-up that `kind` says it is. Raises
        `WrongState` for a row that is no waiting command of this conversation; nothing is undone then.
        """
        ...

    async def revive(
        self,
        session: SessionId,
        by: Position | None,
        text: str,
        owe: tuple[Owed, ...] = (),
        person: PersonId | None = None,
    ) -> None:
        """Let a live session go on that was parked, is held, or whose work was left behind.

        Interrupted work is consented to (also when the gateway has asked about it): recovery resumes it, and
        the command's row `by` is executed. A suspended session is so no more, with no strikes and one more
        generation, and a hold of its conversation is lifted; there, and after work that expired, the
        command's row becomes a waiting message of this conversation with `text`. What the gateway has asked
        `person` answers only if they were asked; without a person the operator or an owner answers. Anything
        else, an unfinished turn that is not interrupted among it, raises `WrongState`.
        """
        ...

    async def reopen(
        self,
        session: SessionId,
        by: Position | None,
        owe: tuple[Owed, ...] = (),
        text: str | None = None,
    ) -> None:
        """Make an ended session its conversation's live one again.

        One that was parked is so no more, with nothing held against it, a hold of its conversation is lifted,
        and with `text` the command's row becomes a waiting message there, as `revive` does it. Any other that
        is taken up after a park is a suspect, like a fresh one.

        The one that was live ends (`resumed_other`), with its wake-ups; messages that wait go on in the
        reopened one, whose incarnation is one nobody had. Raises `WrongState` when this one is live already
        or the live one has an unfinished turn or a message that a command made for it.
        """
        ...

    async def release_conversation(self, key: Key, by: Position | None, owe: tuple[Owed, ...] = ()) -> None:
        """Let the messages of a conversation go on that was parked too often; the command's row is executed.

        They begin a fresh session. Raises `WrongState` when the conversation is not on hold.
        """
        ...

    async def find_session(self, key: Key, prefix: str) -> Session | None:
        """The session of this conversation whose id begins like this; None if there is none, or several."""
        ...

    async def transcript(self, session: SessionId, after: int = 0) -> tuple[Entry, ...]:
        """Every entry of a session after that number, in order. One that cannot be read says `UNREADABLE`."""
        ...

    async def set_entries_aside(self, session: SessionId) -> int:
        """Log and set aside the entries of a session that cannot be read, each once; says how many."""
        ...

    async def search(
        self, key: Key, words: tuple[str, ...], but: TurnId, limit: int = 20
    ) -> tuple[Remembered, ...]:
        """What was said in this conversation that holds all of these words, newest first.

        Looks through the last few thousand entries of all its sessions, that turn's left out. What was
        forgotten or taken back is not found.
        """
        ...

    async def journal(self, turn: TurnId, generation: int) -> Journal:
        """The calls and questions of a turn as they stand."""
        ...

    async def live_session(self, key: Key) -> Session | None:
        """The session this conversation would go on in."""
        ...

    async def waiting(self, key: Key, limit: int = 50) -> tuple[InboxRow, ...]:
        """What waits in a conversation, in arrival order (commands apart)."""
        ...

    async def answer(
        self,
        question: QuestionId,
        by: Position,
        answer: str,
        person: PersonId,
        owe: tuple[Owed, ...] = (),
        owner: bool = False,
    ) -> None:
        """Take a waiting row as the answer of an open question, once; a waiting turn is queued with it.

        The answer `always` stores the rule that the question offers, in the same commit.

        Raises `WrongState` when the question is closed, its time is up, it belongs to an ended incarnation,
        was asked of somebody else (or of an owner, and `owner` says that this is none), when it would allow a
        call of which an earlier part of the message has not arrived, or when it asks for a rule and comes
        from no owner, or none was offered; the row stays waiting then.
        """
        ...

    async def set_question_aside(self, question: QuestionId) -> None:
        """Close an open question because the person wrote something else; a waiting turn is queued."""
        ...

    async def question_undeliverable(self, question: QuestionId) -> None:
        """Close a question that never reached anybody.

        A waiting turn ends with the model's own question (`expired`, `unanswered`), as when its time is up;
        an approval that could not be delivered counts as refused, and the turn is queued. Raises `WrongState`
        for one that safe mode asks, which stays open: nothing but its answer drops the work.
        """
        ...

    async def expire_questions(
        self, limit: int = 100, settings: RecoverySettings = AS_USUAL, longest: Longest = usual
    ) -> tuple[ExpiredQuestion, ...]:
        """Close questions past their time, each once, and in the same commit decide about a waiting turn.

        The model's own question ends it: `expired`, `unanswered`, its calls settled, its session free. An
        approval counts as refused and the turn is queued, unless its time was up longer ago than the window:
        then the turn is `expired` and the chat is told, once. The gateway's question drops the work, and the
        chat keeps what it saw of its reply. A turn that still runs ends in `wait`; recovery decides about an
        interrupted one.
        """
        ...

    async def withdraw_questions(self) -> tuple[QuestionId, ...]:
        """Withdraw what safe mode asked, because safe mode is over: each closes as expired, once.

        Its turn goes back to recovery, `interrupted`, with the time it waited not counted as age.
        """
        ...

    async def keep_asking(self, due: int, until: int) -> None:
        """Let questions of recovery in chats set to `ask` that expire before `due` last until `until`."""
        ...
