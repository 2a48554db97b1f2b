"""What happens to a delivery after a send: it is settled, tried again, asked about, or given up.

A refusal is final. After any other failure the gateway tries again until the delivery is too old
(`settings.age`), with two limits. A part that may have arrived is repeated only a few times, spread over the
whole of that age (`repeat_at`). A part that fails while other sends of its account succeed leaves its chat's
line (`steps_aside`).

`attempts` of a delivery counts the real attempts before the one that is judged here. A throttle or a
platform that is down is no attempt. Chance comes in as `jitter`, a number in [0, 1).
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from holdfast.model import WORKING, Delivery, DeliveryState, Lost, Rejected, SendResult, Sent, TryAgain
from holdfast.policy.ages import age
from holdfast.policy.settings import DAY, MINUTE, RetrySettings
from holdfast.records import dataclass

TOO_OLD = "too_old"
MAY_BE_THERE = "it may have arrived"
_MOST_DOUBLINGS = 64
_LAST_CHANCE = MINUTE
"""How long before the end of its age a part is repeated for the last time."""


class Settling(StrEnum):
    """How the gateway can settle a send of unknown outcome on a platform."""

    ASK = "ask"
    """The platform can say whether the message is there."""
    REPEAT_WITH_KEY = "repeat_with_key"
    """The platform shows a message once, even if it is sent again with the same key."""
    RESEND_MARKED = "resend_marked"
    """Neither: the gateway sends it again, visibly marked as possibly repeated."""


@dataclass(frozen=True, slots=True)
class Next:
    """The delivery's next state, as one guarded write."""

    state: DeliveryState
    attempts: int
    at: int | None = None
    """The earliest time of the next send (pending), or of the question to the platform (unknown)."""
    repeated: bool = False
    reason: str | None = None
    platform_id: str | None = None
    whole_chat: bool = False
    """The chat takes no messages any more: everything else that it is owed fails, too."""
    replaced: bool = False
    """A visible line replaces this part."""
    marked: bool = False
    """The next send counts as one of the repeats that a part may have."""


class FailingPart(NamedTuple):
    """A part whose sends fail, and the messages that wait for it."""

    delivery: Delivery
    held: int | None = None
    """When the newest message was owed that waits for this part, if there is one."""


class RetryEvent(StrEnum):
    """A reason to try a failing part before its time."""

    RECONNECTED = "reconnected"
    """The platform was away and is back."""
    OVERTAKEN = "overtaken"
    """Another send of the account has succeeded."""
    HOLDS = "holds"
    """Time has passed, and other messages may wait for the part."""


def delay(attempt: int, settings: RetrySettings, jitter: float) -> int:
    """How long to wait after the `attempt`-th failure: growing, capped, random within its upper half."""
    grown = settings.first * settings.factor ** min(max(attempt, 1) - 1, _MOST_DOUBLINGS)
    return int(min(grown, settings.most) * (0.5 + jitter / 2))


def repeat_at(delivery: Delivery, now: int, settings: RetrySettings, jitter: float) -> int | None:
    """When a part that may have arrived is sent again, marked; None after the last repeat.

    The first repeat comes soon. The others are spread over the rest of the part's age, each wait longer than
    the one before (as the cubes of their numbers). The last comes shortly before the end, so that an outage
    shorter than the age does not lose the part.
    """
    if delivery.repeats >= _most_repeats(delivery, settings):
        return None
    if not delivery.repeats:
        return now + delay(1, settings, jitter)
    chance = min(_LAST_CHANCE, settings.age // 10)
    left = max(0, settings.age - chance - age(now, delivery.created_at))
    waits = [number**3 for number in range(delivery.repeats, settings.repeats)]
    # The ledger treats a time further ahead as damage.
    return now + min(left * waits[0] // sum(waits), DAY)


def _most_repeats(delivery: Delivery, settings: RetrySettings) -> int:
    # A message about work in progress is not worth a second repeat: an answer may wait for it.
    return 1 if delivery.dedupe.startswith(WORKING) else settings.repeats


def before_send(delivery: Delivery, now: int, settings: RetrySettings) -> Next | None:
    """The end of a pending or unknown delivery that is too old to send or settle, else None."""
    if age(now, delivery.created_at) <= settings.age:
        return None
    return Next(DeliveryState.EXPIRED, delivery.attempts, repeated=delivery.repeated, reason=TOO_OLD)


def after_send(
    result: SendResult,
    delivery: Delivery,
    settling: Settling,
    now: int,
    settings: RetrySettings,
    jitter: float,
) -> Next:
    """Turn a send's result into the delivery's next state.

    A send that a crash cut off is `Lost`, too. A delivery that was tried and is given up has failed; one that
    waited too long without a try has expired (`before_send`).
    """
    attempts = delivery.attempts
    match result:
        case Sent():
            return Next(
                DeliveryState.SENT,
                attempts + 1,
                repeated=delivery.repeated,
                platform_id=result.platform_id,
            )
        case Rejected():
            return Next(
                DeliveryState.FAILED,
                attempts + 1,
                repeated=delivery.repeated,
                reason=result.reason,
                whole_chat=result.whole_chat,
                replaced=not result.whole_chat,
            )
        case TryAgain():
            return _again(result, delivery, now, settings, jitter)
        case Lost():
            # It is recorded as unknown at any age; the next round settles it or gives it up.
            at = now + delay(attempts + 1, settings, jitter)
            waits = at if settling is Settling.ASK else None
            return Next(
                DeliveryState.UNKNOWN, attempts + 1, waits, repeated=delivery.repeated, reason=result.reason
            )


def after_doubt(
    delivery: Delivery, settling: Settling, now: int, settings: RetrySettings, jitter: float
) -> Next:
    """Settle a delivery of unknown outcome about which the platform cannot say anything: repeat or give up.

    With a key the platform shows it once, so repeats are not counted. A send that only the end of a gateway
    cut off is repeated soon and not counted either: the next send may well succeed.
    """
    if before_send(delivery, now, settings) is not None:
        return _failed(delivery, delivery.attempts, f"{TOO_OLD}; {MAY_BE_THERE}")
    is_counted = settling is not Settling.REPEAT_WITH_KEY and delivery.failing_since is not None
    waits = now + delay(delivery.attempts, settings, jitter)
    at = repeat_at(delivery, now, settings, jitter) if is_counted else waits
    if at is None:
        return _failed(delivery, delivery.attempts, f"repeated {delivery.repeats} times; {MAY_BE_THERE}")
    return Next(
        DeliveryState.PENDING,
        delivery.attempts,
        at,
        repeated=True,
        reason="outcome unknown, sent again",
        marked=is_counted,
    )


def after_asking(
    arrived: bool | None,
    delivery: Delivery,
    now: int,
    settings: RetrySettings,
    jitter: float,
    platform_id: str | None = None,
) -> Next:
    """Settle an unknown delivery by what the platform says; None when it answered but cannot say.

    A part that certainly did not arrive is sent again unmarked. If the platform cannot tell, it is sent again
    marked.
    """
    if arrived:
        return Next(
            DeliveryState.SENT,
            delivery.attempts,
            repeated=delivery.repeated,
            platform_id=platform_id,
        )
    if arrived is None:
        return after_doubt(delivery, Settling.RESEND_MARKED, now, settings, jitter)
    over = before_send(delivery, now, settings)
    if over is not None:
        return over
    return Next(
        DeliveryState.PENDING,
        delivery.attempts,
        at=now + delay(delivery.attempts, settings, jitter),
        repeated=delivery.repeated,
        reason=delivery.reason,
    )


def is_tried_at_once(part: FailingPart, event: RetryEvent, now: int, settings: RetrySettings) -> bool:
    """Whether the gateway tries a failing part now instead of at its time.

    A part that may have arrived keeps its last repeat for the end of its age. It is repeated at once when
    another send of the account succeeds for the first time since it began to fail: the account works again.
    If it fails even then, the part is at fault and not the account, and it waits as before. A part that other
    messages wait for is tried every `aside`.
    """
    delivery = part.delivery
    if delivery.repeated and delivery.repeats >= settings.repeats:
        return False
    match event:
        case RetryEvent.RECONNECTED:
            return not delivery.repeated
        case RetryEvent.OVERTAKEN:
            return delivery.overtaken_at is None
        case RetryEvent.HOLDS:
            tried = delivery.claimed_at or 0
            return part.held is not None and part.held > tried and age(now, tried) >= settings.aside


def steps_aside(part: FailingPart, now: int, settings: RetrySettings) -> bool:
    """Whether a failing part leaves its chat's line, so that later replies can be sent.

    It does after it has failed for a time (`aside`) and failed again after another send of the account
    succeeded; also when other messages would have to wait for its last repeat.
    """
    delivery = part.delivery
    if delivery.aside_at is not None or delivery.failing_since is None:
        return False
    if age(now, delivery.failing_since) < settings.aside:
        return False
    spent = delivery.repeated and delivery.repeats >= settings.repeats
    if delivery.overtaken_at is None:
        return spent and part.held is not None
    is_asked_about = delivery.state is DeliveryState.UNKNOWN
    return spent or is_asked_about or (delivery.claimed_at or 0) >= delivery.overtaken_at


def next_judged(part: FailingPart, now: int, settings: RetrySettings) -> int | None:
    """When the two rules above may decide differently about a failing part; None if time changes nothing."""
    delivery = part.delivery
    if delivery.aside_at is not None:
        return None
    since = (delivery.failing_since, delivery.claimed_at)
    times = [time + settings.aside for time in since if time is not None]
    return min((time for time in times if time > now), default=None)


def missing_line(part: int, parts: int) -> str:
    """The line that replaces a part that the platform refused; the reason is only for the operator."""
    which = "This message" if parts == 1 else f"Part {part} of {parts}"
    return f"[{which} could not be shown here: the platform refused it.]"


def left_line(part: int, parts: int, may_have_arrived: bool) -> str:
    """The line that replaces a part that was given up, although the platform did not refuse it."""
    which = "A message" if parts == 1 else f"Part {part} of {parts} of a message"
    doubt = " It may have been shown all the same." if may_have_arrived else ""
    return f"[{which} could not be delivered here and was left out.{doubt}]"


def unreadable_line() -> str:
    """The line that replaces a part whose state or key is lost because its record is damaged."""
    return (
        "[A message for this chat could not be read: its record is damaged. It was left out here, unless it "
        "was shown before. The operator can look at it with `holdfast set-aside`.]"
    )


def late_line(part: int, parts: int, may_have_arrived: bool) -> str:
    """The line that replaces a part that left its chat's line."""
    which = "A message" if parts == 1 else f"Part {part} of {parts} of a message"
    doubt = " It may have been shown all the same." if may_have_arrived else ""
    return (
        f"[{which} could not be delivered here so far.{doubt} I keep trying. When it arrives, it is marked "
        "as late.]"
    )


def _again(result: TryAgain, delivery: Delivery, now: int, settings: RetrySettings, jitter: float) -> Next:
    attempts = delivery.attempts + result.counts
    if before_send(delivery, now, settings) is not None:
        return _failed(delivery, attempts, f"{TOO_OLD}: {result.reason}")
    # Never before the time that the platform gave; and never at once, so as not to flood a platform that is
    # down. A failure of the platform does not make the wait of this part grow.
    waited = delay(attempts if result.counts else 1, settings, jitter)
    return Next(
        DeliveryState.PENDING,
        attempts,
        at=max(result.at, now + waited),
        repeated=delivery.repeated,
        reason=result.reason,
    )


def _failed(delivery: Delivery, attempts: int, reason: str) -> Next:
    return Next(DeliveryState.FAILED, attempts, repeated=delivery.repeated, reason=reason)
