"""Ask a model; retry while its errors are transient, then end the turn with the reason."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from holdfast.agents import ContextOverflow, Metered, Model, ModelError, Prompt, replies_of
from holdfast.clock import Rng
from holdfast.errors import Report
from holdfast.model import CallId, EffectClass, Replied
from holdfast.policy.delivery.retry import delay
from holdfast.policy.settings import SECOND, TurnSettings
from holdfast.policy.turn.steps import Finish, FinishReason, gave_up
from holdfast.records import dataclass
from holdfast.telemetry import GrowingText, Secrets, masked, without_secrets

from .cut import STUCK, CutOff
from .display.port import RunDisplayPort
from .partials import Partials
from .progress_timer import ProgressTimer
from .run_tasks import RunTasks
from .tools.foreign_code import called


@dataclass(frozen=True, slots=True)
class PromptTooLong:
    """The model cannot read a prompt of this length."""

    words: str


class ModelCaller:
    """Asks the model of one run."""

    def __init__(
        self,
        model: Model,
        run_tasks: RunTasks,
        progress_timer: ProgressTimer,
        display: RunDisplayPort,
        partials: Partials,
        rng: Rng,
        settings: TurnSettings,
        report: Report,
        before: Callable[[], Awaitable[None]],
        secrets: Secrets,
    ) -> None:
        """`before` runs right before each call whose reply has effects: it commits that the reply begins."""
        self._before = before
        self._secrets = secrets
        self._model = model
        self._run_tasks = run_tasks
        self._progress_timer = progress_timer
        self._display = display
        self._partials = partials
        self._rng = rng
        self._settings = settings
        self._report = report

    async def reply(
        self, prompt: Prompt, next_seq: int, visible: bool = True
    ) -> Metered | Finish | PromptTooLong:
        """The model's reply, or how the turn ends without one. A cut or a lack of progress breaks it off.

        With `visible`, people see the reply while the model writes it.
        """
        for attempt in range(1, self._settings.model_tries + 1):
            answer = await self._once(prompt, next_seq - 1, visible)
            if isinstance(answer, Metered):
                return replace(answer, reply=_named(masked(answer.reply, self._secrets()), next_seq))
            if isinstance(answer, Finish):
                return answer
            if isinstance(answer, ContextOverflow):
                return PromptTooLong(self._words(answer))
            if not answer.transient or attempt == self._settings.model_tries:
                return gave_up(FinishReason.MODEL_FAILED, self._words(answer))
            self._display.over()
            await self._rest(attempt, answer.retry_after)
        raise AssertionError("a model is asked at least once")

    def _words(self, error: ModelError) -> str:
        return self._secrets().without(without_secrets(str(error)))

    async def _once(self, prompt: Prompt, after: int, visible: bool) -> Metered | ModelError | Finish:
        """Try once. An unexpected fault goes to the log and ends the turn."""
        await self._ready()
        listening, growing = True, GrowingText(self._secrets())

        def hear(text: str) -> None:
            # Ignore the text of a model that writes on after the cut.
            if listening:
                if visible and (seen := growing.shown(text)):
                    self._partials.write(seen, after, self._display.show(seen))
                self._progress_timer.beat()

        task = self._run_tasks.begin(lambda: called(lambda: self._model.reply(prompt, hear)))
        try:
            while not task.done():
                if self._progress_timer.is_stuck:
                    raise CutOff(STUCK)
                await self._run_tasks.wait((task,), self._progress_timer.left)
        finally:
            listening = False
        try:
            answer: object = task.result()
        except ModelError as error:
            return error
        except Exception as fault:  # noqa: BLE001 - the boundary to foreign code: it ends the turn
            self._report("asking the model", fault)
            return gave_up(FinishReason.MODEL_BROKE)
        if isinstance(answer, Replied):
            return Metered(answer)
        if isinstance(answer, Metered):
            return answer
        self._report("asking the model", TypeError(f"a model gave {answer!r}, which is no Replied"))
        return gave_up(FinishReason.MODEL_BROKE)

    async def _ready(self) -> None:
        """Raise a cut that is due. Before a reply with effects, commit that it begins."""
        self._run_tasks.check()
        if replies_of(self._model) is EffectClass.EFFECT:
            await self._before()
            self._run_tasks.check()

    async def _rest(self, attempt: int, retry_after: float | None) -> None:
        """Wait before the next try, at least as long as the provider asked; raise when the run is stuck."""
        waiting = max(
            float(delay(attempt, self._settings.retry, self._rng.random())), (retry_after or 0) * SECOND
        )
        while waiting > 0:
            if self._progress_timer.is_stuck:
                raise CutOff(STUCK)
            part = min(waiting, self._progress_timer.left)
            await self._run_tasks.rest(part)
            waiting -= part


def _named(reply: Replied, next_seq: int) -> Replied:
    """Give each call an id that is unique in the session: providers repeat theirs."""
    calls = tuple(
        replace(call, id=CallId(f"c{next_seq}-{number}")) for number, call in enumerate(reply.calls, start=1)
    )
    return replace(reply, calls=calls)
