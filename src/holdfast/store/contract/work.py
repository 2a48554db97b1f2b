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
        """Take the conversation that has been ready longest; None if no turn can be claimed.

        A claim that returns None has raised no generation, attempt or strike.

        In one commit the store

        - finds the session or makes one (the last one may be suspended or due for a reset),
        - raises generation, attempt and strikes by one,
        - begins a turn with the oldest waiting row, or takes an unfinished turn again,
        - consumes the row and appends its message, with the one note it may need.

        Interrupted work is judged once more first. If the decision is not to resume it, the turn goes back to
        `interrupted` for recovery. At most one suspect runs. `Claimed.take` names the waiting rows that
        belong to a turn that was taken again. A row whose sender is no longer allowed begins no turn and
        joins none: the same commit refuses it (`not_allowed`).
        """
        ...

    async def claim_ready(
        self, settings: ClaimSettings, judge: Judge, limit: int, resumes: int
    ) -> tuple[Claimed, ...]:
        """Take up to `limit` turns, each as `claim` would, all in one commit.

        At most `resumes` of them are interrupted turns. Fewer than `limit` mean that no other turn can be
        claimed until `turns` changes, or until a resumed turn or a suspect ends: only these two keep others
        from a claim.
        """
        ...

    async def record(self, fence: Fence, step: Step) -> Recorded:
        """Append what happened and begin what comes next, in one commit.

        The turn takes each row to consume that still waits. Its current text, edits included, is appended
        after everything else. A row that was withdrawn meanwhile is passed over. `Recorded` holds all entries
        as committed. A row of another conversation raises `WrongState`.

        Only a person's message, model output or a real result moves the progress time.

        Raises `StopAsked` and writes nothing when a stop was asked and the step would start or plan calls,
        ask or consume. Raises `RuleRevoked` when a call would start under a rule that is no longer in force.
        """
        ...

    async def progress(self, fence: Fence, shown: tuple[Partial, ...] = ()) -> None:
        """Record that a tool or the model produced something, and what people have seen of it.

        Each of `shown` replaces the earlier partial of that reply or call. The commit of the final entry
        removes the partial. If the turn ends first, its end keeps the text: output goes into the result that
        says `unknown`, and a reply becomes an entry that was stopped.
        """
        ...

    async def partials(self, turn: TurnId) -> tuple[Partial, ...]:
        """The recorded partials of the turn's unfinished reply and calls."""
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

        The same commit settles unsettled calls (planned → skipped, started → unknown). Done and failed raise
        `StopAsked` when a stop was asked first; cancelled carries that stop out (and ends the session for
        `new`). Done sets the strikes to 0; failed and cancelled take back the strike of the claim.
        """
        ...

    async def spent(self, turn: TurnId, chat: ChatAddress, since: int) -> Spent:
        """What all runs of a turn have used, what its chat has used since a time, and the grants."""
        ...

    async def wait(self, fence: Fence) -> None:
        """Put a turn down to wait for its open question; raises `WrongState` if that was answered meanwhile.

        A turn whose own question was closed without an answer ends instead: `expired`, `unanswered`, its
        calls settled and its session free in the same commit.

        A message may also have set the question aside. Its row then waits, names the question in
        `InboxRow.question`, and belongs to this turn. Raises `StopAsked` when a stop was asked: the caller
        cancels such a turn.
        """
        ...

    async def put_back(self, fence: Fence) -> None:
        """Return a claimed turn in which nothing has begun; it is claimed again first, without a mark.

        Raises `StopAsked` when a stop was asked.
        """
        ...

    async def interrupt(self, fence: Fence, reason: str) -> None:
        """Mark a turn about to be cut; its strike is taken back only if this run produced something."""
        ...

    async def stops(self) -> tuple[TurnId, ...]:
        """Running turns of this process that were asked to stop; the topic `stops` changes with each."""
        ...

    async def clear_suspect(self, fence: Fence) -> None:
        """Clear a suspect that has survived long enough: set its strikes to 0 and free the lane."""
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

        Guarded by the generation that the caller saw; a summary is refused if an undo came after
        `read_up_to`. The command's row `by` is executed in the same commit, so that it is carried out once.
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

        The row then causes the new turn, as a message or as the wake-up that `kind` names. Raises
        `WrongState` for a row that is not a waiting command of this conversation; nothing is undone then.
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
        """Let a live session go on that was parked, is held, or whose last turn expired.

        With interrupted work, this is the consent to resume it (also when the gateway has asked about it):
        recovery resumes it, and the command's row `by` is executed. A parked session is no longer suspended,
        has no strikes and one more generation, and a hold of its conversation ends. There, and after a turn
        that expired, the command's row becomes a waiting message of this conversation with `text`.

        `person` answers a question of the gateway only if it was asked of them; without a person the operator
        or an owner answers. Any other case raises `WrongState`, also an unfinished turn that is not
        interrupted.
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

        A parked session is no longer suspended and has no strikes, and a hold of its conversation ends. With
        `text` the command's row becomes a waiting message there, as with `revive`. Any other session that is
        reopened after a park is a suspect, like a new one.

        The session that was live ends (`resumed_other`), with its wake-ups. Waiting messages go on in the
        reopened session, which gets a new incarnation. Raises `WrongState` when the session is live already,
        or when the live one has an unfinished turn or a message that a command made for it.
        """
        ...

    async def release_conversation(self, key: Key, by: Position | None, owe: tuple[Owed, ...] = ()) -> None:
        """Release the messages of a conversation that was parked too often; the command's row is executed.

        They begin a new session. Raises `WrongState` when the conversation is not on hold.
        """
        ...

    async def find_session(self, key: Key, prefix: str) -> Session | None:
        """The session of this conversation whose id begins with `prefix`; None if none or several do."""
        ...

    async def transcript(self, session: SessionId, after: int = 0) -> tuple[Entry, ...]:
        """Every entry of a session after a number, in order; an unreadable one says `UNREADABLE`."""
        ...

    async def set_entries_aside(self, session: SessionId) -> int:
        """Log and set aside the unreadable entries of a session, each once; returns how many."""
        ...

    async def search(
        self, key: Key, words: tuple[str, ...], but: TurnId, limit: int = 20
    ) -> tuple[Remembered, ...]:
        """The entries of this conversation that hold all of these words, newest first.

        The search reads the last few thousand entries of all sessions, except those of the turn `but`. It
        does not find entries that were erased or undone.
        """
        ...

    async def journal(self, turn: TurnId, generation: int) -> Journal:
        """The calls and questions of a turn, with their states."""
        ...

    async def live_session(self, key: Key) -> Session | None:
        """The session in which this conversation goes on."""
        ...

    async def waiting(self, key: Key, limit: int = 50) -> tuple[InboxRow, ...]:
        """The waiting rows of a conversation, in arrival order; commands are left out."""
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
        """Take a waiting row as the answer to an open question, once; a waiting turn is queued with it.

        The answer `always` stores the rule that the question offers, in the same commit.

        Raises `WrongState`, and the row stays waiting, when

        - the question is closed, its time is up, or it belongs to an ended incarnation,
        - it was asked of another person, or of an owner while `owner` is False,
        - the answer would allow a call, but an earlier part of the question's message has not arrived,
        - the answer asks for a rule, but the person is no owner or the question offers none.
        """
        ...

    async def set_question_aside(self, question: QuestionId) -> None:
        """Close an open question because the person wrote something else; its waiting turn is queued."""
        ...

    async def question_undeliverable(self, question: QuestionId) -> None:
        """Close a question that reached no person.

        A turn that waits for the model's own question ends (`expired`, `unanswered`), as when its time is up.
        An approval that could not be delivered counts as refused, and the turn is queued. A question of safe
        mode stays open and raises `WrongState`: only an answer drops that work.
        """
        ...

    async def expire_questions(
        self, limit: int = 100, settings: RecoverySettings = AS_USUAL, longest: Longest = usual
    ) -> tuple[ExpiredQuestion, ...]:
        """Close questions past their time, each once, and decide about a waiting turn in the same commit.

        The model's own question ends the turn: `expired`, `unanswered`, its calls settled, its session free.
        An approval counts as refused and the turn is queued. If its time was up longer ago than the window,
        the turn is `expired` instead and the chat is told, once. A question of the gateway drops the work,
        and the chat keeps what it saw of the reply. A turn that still runs ends in `wait`; recovery decides
        about an interrupted one.
        """
        ...

    async def withdraw_questions(self) -> tuple[QuestionId, ...]:
        """Withdraw the questions of safe mode, because safe mode has ended: each closes as expired, once.

        The turn goes back to recovery as `interrupted`. The time that it waited does not count as age.
        """
        ...

    async def keep_asking(self, due: int, until: int) -> None:
        """Move the expiry of recovery's questions in chats set to `ask` from before `due` to `until`."""
        ...
