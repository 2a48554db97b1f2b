"""Rules that owners gave: stored with the answer, in force until they are revoked, checked at every start."""

from typing import Any

import pytest

from holdfast.errors import RuleRevoked, WrongState
from holdfast.model import CallId, CallState, Claimed, InboxState, QuestionId, QuestionKind, Tail
from holdfast.policy.consent.allowed_calls import Coverage
from holdfast.policy.consent.card import WITH_ALWAYS
from holdfast.store import RULE_USED, Scope
from tests.support.ledger import ANN, BOB, Ledger, address, asks, key, owed, planned

EXACTLY = Coverage("")
GIT = Coverage("coder", "git status")


async def asked(
    ledger: Ledger, chat: str = "c1", id: str = "q1", offers: Coverage | None = EXACTLY, **more: Any
) -> Claimed:
    """A turn that waits for an owner's permission."""
    claimed = await ledger.begin(chat=chat)
    await ledger.append(claimed.fence, asks("c1"), plan=(planned("c1"),))
    may_i = ledger.question(
        id,
        kind=QuestionKind.APPROVAL,
        call_hash="h",
        options=WITH_ALWAYS,
        owed=owed(id, chat=chat),
        offers=offers,
        **more,
    )
    await ledger.append(claimed.fence, ask=(may_i,), tail=Tail.QUESTION)
    await ledger.store.wait(claimed.fence)
    return claimed


async def allowed(ledger: Ledger, chat: str = "c1", id: str = "q1", offers: Coverage = EXACTLY) -> Claimed:
    """The same, and Ann has said always; the turn runs again."""
    await asked(ledger, chat, id, offers)
    await ledger.store.answer(QuestionId(id), await ledger.word("a", chat), "always", ANN, owner=True)
    return await ledger.claim()


async def rules(ledger: Ledger, chat: str = "c1") -> list[int]:
    return [rule.id for rule in await ledger.store.allowed_calls(address(chat))]


async def starts(ledger: Ledger, claimed: Claimed, rule: int) -> None:
    await ledger.append(claimed.fence, start=(CallId("c1"),), under=((CallId("c1"), rule),))


@pytest.mark.guards("R13")
async def test_always_stores_the_rule_that_was_offered_for_the_chat_of_the_work(ledger: Ledger) -> None:
    await asked(ledger, offers=GIT, of_owner=True, asked_of=None)
    row = await ledger.word("always", "ann")
    await ledger.store.answer(QuestionId("q1"), row, "always", ANN, owner=True)
    (rule,) = await ledger.store.allowed_calls(address())
    assert (rule.chat, rule.tool, rule.agent, rule.prefix) == (address(), "tool_c1", "coder", "git status")
    assert (rule.call_hash, rule.arguments, rule.allowed_by) == ("h", "{}", ANN)
    assert rule.allowed_at == ledger.clock.now()
    assert await ledger.store.allowed_calls(address("ann")) == ()
    (question,) = (await ledger.claim()).journal.questions
    assert question.answer == "always"


async def test_a_rule_holds_after_a_crash(ledger: Ledger) -> None:
    await allowed(ledger)
    before = await ledger.store.allowed_calls()
    await ledger.crash()
    assert await ledger.store.allowed_calls() == before != ()


@pytest.mark.parametrize("answer", ["yes", "no"])
async def test_no_other_answer_stores_a_rule(ledger: Ledger, answer: str) -> None:
    await asked(ledger)
    await ledger.store.answer(QuestionId("q1"), await ledger.word("a"), answer, ANN, owner=True)
    assert await ledger.store.allowed_calls() == ()


@pytest.mark.guards("R13")
@pytest.mark.parametrize(("offers", "owner"), [(EXACTLY, False), (None, True), (None, False)])
async def test_who_is_no_owner_stores_none_nor_does_anybody_where_none_was_offered(
    ledger: Ledger, offers: Coverage | None, owner: bool
) -> None:
    await asked(ledger, offers=offers)
    row = await ledger.word("always")
    async with ledger.refused(WrongState):
        await ledger.store.answer(QuestionId("q1"), row, "always", ANN, owner=owner)


async def test_a_question_of_the_model_may_be_answered_with_that_word(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.ask(claimed.fence)
    await ledger.store.answer(QuestionId("q1"), await ledger.word("always"), "always", ANN)
    assert await ledger.store.allowed_calls() == ()


async def test_the_same_rule_is_stored_once_and_anew_once_it_was_revoked(ledger: Ledger) -> None:
    first = await allowed(ledger)
    await ledger.finish(first.fence)
    second = await allowed(ledger, id="q2")
    assert await rules(ledger) == [1]
    await ledger.store.revoke_allowed_call(1, ANN)
    await ledger.finish(second.fence)
    await allowed(ledger, id="q3")
    assert len(await rules(ledger)) == 1 and await rules(ledger) != [1]


@pytest.mark.guards("R13")
async def test_a_call_starts_under_a_rule_and_the_log_says_under_which(ledger: Ledger) -> None:
    claimed = await allowed(ledger)
    await starts(ledger, claimed, 1)
    assert (await ledger.store.journal(claimed.turn.id, 1)).calls[0].state is CallState.STARTED
    story = await ledger.store.trace(claimed.turn.cause)
    (used,) = [one for one in story if one.what == RULE_USED]
    assert used.subject == f"turn:{claimed.turn.id}"
    assert '"call": "c1"' in str(used.detail) and '"rule": 1' in str(used.detail)


@pytest.mark.guards("R13")
async def test_a_call_does_not_start_under_a_rule_that_was_revoked(ledger: Ledger) -> None:
    claimed = await allowed(ledger)
    await ledger.store.revoke_allowed_call(1, BOB)
    assert await rules(ledger) == []
    async with ledger.refused(RuleRevoked):
        await starts(ledger, claimed, 1)


@pytest.mark.guards("R13")
async def test_a_call_does_not_start_under_a_rule_of_another_chat_nor_under_none(ledger: Ledger) -> None:
    await allowed(ledger, "c2", "q2")
    claimed = await asked(ledger)
    await ledger.store.answer(QuestionId("q1"), await ledger.word("yes"), "yes", ANN)
    claimed = await ledger.claim()
    for rule in (1, 99):
        async with ledger.refused(RuleRevoked):
            await starts(ledger, claimed, rule)


async def test_nor_under_a_rule_for_another_tool(ledger: Ledger) -> None:
    claimed = await allowed(ledger)
    await ledger.append(claimed.fence, asks("c2"), plan=(planned("c2"),))
    async with ledger.refused(RuleRevoked):
        await ledger.append(claimed.fence, start=(CallId("c2"),), under=((CallId("c2"), 1),))


async def test_revoking_carries_the_command_out_in_the_same_commit_and_once(ledger: Ledger) -> None:
    await allowed(ledger)
    row = await ledger.command("/allowed revoke 1")
    await ledger.store.revoke_allowed_call(1, ANN, address(), row, (owed("told"),))
    assert (await ledger.store.row(row)).state is InboxState.EXECUTED
    assert [part.dedupe for part in await ledger.outbox()][-1] == "told"
    async with ledger.refused(WrongState):
        await ledger.store.revoke_allowed_call(1, ANN, address(), row, (owed("told again"),))


@pytest.mark.parametrize(("rule", "chat"), [(1, "c2"), (2, "c1")])
async def test_a_rule_of_another_chat_and_one_that_is_not_there_cannot_be_revoked(
    ledger: Ledger, rule: int, chat: str
) -> None:
    await allowed(ledger)
    row = await ledger.command(f"/allowed revoke {rule}")
    async with ledger.refused(WrongState):
        await ledger.store.revoke_allowed_call(rule, ANN, address(chat), row)


@pytest.mark.guards("R13", "R20")
async def test_forgetting_a_conversation_revokes_its_rules_and_erases_their_words(ledger: Ledger) -> None:
    claimed = await allowed(ledger, offers=GIT)
    await ledger.finish(claimed.fence)
    other = await allowed(ledger, "c2", "q2")
    await ledger.finish(other.fence)
    scope = Scope(key(), await ledger.command("/forget everything"))
    assert await ledger.store.quiet(scope)
    await ledger.store.erase(scope)
    assert await rules(ledger) == [] and await rules(ledger, "c2") == [2]
    assert "git status" not in str(ledger.dump())
    async with ledger.refused(WrongState):
        await ledger.store.revoke_allowed_call(1, ANN)
