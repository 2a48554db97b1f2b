"""The drill's agent: several steps per message, every second one an effect that a witness counts.

Its next step follows from the messages alone, so after a kill it continues where the messages end.
"""

from __future__ import annotations

import asyncio
import json
import re
import zlib
from collections.abc import Sequence

from holdfast.agents import Agent, OnText, Prompt, unheard
from holdfast.clock import Clock
from holdfast.model import CallId, EffectClass, Replied, StopReason, ToolCall
from holdfast.policy.turn.views import Message, Role
from holdfast.records import dataclass
from holdfast.tools import ToolContext, ToolFailed

WITNESS = "witness.sock"
_ASKED = re.compile(r"drill (\S+) (\d+)")
_NAMES = re.compile(r"answer to (.*)")
_BEAT = 0.02
"""Seconds that a step takes, on average."""


def asking(name: str, steps: int) -> str:
    """A message that asks for this many steps."""
    return f"drill {name} {steps}"


def answered(text: str) -> tuple[str, ...]:
    """Which messages a reply answers."""
    found = _NAMES.search(text)
    return tuple(found[1].split(", ")) if found else ()


def agent(clock: Clock) -> Agent:
    """The drill's agent, for `agent.use`."""
    return Agent(DrillModel(clock), (LookTool(clock), Mark(clock)))


@dataclass(frozen=True, slots=True)
class DrillModel:
    """Works through every message it has not answered yet, then answers all of them at once."""

    clock: Clock

    async def reply(self, prompt: Prompt, on_text: OnText = unheard) -> Replied:
        await self.clock.sleep(_beat(str(len(prompt.messages))) / 2)
        return drill_reply(prompt.messages)


def drill_reply(messages: Sequence[Message]) -> Replied:
    """The next call that the agent has not made yet, or the answer."""
    asked, done = _open_work(messages)
    for name, steps in asked.items():
        for step in range(1, steps + 1):
            if (name, step) not in done:
                tool = "look" if step % 2 else "mark"
                arguments = json.dumps({"message": name, "step": step})
                return Replied("", StopReason.CALLS, (ToolCall(CallId(tool), tool, arguments),))
    return Replied(f"answer to {', '.join(asked)}", StopReason.COMPLETE)


def _open_work(messages: Sequence[Message]) -> tuple[dict[str, int], set[tuple[str, int]]]:
    """What was asked since the last answer, and the steps that have a result, whatever it is."""
    asked: dict[str, int] = {}
    done: set[tuple[str, int]] = set()
    calls: dict[CallId, ToolCall] = {}
    for message in messages:
        if message.role is Role.USER:
            asked |= {name: int(steps) for name, steps in _ASKED.findall(message.text)}
        elif message.role is Role.ASSISTANT and not message.calls:
            asked.clear()
        calls |= {call.id: call for call in message.calls}
        if message.role is Role.TOOL and message.call in calls:
            given = json.loads(calls[message.call].arguments)
            done.add((given["message"], given["step"]))
    return asked, done


@dataclass(frozen=True, slots=True)
class LookTool:
    """Takes a moment and changes nothing."""

    clock: Clock
    name: str = "look"
    effect: EffectClass = EffectClass.READ

    async def run(self, context: ToolContext, arguments: str) -> str:
        await self.clock.sleep(_beat(arguments))
        return "seen"


@dataclass(frozen=True, slots=True)
class Mark:
    """Tells the witness in the middle of its run, so that a kill may come before that or after it."""

    clock: Clock
    name: str = "mark"
    effect: EffectClass = EffectClass.EFFECT

    async def run(self, context: ToolContext, arguments: str) -> str:
        given = json.loads(arguments)
        await self.clock.sleep(_beat(arguments) / 2)
        try:
            reader, writer = await asyncio.open_unix_connection(context.workspace.parent / WITNESS)
            writer.write(f"{given['message']} {given['step']}\n".encode())
            seen = await reader.readline()
            writer.close()
        except OSError as error:
            raise ToolFailed(f"there is no witness: {error}") from None
        await self.clock.sleep(_beat(arguments) / 2)
        return seen.decode().strip()


def _beat(what: str) -> float:
    """Between 0.5 and 1.5 beats, always the same for the same work."""
    return _BEAT * (0.5 + zlib.crc32(what.encode()) / 2**32)
