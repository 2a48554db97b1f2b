"""A model that needs no key: it works in visible steps and reports what happened.

Its reply is a pure function of the messages, so it goes on from the end of any transcript.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from holdfast.clock import Clock
from holdfast.model import CallId, CallState, Replied, StopReason, ToolCall
from holdfast.policy.recovery.notes import WHOLE
from holdfast.policy.turn.views import Message, Role
from holdfast.records import dataclass
from holdfast.tools import demo_tools
from holdfast.tools.demo import note_line

from .base import Agent, OnText, Prompt, unheard

STEPS = 6
MOST_STEPS = 50
COUNT_TO = 3

_ASKED_WHAT_WAS_DONE = re.compile(r"\bwhat (have|did|had|were) you (do|done|doing)\b", re.IGNORECASE)
_DONE_WITH = {"count": "counted", "write_note": "wrote a note", "read_notes": "read the notes"}
_DOUBTFUL = {"write_note": "may or may not have written a note"}


def demo_agent(clock: Clock, pace: float = 0.0) -> Agent:
    """The demonstration agent with its tools; each reply and each tool call takes about `pace` seconds."""
    return Agent(DemoModel(clock, pace), demo_tools(clock, pace))


@dataclass(frozen=True, slots=True)
class DemoModel:
    """Counts in odd steps and writes a note in even ones, as many steps as the message asks for.

    A message that joins interrupted work is the next request: the model finishes the first one before. Asked
    what it did, it answers from the transcript.
    """

    clock: Clock
    pace: float = 0.0

    async def reply(self, prompt: Prompt, on_text: OnText = unheard) -> Replied:
        reply = demo_reply(prompt.messages)
        words = re.findall(r"\S+\s*", reply.text)
        for number in range(1, len(words) + 1):
            if self.pace:
                await self.clock.sleep(self.pace / len(words))
            on_text("".join(words[:number]))
        return reply


def demo_reply(messages: Sequence[Message]) -> Replied:
    """The model's next reply to this conversation: one request after the other, step by step."""
    requests, work = _unfinished(messages)
    wanted = [0 if _ASKED_WHAT_WAS_DONE.search(text) else steps_wanted(text) for text in requests or ("",)]
    done, looks = _steps_done(work, wanted)
    if looks:
        return _call("Whether that note was written is unknown, so I look first.", "read_notes")
    for request, steps in enumerate(wanted, start=1):
        if done < steps:
            return _next_step(request, done + 1, steps)
        done -= steps
    if requests and not wanted[-1]:
        return Replied(_report(messages), StopReason.COMPLETE)
    return Replied(_summary(work, wanted), StopReason.COMPLETE)


def _next_step(request: int, step: int, steps: int) -> Replied:
    now = "The previous request is done. Now the next one. " if request > 1 and step == 1 else ""
    if step % 2:
        return _call(f"{now}Step {step} of {steps}: counting.", "count", upto=COUNT_TO)
    which = {"request": request} if request > 1 else {}
    return _call(f"{now}Step {step} of {steps}: writing a note.", "write_note", step=step, **which)


def _steps_done(work: list[tuple[ToolCall, Message]], wanted: list[int]) -> tuple[int, bool]:
    """The number of finished steps of all requests, and whether to look first if the last one is done."""
    done = 0
    for call, result in work:
        if result.state is CallState.UNKNOWN:
            if result is work[-1][1]:
                return done, True
        elif call.name != "read_notes" or _line_of(done + 1, wanted) in result.text:
            done += 1
    return done, False


def _line_of(number: int, wanted: list[int]) -> str:
    """The note of that step, counted over all requests."""
    for request, steps in enumerate(wanted, start=1):
        if number <= steps:
            return note_line(number, request)
        number -= steps
    return note_line(number, len(wanted))


def steps_wanted(text: str) -> int:
    """The first whole number in the message, or the default."""
    found = re.search(r"\d+", text)
    return min(int(found[0]), MOST_STEPS) if found else STEPS


def _unfinished(messages: Sequence[Message]) -> tuple[list[str], list[tuple[ToolCall, Message]]]:
    """The requests that are not finished, and the calls for them with their results.

    These are the last message, and any message before it whose work was cut off and comes first.
    """
    requests, calls = list[str](), dict[CallId, ToolCall]()
    work: list[tuple[ToolCall, Message]] = []
    goes_on = False
    for message in messages:
        if message.role is Role.USER:
            requests, work = ([*requests, message.text], work) if goes_on else ([message.text], [])
        goes_on = message.role is Role.NOTE and WHOLE in message.text
        calls |= {call.id: call for call in message.calls}
        if message.role is Role.TOOL and message.call in calls:
            work.append((calls[message.call], message))
    return requests, work


def _call(text: str, name: str, **arguments: int) -> Replied:
    return Replied(text, StopReason.CALLS, (ToolCall(CallId(name), name, json.dumps(arguments)),))


def _summary(work: list[tuple[ToolCall, Message]], wanted: list[int]) -> str:
    doubts = sum(result.state is CallState.UNKNOWN for _, result in work)
    done = f"All {wanted[0]} steps are done"
    if len(wanted) > 1:
        done = f"All {len(wanted)} requests are done, of {_listed([str(steps) for steps in wanted])} steps"
    text = f"{done}. I counted in each odd step and wrote a note in each even step."
    if doubts:
        text += (
            f" The outcome of {doubts} note{'s' if doubts > 1 else ''} was unknown after a cut; "
            "I looked before I went on, and wrote no note twice."
        )
    return text


def _report(messages: Sequence[Message]) -> str:
    """A report of what was done so far, from the results in the transcript."""
    names = {call.id: call.name for message in messages for call in message.calls}
    done: dict[str, int] = {}
    for message in messages:
        if message.role is not Role.TOOL or message.call not in names:
            continue
        name = names[message.call]
        if message.state is CallState.DONE:
            deed = _DONE_WITH.get(name)
        else:
            deed = _DOUBTFUL.get(name) if message.state is CallState.UNKNOWN else None
        if deed:
            done[deed] = done.get(deed, 0) + 1
    if not done:
        return "I have done nothing yet in this conversation."
    deeds = [deed if times == 1 else f"{deed} {times} times" for deed, times in done.items()]
    return f"In this conversation I {_listed(deeds)}."


def _listed(deeds: list[str]) -> str:
    return deeds[0] if len(deeds) == 1 else f"{', '.join(deeds[:-1])} and {deeds[-1]}"
