"""An agent whose work is a pure function of what people wrote, and tools that leave marks outside the ledger.

A message is a script and a tag: `tools read effect #3`. Scripts (`scripts.py` reads them):

    plain               an answer at once
    tools A B+C …       one call after the other, with + side by side: read, idempotent, reconcilable, effect,
                        broken, which always fails, bulky, whose result is long, leaky, which prints a secret
                        piece by piece, ask_person, give (a file),
                        or what is done with background processes: start:N, which ends after N seconds,
                        start:N:M, which says something after M, serve, which never ends, look, wait, list,
                        write and kill
    parallel            all four side by side
    long N              N reads, one after the other
    slow N              an answer after N seconds, written bit by bit
    wordy N             an answer of N lines
    crash N             kills the process, after N seconds if that is said
    hang                never answers
    fail                the model refuses for good

What wakes a conversation is answered like a message; a standing goal has scripts of its own:

    reach N             each turn reads something, the Nth reports that it is reached
    block N             the same, and it cannot be
    endless             it is never reported
    talk                nor is anything done
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field

from holdfast.agents import ContextOverflow, ModelError, OnText, Prompt, unheard
from holdfast.model import EffectClass, Replied, StopReason
from holdfast.policy.turn.compaction import INSTRUCTIONS, tokens_of
from holdfast.records import dataclass
from holdfast.testing.marks import KEY
from holdfast.testing.observation.history import History, ModelCalled, Ran, Span, Writing
from holdfast.testing.scripts import (
    BROKEN,
    BULKY,
    LEAKY,
    last_process,
    script_reply,
    unanswered,
    wants_something,
    words_of,
)
from holdfast.tools import AskPerson, Tool, ToolContext, ToolFailed
from holdfast.tools.process_tools import goal_tool, process_tools

from .faults import SECRET_WORDS, FaultPlan, Injected
from .file_tools import Giving
from .life import ProcessLife
from .loop import SimLoop
from .ports import pause

_BULK = 2_400
"""Characters of a long result."""
THINKS = 0.5
WORKS = 0.2
SLOW = 8
"""So many times as long a slow model takes."""


@dataclass(slots=True)
class Witness:
    """Stands beside model and tools and writes down what they do, looking into the ledger as it stands."""

    loop: SimLoop
    history: History
    faults: FaultPlan
    trace: Callable[[str], None]
    generation_of: Callable[[str], int | None]
    """The generation of a running turn's session; None if the turn does not run."""
    interruptions_of: Callable[[str], int]
    """How often a turn was interrupted so far."""
    turn_saying: Callable[[Sequence[str], str], tuple[str, str, bool] | None]
    """Session, turn and whether it runs, of the turn that holds the last of what people said."""
    barred_for: Callable[[str], float]
    """Seconds for which whoever a turn is for has not been allowed to talk."""
    kills: Callable[[str, ProcessLife], None]
    """The work of a turn ends the process."""
    may_run: Callable[[str, str, str, EffectClass], bool]
    """Whether a call (its key, tool and arguments) of this class needs no consent, or has it."""
    anything_runs: Callable[[], bool]
    """Whether some turn is running."""
    reads: int | None = None
    """Tokens the model can read at once; None: any number."""
    done: dict[str, str] = field(default_factory=dict)
    """What idempotent and reconcilable tools have done in the world, by key."""

    def ran(self, what: str, tool: Tool, context: ToolContext, arguments: str) -> None:
        self.trace(f"{tool.name} {what} {context.key}")
        self.history.ran.append(
            Ran(
                what,
                tool.name,
                tool.effect,
                context.key,
                context.session,
                context.turn,
                arguments,
                context.generation,
                self.generation_of(context.turn),
                self.barred_for(context.turn),
                self.may_run(context.key, tool.name, arguments, tool.effect),
            )
        )

    @contextmanager
    def writing(
        self, turn: str, life: ProcessLife, replies: EffectClass, on_text: OnText
    ) -> Iterator[OnText]:
        """Write down what a model writes and how its call ends; gives what the model calls as it writes."""
        one = Writing(turn, replies is EffectClass.EFFECT, interruptions=self.interruptions_of(turn))
        self.history.writings.append(one)

        def ended(how: str) -> None:
            if one.ended_at is None:
                one.how, one.ended_at = how, self.loop.time()

        def hear(text: str) -> None:
            if text:
                one.shown.append((self.loop.time(), text))
            on_text(text)

        life.on_end.append(lambda: ended("died"))
        try:
            yield hear
            ended("replied")
        except (ModelError, Injected):
            ended("failed")
            raise
        except asyncio.CancelledError:
            ended("cut")
            raise

    def hold(self, session: str, holder: str, life: ProcessLife) -> Callable[[], None]:
        """Somebody works for a session from now on, until the returned function is called or they die."""
        begun = self.loop.steps
        open_ = [True]

        def let_go() -> None:
            if open_:
                open_.clear()
                self.history.spans.append(Span(f"session {session}", holder, begun, self.loop.steps))

        life.on_end.append(let_go)
        return let_go


@dataclass(frozen=True, slots=True)
class ScriptedTool:
    """One tool of one effect class; the world keeps what it did."""

    name: str
    effect: EffectClass
    life: ProcessLife
    witness: Witness

    async def run(self, context: ToolContext, arguments: str) -> str:
        self.life.check()
        witness = self.witness
        witness.ran("begun", self, context, arguments)
        holder = f"process {self.life.number} turn {context.turn} generation {context.generation}"
        let_go = witness.hold(context.session, holder, self.life)
        try:
            await pause(witness.loop, WORKS * witness.faults.between(0.1, 1.0))
            if self.name == BROKEN:
                raise ToolFailed("it always does")
            if self.name == LEAKY:
                await self._leak(context)
            witness.ran("happened", self, context, arguments)
            witness.done[context.key] = arguments
            if witness.faults.hits("tool_hangs"):
                await asyncio.get_running_loop().create_future()
            await pause(witness.loop, WORKS * witness.faults.between(0.1, 1.0))
            if witness.faults.hits("tool_breaks"):
                raise Injected("the tool broke after its effect")
            witness.ran("returned", self, context, arguments)
            return f"{self.name} did {arguments}{self._more}"
        finally:
            let_go()

    @property
    def _more(self) -> str:
        return {BULKY: " and more" * (_BULK // 9), LEAKY: f" and read {KEY}"}.get(self.name, "")

    async def _leak(self, context: ToolContext) -> None:
        """Print the secret in pieces, and be there for long enough that people are shown it."""
        half = len(KEY) // 2
        for piece in ("key: ", KEY[:1], KEY[1:half], KEY[half:], "\n"):
            context.output(piece)
            await pause(self.witness.loop, 1.0)

    async def check(self, context: ToolContext, arguments: str) -> str | None:
        self.life.check()
        self.witness.ran("asked", self, context, arguments)
        await pause(self.witness.loop, WORKS)
        return f"{self.name} had done {arguments}" if context.key in self.witness.done else None


def scripted_tools(life: ProcessLife, witness: Witness) -> tuple[Tool, ...]:
    """A tool of each effect class, named after it; a failing, a long and a leaky one; the gateway's own."""
    made = [ScriptedTool(effect.value, effect, life, witness) for effect in EffectClass]
    made += [ScriptedTool(name, EffectClass.READ, life, witness) for name in (BROKEN, BULKY, LEAKY)]
    return (*made, Giving(life), AskPerson(), *process_tools(), goal_tool())


@dataclass(frozen=True, slots=True)
class ScriptedModel:
    """Follows the scripts of the messages not yet answered, one call after the other."""

    life: ProcessLife
    witness: Witness
    replies: EffectClass = EffectClass.READ

    async def reply(self, prompt: Prompt, on_text: OnText = unheard) -> Replied:
        self.life.check()
        witness = self.witness
        if prompt.instructions == INSTRUCTIONS:
            return await self._sum_up(prompt)
        requests, results = unanswered(prompt.messages)
        last = requests[-1] if requests else ""
        said = [message.text for message in prompt.messages if wants_something(message)]
        found = witness.turn_saying(said if requests else (), prompt.key)
        witness.trace(f"model {last}")
        session, turn, running = found or ("?", "?", False)
        witness.history.asked.append(
            ModelCalled(last, tuple(prompt.messages), running, turn, witness.barred_for(turn))
        )
        holder = f"process {self.life.number} turn {turn} generation {witness.generation_of(turn)}"
        let_go = witness.hold(session, holder, self.life)
        with witness.writing(turn, self.life, self.replies, on_text) as on_text:
            return await self._reply(prompt, last, turn, requests, results, on_text, let_go)

    async def _reply(
        self,
        prompt: Prompt,
        last: str,
        turn: str,
        requests: Sequence[str],
        results: int,
        on_text: OnText,
        let_go: Callable[[], None],
    ) -> Replied:
        witness = self.witness
        try:
            await self._think(last, turn, on_text)
            if witness.reads is not None and tokens_of(prompt.messages) > witness.reads:
                raise ContextOverflow(f"the model cannot read so much {SECRET_WORDS}")
            reply = script_reply(requests, results, last_process(prompt.messages))
            on_text(reply.text)
            return reply
        finally:
            let_go()

    async def _sum_up(self, prompt: Prompt) -> Replied:
        """What was said before in few words: how many words it had."""
        witness = self.witness
        witness.history.summing.append(witness.anything_runs())
        witness.trace("model sums up")
        await pause(witness.loop, THINKS)
        if witness.faults.hits("model_errors"):
            raise ModelError(f"the model is overloaded {SECRET_WORDS}", transient=True)
        words = sum(len(message.text.split()) for message in prompt.messages)
        return Replied(f"{words} words were said", StopReason.COMPLETE)

    async def _think(self, request: str, turn: str, on_text: OnText) -> None:
        word, *rest = words_of(request) or [""]
        if word == "crash":
            await pause(self.witness.loop, float(rest[0]) if rest else 0.0)
            self.witness.kills(turn, self.life)
        if word == "hang":
            await asyncio.get_running_loop().create_future()
        seconds = float(rest[0]) if word == "slow" else THINKS
        if self.witness.faults.hits("model_slow"):
            seconds *= SLOW
        for second in range(1, round(seconds)):
            await pause(self.witness.loop, 1.0)
            on_text("a bit " * second)
        await pause(self.witness.loop, seconds - max(0, round(seconds) - 1))
        if word == "fail":
            raise ModelError(f"the model refuses for good {SECRET_WORDS}")
        if self.witness.faults.hits("model_errors"):
            raise ModelError(f"the model is overloaded {SECRET_WORDS}", transient=True)
