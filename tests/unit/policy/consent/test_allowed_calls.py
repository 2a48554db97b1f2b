"""R13: what "always allow this" covers, and what nobody can slip in behind it."""

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from holdfast.model import (
    AllowedCall,
    CallId,
    CallRecord,
    CallState,
    ChatAddress,
    EffectClass,
    Journal,
    PersonId,
    QuestionId,
    QuestionKind,
    QuestionRecord,
    QuestionState,
    TurnId,
)
from holdfast.policy.consent.allowed_calls import coverage, covers, described, rule_words
from holdfast.policy.consent.approvals import Gate
from holdfast.policy.consent.argument_text import call_hash
from holdfast.policy.settings import ApprovalSettings, Rule, Ruling
from holdfast.policy.turn.calls import NeedsConsent, Settlement, ToRun, judge_call

ANN, BOB = PersonId("fake:ann"), PersonId("fake:bob")
CHAT = ChatAddress("fake/acc/c1")
ASKS = ApprovalSettings(effect=Ruling.ASK)
PLAIN = "abcdefghijklmnopqrstuvwxyzABCXYZ0123456789_./:@%+,-"
METACHARACTERS = "\"'`\\$&|;<>(){}[]*?~#!^=\t\n\r\v\f\0\x1b\x7f"
LOOK_ALIKES = "\u00a0\u1680\u2003\u200b\u202f\u3000\ufeff\u2028\u0085\uff1b\uff06\u037e"


def call(name: str, arguments: Mapping[str, object] | str) -> CallRecord:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return CallRecord(CallId("c1"), name, text, EffectClass.EFFECT, "k", CallState.PLANNED)


def shell(command: str, name: str = "terminal", **more: object) -> CallRecord:
    return call(name, {"command": command, **more})


def rule_of(given: CallRecord, agent: str = "", by: PersonId = ANN) -> AllowedCall:
    """The rule that an owner stores who allows this call always."""
    prefix, bound = coverage(given, agent).prefix, call_hash(given.name, given.arguments)
    return AllowedCall(7, CHAT, given.name, agent, bound, prefix, given.arguments, by, 1)


@pytest.mark.parametrize("tool", ["terminal", "process_start"])
@pytest.mark.parametrize(
    ("allowed", "wanted", "is_covered"),
    [
        ("git status", "git status", True),
        ("git status", "git status --short", True),
        ("git status", "git status -sb src/a.py --column=never", True),
        ("git status", "git statusx", False),
        ("git status", "git", False),
        ("git status", "git  status", False),
        ("git status", "git status ", False),
        ("git status", " git status", False),
        ("git status", "git status  --short", False),
        ("git status", "git status A=1", False),
        ("git status", "A=1 git status", False),
        ("git status", "sudo git status", False),
        ("git status --short", "git status", False),
        ("env", "env", True),
        ("env", "env rm", False),
        ("ls | wc", "ls | wc", True),
        ("ls | wc", "ls | wc -l", False),
        ("A=1 make", "A=1 make all", False),
        ("-x y", "-x y z", False),
        ("make 'a b'", "make 'a b' c", False),
        ("make all\n", "make all\n", True),
        ("make all\n", "make all\n x", False),
    ],
)
def test_a_rule_covers_its_command_and_plain_words_behind_a_plain_one(
    tool: str, allowed: str, wanted: str, is_covered: bool
) -> None:
    assert covers(rule_of(shell(allowed, tool)), shell(wanted, tool)) is is_covered


@pytest.mark.parametrize(
    "wanted",
    [
        shell("git status", "process_start"),
        shell("git status", seconds=5),
        shell("git status -s", seconds=5),
        shell("git status", cwd="/"),
        call("terminal", '{"command": "git status", "command": "git status"}'),
        call("terminal", '{"command": ["git status"]}'),
        call("terminal", '["git status"]'),
        call("terminal", "git status"),
        call("terminal", {"Command": "git status"}),
    ],
)
def test_everything_but_the_words_at_the_end_has_to_be_the_same(wanted: CallRecord) -> None:
    assert not covers(rule_of(shell("git status")), wanted)


def test_other_arguments_have_to_be_equal_and_then_the_words_may_differ() -> None:
    rule = rule_of(shell("git log", seconds=5))
    assert covers(rule, shell("git log -3", seconds=5))
    assert not covers(rule, shell("git log -3")) and not covers(rule, shell("git log -3", seconds=6))


@pytest.mark.parametrize("tool", ["pay", "mcp_shell", "terminal2"])
def test_of_any_other_tool_a_rule_covers_exactly_the_call(tool: str) -> None:
    rule = rule_of(shell("git status", tool))
    assert rule.prefix is None
    assert covers(rule, shell("git status", tool))
    assert covers(rule, call(tool, '{ "command":"git status" }')), "however it is spaced"
    assert not covers(rule, shell("git status -s", tool))


words = st.text(st.sampled_from(PLAIN), min_size=1, max_size=8)
commands = st.lists(words, min_size=2, max_size=4).map(" ".join)


@given(commands, st.text(max_size=9), st.sampled_from(METACHARACTERS), st.text(max_size=9))
@example("git status", " ", "\n", "rm x")
@example("git status", " ", ";", " rm x")
@example("git status", " -", "=", "$(x)")
def test_whatever_comes_with_a_metacharacter_is_not_covered(
    allowed: str, before: str, meta: str, after: str
) -> None:
    added = before + meta + after
    # `=` has no meaning in an option, and is plain there.
    assume(meta != "=" or not any(word.startswith("-") for word in (allowed + added).split(" ")))
    assert not covers(rule_of(shell(allowed)), shell(allowed + added))


@given(commands, st.text(max_size=5), st.characters(min_codepoint=128), st.text(max_size=5))
@example("git status", "", "\u00a0", "-s")
@example("git status", " ", "\u0430", "")
@example("git status", " ", LOOK_ALIKES, "")
def test_nothing_beyond_ascii_is_covered(allowed: str, before: str, strange: str, after: str) -> None:
    assert not covers(rule_of(shell(allowed)), shell(allowed + before + strange + after))


@given(commands, st.lists(words, min_size=1, max_size=3))
def test_a_covered_command_is_the_allowed_one_and_words_split_as_a_shell_splits_them(
    allowed: str, more: list[str]
) -> None:
    rule, wanted = rule_of(shell(allowed)), " ".join([allowed, *more])
    if covers(rule, shell(wanted)):
        assert wanted.split() == [*allowed.split(), *more] and wanted.isprintable() and wanted.isascii()


@given(st.text(), st.text())
def test_no_rule_without_a_beginning_covers_two_calls(one: str, other: str) -> None:
    rule = rule_of(shell(one))
    assume(rule.prefix is None)
    assert covers(rule, shell(other)) is (one == other)


def test_a_very_long_command_is_allowed_as_it_is_and_not_as_a_beginning() -> None:
    assert coverage(shell("git " + "a" * 400), "").prefix is None


def test_a_card_says_in_one_sentence_what_would_be_stored() -> None:
    said = rule_words(coverage(shell("git status"), ""), "this chat", everybody=False)
    covered = "commands that begin with `git status`, if only plain words follow"
    assert said == f"Always allow in this chat: {covered}."
    said = rule_words(coverage(shell("ls | wc", seconds=5), "coder"), "the chat `x`", everybody=True)
    assert said == (
        "Always allow in the chat `x`, for everybody who may write there, while the agent `coder` answers: "
        "exactly this call."
    )
    said = rule_words(coverage(shell("git log", seconds=5), ""), "this chat", everybody=False)
    assert "with the other arguments as they are" in said


def test_a_list_says_what_a_rule_covers() -> None:
    assert described(rule_of(shell("git log"))) == (
        "`terminal`: commands that begin with `git log`, if only plain words follow"
    )
    assert described(rule_of(call("pay", {"sum": 1}), "bank")) == (
        '`pay` while `bank` answers: exactly the call with {"sum": 1}'
    )


def gate(*rules: AllowedCall, settings: ApprovalSettings = ASKS, agent: str = "") -> Gate:
    return Gate(settings, CHAT, 1_000, lambda person: person == ANN, agent, rules)


def test_a_rule_lets_a_call_run_unasked_and_is_named() -> None:
    wanted = shell("git status -s")
    assert isinstance(judge_call(wanted, None, 1, gate=gate()), NeedsConsent)
    found = judge_call(wanted, None, 1, gate=gate(rule_of(shell("git status"))))
    assert found == ToRun(wanted, rule=7)


@pytest.mark.parametrize(
    "given",
    [
        gate(rule_of(shell("git status"), by=BOB)),
        gate(rule_of(shell("git status"), agent="other")),
        gate(rule_of(shell("git status"), agent="other"), agent="this"),
        gate(rule_of(shell("git log"))),
    ],
)
def test_a_rule_of_a_former_owner_another_agent_or_another_call_counts_for_nothing(given: Gate) -> None:
    assert isinstance(judge_call(shell("git status"), None, 1, gate=given), NeedsConsent)


def test_a_rule_never_overrides_what_the_configuration_forbids() -> None:
    wanted = shell("git status")
    forbids = replace(ASKS, rules=(Rule(Ruling.DENY, ("terminal",)),))
    found = judge_call(wanted, None, 1, gate=gate(rule_of(wanted), settings=forbids))
    assert isinstance(found, Settlement) and found.state is CallState.SKIPPED


def test_where_nobody_is_asked_no_rule_is_used() -> None:
    wanted = shell("git status")
    allows = ApprovalSettings(effect=Ruling.ALLOW)
    assert judge_call(wanted, None, 1, gate=gate(rule_of(wanted), settings=allows)) == ToRun(wanted)


def answered(wanted: CallRecord, answer: str, at: int = 999, by: PersonId = ANN) -> QuestionRecord:
    bound = call_hash(wanted.name, wanted.arguments)
    return QuestionRecord(
        QuestionId("q"),
        QuestionKind.APPROVAL,
        wanted.id,
        QuestionState.ANSWERED,
        answer=answer,
        call_hash=bound,
        closed_at=at,
        answered_by=by,
    )


def test_always_is_a_yes_to_the_call_itself_also_when_its_rule_is_revoked() -> None:
    wanted = shell("git status")
    assert judge_call(wanted, answered(wanted, "always"), 1, gate=gate()) == ToRun(wanted)


def test_a_no_to_a_call_is_not_undone_by_a_rule() -> None:
    wanted = shell("git status")
    found = judge_call(wanted, answered(wanted, "no"), 1, gate=gate(rule_of(wanted)))
    assert isinstance(found, Settlement) and found.state is CallState.SKIPPED


@pytest.mark.parametrize(("at", "by"), [(-ASKS.expires, ANN), (999, BOB)])
def test_a_rule_takes_the_place_of_a_yes_that_counts_no_more(at: int, by: PersonId) -> None:
    wanted = shell("git status")
    found = judge_call(wanted, answered(wanted, "yes", at, by), 1, gate=gate(rule_of(wanted)))
    assert found == ToRun(wanted, rule=7)


@pytest.mark.parametrize(
    ("state", "generation", "matters"),
    [
        (CallState.PLANNED, 0, True),
        (CallState.STARTED, 1, True),
        (CallState.STARTED, 2, False),
        (CallState.DONE, 1, False),
    ],
)
def test_rules_matter_only_for_calls_that_could_begin(
    state: CallState, generation: int, matters: bool
) -> None:
    one = replace(shell("git status"), state=state, generation=generation)
    journal, allows = Journal(TurnId("t"), 2, (one,)), ApprovalSettings(effect=Ruling.ALLOW)
    assert gate().needs_consent(journal) is matters
    assert not gate(settings=allows).needs_consent(journal)
