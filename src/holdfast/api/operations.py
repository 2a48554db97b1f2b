"""The operations of the local API: names, arguments, and the functions behind them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from .allowed_calls import Rules
from .arguments import Operation
from .chat_snapshot import ChatSnapshots
from .held_items import HeldItems
from .queries import SESSION_STATES, GatewayQueries
from .to_json import Json

if TYPE_CHECKING:
    # Queries need none of the stages, and start sooner without them.
    from .access import AccessCheck
    from .commands import GatewayCommands

Look = Callable[[], Coroutine[Any, Any, Json]]

_WHERE = {"session": "text?", "chat": "chat?", "event_id": "name?"}


def looking(looks: GatewayQueries) -> dict[str, Operation]:
    """The operations that need no running gateway."""
    chats = ChatSnapshots(looks.store, looks.home, looks.secrets)
    return {
        "runs": _verb(looks.runs, limit="count?"),
        "overview": _verb(looks.overview, runs="count?"),
        "sessions": _verb(
            looks.sessions,
            before="text?",
            limit="count?",
            live="flag?",
            state=f"={'|'.join(SESSION_STATES)}?",
            platform="text?",
            q="text?",
        ),
        "session": _verb(looks.session, session="text", entries="number?"),
        "outbox": _verb(looks.outbox, chat="chat?", unknown="flag?", after="number?", limit="count?"),
        "processes": _verb(looks.processes, session="text?", chat="chat?"),
        "set_aside": _verb(looks.set_aside, before="number?", limit="count?"),
        "trace": _verb(looks.trace, position="number"),
        "continuity": _verb(looks.continuity, limit="count?"),
        "held": _verb(looks.held),
        "people": _verb(looks.people),
        "allowed": _verb(looks.allowed, chat="chat?"),
        "verify": _verb(looks.verify),
        "plan": _verb(looks.plan),
        "chats": _verb(chats.chats, before="text?", limit="count?"),
        "chat": _verb(chats.chat, chat="chat"),
        "messages": _verb(chats.messages, chat="chat", after="number?", limit="count?"),
    }


def of_people(people: AccessCheck) -> dict[str, Operation]:
    """The operations on who may talk."""
    return {
        "pair": _verb(people.pair, code="text", owner="flag?"),
        "allow": _verb(people.allow, who="text", owner="flag?"),
        "remove": _verb(people.remove, who="text"),
    }


def all_verbs(actions: GatewayCommands, status: Look, people: AccessCheck) -> Mapping[str, Operation]:
    """Every operation of a running gateway, by name."""
    return {
        **looking(actions.looks),
        **of_people(people),
        "status": _verb(status),
        "say": _verb(
            actions.say,
            chat="chat",
            text="words",
            event_id="name?",
            question="text?",
            attachments="files?",
        ),
        "revise": _verb(actions.revise, chat="chat", position="number", text="text"),
        "withdraw": _verb(actions.withdraw, chat="chat", position="number"),
        "stop": _command(actions, "/stop"),
        "new": _command(actions, "/new"),
        "retry": _command(actions, "/retry"),
        "unhold": _command(actions, "/release"),
        "resume": _verb(actions.resume, **_WHERE),
        "cancel": _verb(actions.cancel, **_WHERE),
        "forget": _verb(actions.forget, session="text", event_id="name?"),
        "revoke_allowed": _verb(Rules(actions.store).revoke, rule="number"),
        "safe_mode": _verb(actions.safe_mode, on="flag", event_id="name?"),
        "settle": _verb(actions.settle, delivery="number", how="text"),
        "release": _verb(HeldItems(actions.store, actions.clock).release, items="text?", drop="flag?"),
        "restart": _verb(actions.restart, when_quiet="flag?", event_id="name?"),
        "shutdown": _verb(actions.shutdown),
    }


def _verb(run: Callable[..., Coroutine[Any, Any, Json]], **arguments: str) -> Operation:
    return Operation(arguments, lambda given: run(**_said(given)))


def _command(actions: GatewayCommands, words: str) -> Operation:
    def run(given: Json) -> Coroutine[Any, Any, Json]:
        where = {"session": None, "chat": None, **_said(given)}
        return actions.command(words, **where)

    return Operation(_WHERE, run)


def _said(given: Json) -> Json:
    """The arguments that are not null: null means the same as leaving an argument out."""
    return {name: value for name, value in given.items() if value is not None}
