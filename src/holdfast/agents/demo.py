"""A model that needs no key: it works through visible steps and tells honestly what happened.

Its reply is a pure function of the messages, so it goes on wherever the transcript stops.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.clock import Clock
from holdfast.model import CallId, CallState, Finish, Replied, ToolCall
from holdfast.policy.views import Message, Role

from .base import OnText, unheard

STEPS = 6
MOST_STEPS = 50
COUNT_TO = 3


@dataclass(frozen=True, slots=True)
class DemoModel:
    """Counts in odd steps and writes a note in even ones, as many steps as the message asks for."""

    clock: Clock
    pace: float = 0.0

    async def reply(self, messages: Sequence[Message], on_text: OnText = unheard) -> Replied:
        await self.clock.sleep(self.pace)
        reply = demo_reply(messages)
        on_text(reply.text)
        return reply


def demo_reply(messages: Sequence[Message]) -> Replied:
    """What the demonstration says next to this conversation."""
    said, work = _last_request(messages)
    wanted = steps_wanted(said)
    step = 1
    for call, result in work:
        if result.state is CallState.UNKNOWN:
            if result is work[-1][1]:
                return _call("Whether that note was written is unknown, so I look first.", "read_notes")
        elif call.name == "read_notes":
            if f"note of step {step}\n" in result.text:
                step += 1
        else:
            step += 1
    if step > wanted:
        return Replied(_summary(work, wanted), Finish.COMPLETE)
    if step % 2:
        return _call(f"Step {step} of {wanted}: counting.", "count", upto=COUNT_TO)
    return _call(f"Step {step} of {wanted}: writing a note.", "write_note", step=step)


def steps_wanted(text: str) -> int:
    """The first whole number in the message, or the default."""
    found = re.search(r"\d+", text)
    return min(int(found[0]), MOST_STEPS) if found else STEPS


def _last_request(messages: Sequence[Message]) -> tuple[str, list[tuple[ToolCall, Message]]]:
    """The last thing a person said, and the calls made for it with their results."""
    said, calls = "", dict[CallId, ToolCall]()
    work: list[tuple[ToolCall, Message]] = []
    for message in messages:
        if message.role is Role.USER:
            said, work = message.text, []
        calls |= {call.id: call for call in message.calls}
        if message.role is Role.TOOL and message.call in calls:
            work.append((calls[message.call], message))
    return said, work


def _call(text: str, name: str, **arguments: int) -> Replied:
    return Replied(text, Finish.CALLS, (ToolCall(CallId(name), name, json.dumps(arguments)),))


def _summary(work: list[tuple[ToolCall, Message]], wanted: int) -> str:
    doubts = sum(result.state is CallState.UNKNOWN for _, result in work)
    text = f"All {wanted} steps are done: counted in the odd ones, one note for each of the even ones."
    if doubts:
        text += (
            f" {doubts} note{'s were' if doubts > 1 else ' was'} cut off with an unknown outcome; "
            "I looked before going on, and none was written twice."
        )
    return text
