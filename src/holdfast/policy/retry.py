"""What becomes of a delivery after a send: settled, tried again, asked about, or given up with a reason.

`attempts` on a delivery counts the real attempts before the one that is judged here. A throttle or a
platform that is down is no attempt. Chance comes in as `jitter`, a number in [0, 1).
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

from holdfast.model import Delivery, DeliveryState, Lost, Rejected, SendResult, Sent, TryAgain
from holdfast.records import dataclass

from .ages import age
from .settings import RetrySettings

TOO_OLD = "too_old"
TOO_MANY_ATTEMPTS = "too_many_attempts"
_MOST_DOUBLINGS = 64


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


def delay(attempt: int, settings: RetrySettings, jitter: float) -> int:
    """How long to wait after the `attempt`-th failure: growing, capped, spread over its upper half."""
    grown = settings.first * settings.factor ** min(max(attempt, 1) - 1, _MOST_DOUBLINGS)
    return int(min(grown, settings.most) * (0.5 + jitter / 2))


def give_up(attempts: int, created_at: int, now: int, settings: RetrySettings) -> str | None:
    """The reason not to try again, if there is one."""
    if age(now, created_at) > settings.age:
        return TOO_OLD
    return TOO_MANY_ATTEMPTS if attempts >= settings.attempts else None


def before_send(delivery: Delivery, now: int, settings: RetrySettings) -> Next | None:
    """Asked before a pending or unknown delivery is touched: its end if it waited too long, else None."""
    reason = give_up(delivery.attempts, delivery.created_at, now, settings)
    if reason is None:
        return None
    state = DeliveryState.EXPIRED if reason == TOO_OLD else DeliveryState.FAILED
    return Next(state, delivery.attempts, repeated=delivery.repeated, reason=reason)


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
            return _lost(result, delivery, settling, now, settings, jitter)


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
    over = before_send(delivery, now, settings)
    if over is not None:
        return over if arrived is False else replace(over, reason=f"{over.reason}; it may have arrived")
    return Next(
        DeliveryState.PENDING,
        delivery.attempts,
        at=now + delay(delivery.attempts, settings, jitter),
        repeated=delivery.repeated or arrived is None,
        reason=delivery.reason,
    )


def missing_line(part: int, parts: int) -> str:
    """The line shown in place of a part the platform would not take; its reason is the operator's to read."""
    which = "This message" if parts == 1 else f"Part {part} of {parts}"
    return f"[{which} could not be shown here: the platform refused it.]"


def left_line(part: int, parts: int, may_have_arrived: bool) -> str:
    """The line shown when a part was given up without the platform having refused it."""
    which = "A message" if parts == 1 else f"Part {part} of {parts} of a message"
    doubt = " It may have been shown all the same." if may_have_arrived else ""
    return f"[{which} could not be delivered here and was left out.{doubt}]"


def _again(result: TryAgain, delivery: Delivery, now: int, settings: RetrySettings, jitter: float) -> Next:
    attempts = delivery.attempts + result.counts
    over = give_up(attempts, delivery.created_at, now, settings)
    if over is not None:
        return _failed(delivery, attempts, f"{over}: {result.reason}")
    # Never before the platform's own time; and never at once, lest a platform that is down be hammered.
    waited = delay(attempts, settings, jitter)
    return Next(
        DeliveryState.PENDING,
        attempts,
        at=max(result.at, now + waited),
        repeated=delivery.repeated,
        reason=result.reason,
    )


def _lost(
    result: Lost,
    delivery: Delivery,
    settling: Settling,
    now: int,
    settings: RetrySettings,
    jitter: float,
) -> Next:
    attempts = delivery.attempts + 1
    at = now + delay(attempts, settings, jitter)
    if settling is Settling.ASK:
        # Asking shows nobody anything, so it is done also when no further send would be.
        return Next(DeliveryState.UNKNOWN, attempts, at, repeated=delivery.repeated, reason=result.reason)
    over = give_up(attempts, delivery.created_at, now, settings)
    if over is not None:
        return _failed(delivery, attempts, f"{over}: {result.reason}; it may have arrived")
    marked = delivery.repeated or settling is Settling.RESEND_MARKED
    return Next(DeliveryState.PENDING, attempts, at, repeated=marked, reason=result.reason)


def _failed(delivery: Delivery, attempts: int, reason: str) -> Next:
    return Next(DeliveryState.FAILED, attempts, repeated=delivery.repeated, reason=reason)
