"""Running a turn: ask what comes next, commit what that needs, do it. A resumed turn is the same loop."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from holdfast.agents import Model
from holdfast.clock import Clock
from holdfast.model import (
    CallId,
    CallRecord,
    Claimed,
    Noted,
    Owed,
    OwedKind,
    Returned,
    TurnState,
    answer_key,
)
from holdfast.policy.calls import How, Settlement
from holdfast.policy.notes import NoteFacts, note_for
from holdfast.policy.settings import RecoverySettings
from holdfast.policy.steps import CallModel, Finish, RunTools, Settle, WaitForPerson, next_step
from holdfast.store import Store

from .draft import Draft
from .toolbox import Toolbox


@dataclass(frozen=True, slots=True)
class Agent:
    """What answers: a model and its tools."""

    model: Model
    toolbox: Toolbox


class Runner:
    """Takes one claimed turn to its next rest: ended, or waiting for a person."""

    def __init__(self, store: Store, clock: Clock, agent: Agent, recovery: RecoverySettings) -> None:
        self._store = store
        self._clock = clock
        self._agent = agent
        self._recovery = recovery

    async def run(self, claimed: Claimed) -> None:
        """Loop until the turn rests. Every write is fenced: a turn taken over raises `StaleWrite`."""
        draft = Draft(claimed, await self._store.transcript(claimed.session.id))
        while True:
            match next_step(draft.view, draft.journal):
                case CallModel():
                    await self._call_model(claimed, draft)
                case RunTools(calls):
                    await self._run_tools(claimed, draft, tuple(one.call for one in calls))
                case Settle(settlements):
                    await self._settle(claimed, draft, settlements)
                case WaitForPerson():
                    await self._save(claimed, draft)
                    return await self._store.wait(claimed.fence)
                case Finish() as end:
                    return await self._finish(claimed, draft, end)

    async def _save(self, claimed: Claimed, draft: Draft) -> None:
        """Commit what has happened and what begins next, together."""
        if not draft.is_saved:
            recorded = await self._store.record(claimed.fence, draft.take())
            draft.saved(recorded.entries)

    async def _call_model(self, claimed: Claimed, draft: Draft) -> None:
        """Commit everything so far, then ask the model; its reply is committed before anything of it runs."""
        self._open_resume(claimed, draft)
        await self._save(claimed, draft)
        reply = await self._agent.model.reply(draft.messages)
        # Providers repeat call ids; ours are unique within the session.
        calls = tuple(
            replace(call, id=CallId(f"c{draft.next_seq}-{number}"))
            for number, call in enumerate(reply.calls, start=1)
        )
        draft.say(replace(reply, calls=calls))
        draft.plan(tuple(self._agent.toolbox.plan(call) for call in calls))

    def _open_resume(self, claimed: Claimed, draft: Draft) -> None:
        """Once all calls are paired: the one note of an interruption, then the rows that belong in here."""
        if draft.resume_opened:
            return
        turn = claimed.turn
        facts = NoteFacts(
            opening=False,
            message_follows=bool(claimed.take),
            interruptions=turn.interruptions,
            noted=turn.noted,
            reason=turn.interruption,
        )
        note = note_for(facts, self._clock.now(), self._recovery)
        bodies = (Noted(note.kind, note.count, note.text),) if note else ()
        draft.say(*bodies, consume=claimed.take)
        draft.resume_opened = True

    async def _run_tools(self, claimed: Claimed, draft: Draft, calls: tuple[CallRecord, ...]) -> None:
        """Commit the calls as started, run them side by side, and commit each result as soon as it is there.

        The last result waits for the next step's commit: record of the one, claim of the other.
        """
        draft.start(tuple(call.id for call in calls))
        await self._save(claimed, draft)
        running = {asyncio.ensure_future(self._agent.toolbox.run(claimed, call)) for call in calls}
        try:
            while running:
                finished, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for result in finished:
                    draft.say(result.result())
                if running:
                    await self._save(claimed, draft)
        finally:
            for task in running:
                task.cancel()

    async def _settle(self, claimed: Claimed, draft: Draft, settlements: tuple[Settlement, ...]) -> None:
        """Give cut-off calls their results without running them."""
        calls = {call.id: call for call in draft.journal.calls}
        for settlement in settlements:
            if settlement.how is How.ASK_TOOL:
                draft.say(await self._agent.toolbox.ask(claimed, calls[settlement.call]))
            else:
                draft.say(Returned(settlement.call, settlement.state, settlement.text))

    async def _finish(self, claimed: Claimed, draft: Draft, end: Finish) -> None:
        """End the turn and owe its answer, in one commit."""
        text = end.reply if end.state is TurnState.DONE else end.words
        owed = Owed(
            claimed.session.chat,
            answer_key(claimed.turn.id),
            (text,),
            OwedKind.REPLY if end.state is TurnState.DONE else OwedKind.NOTICE,
            claimed.cause.message_id,
        )
        step = draft.take()
        await self._store.finish(claimed.fence, end.state, step.append, (owed,), end.reason, tail=step.tail)
