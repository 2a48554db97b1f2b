"""Looking for words in a conversation: all its sessions, nothing of others, nothing erased or taken back."""

from holdfast.model import (
    Attachment,
    CallId,
    CallState,
    EffectClass,
    PlannedCall,
    Replied,
    Returned,
    Said,
    StopKind,
    TurnId,
    Undone,
)
from holdfast.store import Remembered, Scope
from tests.support.ledger import Ledger, asks, key, result

NOBODY = TurnId("nobody")


def texts(found: tuple[Remembered, ...]) -> list[str]:
    return [one.entry.body.text for one in found if isinstance(one.entry.body, (Said, Replied, Returned))]


async def search(ledger: Ledger, *words: str, limit: int = 20, chat: str = "c1") -> list[str]:
    return texts(await ledger.store.search(key(chat), words, NOBODY, limit))


async def test_every_session_of_the_conversation_is_looked_through_and_no_other(ledger: Ledger) -> None:
    first = await ledger.complete("a Blue whale, STRASSE Ärger")
    await ledger.store.stop(key(), StopKind.NEW, None)
    second = await ledger.complete("blue cheese")
    await ledger.complete("blue moon", chat="c2")
    found = await ledger.store.search(key(), ("blue",), NOBODY)
    assert texts(found) == ["blue cheese", "a Blue whale, STRASSE Ärger"], "newest first"
    assert [one.session for one in found] == [second.session.id, first.session.id]
    assert await search(ledger, "BLUE", "whale") == ["a Blue whale, STRASSE Ärger"], "all of the words"
    assert await search(ledger, "straße", "ärger") == ["a Blue whale, STRASSE Ärger"], "in any case"
    assert await search(ledger, "blue", limit=1) == ["blue cheese"]
    assert await search(ledger, "moon") == []
    assert await search(ledger, "%", "") == [], "what stands for anything elsewhere stands for itself"


async def test_only_what_was_said_counts_not_what_it_is_kept_in(ledger: Ledger) -> None:
    claimed = await ledger.begin("what is the state")
    await ledger.start(claimed.fence, "c")
    await ledger.append(claimed.fence, result("c", text='a "quoted" result\nof two lines'))
    await ledger.finish(claimed.fence)
    assert await search(ledger, "sender") == []
    assert await search(ledger, '"quoted"', "two") == ['a "quoted" result\nof two lines']
    assert texts(await ledger.store.search(key(), ("state",), claimed.turn.id)) == [], "the turn that asks"


async def test_what_an_earlier_search_found_is_no_finding(ledger: Ledger) -> None:
    claimed = await ledger.begin("look")
    call = PlannedCall(CallId("c"), "history_search", "{}", EffectClass.READ)
    await ledger.append(claimed.fence, asks("c"), plan=(call,), start=(CallId("c"),))
    await ledger.append(claimed.fence, Returned(CallId("c"), CallState.DONE, "the person: a needle"))
    await ledger.finish(claimed.fence)
    assert await search(ledger, "needle") == []


async def test_what_was_taken_back_or_erased_is_not_found(ledger: Ledger) -> None:
    claimed = await ledger.complete("a needle")
    assert await search(ledger, "needle") == ["a needle"]
    entries = await ledger.store.transcript(claimed.session.id)
    undone = Undone(1, entries[-1].seq)
    await ledger.store.mark(claimed.session.id, claimed.session.generation, undone, entries[-1].seq)
    assert await search(ledger, "needle") == []
    await ledger.complete("another needle")
    assert await search(ledger, "needle") == ["another needle"]
    scope = Scope(key(), await ledger.command("/forget everything"))
    assert await ledger.store.quiet(scope)
    await ledger.store.erase(scope)
    assert await search(ledger, "needle") == []


async def test_a_long_result_is_forgotten_with_the_session_that_names_it(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.start(claimed.fence, "c")
    await ledger.store.keep_blob("ab" * 32, 3, "text/plain")
    file = Attachment("ab" * 32, "output", "text/plain", 3)
    await ledger.append(claimed.fence, Returned(CallId("c"), CallState.DONE, "short", (file,)))
    await ledger.finish(claimed.fence)
    entries = await ledger.store.transcript(claimed.session.id)
    assert [one.body.files for one in entries if isinstance(one.body, Returned)] == [(file,)]
    scope = Scope(key(), await ledger.command("/forget everything"))
    await ledger.store.quiet(scope)
    await ledger.store.erase(scope)
    assert await ledger.store.known_blobs([file.digest]) == frozenset()
