"""The next reply of a scripted model: a pure function of the messages it gets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from holdfast.model import CallId, EffectClass, Replied, StopReason, ToolCall
from holdfast.policy.turn.views import Message, Role

CLASSES = tuple(effect.value for effect in EffectClass)
BROKEN = "broken"
"""A tool that always fails."""
BULKY = "bulky"
"""A tool that reads and has a very long result."""
LEAKY = "leaky"
"""A tool that reads and prints a secret of the gateway piece by piece."""
MARKING = frozenset({*CLASSES, BROKEN, BULKY, LEAKY})
"""Tools that leave marks outside the ledger whenever they run."""
ASKS = "ask_person"
"""The gateway's own tool that asks the person."""
USUAL = "usual"
"""Means a tool with an effect that is called with the same arguments in every turn."""
GIVES = "give"
"""A tool that sends the person a file."""
_STARTING = ("start", "serve")
_LOOKING = {"look": "poll", "wait": "wait", "list": "list"}
_REPORTING = ("reached", "blocked")
_KNOWN = frozenset({*MARKING, ASKS, USUAL, GIVES, *_STARTING, *_LOOKING, "write", "kill", *_REPORTING})
_GOAL = "Standing goal: "
_ENDED_OR_SAID = "The background process "
_TURN = re.compile(r"This is turn (\d+) of")
_NUMBER = re.compile(r"#\d+")
_PROCESS = re.compile(r"background process (p[0-9a-f]{12})")
_LOOKS = " look "
"""A command that contains this is looked at when it wakes the conversation."""


def wants_something(message: Message) -> bool:
    """Whether it needs an answer: a person's message, or a note that wakes the conversation."""
    wakes = message.role is Role.NOTE and message.text.startswith((_GOAL, _ENDED_OR_SAID))
    return wakes or message.role is Role.USER


def unanswered(messages: Sequence[Message]) -> tuple[list[str], int]:
    """What people and wake-ups said since the last answer, and how many results came since the first."""
    requests: list[str] = []
    results = 0
    for message in messages:
        if wants_something(message):
            requests.append(message.text)
        elif message.role is Role.TOOL and requests:
            results += 1
        elif message.role is Role.ASSISTANT and not message.calls:
            requests, results = [], 0
    return requests, results


def last_process(messages: Sequence[Message]) -> str:
    """The background process that was mentioned last."""
    found = [id_ for message in messages for id_ in _PROCESS.findall(message.text)]
    return found[-1] if found else "no-process"


def script_reply(requests: Sequence[str], results: int, process: str = "no-process") -> Replied:
    """The model's next reply to these requests, after this many calls have their results."""
    for number, (step, group) in enumerate(_steps(requests)):
        if results < len(group):
            # One id per call is enough: the gateway makes its own.
            calls = tuple(
                ToolCall(CallId(f"{name}{place}"), *_call(name, step, place, process, number))
                for place, name in enumerate(group)
            )
            return Replied("", StopReason.CALLS, calls)
        results -= len(group)
    heads = " | ".join(map(head_of, requests))
    return Replied(f"answer to {heads}{''.join(map(_wordy, requests))}", StopReason.COMPLETE)


def _steps(requests: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The steps for these requests, each named after its request: a summary renames none."""
    for request in requests:
        asked = _NUMBER.search(head_of(request))
        for number, group in enumerate(steps_of(request)):
            yield f"{asked[0] if asked else ''}.{number}", group


def head_of(request: str) -> str:
    """The part of a request that its answer repeats."""
    return request.partition("\n")[0]


def words_of(request: str) -> list[str]:
    """The script in a message."""
    return head_of(request).removeprefix(_GOAL).partition("#")[0].split()


def steps_of(request: str) -> list[tuple[str, ...]]:
    """The groups of calls that a script asks for, in order."""
    word, *rest = words_of(request) or [""]
    if request.startswith(_GOAL):
        return _goal_steps(request, word, rest)
    if word == "tools":
        groups = [tuple(name for name in names.split("+") if _kind(name) in _KNOWN) for names in rest]
        return [group for group in groups if group]
    if word == "parallel":
        return [CLASSES]
    if word == "long":
        return [("read",)] * int(rest[0] if rest else 3)
    return [("look",)] if _PROCESS.search(request) and _LOOKS in head_of(request) else []


def _goal_steps(request: str, word: str, rest: Sequence[str]) -> list[tuple[str, ...]]:
    if word == "talk":
        return []
    found = _TURN.search(request)
    turn, last = int(found[1]) if found else 0, int(rest[0]) if rest else 0
    reports = {"reach": "reached", "block": "blocked"}.get(word)
    return [("read",), *([(reports,)] if reports and turn >= last else [])]


def _kind(name: str) -> str:
    return name.partition(":")[0]


def _call(name: str, step: str, place: int, process: str, number: int) -> tuple[str, str]:
    """The tool and its arguments."""
    kind, *given = name.split(":")
    tool, arguments = kind, dict[str, object](step=step, place=place)
    if kind == USUAL:
        # The same in every turn, and once in each.
        tool, arguments = EffectClass.EFFECT.value, {"usual": number, "place": place}
    elif kind == ASKS:
        arguments = {"question": f"step {step}?"}
    elif kind in _STARTING:
        tool, arguments = "process_start", _launched(kind, given, f"({step}.{place})")
    elif kind in _LOOKING:
        tool, arguments = "process_look", {"how": _LOOKING[kind], "process": process, "seconds": 4}
    elif kind == "write":
        tool, arguments = "process_write", {"process": process, "text": f"step {step}\n"}
    elif kind == "kill":
        tool, arguments = "process_kill", {"process": process}
    elif kind in _REPORTING:
        tool, arguments = "goal", {"outcome": kind}
    return tool, json.dumps(arguments)


def _launched(kind: str, given: Sequence[str], name: str) -> dict[str, object]:
    """A command for the simulated machine; each command of a turn is different."""
    speaks = [moment for moment in given[1:] if moment.isdigit()]
    words = [kind if kind == "serve" else f"run {given[0]}", *(f"say {moment}" for moment in speaks)]
    looks = ["look"] if "look" in given else []
    return {
        "command": " ".join([*words, *looks, name]),
        "watch": ["ready"] if speaks else [],
        "notify": "quiet" not in given,
    }


def _wordy(request: str) -> str:
    word, *rest = words_of(request) or [""]
    lines = int(rest[0]) if word == "wordy" else 0
    return "".join(f"\n{request}: this is line {number} of {lines}." for number in range(1, lines + 1))
