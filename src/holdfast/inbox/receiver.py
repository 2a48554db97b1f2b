"""Read a platform: check access, commit, and only then confirm that it was received."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace

from holdfast.clock import Clock, Rng
from holdfast.errors import HoldfastError, Report, StoreClosed, StoreFault, SyncFailed, unreported
from holdfast.model import Accepted, Batch, Cursor, Inbound, Knock, SetAside, Sharing
from holdfast.platforms import Arrival, Platform, PlatformDown, Revision
from holdfast.policy.delivery.retry import delay
from holdfast.policy.intake.access import Access, Denial, Denied, may_talk
from holdfast.policy.intake.pairing import Wants, code_from, wants
from holdfast.policy.settings import MINUTE, SECOND, RetrySettings
from holdfast.records import dataclass
from holdfast.store import ArrivalSettings, Edit, Store
from holdfast.telemetry import without_secrets

from .inbound_row import account_of, inbound_of

PATIENCE = RetrySettings(most=MINUTE)
"""How the receiver retries a platform or a ledger that fails: for ever, with bounded pauses."""
WITHDRAWN = "withdrawn_by_its_sender"
AS_USUAL = Sharing()
_SHOWN = 2_000
_CHANCES = 2**53
"""How many values `Rng.random` can give: many times more than there are codes."""

New = Arrival | SetAside
Event = New | Revision


def _no_listener() -> None:
    """Ignore the change: the default."""


@dataclass(slots=True)
class _Sorted:
    """The events of one read, by what the gateway does with each."""

    messages: list[Inbound] = field(default_factory=list)
    unreadable: list[SetAside] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    knocks: dict[str, Knock] = field(default_factory=dict)
    """By person: a person who writes several messages knocks once."""


class Receiver:
    """Reads one platform for ever. It confirms only what is committed; the rest it reads again."""

    def __init__(
        self,
        store: Store,
        platform: Platform,
        clock: Clock,
        rng: Rng,
        access: Callable[[], Access | None],
        arrival: Callable[[], ArrivalSettings] = ArrivalSettings,
        sharing: Sharing = AS_USUAL,
        on_change: Callable[[], None] = _no_listener,
        report: Report = unreported,
    ) -> None:
        self._store = store
        self._platform = platform
        self._clock = clock
        self._rng = rng
        self._access = access
        self._arrival = arrival
        self._sharing = sharing
        self._on_change = on_change
        self._report = report
        self._account = account_of(platform.name, platform.account)
        self._connected = False
        self._trouble: str | None = None
        self._failures = 0

    @property
    def connected(self) -> bool:
        """Whether the gateway can read from and send to the platform now. Each change calls `on_change`."""
        return self._connected

    @property
    def trouble(self) -> str | None:
        """The last error of the platform, as long as it cannot be read."""
        return self._trouble

    async def work(self) -> None:
        """Read, keep and confirm for ever; neither a platform that is down nor a full disk ends it."""
        try:
            while True:
                try:
                    await self._connect()
                    await self.read_once()
                    self._failures, self._trouble = 0, None
                except (SyncFailed, StoreClosed):
                    raise
                except StoreFault as fault:
                    # The platform still has these events: read them again, from the position in the ledger.
                    self._report(f"keeping the events of {self._account}", fault)
                    await self._pause(None)
                except PlatformDown as down:
                    await self._lost_connection(down, down.retry_after)
                except Exception as error:  # noqa: BLE001 - a fault of an adapter must not stop the reading
                    await self._lost_connection(error, None)
        finally:
            self._set_connected(False)

    async def read_once(self) -> tuple[Accepted, ...]:
        """Read once: commit the events together with the new position, then confirm them."""
        name = self._platform.cursor
        after = await self._store.cursor(self._account, name) if name is not None else None
        incoming = await self._platform.receive(after)
        settings = self._arrival()
        found = self._sort(await self._with_revisions(incoming.events, settings), settings)
        accepted = await self._keep(found, incoming.cursor, after, settings)
        await self._platform.confirm(incoming, accepted)
        return accepted

    async def _connect(self) -> None:
        if not self._connected:
            await self._platform.connect()
            self._set_connected(True)

    def _set_connected(self, connected: bool) -> None:
        if connected is not self._connected:
            self._connected = connected
            self._on_change()

    async def _lost_connection(self, error: Exception, retry_after: float | None) -> None:
        self._report(f"reading {self._account}", error)
        # `PlatformDown` has a text for people; any other fault may hold a secret.
        self._trouble = (
            without_secrets(str(error)) if isinstance(error, PlatformDown) else type(error).__name__
        )
        self._set_connected(False)
        await self._pause(retry_after)

    async def _pause(self, asked: float | None) -> None:
        self._failures += 1
        pause = delay(self._failures, PATIENCE, self._rng.random()) / SECOND
        await self._clock.sleep(max(pause, asked or 0))

    async def _with_revisions(self, events: tuple[Event, ...], settings: ArrivalSettings) -> list[New]:
        """Apply revisions to messages that wait in the ledger and to messages of this very read.

        The agent never sees a text that its sender changed or withdrew before the gateway read it.
        """
        result: list[New] = []
        # A platform may bring an event twice in one read: the copy must not undo the withdrawal.
        for event in _each_once(events):
            if isinstance(event, Revision):
                waits = await self._revise(event, settings)
                at = _place_of(event, result)
                if at is not None:
                    result[at] = _revised(result[at], event, waits)
            else:
                result.append(event)
        return result

    async def _revise(self, revision: Revision, settings: ArrivalSettings) -> bool:
        """Change or withdraw a message that still waits; False if a turn has taken it already."""
        place = revision.place.address
        try:
            edit = Edit(place, revision.message_id, revision.text, revision.attachments)
            return await self._store.revise(edit, settings) is not None
        except StoreFault:
            raise
        except Exception as error:  # noqa: BLE001 - one unreadable revision never stops the rest
            self._report(f"changing a message of {self._account}", error)
            return False

    def _sort(self, events: list[New], settings: ArrivalSettings) -> _Sorted:
        found = _Sorted()
        access = self._who_may()
        for event in events:
            if isinstance(event, SetAside):
                found.unreadable.append(event)
            else:
                self._admit(event, access, settings, found)
        return found

    def _who_may(self) -> Access | None:
        try:
            return self._access()
        except Exception as error:  # noqa: BLE001 - a person who cannot be checked is not allowed
            self._report("reading who may talk", error)
            return None

    def _admit(
        self, arrival: Arrival, access: Access | None, settings: ArrivalSettings, found: _Sorted
    ) -> None:
        """Check access first: of a person who is not allowed the gateway keeps only the event's id."""
        try:
            verdict = may_talk(arrival.origin, access, self._clock.now())
            if isinstance(verdict, Denied):
                found.refused.append((arrival.event_id, verdict.reason))
                self._knock(arrival, verdict.reason, found)
            else:
                found.messages.append(inbound_of(arrival, self._sharing, settings.queue))
        except Exception as error:  # noqa: BLE001 - one unreadable arrival never stops the rest
            found.unreadable.append(_set_aside(arrival, error))

    def _knock(self, arrival: Arrival, why: Denial, found: _Sorted) -> None:
        """Tell a refused person how to be let in, where the platform lets strangers write."""
        origin = arrival.origin
        wanted = wants(origin.kind, why) if self._platform.capabilities.newcomers else None
        if wanted is None or origin.person in found.knocks:
            return
        code = code_from(int(self._rng.random() * _CHANCES)) if wanted is Wants.PERSON else None
        found.knocks[origin.person] = Knock(
            arrival.event_id, origin.person, origin.place, code, arrival.message_id
        )

    async def _keep(
        self, found: _Sorted, cursor: Cursor | None, after: str | None, settings: ArrivalSettings
    ) -> tuple[Accepted, ...]:
        batch = Batch(
            self._account,
            tuple(found.messages),
            tuple(found.unreadable),
            tuple(found.refused),
            cursor,
            tuple(found.knocks.values()),
        )
        moved = cursor is not None and cursor.value != after
        if not (batch.messages or batch.unreadable or batch.refused or moved):
            return ()
        try:
            return await self._store.accept(batch, settings)
        except StoreFault:
            raise
        except Exception as error:  # noqa: BLE001 - the next call finds the message that the ledger refuses
            self._report(f"keeping the events of {self._account}", error)
            return await self._keep_one_by_one(batch, settings)

    async def _keep_one_by_one(self, batch: Batch, settings: ArrivalSettings) -> tuple[Accepted, ...]:
        """Keep each message that the ledger takes and set the rest aside; the position moves last."""
        accepted: list[Accepted] = []
        unreadable = list(batch.unreadable)
        for message in batch.messages:
            try:
                accepted += await self._store.accept(Batch(self._account, (message,)), settings)
            except StoreFault:
                raise
            except Exception as error:  # noqa: BLE001 - one bad message must not block the others
                unreadable.append(_set_aside(message, error))
        await self._store.accept(replace(batch, messages=(), unreadable=tuple(unreadable)), settings)
        return tuple(accepted)


def _each_once(events: tuple[Event, ...]) -> list[Event]:
    """Each event once, at its first place. Events without an id all stay: they cannot be told apart."""
    first: dict[str | int, Event] = {}
    for place, event in enumerate(events):
        first.setdefault(place if event.event_id is None else event.event_id, event)
    return list(first.values())


def _place_of(revision: Revision, events: list[New]) -> int | None:
    """The index of the revised message in this read, if it is there."""
    for index, event in enumerate(events):
        if (
            isinstance(event, Arrival)
            and event.pressed is None
            and event.message_id == revision.message_id
            and event.origin.place == revision.place
        ):
            return index
    return None


def _revised(event: New, revision: Revision, waits: bool) -> New:
    """The message as its sender wants it now; with `waits` the ledger has it and applied the change."""
    if waits or not isinstance(event, Arrival):
        return event
    if revision.text is None:
        return SetAside(event.event_id, WITHDRAWN, "")
    return replace(event, text=revision.text, attachments=revision.attachments)


def _set_aside(event: Arrival | Inbound, error: Exception) -> SetAside:
    words = str(error) if isinstance(error, HoldfastError) else type(error).__name__
    # An unreadable event may hold anything: keep only its ASCII form.
    return SetAside(event.event_id, ascii(words), ascii(event)[:_SHOWN])
