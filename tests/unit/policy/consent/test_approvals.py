"""R7.3: which calls run, need consent, or never run; and what consent is good for."""

import json
from dataclasses import replace

import pytest

from holdfast.config.keys import with_value
from holdfast.model import (
    Body,
    CallId,
    CallRecord,
    CallState,
    ChatAddress,
    EffectClass,
    Journal,
    PersonId,
    QuestionKind,
    QuestionRecord,
    QuestionState,
)
from holdfast.policy.consent.approvals import Gate, fits
from holdfast.policy.consent.argument_text import call_hash
from holdfast.policy.settings import HOUR, ApprovalSettings, Approver, Rule, Ruling
from holdfast.policy.turn.steps import AskConsent, NextStep, RunTools, Settle, WaitForPerson, next_step
from holdfast.policy.turn.views import view
from tests.support.transcripts import call_row, journal, question, replied, said, transcript

ALLOW, ASK, DENY = Ruling.ALLOW, Ruling.ASK, Ruling.DENY
PLANNED, STARTED = CallState.PLANNED, CallState.STARTED
READ, IDEMPOTENT, EFFECT = EffectClass.READ, EffectClass.IDEMPOTENT, EffectClass.EFFECT
OPEN, ANSWERED = QuestionState.OPEN, QuestionState.ANSWERED
CHAT = ChatAddress("telegram/bot/42")
OWNER = PersonId("telegram:1")
NOW = 10 * HOUR
GIT = Rule(ALLOW, ("terminal",), arguments=(("command", r"git (status|diff)[^;&|$`<>\n]*"),))
NO_RM = Rule(DENY, ("terminal",), matches=r"\brm\b")


def call(name: str = "terminal", arguments: str = "{}", effect: EffectClass = EFFECT) -> CallRecord:
    return CallRecord(CallId("a"), name, arguments, effect, "k", PLANNED)


def ruling(*rules: Rule, of: CallRecord) -> Ruling:
    return Gate(ApprovalSettings(rules), CHAT).ruling(of)


@pytest.mark.guards("R7.3")
@pytest.mark.parametrize(
    ("rules", "of", "expected"),
    [
        ((), call(), ALLOW),
        ((Rule(ASK),), call(), ASK),
        ((Rule(ASK, ("terminal",)),), call(), ASK),
        ((Rule(ASK, ("terminal",)),), call("Terminal"), ALLOW),
        ((Rule(ASK, ("*_file", "terminal")),), call("write_file"), ASK),
        ((Rule(ASK, ("*_file", "terminal")),), call("file_list"), ALLOW),
        ((Rule(ASK, effect=EFFECT),), call(effect=EFFECT), ASK),
        ((Rule(ASK, effect=EFFECT),), call(effect=IDEMPOTENT), ALLOW),
        ((Rule(ASK),), call("ask_person", effect=READ), ALLOW),
        ((Rule(DENY, ("ask_*",)),), call("ask_person", effect=READ), DENY),
        ((Rule(DENY, effect=EFFECT),), call("process_start", effect=IDEMPOTENT), DENY),
        ((Rule(DENY, effect=EFFECT),), call("restart_gateway", effect=IDEMPOTENT), DENY),
        ((Rule(DENY, chat="telegram/*"),), call(), DENY),
        ((Rule(DENY, chat="web/*"),), call(), ALLOW),
        ((Rule(ALLOW, ("terminal",)), Rule(DENY)), call(), ALLOW),
        ((Rule(DENY), Rule(ALLOW, ("terminal",))), call(), DENY),
        ((NO_RM, Rule(ASK)), call(arguments='{"command": "rm -rf /"}'), DENY),
        ((NO_RM, Rule(ASK)), call(arguments='{"command": "r\\u006d -rf /"}'), DENY),
        ((NO_RM, Rule(ASK)), call(arguments='{"command": "warm up"}'), ASK),
        ((GIT, Rule(ASK)), call(arguments='{"command":"git status -s"}'), ALLOW),
        ((GIT, Rule(ASK)), call(arguments='{"command": "git status; rm x"}'), ASK),
        ((GIT, Rule(ASK)), call(arguments='{"cmd": "git status"}'), ASK),
        ((GIT, Rule(ASK)), call(arguments='["git status"]'), ASK),
        ((Rule(ASK, arguments=(("force", "true"),)),), call(arguments='{"force": true}'), ASK),
    ],
)
def test_the_first_rule_that_fits_decides(rules: tuple[Rule, ...], of: CallRecord, expected: Ruling) -> None:
    assert ruling(*rules, of=of) is expected


@pytest.mark.parametrize("effect", EffectClass)
def test_what_no_rule_fits_goes_by_its_class_and_runs_unless_somebody_said_otherwise(
    effect: EffectClass,
) -> None:
    elsewhere = Rule(DENY, ("other",))
    assert ruling(elsewhere, of=call(effect=effect)) is ALLOW
    asks = with_value(ApprovalSettings((elsewhere,)), effect.value, ASK)
    assert Gate(asks, CHAT).ruling(call(effect=effect)) is ASK


@pytest.mark.parametrize("arguments", ['{"command": "ls", "command": "rm x"}', '{"command": "rm', "NaN", ""])
def test_arguments_that_readers_take_differently_slip_past_no_rule_and_through_none(arguments: str) -> None:
    unreadable = call(arguments=arguments)
    assert ruling(replace(NO_RM, matches="nothing like it"), of=unreadable) is DENY
    assert ruling(replace(GIT, arguments=(("command", ".*"),)), Rule(ASK), of=unreadable) is ASK


def step(
    *rows: CallRecord, gate: Gate, questions: tuple[QuestionRecord, ...] = (), seen: Journal | None = None
) -> NextStep:
    turn: list[Body] = [said(), replied("", *[row.id for row in rows])]
    return next_step(view(transcript(turn)), seen or journal(*rows, questions=questions), gate)


def gate(then: Ruling, now: int = NOW) -> Gate:
    return Gate(ApprovalSettings((Rule(then),)), CHAT, now, lambda person: person == OWNER)


def skipped(found: NextStep) -> str:
    assert isinstance(found, Settle)
    (one,) = found.settlements
    assert one.state is CallState.SKIPPED
    return one.text


def consent(answer: str = "yes", at: int = NOW, **more: str) -> QuestionRecord:
    asked = question("a", ANSWERED, QuestionKind.APPROVAL, answer, **more)
    return replace(asked, closed_at=at, answered_by=OWNER)


@pytest.mark.guards("R7.3")
def test_a_call_that_needs_consent_is_asked_about_before_anything_else_runs() -> None:
    one, other = call_row("a", PLANNED, EFFECT), call_row("b", PLANNED, EFFECT)
    assert step(one, other, gate=gate(ASK)) == AskConsent(one)


@pytest.mark.guards("R7.3", "R13")
def test_one_thing_is_asked_at_a_time_and_the_rest_runs_beside_it() -> None:
    asks = Gate(ApprovalSettings(effect=ASK), CHAT, NOW)
    one, other = call_row("a", PLANNED, EFFECT), call_row("b", PLANNED, EFFECT)
    found = step(one, other, gate=asks, questions=(question("a", OPEN),))
    assert isinstance(found, WaitForPerson), "a yes typed now can only mean the first"
    beside = step(one, call_row("b", PLANNED, READ), gate=asks, questions=(question("a", OPEN),))
    assert isinstance(beside, RunTools) and [to.call.id for to in beside.calls] == ["b"]


@pytest.mark.guards("R7.3")
def test_a_yes_lets_its_own_call_run_and_no_other() -> None:
    row = call_row("a", PLANNED, EFFECT)
    assert isinstance(step(row, gate=gate(ASK), questions=(consent(),)), RunTools)
    assert "for another call" in skipped(step(row, gate=gate(ASK), questions=(consent(hash_of="b"),)))
    assert "did not allow it" in skipped(step(row, gate=gate(ASK), questions=(consent("no"),)))


@pytest.mark.guards("R22.5")
@pytest.mark.parametrize("state", [PLANNED, STARTED])
def test_a_yes_of_somebody_who_is_no_owner_now_lets_nothing_run(state: CallState) -> None:
    row = call_row("a", state, IDEMPOTENT)
    lost = replace(consent(), answered_by=PersonId("telegram:2"))
    found = step(row, gate=gate(ASK), questions=(lost,))
    if state is PLANNED:
        assert "no longer an owner" in skipped(found)
    else:
        assert isinstance(found, Settle), "nor is it run again"
    own = Gate(ApprovalSettings((Rule(ASK),), people=Approver.OWN), CHAT, NOW)
    assert isinstance(step(row, gate=own, questions=(lost,)), RunTools), "where people allow their own calls"
    asked = replace(lost, of_owner=True)
    assert not isinstance(step(row, gate=own, questions=(asked,)), RunTools), "but not those of others"


@pytest.mark.guards("R7.3", "C10")
def test_a_yes_given_too_long_ago_says_nothing_about_now() -> None:
    row = call_row("a", PLANNED, EFFECT)
    fresh, stale = consent(at=NOW - HOUR + 1), consent(at=NOW - HOUR)
    assert isinstance(step(row, gate=gate(ASK), questions=(fresh,)), RunTools)
    assert "from too long ago" in skipped(step(row, gate=gate(ASK), questions=(stale,)))
    assert isinstance(step(row, gate=gate(ALLOW), questions=(stale,)), RunTools), "it needs none any more"


@pytest.mark.guards("R7.3")
def test_a_call_that_is_denied_never_runs_whatever_was_said() -> None:
    row = call_row("a", PLANNED, EFFECT)
    assert "forbids it" in skipped(step(row, gate=gate(DENY)))
    assert "forbids it" in skipped(step(row, gate=gate(DENY), questions=(consent(),)))


def test_what_had_started_under_other_rules_is_dealt_with_by_its_class() -> None:
    cut_off = call_row("a", STARTED, READ)
    found = step(cut_off, gate=gate(ASK))
    assert isinstance(found, RunTools) and found.calls[0].again, "it was allowed, and is the same call"
    denied = step(cut_off, gate=gate(DENY))
    assert isinstance(denied, Settle) and denied.settlements[0].state is CallState.UNKNOWN


def test_consent_is_bound_to_the_very_arguments() -> None:
    assert call_hash("pay", '{"to": "ann", "sum": 1}') == call_hash("pay", '{"sum":1,"to":"ann"}')
    assert call_hash("pay", '{"to": "ann", "sum": 1}') != call_hash("pay", '{"to": "ann", "sum": 10}')


@pytest.mark.parametrize(
    "rule", [Rule(ALLOW, matches="rm"), Rule(ALLOW, arguments=(("command", ".*"),))], ids=["found", "whole"]
)
def test_a_text_with_half_a_character_is_let_through_by_no_rule_and_held_by_the_others(rule: Rule) -> None:
    half = call(arguments=json.dumps({"command": "rm \ud83d"}))
    assert not fits(rule, half, CHAT)
    assert fits(replace(rule, then=ASK), half, CHAT) and fits(replace(rule, then=DENY), half, CHAT)
