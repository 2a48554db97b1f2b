"""What commands say to people: what happened, what was kept, what to do. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from holdfast.agents import Choice
from holdfast.model import BusyMode, CallRecord, CallState, StopKind, Turn, TurnState
from holdfast.policy.ages import age
from holdfast.policy.intake.admission import Drain
from holdfast.policy.recovery.outcome import table
from holdfast.policy.recovery.parks import ON_HOLD
from holdfast.policy.recovery.strikes import SafeMode
from holdfast.policy.settings import DAY, HOUR, MINUTE, SECOND
from holdfast.store import SessionLine, StopResult

_SHOWN = 80
_LISTED = 10
ID_SHOWN = 12
"""Characters of a session's id that tell it from its neighbours."""

MODES: Mapping[BusyMode, str] = MappingProxyType(
    {
        BusyMode.QUEUE: "a message that comes while I work waits for a turn of its own",
        BusyMode.COLLECT: "messages that come while I work are answered together in the next turn",
        BusyMode.INTERRUPT: "a message that comes while I work stops that work and is next",
        BusyMode.STEER: "a message that comes while I work is shown to me at the next step",
    }
)
_HELD = {row.name: row.sentence for row in table()}
_STANDS: Mapping[TurnState, str] = MappingProxyType(
    {
        TurnState.QUEUED: "Work that was begun goes on as soon as a worker is free.",
        TurnState.WAITING: "I wait for an answer to my question.",
        TurnState.INTERRUPTED: "Work here was cut off; I look at it in a moment.",
    }
)
_DRAINS = {
    Drain.RESTART: "The gateway is restarting; what is sent now is answered after that.",
    Drain.SHUTDOWN: "The gateway is shutting down; what is sent now is answered when it runs again.",
}


EVERYTHING = "everything"
"""The word that confirms `/forget`."""
SESSION = "session"
FORGET = (
    "This would erase all that was said and done in your conversations here, files you sent included. What "
    "runs is stopped, what waits is withdrawn, and nobody can bring any of it back. "
    f"If you want that, say: /forget {EVERYTHING}"
)
ERASED_ALL = (
    "Erased. Nothing of what was said and done in your conversations here is kept; that they took place, and "
    "when, still is. Your next message begins a new one."
)
ERASED_ONE = (
    "A conversation of this chat was erased by the operator. Nothing of what was said and done in it is "
    "kept; that it took place, and when, still is."
)


def shown(text: str, most: int = _SHOWN) -> str:
    """A text in one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most]}…"


def span(milliseconds: int) -> str:
    """A length of time as people say it."""
    for unit, name in ((DAY, "d"), (HOUR, "h"), (MINUTE, "min")):
        if milliseconds >= unit:
            return f"{milliseconds // unit} {name}"
    return f"{max(0, milliseconds) // SECOND} s"


def messages(count: int) -> str:
    return "1 message" if count == 1 else f"{count} messages"


def stopped(kind: StopKind, found: StopResult) -> str:
    """What `/stop` or `/new` did, from what its commit found."""
    if kind is StopKind.NEW:
        return _new(found)
    goal = " The standing goal is stopped with it." if found.goal else ""
    if found.turn is None and found.goal:
        return "The standing goal is stopped. The conversation is kept."
    if found.turn is None:
        return "Nothing was unfinished here, so there was nothing to stop. The conversation is kept."
    kept = "The conversation is kept"
    if found.kept:
        comes = "it comes" if found.kept == 1 else "they come"
        kept += f", and so is what waits ({messages(found.kept)}; {comes} next)"
    return f"Stopped. {kept}.{goal}"


def _new(found: StopResult) -> str:
    lines = ["Your next message begins a new conversation. The old one is kept: /sessions shows it."]
    if found.turn is not None:
        lines.append("What was unfinished in it is stopped and will not go on.")
    if found.withdrawn:
        lines.append(f"I withdrew what was waiting ({messages(len(found.withdrawn))}):")
        lines += _listed([f"“{shown(text)}”" for text in found.withdrawn])
    return "\n".join(lines)


def who_answers(choice: Choice) -> str:
    """Who answers in a chat, as far as that has a name."""
    model = choice.model or (choice.agent.models[0] if choice.agent.models else "")
    who = f"{choice.name or 'the agent'} answers"
    return f"{who}, with {model}" if model else who


def status(
    turn: Turn | None,
    waiting: int,
    safe_mode: SafeMode,
    draining: Drain | None,
    now: int,
    choice: Choice | None = None,
    on_hold: bool = False,
) -> str:
    """How this conversation and the gateway stand."""
    lines = [_stands(turn, now)]
    if choice is not None and choice.name:
        lines.append(f"Here {who_answers(choice)}.")
    lines.append(f"Waiting: {messages(waiting)}." if waiting else "Nothing waits.")
    if on_hold:
        lines.append(ON_HOLD)
    lines.append(_safe(safe_mode, now))
    if draining is not None:
        lines.append(_DRAINS[draining])
    return "\n".join(lines)


def _stands(turn: Turn | None, now: int) -> str:
    if turn is None:
        return "Nothing runs here."
    if turn.stop is not None:
        return "I am stopping the work in hand."
    if turn.state is TurnState.RUNNING:
        since = f"Running for {span(age(now, turn.begun_at))}"
        last = turn.progress_at
        return f"{since}; last progress {span(age(now, last))} ago." if last is not None else f"{since}."
    if turn.held is not None and turn.held in _HELD:
        return _HELD[turn.held]
    return _STANDS[turn.state]


def _safe(mode: SafeMode, now: int) -> str:
    if not mode.active:
        return "Safe mode: off."
    ends = f", for {span(mode.ends_at - now)} more if all stays well" if mode.ends_at is not None else ""
    return f"Safe mode: on ({mode.why}){ends}. Work that was cut off does not go on by itself."


def sessions(lines: Sequence[SessionLine], now: int) -> str:
    """This chat's sessions, newest first, with how to go on with one."""
    if not lines:
        return "There is no conversation here yet."
    listed = [
        f"{line.id[:ID_SHOWN]}  {_kind(line)}, begun {span(age(now, line.began_at))} ago" for line in lines
    ]
    return "\n".join([*_listed(listed), "/resume ID goes on with one of them."])


def _kind(line: SessionLine) -> str:
    if line.ended_at is not None:
        return "ended"
    return "parked" if line.suspended else "this one"


def lasting(calls: Sequence[CallRecord], reply: bool) -> list[str]:
    """Name what an undo does not undo; `reply`: also what the agent may have done by itself in its reply."""
    if not calls and not reply:
        return []
    named = [f"{call.name} {shown(call.arguments)}: {_HAPPENED[call.state]}" for call in calls]
    if reply:
        named.append(f"what the agent did by itself in its reply: {_HAPPENED[CallState.UNKNOWN]}")
    return ["This was done in it and is not undone:", *_listed(named)]


_HAPPENED: Mapping[CallState, str] = MappingProxyType(
    {
        CallState.DONE: "it happened",
        CallState.FAILED: "it failed, perhaps not without effect",
        CallState.UNKNOWN: "it may or may not have happened",
    }
)


def undone(calls: Sequence[CallRecord], reply: bool) -> str:
    return "\n".join(["The last turn is out of my sight; it stays in the record.", *lasting(calls, reply)])


def retried(calls: Sequence[CallRecord], reply: bool, said: str) -> str:
    return "\n".join([f"I answer this once more: “{shown(said)}”", *lasting(calls, reply)])


def modes(default: BusyMode, chosen: BusyMode | None) -> str:
    """How it is now, and what there is to choose from; a chat that chose nothing has the default."""
    now = f"Now: {MODES[chosen or default]}{'' if chosen else ' (the default)'}."
    return "\n".join([now, *(f"/queue {each}: {says}" for each, says in MODES.items())])


def _listed(items: Sequence[str]) -> list[str]:
    lines = [f"- {item}" for item in items[:_LISTED]]
    return lines if len(items) <= _LISTED else [*lines, f"… and {len(items) - _LISTED} more"]
