"""Ask a person whether work that reached a limit should go on, before the next model call."""

from __future__ import annotations

from holdfast.clock import Clock
from holdfast.model import Claimed, Owed, OwedKind, QuestionKind
from holdfast.policy.limits import (
    CONTINUE_OR_STOP,
    EXPIRES,
    LimitFacts,
    Spent,
    asked_before,
    day_began,
    needs_spent,
    question_id,
    reached,
)
from holdfast.policy.settings import LimitSettings
from holdfast.store import NewQuestion, Store

from .committer import Committer
from .draft import Draft


class TurnLimits:
    """Checks what the turn and its chat have used. Everything of the run must be saved before a check."""

    def __init__(
        self, store: Store, clock: Clock, committer: Committer, claimed: Claimed, settings: LimitSettings
    ) -> None:
        self._store = store
        self._clock = clock
        self._committer = committer
        self._claimed = claimed
        self._settings = settings

    async def asks(self, draft: Draft) -> bool:
        """Whether a limit is reached; if so, the question is added to the draft and the turn waits for it."""
        questions = draft.journal.questions
        found = reached(LimitFacts(draft.steps, await self._spent(), questions), self._settings)
        if found is None:
            return False
        turn, cause, chat = self._claimed.turn.id, self._claimed.cause, self._claimed.session.chat
        id_ = question_id(turn, found, asked_before(questions) + 1)
        owed = Owed(chat, id_, (found.words,), OwedKind.QUESTION, cause.message_id, CONTINUE_OR_STOP)
        asked_of = self._claimed.cause.person
        expires_at = self._clock.now() + EXPIRES
        draft.ask(
            NewQuestion(
                id_, QuestionKind.CONTINUE, None, found.words, expires_at, owed, asked_of, CONTINUE_OR_STOP
            )
        )
        return True

    async def _spent(self) -> Spent:
        if not needs_spent(self._settings):
            return Spent()
        turn, chat = self._claimed.turn.id, self._claimed.session.chat
        since = day_began(self._clock.now())
        return await self._committer.surely(lambda: self._store.spent(turn, chat, since))
