"""Asking a model with what it can read at once: older turns are summed up first, by a call of their own.

A summary is one entry, committed by itself before the model is asked. Killed before that, nothing has
happened and the next need tries again; an undo cannot come between, since the turn is unfinished.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from holdfast.agents import Metered, Prompt
from holdfast.model import StopReason as Marker
from holdfast.policy.turn.compaction import INSTRUCTIONS, NEAR, made_to_fit, summed, to_sum_up, tokens_of
from holdfast.policy.turn.steps import Finish, FinishReason, gave_up
from holdfast.policy.turn.views import Message, Role

from .committer import Committer
from .display.port import RunDisplayPort
from .draft import Draft
from .model_call import ModelCaller, PromptTooLong

_TRIES = 4
"""How often a provider may say that it was too much, with less each time."""
_LESS = 0.7
_PER_TOKEN = 4


class ContextWindow:
    """One run's way to keep what its model is shown within bounds."""

    def __init__(
        self,
        asking: ModelCaller,
        keeper: Committer,
        draft: Draft,
        live: RunDisplayPort,
        room: int | None,
        prompt: Callable[[], Prompt],
    ) -> None:
        self._asking = asking
        self._keeper = keeper
        self._draft = draft
        self._live = live
        self._prompt = prompt
        self._room = room
        """Tokens by our own estimate; None while nobody knows."""
        self._ratio = 1.0
        """What the provider counts for each token that we estimate."""
        self._sums = True
        """Whether summing up is worth trying: it has not failed in this run."""

    async def reply(self) -> Metered | Finish:
        """The model's reply to the whole conversation, as far as it can read that."""
        words, before = "", None
        for _ in range(_TRIES):
            prompt = await self._fitted()
            if prompt == before:
                break  # Nothing is left to leave out.
            before = prompt
            answer = await self._asking.reply(prompt, self._draft.next_seq)
            if isinstance(answer, Metered):
                self._learn(prompt, answer)
            if not isinstance(answer, PromptTooLong):
                return answer
            words = answer.words
            self._room = int(self._size(prompt) * _LESS)
        return gave_up(FinishReason.TOO_LONG, words)

    async def _fitted(self) -> Prompt:
        while True:
            prompt = self._prompt()
            if self._room is None or self._size(prompt) <= self._room * NEAR:
                return prompt
            if not await self._sum_up(self._room):
                fixed = self._size(replace(prompt, messages=()))
                room = (self._room * NEAR - fixed) / self._ratio
                return replace(prompt, messages=made_to_fit(prompt.messages, int(room)))

    async def _sum_up(self, room: int) -> bool:
        """Sum up a part of what lies behind; False when there is none, or it did not work."""
        draft = self._draft
        part = to_sum_up(draft.whole, draft.turn, int(room / self._ratio)) if self._sums else None
        if part is None:
            return False
        self._live.step("summing up what was said before")
        asked = Prompt(
            (Message(Role.USER, part.text),), instructions=INSTRUCTIONS, model=self._prompt().model
        )
        answer = await self._asking.reply(asked, draft.next_seq, aloud=False)
        self._live.step("thinking")
        found = None
        if isinstance(answer, Metered):
            if answer.usage is not None:
                draft.spend(answer.usage)
            if answer.reply.finish is Marker.COMPLETE and not answer.reply.calls:
                found = summed(part, answer.reply.text)
        if found is None:
            self._sums = False
            return False
        draft.say(found)
        await self._keeper.save()
        return True

    def _size(self, prompt: Prompt) -> float:
        told = len(prompt.instructions)
        told += sum(
            len(tool.name) + len(tool.description) + len(str(tool.parameters)) for tool in prompt.tools
        )
        return (tokens_of(prompt.messages) + told / _PER_TOKEN) * self._ratio

    def _learn(self, prompt: Prompt, answer: Metered) -> None:
        """The provider has counted what we estimated."""
        estimated = self._size(prompt) / self._ratio
        if answer.usage is not None and answer.usage.tokens_in > 0 and estimated > 0:
            self._ratio = min(4.0, max(0.25, answer.usage.tokens_in / estimated))
