"""The conformance suite: our platforms pass it, and for every check there is a platform that fails it."""

import asyncio
from dataclasses import replace
from functools import partial

import pytest

from holdfast.platforms import Capabilities, Idempotency
from holdfast.testing.conformance import CHECKS, faults_of, left_out, run_check
from holdfast.testing.sim.platforms.kinds import KINDS
from tests.support.stands import FULL, in_memory, on_the_simulators_loop, on_the_web, simulated

FORGETFUL = replace(FULL, idempotency=Idempotency.NONE, reconcile=False)
PLANTED: list[tuple[str, str, Capabilities]] = [
    ("is named", "a strange name", FULL),
    ("is named", "another account", FULL),
    ("says what fits together", "no position", FULL),
    ("says what fits together", "", replace(FULL, repeat_within=5)),
    ("says what fits together", "", replace(FULL, idempotency=Idempotency.WINDOW)),
    ("says what fits together", "", replace(FULL, longest=0)),
    ("brings in order", "out of order", FULL),
    ("brings in order", "one id for all", FULL),
    ("brings in order", "no sender", FULL),
    ("brings again what was not confirmed", "hands out once", FULL),
    ("brings again what was not confirmed", "new ids", FULL),
    ("forgets what was confirmed", "brings all again", FULL),
    ("keeps what is written meanwhile", "drops what waits", FULL),
    ("sets aside what cannot be read", "passes over", FULL),
    ("shows what is sent", "is never sure", FULL),
    ("shows what is sent", "shows twice", FULL),
    ("holds as much as it says", "cuts", FULL),
    ("gives files", "leaves files out", FULL),
    ("marks what may be a repeat", "does not mark", FORGETFUL),
    ("shows a key once", "forgets keys", FULL),
    ("says what is there", "finds nothing", FULL),
    ("says what is not there", "finds all", FULL),
    ("says what is not there", "calls it refused", FULL),
    ("admits a lost answer", "calls it not sent", FULL),
    ("admits a refusal", "hopes", FULL),
    ("admits that the server is gone", "sends to nobody", FULL),
    ("admits that the server is gone", "connects to nobody", FULL),
    ("keeps to the thread", "loses the thread", FULL),
    ("brings the thread", "forgets the thread", FULL),
    ("brings a press", "another question", FULL),
    ("brings a press", "a press without its label", FULL),
    ("edits its messages", "does not edit", FULL),
    ("shows nothing that stays", "leaves drafts", FULL),
]


@pytest.mark.parametrize("capabilities", [FULL, FORGETFUL])
def test_a_platform_that_does_all_it_says_has_no_faults(capabilities: Capabilities) -> None:
    assert asyncio.run(faults_of(partial(in_memory, capabilities))) == ()


@pytest.mark.parametrize(("check", "bug", "capabilities"), PLANTED)
def test_each_check_finds_what_it_is_for(
    check: str, bug: str, capabilities: Capabilities, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.testing.conformance.checks.PATIENCE", 1.0)
    assert asyncio.run(run_check(check, partial(in_memory, capabilities, bug))) is not None


def test_for_each_check_a_bug_is_planted() -> None:
    assert {check for check, _, _ in PLANTED} == set(CHECKS)


def test_the_web_keeps_the_contract() -> None:
    assert asyncio.run(faults_of(on_the_web)) == ()
    assert asyncio.run(left_out(on_the_web)) == {
        "keeps what is written meanwhile",
        "sets aside what cannot be read",
        "marks what may be a repeat",
        "says what is not there",
        "admits a lost answer",
        "admits a refusal",
        "admits that the server is gone",
        "keeps to the thread",
        "brings the thread",
        "brings a press",
        "edits its messages",
    }


@pytest.mark.parametrize("kind", KINDS)
def test_every_platform_of_the_simulator_keeps_the_contract(kind: str) -> None:
    assert on_the_simulators_loop(lambda: faults_of(partial(simulated, kind))) == ()
