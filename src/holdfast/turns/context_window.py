"""Keep a prompt within what the model can read: an extra model call sums up older turns first.

A summary is one entry, committed before the model is asked. After a crash before that commit nothing has
changed, and the next long prompt tries again. No undo can come between, since the turn is unfinished.
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
"""How often the prompt is made shorter after the provider said that it is too long."""
_LESS = 0.7
_PER_TOKEN = 4


class ContextWindow:
    """Keeps the prompts of one run within the context window of its model."""

    def __init__(
        self,
        asking: ModelCaller,
        committer: Committer,
        draft: Draft,
        display: RunDisplayPort,
        room: int | None,
        prompt: Callable[[], Prompt],
    ) -> None:
        self._asking = asking
        self._committer = committer
        self._draft = draft
        self._display = display
        self._prompt = prompt
        self._room = room
        """How many tokens fit, by our own estimate; None while unknown."""
        self._ratio = 1.0
        """How many tokens the provider counts for each token of our estimate."""
        self._sums = True
        """Whether to try a summary: false after one has failed in this run."""

    async def reply(self) -> Metered | Finish:
        """The model's reply to as much of the conversation as it can read."""
        words, before = "", None
        for _ in range(_TRIES):
            prompt = await self._fitted()
            if prompt == before:
                break  # No more messages can be left out.
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
        """Sum up a part of the older turns; False if there is none, or the summary failed."""
        draft = self._draft
        part = to_sum_up(draft.whole, draft.turn, int(room / self._ratio)) if self._sums else None
        if part is None:
            return False
        self._display.step("summing up the conversation so far")
        asked = Prompt(
            (Message(Role.USER, part.text),), instructions=INSTRUCTIONS, model=self._prompt().model
        )
        answer = await self._asking.reply(asked, draft.next_seq, visible=False)
        self._display.step("thinking")
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
        await self._committer.save()
        return True

    def _size(self, prompt: Prompt) -> float:
        overhead = len(prompt.instructions)
        overhead += sum(
            len(tool.name) + len(tool.description) + len(str(tool.parameters)) for tool in prompt.tools
        )
        return (tokens_of(prompt.messages) + overhead / _PER_TOKEN) * self._ratio

    def _learn(self, prompt: Prompt, answer: Metered) -> None:
        """Correct the estimate by the provider's own count."""
        estimated = self._size(prompt) / self._ratio
        if answer.usage is not None and answer.usage.tokens_in > 0 and estimated > 0:
            self._ratio = min(4.0, max(0.25, answer.usage.tokens_in / estimated))
