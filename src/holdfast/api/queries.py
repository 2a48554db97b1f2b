"""What an operator can look at, with or without a running gateway."""

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
"""Bytes at the end of an output that are searched for its last line."""
MOST_LISTED = 500
"""Most lines of one page, whatever the request says."""
SESSION_STATES = (*(state.value for state in TurnState), "held")
"""The states by which sessions can be searched: that of the last turn, or `held`."""


@dataclass(frozen=True, slots=True)
class GatewayQueries:
    """Queries. Each shows the state of the last commit, as JSON."""

    store: Queries
    clock: Clock
    platforms: tuple[str, ...] = (_WEB.name,)
    """The platforms that this gateway serves; the ledger may know more."""
    home: Path | None = None
    """The home with the output of background processes, if this may read it."""
    secrets: Secrets = no_secrets
    """Secrets that are masked in that output."""

    async def people(self) -> Json:
        """Who was let in besides the configuration, and who asks to be let in."""
        return {"grants": shown(await self.store.grants()), "asking": shown(await self.store.asking())}

    async def allowed(self, chat: str | None = None) -> Json:
        """The rules in force that owners stored with "always allow this": of one chat, or all."""
        found = await self.store.allowed_calls(address_of(chat) if chat is not None else None)
        return {"allowed": [rule_shown(one) for one in found]}

    async def runs(self, limit: int = 20) -> Json:
        return {"runs": shown(await self.store.instances(min(limit, MOST_LISTED)))}

    async def overview(self, runs: int = 24) -> Json:
        """The gateway at a glance: counts, the pace of the last hour, its runs and how each ended."""
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
        """A page of the sessions that match, newest first; `next` is where the next page begins.

        With a filter a page may be short or empty; there is more as long as it has a `next`. Raises
        `BadRequest` for an unknown state or platform, which could never match.
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
        """One session: its row, turns, calls and deliveries, the end of its transcript, what waits for it."""
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
        """The background processes that run. For one session or chat, also those that have ended.

        Each comes with the last line of its output, if that is still kept.
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
        """Input that the gateway could not read, newest first."""
        return {"set_aside": shown(await self.store.set_aside(before, min(limit, MOST_LISTED)))}

    async def outbox(
        self, chat: str | None = None, unknown: bool = False, after: int = 0, limit: int = 100
    ) -> Json:
        """All deliveries of a chat after a number; without a chat, the owed ones of all chats after an id.

        With `unknown`, only deliveries with an unknown outcome.
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
        """What the last run left, and the reports of the last starts: what became of it, and why."""
        return {
            "continuity": shown(await self.store.continuity()),
            "reports": [report(one) for one in await self.store.continuity_reports(min(limit, MOST_LISTED))],
        }

    async def held(self) -> Json:
        """What waits for the operator: items that a restore holds, and conversations parked too often."""
        held = [*await self.store.restored(), *(item_of(one) for one in await self.store.on_hold())]
        return {"held": [{"item": one.name, **shown(one)} for one in held]}

    async def verify(self) -> Json:
        problems = await self.store.verify()
        return {"sound": not problems, "problems": list(problems)}

    async def plan(self) -> Json:
        """What a restart would interrupt now: every running turn, and its time without progress."""
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
        """The session with this id, or the live session of this chat."""
        if session is not None:
            return await self.store.session(SessionId(session))
        return await self.store.live_session(key_of(chat)) if chat is not None else None


async def last_words(home: Path | None, process: ProcessId, secrets: Secrets = no_secrets) -> str:
    """The last line of output of a background process of this home."""
    if home is None:
        return ""
    folder = home / FOLDER / process
    try:
        output = await asyncio.to_thread(read_output, folder, -_LAST_WORDS, _LAST_WORDS)
    except OSError:
        return ""
    # Mask before the line is shortened: half of a secret would not be recognized.
    text = secrets().without(output.data.decode(errors="replace"))
    return last_line(without_secrets(text).encode())


def address_of(chat: str) -> ChatAddress:
    """A full address unchanged; a plain name as the address of a web chat."""
    return ChatAddress(chat) if "/" in chat else Place(_WEB.name, _WEB.account, chat).address


def key_of(chat: str) -> Key:
    """The conversation of a direct chat."""
    return conversation_key(Origin(place_at(address_of(chat)), ChatKind.DIRECT, ""), Sharing())
