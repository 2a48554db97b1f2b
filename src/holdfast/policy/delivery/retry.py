"""What becomes of a delivery after a send: settled, tried again, asked about, or given up with a reason.

A refusal is final. Every other failure is tried again until the delivery is too old (`settings.age`), however
many attempts that takes. Two limits hold: a part that may have arrived is repeated only a few times, spread
over the whole of that age (`repeat_at`); and a part that fails while other sends of its account succeed
leaves its chat's line (`steps_aside`).

`attempts` on a delivery counts the real attempts before the one that is judged here. A throttle or a
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
    """How a platform lets us settle a send whose outcome is unknown."""

    ASK = "ask"
    """It can be asked whether the message is there."""
    REPEAT_WITH_KEY = "repeat_with_key"
    """Sending again with the same key shows it once."""
    RESEND_MARKED = "resend_marked"
    """Neither: it is sent again, visibly marked as possibly repeated."""


@dataclass(frozen=True, slots=True)
class Next:
    """The delivery's next state, as one guarded write."""

    state: DeliveryState
    attempts: int
    at: int | None = None
    """Not before then: the next send of a pending one, the question to the platform for an unknown one."""
    repeated: bool = False
    reason: str | None = None
    platform_id: str | None = None
    whole_chat: bool = False
    """Nothing can go to this chat any more: the rest of what it is owed fails with it."""
    replaced: bool = False
    """A visible line takes the place of this part."""
    marked: bool = False
    """The send that follows counts as one of the repeats that a part may have."""


class FailingPart(NamedTuple):
    """A part whose sends fail, and what waits behind it."""

    delivery: Delivery
    held: int | None = None
    """When the newest other message of its chat was owed that waits for it, if there is one."""


class RetryEvent(StrEnum):
    """What may be a reason to try a failing part before its time."""

    RECONNECTED = "reconnected"
    """The platform was away and is back."""
    OVERTAKEN = "overtaken"
    """Another send of the account has succeeded."""
    HOLDS = "holds"
    """Time has passed; other messages may wait behind it."""


def delay(attempt: int, settings: RetrySettings, jitter: float) -> int:
    """How long to wait after the `attempt`-th failure: growing, capped, spread over its upper half."""
    grown = settings.first * settings.factor ** min(max(attempt, 1) - 1, _MOST_DOUBLINGS)
    return int(min(grown, settings.most) * (0.5 + jitter / 2))


def repeat_at(delivery: Delivery, now: int, settings: RetrySettings, jitter: float) -> int | None:
    """When a part that may have arrived is sent again, marked; None when that was done often enough.

    Soon for the first time. The others are spread over what is left of its age, each wait longer than the one
    before (as the cubes of their numbers); the last comes shortly before the end, so that no outage that is
    shorter than the age outlives them.
    """
    if delivery.repeats >= _most_repeats(delivery, settings):
        return None
    if not delivery.repeats:
        return now + delay(1, settings, jitter)
    chance = min(_LAST_CHANCE, settings.age // 10)
    left = max(0, settings.age - chance - age(now, delivery.created_at))
    waits = [number**3 for number in range(delivery.repeats, settings.repeats)]
    # The ledger takes a time that is further ahead for damage.
    return now + min(left * waits[0] // sum(waits), DAY)


def _most_repeats(delivery: Delivery, settings: RetrySettings) -> int:
    # Only the words about work in progress are not worth a second repeat: an answer waits behind them.
    return 1 if delivery.dedupe.startswith(WORKING) else settings.repeats


def before_send(delivery: Delivery, now: int, settings: RetrySettings) -> Next | None:
    """Asked before a pending or unknown delivery is touched: its end if it waited too long, else None."""
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

    A send that was cut off by a crash is `Lost` as well. What was tried and is given up has failed;
    `expired` is for what waited too long untried (`before_send`).
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
            # Recorded as what it is, however old; the next look settles it, or gives it up.
            at = now + delay(attempts + 1, settings, jitter)
            waits = at if settling is Settling.ASK else None
            return Next(
                DeliveryState.UNKNOWN, attempts + 1, waits, repeated=delivery.repeated, reason=result.reason
            )


def after_doubt(
    delivery: Delivery, settling: Settling, now: int, settings: RetrySettings, jitter: float
) -> Next:
    """Settle a delivery of unknown outcome that nobody can be asked about: repeated, or given up.

    With a key it shows once, however often it is repeated. One that only the end of a gateway cut off is
    repeated soon, and not counted: nothing says that the next send fails as well.
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

    What certainly did not arrive is sent again unmarked; what nobody can tell, marked.
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
    """Whether a failing part is tried now instead of at its time.

    One that may have arrived keeps its last repeat for the end of its age. It is repeated at once when
    another send of the account succeeds for the first time since it began to fail: the account works again.
    If it fails even then, the part is at fault and not the account, and it waits as before. One that other
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
    """Whether a failing part leaves its chat's line, so that later replies go on.

    It does when it has failed for long, and once more after another send of the account succeeded; and when
    it would make other messages wait for its last repeat.
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
    """When a failing part is to be judged again by the two rules above; None when time changes nothing."""
    delivery = part.delivery
    if delivery.aside_at is not None:
        return None
    since = (delivery.failing_since, delivery.claimed_at)
    times = [time + settings.aside for time in since if time is not None]
    return min((time for time in times if time > now), default=None)


def missing_line(part: int, parts: int) -> str:
    """The line shown in place of a part the platform would not take; its reason is the operator's to read."""
    which = "This message" if parts == 1 else f"Part {part} of {parts}"
    return f"[{which} could not be shown here: the platform refused it.]"


def left_line(part: int, parts: int, may_have_arrived: bool) -> str:
    """The line shown when a part was given up without the platform having refused it."""
    which = "A message" if parts == 1 else f"Part {part} of {parts} of a message"
    doubt = " It may have been shown all the same." if may_have_arrived else ""
    return f"[{which} could not be delivered here and was left out.{doubt}]"


def unreadable_line() -> str:
    """The line shown in place of a part whose record is damaged, so that its state or its key is lost."""
    return (
        "[A message for this chat could not be read: its record is damaged. It was left out here, unless it "
        "had been shown before. The operator can look at it with `holdfast set-aside`.]"
    )


def late_line(part: int, parts: int, may_have_arrived: bool) -> str:
    """The line that takes the place of a part that stepped aside."""
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
    # Never before the platform's own time; and never at once, lest a platform that is down be hammered. A
    # platform that is down has done nothing to make this part's own wait grow.
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
