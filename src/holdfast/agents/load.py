"""Loads an agent: a built-in one by its name, or another by `module:object`."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from pathlib import Path

from holdfast.clock import Clock
from holdfast.errors import BadAgent
from holdfast.model import EffectClass
from holdfast.tools import Tool

from .base import Agent
from .demo import demo_agent
from .echo import echo_agent

_REPLIES = (EffectClass.READ, EffectClass.IDEMPOTENT, EffectClass.EFFECT)


def load_agent(name: str, clock: Clock, home: Path, pace: float = 0.5, tools: tuple[Tool, ...] = ()) -> Agent:
    """The agent that a configuration names; raises `BadAgent` with the reason if that is not possible.

    `demo` and `echo` are built in. `module:object` names an `Agent`, or a function that takes the clock and
    returns one. The module may be in the home folder or installed. Such an agent gets `tools` besides its
    own; the built-in agents do not.
    """
    if name == "demo":
        return demo_agent(clock, pace)
    if name == "echo":
        return echo_agent()
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        raise BadAgent(name, "", "allowed: demo, echo, or module:object")
    return _checked(_found(module, attribute, clock, home), module, attribute, tools)


def _found(module: str, attribute: str, clock: Clock, home: Path) -> object:
    """Import the module and get the object; raises `BadAgent` for any fault of the module."""
    folder = str(home)
    if folder not in sys.path:
        # Last, so that a file in the home hides nothing that is installed.
        sys.path.append(folder)
    # A module may have been written a moment ago. `importlib.invalidate_caches` would walk a table that other
    # threads of a starting gateway change.
    sys.path_importer_cache.pop(folder, None)
    try:
        found: object = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
        return found(clock) if callable(found) and not isinstance(found, Agent) else found
    except (Exception, SystemExit) as fault:
        raise BadAgent(module, attribute, f"{type(fault).__name__}: {fault}") from fault


def _checked(found: object, module: str, attribute: str, tools: tuple[Tool, ...]) -> Agent:
    if not isinstance(found, Agent):
        raise BadAgent(
            module, attribute, f"it is {_kind(found)}, not an Agent or a function that returns one"
        )
    agent = replace(found, tools=(*found.tools, *tools))
    complaint = _fault(agent)
    if complaint:
        raise BadAgent(module, attribute, complaint)
    return agent


def _fault(agent: Agent) -> str | None:
    """Why the gateway cannot run this agent; None if it can."""
    if not callable(getattr(agent.model, "reply", None)):
        return f"its model, {_kind(agent.model)}, has no method `reply`"
    replies = getattr(agent.model, "replies", EffectClass.READ)
    if not isinstance(replies, EffectClass) or replies not in _REPLIES:
        allowed = ", ".join(f"EffectClass.{one.name}" for one in _REPLIES)
        return f"its model, {_kind(agent.model)}, has replies = {replies!r}; allowed: {allowed}"
    names: list[object] = []
    for tool in agent.tools:
        name = getattr(tool, "name", None)
        if not isinstance(name, str) or not name:
            return f"its tool {_kind(tool)} has no `name`"
        if name in names:
            return f"two of its tools are called {name!r}"
        names.append(name)
        if not isinstance(getattr(tool, "effect", None), EffectClass):
            return f"its tool {name!r} has no `effect` of class EffectClass"
        if not callable(getattr(tool, "run", None)):
            return f"its tool {name!r} has no method `run`"
    return None


def _kind(thing: object) -> str:
    return f"a {type(thing).__name__}"
