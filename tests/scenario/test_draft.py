"""A draft of a turn: what the model is shown of the whole conversation is folded once for each change."""

from holdfast.turns.draft import Draft
from tests.support.ledger import Ledger, answers


async def test_a_long_conversation_is_folded_once_for_each_change(ledger: Ledger) -> None:
    first = await ledger.complete("before")
    draft = Draft(await ledger.begin("now"))
    draft.remember(await ledger.store.transcript(first.session.id))
    before = draft.messages
    assert draft.messages is before
    draft.say(answers("more"))
    assert [message.text for message in draft.messages] == [*(one.text for one in before), "more"]
