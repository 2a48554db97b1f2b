"""What the scripted model answers: rules over the conversation, deterministic for each conversation."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdfast.policy.turn.compaction import ASK
from holdfast.records import dataclass

from .conversation import Call, Conversation, ModelAnswer, SpokenTurn, Who

Brain = Callable[[Conversation], ModelAnswer]

LAST = "{last}"
"""In arguments and answers: the result of the last tool."""
_STEP = re.compile(r"(?P<beside>and )?(?P<tool>[A-Za-z_][\w-]*) (?P<arguments>\{.*\})")


@dataclass(frozen=True, slots=True)
class Story:
    """A story: when a person says this, the model takes these steps one after the other, then says this."""

    when: str
    """A pattern to find in what the person said."""
    steps: tuple[tuple[Call, ...], ...] = ()
    """The model makes the calls of one step together."""
    say: str = "Done."
    thoughts: str = ""


def _call(tool: str, **arguments: str | list[str]) -> tuple[Call, ...]:
    return (Call(tool, json.dumps(arguments)),)


SUMMARY = Story(rf"^{re.escape(ASK)}", say="(What was said before, summed up by the scripted model.)")

REPORT = Story(
    r"\breport\b",
    (
        _call("terminal", command="ls -la"),
        _call("ask_person", question="What shall the report be called?", options=["Findings", "Overview"]),
        _call("write_file", path="report.md", content=f"# {LAST}\n\nWritten by a scripted model.\n"),
        _call("terminal", command="cat report.md"),
    ),
    f"The report is written. It reads:\n\n{LAST}",
)


@dataclass(frozen=True, slots=True)
class Scripted:
    """Answers by the first rule that matches the last message any rule matches; else by the lines of it.

    A line of a message with a tool's name and its arguments in JSON is a step. A line that begins with `and`
    belongs to the step before. The model repeats a message without such lines.
    """

    rules: tuple[Story, ...] = (SUMMARY, REPORT)

    def __call__(self, conversation: Conversation) -> ModelAnswer:
        asked = _last_asked(conversation.turns)
        if asked is None:
            return ModelAnswer("There is nothing to answer.")
        turn = conversation.turns[asked]
        rule = self._rule(turn.said or turn.woke, "You said" if turn.said else "The gateway said")
        after = conversation.turns[asked + 1 :]
        done = sum(bool(turn.calls) for turn in after)
        results = [turn.text for turn in after if turn.who is Who.RESULT]
        last = results[-1] if results else ""
        if done < len(rule.steps):
            calls = tuple(Call(one.tool, _filled(one.arguments, last)) for one in rule.steps[done])
            return ModelAnswer(f"Step {done + 1} of {len(rule.steps)}.", calls, rule.thoughts)
        return ModelAnswer(rule.say.replace(LAST, last), thoughts=rule.thoughts)

    def _rule(self, said: str, who: str) -> Story:
        for rule in self.rules:
            if re.search(rule.when, said, re.IGNORECASE):
                return rule
        steps: list[tuple[Call, ...]] = []
        for line in said.splitlines():
            found = _STEP.fullmatch(line.strip())
            if found:
                call = Call(found["tool"], found["arguments"])
                if found["beside"] and steps:
                    steps[-1] = (*steps[-1], call)
                else:
                    steps.append((call,))
        return Story("", tuple(steps), "All steps are done." if steps else f"{who}: {said}")


def _last_asked(turns: tuple[SpokenTurn, ...]) -> int | None:
    """The index of the last message that needs an answer: of a person, or a note that wakes the model."""
    asks = [at for at, turn in enumerate(turns) if turn.who is Who.USER and (turn.said or turn.woke)]
    return asks[-1] if asks else None


def _filled(arguments: str, last: str) -> str:
    return arguments.replace(LAST, json.dumps(last)[1:-1])


def read_script(path: Path) -> Scripted:
    """Rules from a TOML file: `[[rule]]` with `when`, `say` and `steps`, a list of lists of tables."""
    tree = tomllib.loads(path.read_text(encoding="utf-8"))
    return Scripted((SUMMARY, *map(_read_rule, tree.get("rule", [])), REPORT))


def _read_rule(table: dict[str, Any]) -> Story:
    steps = tuple(
        tuple(Call(one["tool"], json.dumps(one.get("arguments", {}))) for one in step)
        for step in table.get("steps", [])
    )
    return Story(table["when"], steps, table.get("say", "Done."), table.get("thoughts", ""))
