"""What an operator can look at, with or without a gateway running."""

from __future__ import annotations

from holdfast.clock import Clock
from holdfast.model import (
    ChatAddress,
    ChatKind,
    DeliveryId,
    DeliveryState,
    Key,
    Origin,
    Place,
    Position,
    Session,
    SessionId,
    Sharing,
    conversation_key,
    place_at,
)
from holdfast.platforms.web import WebChat
from holdfast.policy.ages import age
from holdfast.records import dataclass
from holdfast.store import Looking

from .shown import Json, delivery, entry, report, shown

_WEB = WebChat()


@dataclass(frozen=True, slots=True)
class Looks:
    """Read actions; each is one look at the last commit, as JSON."""

    store: Looking
    clock: Clock

    async def runs(self, limit: int = 20) -> Json:
        return {"runs": shown(await self.store.instances(limit))}

    async def sessions(self, before: str | None = None, limit: int = 50, live: bool = False) -> Json:
        page = await self.store.sessions(SessionId(before) if before else None, limit, live)
        return {"sessions": shown(page)}

    async def session(self, session: str, entries: int = 200) -> Json:
        """One session: its row, its turns, the end of its transcript and what waits for it."""
        found = await self.store.session(SessionId(session))
        transcript = await self.store.transcript(found.id)
        return {
            "session": shown(found),
            "turns": shown(await self.store.turns(found.id)),
            "entries": [entry(one) for one in transcript[-entries:]],
            "entries_before": max(0, len(transcript) - entries),
            "waiting": shown(await self.store.waiting(found.key)),
        }

    async def outbox(
        self, chat: str | None = None, unknown: bool = False, after: int = 0, limit: int = 100
    ) -> Json:
        """What a chat is owed and was sent, after a number; without one what all are owed, after an id.

        With `unknown` only what has an unknown outcome.
        """
        if chat is not None:
            page = await self.store.deliveries(address_of(chat), after, limit)
        else:
            page = await self.store.unsettled(DeliveryId(after), limit, unknown)
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
            "reports": [report(one) for one in await self.store.continuity_reports(limit)],
        }

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


def address_of(chat: str) -> ChatAddress:
    """A full address as it is; a plain name is a chat of the web."""
    return ChatAddress(chat) if "/" in chat else Place(_WEB.name, _WEB.account, chat).address


def key_of(chat: str) -> Key:
    """The conversation of a direct chat."""
    return conversation_key(Origin(place_at(address_of(chat)), ChatKind.DIRECT, ""), Sharing())
