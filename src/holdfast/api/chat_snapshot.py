"""The state of a chat in one look: a page shows it before it listens, and after every change."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable, Iterator
from pathlib import Path

from holdfast.clock import Clock, first_of
from holdfast.model import (
    AskedBy,
    ChatAddress,
    Entry,
    Partial,
    ProcessState,
    QuestionRecord,
    QuestionState,
    Said,
    Session,
    Turn,
    TurnId,
    TurnState,
    place_at,
)
from holdfast.platforms.web import PERMISSIONS, WebChat
from holdfast.records import dataclass
from holdfast.store import Happening, Queries, Store, chat_topic
from holdfast.telemetry import Secrets, no_secrets

from .allowed_calls import rule_shown
from .queries import address_of, key_of, last_words
from .to_json import Json, delivery, shown

_WEB = WebChat()
_ENTRIES = 400
"""Entries of the transcript that are searched for what people wrote."""
_TURNS = 50
"""Turns that are searched for interruptions."""
_EARLIER = 5
"""Other sessions of the chat that are listed, for a reader who wants to read more."""
_LONGEST_TITLE = 80
_MOST = 500
_TOPICS = ("inbox", "turns", "steps", "stops", "recovery", "questions", "processes")
_LOOK_AGAIN = 5.0
_EVERY = 0.1
"""The fewest seconds between two looks: a busy ledger changes faster than people read."""
_AT_WORK = (TurnState.QUEUED, TurnState.RUNNING)


@dataclass(frozen=True, slots=True)
class ChatSnapshots:
    """Queries about chats. Each shows the state of the last commit."""

    store: Queries
    home: Path | None = None
    """The home with the output of background processes, if this may read it."""
    secrets: Secrets = no_secrets

    async def chats(self, before: str | None = None, limit: int = 100) -> Json:
        """A page of the web's chats with a live session, newest work first; `next` begins the next page."""
        most, after = min(limit, _MOST), TurnId(before) if before else None
        found = await self.store.chats(_WEB.name, _WEB.account, after, most + 1)
        page = found[:most]
        return {
            "chats": [
                *(await self._permissions() if after is None else ()),
                *(
                    {
                        "chat": place_at(line.chat).chat,
                        "session": line.session,
                        "title": _title(line.first),
                        "last_at": line.last_at,
                        "running": line.state in _AT_WORK,
                        "asks": line.state is TurnState.WAITING,
                    }
                    for line in page
                    if place_at(line.chat).chat != PERMISSIONS
                ),
            ],
            "next": page[-1].turn if page and len(found) > most else None,
        }

    async def _permissions(self) -> list[Json]:
        """The chat with the owner's questions about the work of others, if it has any."""
        asked = await self._of_owner(PERMISSIONS)
        if not asked:
            return []
        line = {"chat": PERMISSIONS, "session": "", "title": "Permissions", "running": False}
        asks = any(one.state is QuestionState.OPEN for one in asked)
        return [{**line, "last_at": asked[-1].asked_at or 0, "asks": asks}]

    async def _of_owner(self, chat: str) -> tuple[QuestionRecord, ...]:
        """The questions to the page's owner about the work of others. Only one chat has them."""
        return await self.store.owner_questions(address_of(chat)) if chat == PERMISSIONS else ()

    async def messages(self, chat: str, after: int = 0, limit: int = 100) -> Json:
        """The deliveries of a chat after a number, in order, without a gap; `after` begins the next page."""
        page = await self.store.deliveries(address_of(chat), after, min(limit, _MOST))
        return {"messages": [delivery(one) for one in page], "after": page[-1].order if page else after}

    async def chat(self, chat: str) -> Json:
        """One chat: its session, unfinished turn, messages, questions and background processes.

        Also the rules that owners stored for it with "always allow this".
        """
        address, key = address_of(chat), key_of(chat)
        live = await self.store.live_session(key)
        found = await self._session(live) if live is not None else _NO_SESSION
        waiting = await self.store.waiting(key)
        # A resumed session is live although others began after it.
        others = await self.store.sessions(None, _EARLIER + 1, key=key)
        return {
            "chat": chat,
            **found,
            "questions": [*found["questions"], *map(_question, await self._of_owner(chat))],
            "allowed": [rule_shown(one) for one in await self.store.allowed_calls(address)],
            "earlier": [line.id for line in others if line.id != found["session"]][:_EARLIER],
            "waiting": [
                {
                    "position": row.position,
                    "event_id": row.event_id,
                    "text": row.text,
                    "attachments": shown(row.attachments),
                    "at": row.accepted_at,
                    "state": row.state.value,
                }
                for row in waiting
            ],
            "cursor": {**found["cursor"], "number": await self.store.last_number(address)},
        }

    async def mark(self, chat: str) -> tuple[object, ...]:
        """A value that changes whenever the state of the chat changes, and that is cheap to read."""
        key = key_of(chat)
        live = await self.store.live_session(key)
        last = await self.store.turns(live.id, 1) if live is not None else ()
        turns = tuple(turn._replace(progress_at=None) for turn in last)
        processes = await self._processes(live) if live is not None else []
        asked = (*await self.store.questions(_ids(last)), *await self._of_owner(chat))
        allowed = await self.store.allowed_calls(address_of(chat))
        return live, turns, processes, asked, allowed, await self.store.waiting(key)

    async def _processes(self, live: Session) -> list[Json]:
        """The background processes of the session that run now."""
        return [
            {
                "id": one.id,
                "command": one.command,
                "started_at": one.started_at,
                "last_line": await last_words(self.home, one.id, self.secrets),
            }
            for one in await self.store.processes(live.id)
            if one.state is ProcessState.RUNNING
        ]

    async def _session(self, live: Session) -> Json:
        turns = await self.store.turns(live.id, _TURNS)
        last = max((turn.last_seq for turn in turns), default=0)
        entries = await self.store.transcript(live.id, max(0, last - _ENTRIES))
        current = turns[0] if turns and turns[0].ended_at is None else None
        return {
            "session": live.id,
            "generation": live.generation,
            "turn": _turn(current, await self.store.partials(current.id)) if current is not None else None,
            "questions": [_question(one) for one in await self.store.questions(_ids(turns))],
            "said": list(_said(entries, turns)),
            "processes": await self._processes(live),
            "interruptions": [
                one
                for turn in reversed(turns)
                if turn.interruptions
                for one in _interruptions(turn, await self.store.trace(turn.cause))
            ],
            "cursor": {"session": live.id, "seq": entries[-1].seq if entries else 0},
        }


async def watch(
    store: Store, clock: Clock, chat: str, home: Path | None = None, secrets: Secrets = no_secrets
) -> AsyncGenerator[Json, None]:
    """Without end: the state of the chat, at once and after every change."""
    chats = ChatSnapshots(store, home, secrets)
    topics = (*_TOPICS, chat_topic(ChatAddress(address_of(chat))))
    known: Json = {}
    mark: tuple[object, ...] = ()
    rang = False
    while True:
        versions = [(topic, store.version(topic)) for topic in topics]
        # Most wake-ups are for other chats, and a whole look takes ten times as long as reading the mark.
        if (now := await chats.mark(chat)) != mark or not rang:
            mark, found = now, await chats.chat(chat)
            if (news := _news(found)) != known:
                known = news
                yield found
        await clock.sleep(_EVERY)
        await first_of(*(store.changed(topic, seen) for topic, seen in versions), clock.sleep(_LOOK_AGAIN))
        rang = any(store.version(topic) > seen for topic, seen in versions)


def _news(found: Json) -> Json:
    """The part whose change is worth a new snapshot. The feed of entries tells the rest."""
    turn = found["turn"] and {**found["turn"], "progress_at": None}
    return {**found, "turn": turn, "said": None, "cursor": None}


_NO_SESSION: Json = {
    "session": None,
    "generation": 0,
    "turn": None,
    "questions": [],
    "said": [],
    "processes": [],
    "interruptions": [],
    "cursor": {"session": None, "seq": 0},
}


def _turn(turn: Turn, partials: Iterable[Partial]) -> Json:
    return {
        "id": turn.id,
        "position": turn.cause,
        "state": turn.state.value,
        "attempt": turn.attempt,
        "begun_at": turn.begun_at,
        "progress_at": turn.progress_at,
        "interruptions": turn.interruptions,
        "held": turn.held,
        "cut_off": [
            {"call": one.call, "text": one.text}
            for one in partials
            # The feed shows the output of the current run as it grows.
            if turn.state is not TurnState.RUNNING or one.generation != turn.generation
        ],
    }


def _ids(turns: Iterable[Turn]) -> tuple[TurnId, ...]:
    return tuple(turn.id for turn in turns)


def _question(asked: QuestionRecord) -> Json:
    """A question as a card shows it: the possible answers, or how it was closed."""
    return {
        "id": asked.id,
        "kind": asked.kind.value,
        "text": asked.text,
        "options": list(asked.options),
        "state": asked.state.value,
        "asked_at": asked.asked_at,
        "expires_at": None if asked.asked_by is AskedBy.SAFE_MODE else asked.expires_at,
        "closed_at": asked.closed_at,
        "answer": asked.answer,
        "answered_by": asked.answered_by,
        "asked_by": asked.asked_by,
        "of_owner": asked.of_owner,
    }


def _title(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_TITLE else line[: _LONGEST_TITLE - 1] + "…"


def _said(entries: Iterable[Entry], turns: Iterable[Turn]) -> Iterator[Json]:
    """What people wrote. The first entry of a turn is the message that caused it."""
    causes: dict[TurnId, int | None] = {turn.id: turn.cause for turn in turns}
    for one in entries:
        if isinstance(one.body, Said):
            yield {
                "seq": one.seq,
                "turn": one.turn,
                "at": one.at,
                "text": one.body.text,
                "attachments": shown(one.body.attachments),
                "woken": one.body.woken,
                "position": causes.get(one.turn),
            }
            causes[one.turn] = None


def _interruptions(turn: Turn, story: tuple[Happening, ...]) -> Iterator[Json]:
    """Each interruption of the turn: why it came, when the turn resumed, and with how many settled steps.

    The next process notices a crash (`at`); `progress_at` is the last time at which the work made progress.
    """
    cut: Json | None = None
    step, progress_at = 0, turn.begun_at
    for one in story:
        if one.subject.startswith("call:") and one.what in ("done", "failed", "unknown"):
            step, progress_at = step + 1, one.at
        elif one.subject == f"turn:{turn.id}" and one.what == "interrupted":
            reason = json.loads(one.detail or "{}").get("reason")
            cut = {
                "turn": turn.id,
                "position": turn.cause,
                "progress_at": progress_at,
                "at": one.at,
                "reason": reason,
                "resumed_at": None,
                "step": step,
            }
        elif cut is not None and one.subject == f"turn:{turn.id}" and one.what == "claimed":
            yield {**cut, "resumed_at": one.at, "step": step}
            cut, progress_at = None, one.at
    if cut is not None:
        yield cut
