"""Every check, when it applies, and how checks are run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from types import MappingProxyType

from holdfast.platforms import Capabilities, Idempotency
from holdfast.policy.delivery.retry import Settling
from holdfast.records import dataclass

from . import display, receive, send
from .stand import Stand, Unfit

_LONG_AFTER = 10**15
PATIENCE = 60.0
"""Seconds after which a check that waits has failed."""
Check = Callable[[Stand], Awaitable[None]]
MakeStand = Callable[[], AbstractAsyncContextManager[Stand]]


@dataclass(frozen=True, slots=True)
class ConformanceRule:
    check: Check
    needs: tuple[str, ...] = ()
    """Methods of the stand that the check needs and some stands lack."""
    applies: Callable[[Capabilities], bool] = lambda can: True


async def faults_of(make: MakeStand) -> tuple[str, ...]:
    """Run every check on its own stand; returns the faults, each with the name of its check."""
    found = []
    for name in CHECKS:
        words = await run_check(name, make)
        if words is not None:
            found.append(f"{name}: {words}")
    return tuple(found)


async def run_check(name: str, make: MakeStand) -> str | None:
    """The fault that this check finds; None if it finds none or does not apply here."""
    rule = CHECKS[name]
    async with make() as stand:
        if not rule.applies(stand.fresh().capabilities) or stand.cannot & {*rule.needs}:
            return None
        try:
            async with asyncio.timeout(PATIENCE):
                await rule.check(stand)
        except Unfit as fault:
            return str(fault)
        except TimeoutError:
            return "it does not finish"
        except Exception as error:  # noqa: BLE001 - a platform that breaks has failed the check it broke in
            return f"it raised {type(error).__name__}: {error}"
    return None


async def left_out(make: MakeStand) -> frozenset[str]:
    """The checks that do not apply to this platform, or that its stand cannot run."""
    async with make() as stand:
        can, cannot = stand.fresh().capabilities, stand.cannot
    return frozenset(name for name, rule in CHECKS.items() if not rule.applies(can) or cannot & {*rule.needs})


CHECKS: Mapping[str, ConformanceRule] = MappingProxyType(
    {
        "is named": ConformanceRule(receive.is_named),
        "says what fits together": ConformanceRule(receive.says_what_fits_together),
        "brings in order": ConformanceRule(receive.brings_in_order),
        "brings again what was not confirmed": ConformanceRule(receive.brings_again_what_was_not_confirmed),
        "forgets what was confirmed": ConformanceRule(receive.forgets_what_was_confirmed),
        "keeps what is written meanwhile": ConformanceRule(
            receive.keeps_what_is_written_meanwhile, applies=lambda can: can.catch_up != 0
        ),
        "sets aside what cannot be read": ConformanceRule(
            receive.sets_aside_what_cannot_be_read, ("babble",)
        ),
        "shows what is sent": ConformanceRule(send.shows_what_is_sent),
        "holds as much as it says": ConformanceRule(send.holds_as_much_as_it_says),
        "gives files": ConformanceRule(send.gives_files, ("stored",), lambda can: can.files > 0),
        "marks what may be a repeat": ConformanceRule(
            send.marks_what_may_be_a_repeat,
            applies=lambda can: can.settling(_LONG_AFTER) is Settling.RESEND_MARKED,
        ),
        "shows a key once": ConformanceRule(
            send.shows_a_key_once, applies=lambda can: can.idempotency is not Idempotency.NONE
        ),
        "says what is there": ConformanceRule(send.says_what_is_there, applies=lambda can: can.reconcile),
        "says what is not there": ConformanceRule(
            send.says_what_is_not_there, ("lose_request",), lambda can: can.reconcile
        ),
        "admits a lost answer": ConformanceRule(send.admits_a_lost_answer, ("lose_answer",)),
        "admits a refusal": ConformanceRule(send.admits_a_refusal, ("block",)),
        "admits that the server is gone": ConformanceRule(send.admits_that_the_server_is_gone, ("go_away",)),
        "keeps to the thread": ConformanceRule(
            display.keeps_to_the_thread, ("open_thread",), lambda can: can.threads
        ),
        "brings the thread": ConformanceRule(
            display.brings_the_thread, ("open_thread",), lambda can: can.threads
        ),
        "brings a press": ConformanceRule(display.brings_a_press, ("press",), lambda can: can.buttons),
        "edits its messages": ConformanceRule(display.edits_its_messages, applies=lambda can: can.edit),
        "shows nothing that stays": ConformanceRule(
            display.shows_nothing_that_stays, applies=lambda can: can.shows
        ),
    }
)
"""Every check by its name."""
