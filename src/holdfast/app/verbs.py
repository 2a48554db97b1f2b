"""What the local API can be asked: names, arguments, and the actions behind them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from .chats import Chats
from .local import Verb
from .looks import Looks
from .releasing import Releasing
from .shown import Json

if TYPE_CHECKING:
    # Looking needs none of the stages, and begins sooner without them.
    from .actions import Actions

Look = Callable[[], Coroutine[Any, Any, Json]]

_WHERE = {"session": "text?", "chat": "text?", "event_id": "text?"}


def looking(looks: Looks) -> dict[str, Verb]:
    """What needs no running gateway."""
    chats = Chats(looks.store)
    return {
        "runs": _verb(looks.runs, limit="number?"),
        "overview": _verb(looks.overview, runs="number?"),
        "sessions": _verb(
            looks.sessions,
            before="text?",
            limit="number?",
            live="flag?",
            state="state?",
            platform="text?",
            q="text?",
        ),
        "session": _verb(looks.session, session="text", entries="number?"),
        "outbox": _verb(looks.outbox, chat="text?", unknown="flag?", after="number?", limit="number?"),
        "unknown": _verb(looks.unknown, limit="number?"),
        "set_aside": _verb(looks.set_aside, before="number?", limit="number?"),
        "trace": _verb(looks.trace, position="number"),
        "continuity": _verb(looks.continuity, limit="number?"),
        "held": _verb(looks.held),
        "verify": _verb(looks.verify),
        "plan": _verb(looks.plan),
        "chats": _verb(chats.chats, limit="number?"),
        "chat": _verb(chats.chat, chat="text"),
        "messages": _verb(chats.messages, chat="text", after="number?", limit="number?"),
    }


def all_verbs(actions: Actions, status: Look) -> Mapping[str, Verb]:
    """Everything, by name; a running gateway knows more of itself than the ledger says."""
    return {
        **looking(actions.looks),
        "status": _verb(status),
        "say": _verb(
            actions.say,
            chat="text",
            text="text",
            event_id="text?",
            question="text?",
            attachments="files?",
        ),
        "revise": _verb(actions.revise, chat="text", position="number", text="text"),
        "withdraw": _verb(actions.withdraw, chat="text", position="number"),
        "stop": _command(actions, "/stop"),
        "new": _command(actions, "/new"),
        "retry": _command(actions, "/retry"),
        "resume": _verb(actions.resume, **_WHERE),
        "cancel": _verb(actions.cancel, **_WHERE),
        "forget": _verb(actions.forget, session="text", event_id="text?"),
        "safe_mode": _verb(actions.safe_mode, on="flag", event_id="text?"),
        "settle": _verb(actions.settle, delivery="number", how="text"),
        "release": _verb(Releasing(actions.store, actions.clock).release, items="text?", drop="flag?"),
        "restart": _verb(actions.restart, when_quiet="flag?", event_id="text?"),
        "shutdown": _verb(actions.shutdown),
    }


def _verb(run: Callable[..., Coroutine[Any, Any, Json]], **arguments: str) -> Verb:
    return Verb(arguments, lambda given: run(**_said(given)))


def _command(actions: Actions, words: str) -> Verb:
    def run(given: Json) -> Coroutine[Any, Any, Json]:
        where = {"session": None, "chat": None, **_said(given)}
        return actions.command(words, **where)

    return Verb(_WHERE, run)


def _said(given: Json) -> Json:
    """What was left out and what was given as null are the same."""
    return {name: value for name, value in given.items() if value is not None}
