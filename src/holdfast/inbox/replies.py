"""The replies to commands: what happened, what was kept, what to do. Pure."""

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
"""How many characters of a session's id a list shows. They tell the sessions of one chat apart."""

MODES: Mapping[BusyMode, str] = MappingProxyType(
    {
        BusyMode.QUEUE: "a message that comes while I work waits for a turn of its own",
        BusyMode.COLLECT: "messages that come while I work are answered together in the next turn",
        BusyMode.INTERRUPT: "a message that comes while I work stops that work, and I answer it next",
        BusyMode.STEER: "a message that comes while I work reaches me at my next step",
    }
)
_HELD = {row.name: row.sentence for row in table()}
_UNFINISHED: Mapping[TurnState, str] = MappingProxyType(
    {
        TurnState.QUEUED: "I go on with the work here as soon as a worker is free.",
        TurnState.WAITING: "I am waiting for an answer to my question.",
        TurnState.INTERRUPTED: "The work here was interrupted. I'll look at it in a moment.",
    }
)
_DRAINS = {
    Drain.RESTART: "The gateway is restarting. I'll answer new messages after the restart.",
    Drain.SHUTDOWN: "The gateway is shutting down. I'll answer new messages when it runs again.",
}


EVERYTHING = "everything"
"""The word that confirms `/forget`."""
SESSION = "session"
FORGET = (
    "This would erase everything that was said and done in your conversations here, with the files you sent. "
    "I would stop the current work and withdraw the waiting messages. You cannot undo this. "
    f"If you want that, say: /forget {EVERYTHING}"
)
ERASED_ALL = (
    "Erased. Everything that was said and done in your conversations here is gone. The record keeps only "
    "that they took place, and when. Your next message begins a new one."
)
ERASED_ONE = (
    "The operator erased a conversation of this chat, with everything that was said and done in it. The "
    "record keeps only that it took place, and when."
)


def excerpt(text: str, most: int = _SHOWN) -> str:
    """A text on one line, cut after `most` characters."""
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
    """Say what `/stop` or `/new` did, as its commit found it."""
    if kind is StopKind.NEW:
        return _new(found)
    goal = " The standing goal is stopped too." if found.goal else ""
    if found.turn is None and found.goal:
        return "The standing goal is stopped. The conversation is kept."
    if found.turn is None:
        return "Nothing was unfinished here, so there was nothing to stop. The conversation is kept."
    waiting = ""
    if found.kept:
        verb, them = ("waits", "it") if found.kept == 1 else ("wait", "them")
        waiting = f" {messages(found.kept)} {verb}; I'll answer {them} next."
    return f"Stopped. The conversation is kept.{waiting}{goal}"


def _new(found: StopResult) -> str:
    lines = ["Your next message begins a new conversation. The old one is kept: /sessions shows it."]
    if found.turn is not None:
        lines.append("I stopped the unfinished work in it. It will not go on.")
    if found.withdrawn:
        lines.append(f"I withdrew {messages(len(found.withdrawn))} that waited:")
        lines += _listed([f"“{excerpt(text)}”" for text in found.withdrawn])
    return "\n".join(lines)


def who_answers(choice: Choice) -> str:
    """Name the agent that answers in a chat, and its model if it has a name."""
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
    """Describe the state of this conversation and of the gateway."""
    lines = [_turn_state(turn, now)]
    if choice is not None and choice.name:
        lines.append(f"In this chat, {who_answers(choice)}.")
    lines.append(f"Waiting: {messages(waiting)}." if waiting else "No messages wait.")
    if on_hold:
        lines.append(ON_HOLD)
    lines.append(_safe(safe_mode, now))
    if draining is not None:
        lines.append(_DRAINS[draining])
    return "\n".join(lines)


def _turn_state(turn: Turn | None, now: int) -> str:
    if turn is None:
        return "Nothing runs here."
    if turn.stop is not None:
        return "I am stopping the current work."
    if turn.state is TurnState.RUNNING:
        since = f"Running for {span(age(now, turn.begun_at))}"
        last = turn.progress_at
        return f"{since}; last progress {span(age(now, last))} ago." if last is not None else f"{since}."
    if turn.held is not None and turn.held in _HELD:
        return _HELD[turn.held]
    return _UNFINISHED[turn.state]


def _safe(mode: SafeMode, now: int) -> str:
    if not mode.active:
        return "Safe mode: off."
    ends = (
        f", for {span(mode.ends_at - now)} more if the gateway stays up" if mode.ends_at is not None else ""
    )
    return f"Safe mode: on ({mode.why}){ends}. Interrupted work does not go on by itself."


def sessions(lines: Sequence[SessionLine], now: int) -> str:
    """List this chat's sessions, newest first, and say how to go on with one."""
    if not lines:
        return "There is no conversation here yet."
    listed = [
        f"{line.id[:ID_SHOWN]}  {_kind(line)}, started {span(age(now, line.began_at))} ago" for line in lines
    ]
    return "\n".join([*_listed(listed), "/resume ID goes on with one of them."])


def _kind(line: SessionLine) -> str:
    if line.ended_at is not None:
        return "ended"
    return "parked" if line.suspended else "this one"


def lasting_effects(calls: Sequence[CallRecord], reply: bool) -> list[str]:
    """List what an undo does not undo; with `reply` also what the agent may have done in its reply."""
    if not calls and not reply:
        return []
    named = [f"{call.name} {excerpt(call.arguments)}: {_HAPPENED[call.state]}" for call in calls]
    if reply:
        named.append(f"what the agent did by itself in its reply: {_HAPPENED[CallState.UNKNOWN]}")
    return ["These effects of the last turn are not undone:", *_listed(named)]


_HAPPENED: Mapping[CallState, str] = MappingProxyType(
    {
        CallState.DONE: "it happened",
        CallState.FAILED: "it failed, but may have had an effect",
        CallState.UNKNOWN: "it may or may not have happened",
    }
)


def undone(calls: Sequence[CallRecord], reply: bool) -> str:
    return "\n".join(["I no longer see the last turn. The record keeps it.", *lasting_effects(calls, reply)])


def retried(calls: Sequence[CallRecord], reply: bool, said: str) -> str:
    return "\n".join([f"I answer this once more: “{excerpt(said)}”", *lasting_effects(calls, reply)])


def modes(default: BusyMode, chosen: BusyMode | None) -> str:
    """Show the current mode and all modes. A chat that chose no mode has the default."""
    now = f"Now: {MODES[chosen or default]}{'' if chosen else ' (the default)'}."
    return "\n".join([now, *(f"/queue {each}: {says}" for each, says in MODES.items())])


def _listed(items: Sequence[str]) -> list[str]:
    lines = [f"- {item}" for item in items[:_LISTED]]
    return lines if len(items) <= _LISTED else [*lines, f"… and {len(items) - _LISTED} more"]
