"""Run a turn: decide the next step, commit what it needs, do it. A resumed turn runs the same loop."""

from __future__ import annotations

from dataclasses import field, replace
from pathlib import Path

from holdfast.agents import Chooser, Metered, Prompt
from holdfast.clock import Clock, Rng
from holdfast.errors import Report, RuleRevoked, StaleWrite, StopAsked, StoreClosed, WrongState, unreported
from holdfast.model import UNREADABLE, CallId, CallRecord, Claimed, Replied, Returned, TurnId, call_key
from holdfast.model import StopReason as Marker
from holdfast.policy.consent.approvals import Gate
from holdfast.policy.delivery.parts import Longest, usual
from holdfast.policy.settings import TurnSettings
from holdfast.policy.turn.calls import How, Settlement
from holdfast.policy.turn.partials import CUT_OFF_HERE
from holdfast.policy.turn.steps import (
    AskConsent,
    CallModel,
    Finish,
    RunTools,
    Settle,
    WaitForPerson,
    next_step,
)
from holdfast.records import dataclass
from holdfast.store import ClaimSettings, Step, Store
from holdfast.telemetry import Secrets, no_secrets
from holdfast.tools import NoMoreTools, ProcessPort, ToolSource
from holdfast.tools.process_tools import LOOK

from .apply_cut import CutWork
from .attachments import ALONE, AttachedFiles, Attachments, NoAttachments
from .committer import Committer
from .consent import ConsentPorts
from .context_window import ContextWindow
from .cut import LOST, NOT_ALLOWED, STOP, Cut, CutOff
from .display.port import Watch, unwatched
from .draft import Draft
from .final_reply import gone_for, owed_for, partial_for
from .intentions.carry_out import Intentions
from .intentions.goals import GoalWork
from .intentions.processes import ProcessWork
from .intentions.questions import Questions
from .limits import TurnLimits
from .model_call import ModelCaller
from .partials import Partials
from .progress_timer import ProgressTimer
from .run_tasks import RunTasks
from .tools.execute import ToolExecution
from .tools.in_flight import ToolWork
from .tools.long_results import LongResults, Nowhere
from .turn_input import TurnInput


@dataclass(frozen=True, slots=True)
class Runner:
    """Everything that a run needs besides its turn."""

    store: Store
    clock: Clock
    rng: Rng
    agent: Chooser
    """Chooses the agent of each chat."""
    workspace: Path
    settings: TurnSettings = TurnSettings()
    report: Report = field(default=unreported)
    longest: Longest = field(default=usual)
    """How many characters one message to a chat may have: a longer answer is owed in parts."""
    watch: Watch = field(default=unwatched)
    """Shows a run to people while it goes on."""
    outputs: LongResults = field(default_factory=Nowhere)
    """Keeps the results that are too long for the model."""
    processes: ProcessPort | None = None
    """Runs background processes; None where they cannot run."""
    more_tools: ToolSource = field(default_factory=NoMoreTools)
    """Tools that may appear and disappear, for every agent."""
    attachments: Attachments = field(default_factory=NoAttachments)
    """Puts received files where the agent finds them."""
    secrets: Secrets = field(default=no_secrets)
    """The secrets that are removed from all output of tools and models before people see it."""
    consent: ConsentPorts = ConsentPorts()
    """The facts for asking people for consent to a call."""

    def begin(self, claimed: Claimed, settings: ClaimSettings) -> Run:
        """A run of this turn, under the settings of its claim; `Run.go` starts it."""
        return Run(self, claimed, settings)


class Run:
    """Runs one claimed turn until it ends, waits for a person, is put back or is interrupted.

    Every write is fenced: if another run takes the turn over, this run ends without a write.
    """

    def __init__(self, runner: Runner, claimed: Claimed, claim: ClaimSettings) -> None:
        self.claimed = claimed
        self._store = runner.store
        self._report = runner.report
        self._longest = runner.longest
        self._begun = False
        """Whether a model call or a tool has started."""
        settings, fence = runner.settings, claimed.fence
        self._draft = draft = Draft(claimed)
        self._choice = choice = runner.agent.choose(claimed.session.chat, claimed.settings)
        draft.take(Step(owe=gone_for(claimed, choice)))
        self._claim = claim
        self._run_tasks = run_tasks = RunTasks(runner.clock, self._bars)
        self._progress_timer = progress_timer = ProgressTimer(
            runner.clock, settings, lambda: self._partials.record()
        )
        self._partials = partials = Partials(
            store=runner.store,
            fence=fence,
            clock=runner.clock,
            run_tasks=run_tasks,
            every=settings.progress.recorded,
            on_recorded=progress_timer.journaled,
            report=runner.report,
            begun=claimed.partial,
        )
        self._clock, self._approvals, self._consent = runner.clock, settings.approvals, runner.consent
        self._asked = asked = Questions(
            runner.clock,
            claimed,
            settings,
            runner.longest,
            lambda: draft.journal,
            runner.consent,
            choice.name or "",
        )
        self._processes = (
            ProcessWork(runner.store, runner.processes, runner.clock, settings.processes)
            if runner.processes
            else None
        )
        goals, outputs = GoalWork(runner.store, claimed.session.key), runner.outputs
        intentions = Intentions(
            runner.store,
            claimed,
            asked,
            goals,
            outputs,
            settings.tools.shown,
            runner.longest,
            self._processes,
        )
        self._tool_execution = ToolExecution(
            choice.agent,
            runner.more_tools,
            runner.workspace,
            runner.report,
            intentions.carry_out,
            runner.clock,
            settings,
            outputs,
            runner.secrets,
        )
        self._instructions = choice.agent.instructions
        self._files = AttachedFiles(
            runner.attachments, claimed.session.id, choice.name or ALONE, {}, runner.secrets
        )
        self._display = display = runner.watch(claimed, progress_timer.silent)
        self._tools = ToolWork(
            self._tool_execution, fence, run_tasks, progress_timer, display, partials, runner.secrets
        )
        rng, report = runner.rng, runner.report
        self._committer = committer = Committer(
            runner.store, fence, draft, run_tasks, progress_timer, display, rng, settings, report
        )
        asking = ModelCaller(
            choice.agent.model,
            run_tasks,
            progress_timer,
            display,
            partials,
            rng,
            settings,
            report,
            committer.begin_reply,
            runner.secrets,
        )
        self._fitting = ContextWindow(
            asking, self._committer, draft, display, choice.agent.room, self._prompt
        )
        self._opening = TurnInput(runner.store, runner.clock, self._committer, claimed, claim)
        self._limits = TurnLimits(runner.store, runner.clock, self._committer, claimed, settings.limits)
        self._cutting = CutWork(
            runner.store,
            claimed,
            self._committer,
            draft,
            run_tasks,
            display,
            partials,
            self._tools,
            settings,
            runner.longest,
        )

    @property
    def turn(self) -> TurnId:
        return self.claimed.turn.id

    def silent(self) -> int:
        """Milliseconds since the last progress of the run."""
        return self._progress_timer.silent()

    def cut(self, cut: Cut) -> None:
        """Break the run off at the next point where it waits or would begin an effect."""
        self._run_tasks.cut(cut)

    async def go(self) -> None:
        """Run until the turn ends or waits for a person, or until a cut has been carried out."""
        try:
            await self._until_rest()
            await self._display.end()
        finally:
            self._display.drop()
            self._run_tasks.cancel()

    async def _until_rest(self) -> None:
        cut: Cut | None = None
        while True:
            try:
                if cut is None:
                    return await self._loop()
                return await self._cutting.carry_out(cut, self._begun)
            except CutOff as off:
                cut = off.cut
            except StopAsked:
                cut = STOP
            except (StaleWrite, StoreClosed):
                cut = LOST

    async def _loop(self) -> None:
        while True:
            match next_step(self._draft.view, self._draft.journal, await self._gate()):
                case CallModel():
                    failure = await self._call_model()
                    if failure is not None:
                        return await self._finish(failure)
                case RunTools() as tools:
                    await self._run_tools(tools)
                case Settle(settlements):
                    await self._settle(settlements)
                case AskConsent(call):
                    self._run_tasks.check()
                    await self._ask_consent(call)
                case WaitForPerson():
                    if await self._wait_for_person():
                        return None
                case Finish() as end:
                    return await self._finish(end)

    async def _gate(self) -> Gate:
        """The rules that the calls of this turn must pass now; the chat's own are read only if needed."""
        chat, owner = self.claimed.session.chat, self._consent.owner
        gate = Gate(self._approvals, chat, self._clock.now(), owner, self._choice.name or "")
        if not gate.needs_consent(self._draft.journal):
            return gate
        return replace(gate, allowed=await self._committer.surely(lambda: self._store.allowed_calls(chat)))

    async def _ask_consent(self, call: CallRecord) -> None:
        """Ask a person whether the call may run; a fault of the ledger is retried."""
        said, asked = self._draft.people, self._asked
        starts_program = self._tool_execution.starts_program(call.name)
        self._draft.take(await self._committer.surely(lambda: asked.consent(call, said, starts_program)))

    async def _call_model(self) -> Finish | None:
        """Commit everything so far, then ask the model; its reply is committed before any call of it runs."""
        self._run_tasks.check()
        if not self._draft.knows_past:
            session = self.claimed.session.id
            past = await self._committer.surely(lambda: self._store.transcript(session))
            if any(getattr(entry.body, "text", None) == UNREADABLE for entry in past):
                await self._committer.surely(lambda: self._store.set_entries_aside(session))
            self._draft.remember(past)
            await self._report_missed_output()
        await self._opening.take_in(self._draft)
        await self._committer.save()
        if await self._limits.asks(self._draft):
            return None
        self._run_tasks.check()
        self._begun = True
        self._display.step("thinking")
        await self._look_for_tools()
        await self._files.get_ready(self._draft)
        answer = await self._fitting.reply()
        if isinstance(answer, Finish):
            return answer
        self._take_down(answer)
        return None

    async def _look_for_tools(self) -> None:
        """Wait, up to a limit, until it is known which tools there are now, and offer those to the model."""
        if not self._tool_execution.settled:
            await self._run_tasks.wait(
                (self._run_tasks.begin(self._tool_execution.settle),), self._progress_timer.left
            )
        self._tool_execution.look()

    def _prompt(self) -> Prompt:
        model = self._choice.model
        key = call_key(self.turn, CallId(f"reply-{self._draft.steps + 1}"))
        messages = self._files.described(self._draft.messages)
        return Prompt(messages, self._tool_execution.specs, self._instructions, model, key)

    async def _report_missed_output(self) -> None:
        """Add to the model's instructions the matching process output that started no wake-up."""
        if self._processes is not None and any(spec.name == LOOK for spec in self._tool_execution.specs):
            words = await self._processes.missed_output(self.claimed.session.id)
            self._instructions = "\n\n".join(filter(None, (self._instructions, words)))

    def _take_down(self, answer: Metered) -> None:
        self._partials.replied()
        self._draft.say(answer.reply)
        self._draft.plan(tuple(self._tool_execution.plan(call) for call in answer.reply.calls))
        if answer.usage is not None:
            self._draft.spend(answer.usage)

    async def _run_tools(self, step: RunTools) -> None:
        """Commit the calls as started, begin them, and take the results of those that end first.

        Each result is committed as soon as it is there. The last one waits for the commit of the next step:
        one commit records the one and claims the other.
        """
        calls = tuple(one.call for one in step.calls)
        if calls:
            self._run_tasks.check()
            self._begun = True
            under = tuple((one.call.id, one.rule) for one in step.calls if one.rule is not None)
            self._draft.start(tuple(call.id for call in calls), under)
        try:
            await self._committer.save()
        except RuleRevoked:
            # The rule was revoked between the look and the commit: the next look finds the person to ask.
            self._draft.hold_back(calls)
            return
        # The commit may have taken long, so the person may have lost access meanwhile.
        bar = self._bars() if calls else None
        if bar is not None:
            raise CutOff(bar)
        for call in calls:
            self._tools.run(call)
        if calls:
            self._display.step(f"running {', '.join(dict.fromkeys(call.name for call in calls))}")
        self._draft.take(*await self._tools.next_results())

    async def _settle(self, settlements: tuple[Settlement, ...]) -> None:
        """Give cut-off calls their results without running them."""
        calls = {call.id: call for call in self._draft.journal.calls}
        for settlement in settlements:
            if settlement.how is How.WRITE:
                self._draft.say(Returned(settlement.call, settlement.state, settlement.text))
            else:
                self._run_tasks.check()
                self._begun = True
                self._tools.ask(calls[settlement.call])
        while self._tools.busy:
            self._draft.take(*await self._tools.next_results())

    async def _wait_for_person(self) -> bool:
        """Give the turn back while a question is open; False if it was closed meanwhile: the turn goes on."""
        fence = self.claimed.fence
        await self._committer.save()
        await self._display.rest()
        try:
            await self._committer.surely(lambda: self._store.wait(fence))
        except WrongState:
            look = self._store.journal
            self._draft.look_again(await self._committer.surely(lambda: look(fence.turn, fence.generation)))
            self._opening.look_again()
            self._display.go_on()
            return False
        return True

    async def _finish(self, end: Finish) -> None:
        """End the turn and owe its answer, in one commit."""
        claimed, step = self.claimed, self._draft.unsaved
        if step.plan:
            await self._committer.save()  # the end settles only calls that the journal knows
            step = self._draft.unsaved
        # Keep the part of a reply that failed midway or that an earlier run had begun.
        written = self._partials.reply
        stopped = (Replied(written, Marker.STOPPED),) if written.strip() else ()
        partial = partial_for(claimed, written, self._longest, CUT_OFF_HERE)
        owed = (*step.owe, *partial, owed_for(claimed, end, self._longest))
        append = (*step.append, *stopped)
        await self._display.rest()
        await self._committer.surely(
            lambda: self._store.finish(
                claimed.fence, end.state, append, owed, end.reason, step.tail, step.usage
            )
        )

    def _bars(self) -> Cut | None:
        """The cut for a person who is no longer allowed: no new effect begins for them."""
        person = self.claimed.cause.person
        return NOT_ALLOWED if person is not None and not self._claim.allows(person) else None
