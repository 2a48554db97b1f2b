"""What an operator can look at, with or without a gateway running."""

from __future__ import annotations

import asyncio
from pathlib import Path

from holdfast.clock import Clock
from holdfast.errors import BadRequest
from holdfast.model import (
    ChatAddress,
    ChatKind,
    DeliveryId,
    DeliveryState,
    Key,
    Origin,
    Place,
    Position,
    ProcessId,
    Session,
    SessionId,
    Sharing,
    TurnId,
    TurnState,
    conversation_key,
    place_at,
)
from holdfast.platforms.web import WebChat
from holdfast.policy.ages import age
from holdfast.policy.processes import last_line
from holdfast.records import dataclass
from holdfast.store import Queries, Wanted
from holdfast.telemetry import Secrets, no_secrets, without_secrets
from holdfast.tools.background import FOLDER, read_output

from . import overview
from .allowed_calls import rule_shown
from .held_items import item_of
from .overview import MINUTE, MINUTES, counts, decisions, fates, last_report, pace
from .to_json import Json, delivery, entry, report, shown

_WEB = WebChat()
_LAST_WORDS = 2_000
"""Bytes of output in which the last line is looked for."""
MOST_LISTED = 500
"""Lines of one page at the most, whatever is asked for."""
SESSION_STATES = (*(state.value for state in TurnState), "held")
"""What sessions can be looked for by: the state of the last turn, or that it waits for somebody."""


@dataclass(frozen=True, slots=True)
class GatewayQueries:
    """Read actions; each is one look at the last commit, as JSON."""

    store: Queries
    clock: Clock
    platforms: tuple[str, ...] = (_WEB.name,)
    """Those that are served here; the ledger may know more."""
    home: Path | None = None
    """Where background processes leave what they put out, if that may be looked at."""
    secrets: Secrets = no_secrets
    """What is removed from that."""

    async def people(self) -> Json:
        """Who was let in besides the configuration, and who asks to be."""
        return {"grants": shown(await self.store.grants()), "asking": shown(await self.store.asking())}

    async def allowed(self, chat: str | None = None) -> Json:
        """The rules that owners gave with "always allow this" and that are in force; of a chat, or all."""
        found = await self.store.allowed_calls(address_of(chat) if chat is not None else None)
        return {"allowed": [rule_shown(one) for one in found]}

    async def runs(self, limit: int = 20) -> Json:
        return {"runs": shown(await self.store.instances(min(limit, MOST_LISTED)))}

    async def overview(self, runs: int = 24) -> Json:
        """The gateway at a glance: counts, the pace of the last hour, its runs and what became of each."""
        now = self.clock.now()
        since = (now // MINUTE - MINUTES + 1) * MINUTE
        found = await self.store.overview(since, min(runs, MOST_LISTED))
        last = report(found.reports[0]) if found.reports else None
        turns = tuple(TurnId(fate["turn"]) for fate in fates(last)) if last else ()
        return {
            "now": now,
            "counts": counts(found),
            "pace": pace(found.begun, since),
            "runs": overview.runs(found.instances, found.reports),
            "last_report": last_report(last, await self.store.whereabouts(turns)) if last else None,
        }

    async def sessions(
        self,
        before: str | None = None,
        limit: int = 50,
        live: bool = False,
        state: str | None = None,
        platform: str | None = None,
        q: str | None = None,
    ) -> Json:
        """A page of sessions, newest first, of those that fit; `next` is where the page after it begins.

        With a filter a page may come short, or empty, and there is more as long as it has a `next`. Raises
        `BadRequest` for a state or platform that there is not: it would find nothing for ever.
        """
        await self._check_filters(state, platform)
        wanted = Wanted(state, platform, q, live)
        after = SessionId(before) if before else None
        page = await self.store.find_sessions(wanted, after, min(limit, MOST_LISTED))
        return {"sessions": shown(page.lines), "next": page.next}

    async def _check_filters(self, state: str | None, platform: str | None) -> None:
        if state is not None and state not in SESSION_STATES:
            raise BadRequest.value("state", state, ", ".join(SESSION_STATES))
        if platform is not None and platform not in self.platforms:
            known = sorted({*self.platforms, *await self.store.platforms()})
            if platform not in known:
                raise BadRequest.value("platform", platform, ", ".join(known))

    async def session(self, session: str, entries: int = 200) -> Json:
        """One session: its row, its turns and what they did, the end of its transcript, what waits for it."""
        found = await self.store.inspect(SessionId(session), entries)
        return {
            "session": shown(found.session),
            "turns": shown(found.turns),
            "entries": [entry(one) for one in found.entries],
            "entries_before": max(0, found.entries[0].seq - 1) if found.entries else 0,
            "waiting": shown(found.waiting),
            "calls": shown(found.calls),
            "deliveries": [delivery(one) for one in found.deliveries],
            "decisions": decisions(found.happenings),
            "on_hold": found.on_hold,
            "allowed": (await self.allowed(found.session.chat))["allowed"],
        }

    async def processes(self, session: str | None = None, chat: str | None = None) -> Json:
        """Background processes that run; of one session, or of a chat's, also those that have ended.

        Each with the last line it put out, as far as that is kept.
        """
        found = await self.find(session, chat)
        if found is None and (session is not None or chat is not None):
            return {"processes": []}
        known = await self.store.processes(found.id if found else None)
        return {
            "processes": [
                {**shown(one), "last_line": await last_words(self.home, one.id, self.secrets)}
                for one in known
            ]
        }

    async def set_aside(self, before: int | None = None, limit: int = 50) -> Json:
        """Input that could not be read, newest first."""
        return {"set_aside": shown(await self.store.set_aside(before, min(limit, MOST_LISTED)))}

    async def outbox(
        self, chat: str | None = None, unknown: bool = False, after: int = 0, limit: int = 100
    ) -> Json:
        """What a chat is owed and was sent, after a number; without one what all are owed, after an id.

        With `unknown` only what has an unknown outcome.
        """
        most = min(limit, MOST_LISTED)
        if chat is not None:
            page = await self.store.deliveries(address_of(chat), after, most)
        else:
            page = await self.store.unsettled(DeliveryId(after), most, unknown)
        return {
            "deliveries": [delivery(one) for one in page if not unknown or one.state is DeliveryState.UNKNOWN]
        }

    async def trace(self, position: int) -> Json:
        where = Position(position)
        return {
            "message": shown(await self.store.row(where)),
            "happenings": shown(await self.store.trace(where)),
        }

    async def continuity(self, limit: int = 1) -> Json:
        """What the run before left, and the reports of the last boots: what became of it, and why."""
        return {
            "continuity": shown(await self.store.continuity()),
            "reports": [report(one) for one in await self.store.continuity_reports(min(limit, MOST_LISTED))],
        }

    async def held(self) -> Json:
        """What waits for the operator: what a restore holds, and conversations that were parked too often."""
        held = [*await self.store.restored(), *(item_of(one) for one in await self.store.on_hold())]
        return {"held": [{"item": one.name, **shown(one)} for one in held]}

    async def verify(self) -> Json:
        problems = await self.store.verify()
        return {"sound": not problems, "problems": list(problems)}

    async def plan(self) -> Json:
        """What a restart would cut now: every running turn, and how long it has shown no progress."""
        now = self.clock.now()
        return {
            "running": [
                {
                    **shown(turn),
                    "running_for": age(now, turn.claimed_at),
                    "quiet_for": age(now, max(turn.progress_at or 0, turn.claimed_at)),
                }
                for turn in await self.store.running_turns()
            ]
        }

    async def find(self, session: str | None, chat: str | None) -> Session | None:
        """The session that is named, or the one a chat would go on in."""
        if session is not None:
            return await self.store.session(SessionId(session))
        return await self.store.live_session(key_of(chat)) if chat is not None else None


async def last_words(home: Path | None, process: ProcessId, secrets: Secrets = no_secrets) -> str:
    """The last line that a background process of this home put out."""
    if home is None:
        return ""
    folder = home / FOLDER / process
    try:
        output = await asyncio.to_thread(read_output, folder, -_LAST_WORDS, _LAST_WORDS)
    except OSError:
        return ""
    # Masked before the line is shortened: half of a secret is not known for one.
    text = secrets().without(output.data.decode(errors="replace"))
    return last_line(without_secrets(text).encode())


def address_of(chat: str) -> ChatAddress:
    """A full address as it is; a plain name is a chat of the web."""
    return ChatAddress(chat) if "/" in chat else Place(_WEB.name, _WEB.account, chat).address


def key_of(chat: str) -> Key:
    """The conversation of a direct chat."""
    return conversation_key(Origin(place_at(address_of(chat)), ChatKind.DIRECT, ""), Sharing())
