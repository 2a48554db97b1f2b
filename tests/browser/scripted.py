"""The agent behind the page under test: copied into a home, as the module of its agent.

What it says is a function of what it was told. It waits wherever a file `hold-PLACE` stands in the home, so a
test can look at the page in the middle of an answer, for as long as it likes.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from holdfast.agents import Agent, OnText, Prompt, unheard
from holdfast.clock import Clock
from holdfast.model import CallId, EffectClass, Replied, StopReason, ToolCall
from holdfast.policy.turn.views import Role
from holdfast.tools import AskPerson, ToolContext

HOME = Path(__file__).parent
WORDS = "words"
"""Before the last word of an answer."""
FIRST_WORD = "first-word"
"""Before the first word of an answer."""
TOOL = "tool"
"""In the tool, before it is done; `tool-2` in that of the second step only."""
_LOOK_AGAIN = 0.01


async def pass_by(clock: Clock, *places: str) -> None:
    while any((HOME / f"hold-{place}").exists() for place in places):
        await clock.sleep(_LOOK_AGAIN)


@dataclass(frozen=True, slots=True)
class Scripted:
    """Answers `say WORDS` with the words, `steps N` after so many tool calls, and echoes anything else.

    `ask QUESTION | OPTION | …` asks the person, `delete FILE` calls a tool that may need consent,
    `copy` one that puts out lines.
    """

    clock: Clock

    async def reply(self, prompt: Prompt, on_text: OnText = unheard) -> Replied:
        last = max(place for place, one in enumerate(prompt.messages) if one.role is Role.USER)
        said = prompt.messages[last].text
        done = sum(one.role is Role.TOOL for one in prompt.messages[last:])
        if (asked := _asked(said)) and not done:
            return Replied("", StopReason.CALLS, (asked,))
        if asked:
            return Replied(f"You said: {prompt.messages[-1].text}", StopReason.COMPLETE)
        wanted = int(found[1]) if (found := re.fullmatch(r"steps (\d+)", said)) else 0
        if done < wanted:
            step = done + 1
            on_text(f"Step {step} of {wanted}")
            call = ToolCall(CallId("note"), "note", json.dumps({"step": step}))
            return Replied(f"Step {step} of {wanted}", StopReason.CALLS, (call,))
        text = f"All {wanted} steps are done." if wanted else said.removeprefix("say ")
        await self._write(text if said.startswith("say ") or wanted else f"Heard: {text}", on_text)
        return Replied(text if said.startswith("say ") or wanted else f"Heard: {text}", StopReason.COMPLETE)

    async def _write(self, text: str, on_text: OnText) -> None:
        await pass_by(self.clock, FIRST_WORD)
        on_text(text.rpartition(" ")[0])
        await pass_by(self.clock, WORDS)
        on_text(text)


@dataclass(frozen=True, slots=True)
class Note:
    """A tool that does nothing; cut off, it is simply run again."""

    clock: Clock
    name: str = "note"
    effect: EffectClass = EffectClass.READ

    async def run(self, context: ToolContext, arguments: str) -> str:
        await pass_by(self.clock, TOOL, f"{TOOL}-{json.loads(arguments)['step']}")
        return "noted"


@dataclass(frozen=True, slots=True)
class Delete:
    """A tool whose every run leaves a line."""

    name: str = "delete_file"
    effect: EffectClass = EffectClass.EFFECT

    async def run(self, context: ToolContext, arguments: str) -> str:
        with (HOME / "deleted").open("a") as file:
            file.write(f"{arguments}\n")
        return "deleted"


@dataclass(frozen=True, slots=True)
class Copy:
    """A command that puts out lines; cut off, its outcome is unknown."""

    clock: Clock
    name: str = "copy_files"
    effect: EffectClass = EffectClass.EFFECT

    async def run(self, context: ToolContext, arguments: str) -> str:
        context.output("copied 1 of 3\n")
        context.output("copied 2 of 3\n")
        await pass_by(self.clock, TOOL)
        return "copied 3 of 3"


def _asked(said: str) -> ToolCall | None:
    """The call a message wants, if it wants one of these."""
    word, _, rest = said.partition(" ")
    if word == "ask":
        question, *options = (part.strip() for part in rest.split("|"))
        given = {"question": question, **({"options": options} if options else {})}
        return ToolCall(CallId("ask"), "ask_person", json.dumps(given))
    if word == "copy":
        return ToolCall(CallId("copy"), "copy_files", "{}")
    if word == "delete":
        return ToolCall(CallId("delete"), "delete_file", json.dumps({"path": rest, "force": True}))
    return None


def agent(clock: Clock) -> Agent:
    """The agent, for `agent.use`."""
    return Agent(Scripted(clock), (Note(clock), AskPerson(), Delete(), Copy(clock)))
