"""What operators look at: at one commit, bounded, whatever else the ledger holds."""

import json

import pytest

from holdfast.errors import NotFound
from holdfast.model import (
    Batch,
    CallState,
    DeliveryState,
    Inbound,
    Key,
    Lost,
    PersonId,
    Place,
    SessionId,
    SetAside,
    StopKind,
    Stopped,
    TurnId,
    TurnState,
)
from holdfast.store import MOST_COUNTED, KeptAside, Wanted
from tests.support.ledger import ACCOUNT, Ledger, answers, key, owed, result

MINUTE = 60_000


async def ids(ledger: Ledger, wanted: Wanted, limit: int = 50) -> list[SessionId]:
    """Every session that fits, page by page."""
    found, before = [], None
    while True:
        page = await ledger.store.find_sessions(wanted, before, limit)
        assert len(page.lines) <= limit
        found += [line.id for line in page.lines]
        if page.next is None:
            return found
        before = page.next


async def set_aside(ledger: Ledger, count: int, reason: str = "not JSON") -> None:
    strange = tuple(SetAside(f"{reason}-{n}", reason, f"payload {n}") for n in range(count))
    await ledger.store.accept(Batch(ACCOUNT, unreadable=strange))


async def test_an_empty_ledger_is_an_overview_of_nothing_but_this_run(ledger: Ledger) -> None:
    found = await ledger.store.overview(0)
    assert (found.open_turns, found.begun, found.reports) == ((), (), ())
    assert (found.parked, found.waiting, found.owed, found.unknown, found.set_aside) == (0, 0, 0, 0, 0)
    assert [run.id for run in found.instances] == [ledger.store.instance]


async def test_open_turns_are_counted_by_how_they_stand(ledger: Ledger) -> None:
    await ledger.complete(chat="over")
    for chat in ("i1", "i2"):
        await ledger.begin(chat=chat)
    await ledger.recover("platform_down")
    cut = await ledger.begin(chat="i3")
    await ledger.store.interrupt(cut.fence, "shutdown_timeout")
    await ledger.begin(chat="r1")
    asking = await ledger.begin(chat="c1")
    await ledger.ask(asking.fence)
    found = await ledger.store.overview(0)
    assert {(one.state, one.held): one.count for one in found.open_turns} == {
        (TurnState.INTERRUPTED, True): 2,
        (TurnState.INTERRUPTED, False): 1,
        (TurnState.RUNNING, False): 1,
        (TurnState.WAITING, False): 1,
    }


async def test_what_waits_is_owed_in_doubt_set_aside_and_parked_is_counted(ledger: Ledger) -> None:
    await ledger.begin(chat="c1")
    await ledger.recover("too_many_strikes")
    await ledger.begin(chat="c2")
    await ledger.word("behind it", chat="c2")
    for n in range(3):
        await ledger.store.owe(owed(f"n{n}", chat="c1" if n else "c2"))
    delivery = next(one for one in await ledger.send() if one.dedupe == "n0")
    await ledger.store.record_delivery(delivery.id, Lost("?"))
    await set_aside(ledger, 2)
    found = await ledger.store.overview(0)
    assert (found.parked, found.waiting, found.owed, found.unknown, found.set_aside) == (1, 1, 2, 1, 2)


async def test_what_is_set_aside_is_counted_up_to_a_bound(ledger: Ledger) -> None:
    await set_aside(ledger, MOST_COUNTED + 1)
    assert (await ledger.store.overview(0)).set_aside == MOST_COUNTED


async def test_the_pace_is_what_began_in_each_minute_since_then(ledger: Ledger) -> None:
    await ledger.complete(chat="too old")
    ledger.clock.advance(MINUTE - ledger.clock.now() % MINUTE)
    since = ledger.clock.now()
    await ledger.complete(chat="c1")
    await ledger.complete(chat="c2")
    failing = await ledger.begin(chat="c3")
    await ledger.finish(failing.fence, TurnState.FAILED)
    ledger.clock.advance(2 * MINUTE)
    await ledger.begin(chat="c4")
    found = await ledger.store.overview(since)
    assert {(one.minute - since, one.state): one.count for one in found.begun} == {
        (0, TurnState.DONE): 2,
        (0, TurnState.FAILED): 1,
        (2 * MINUTE, TurnState.RUNNING): 1,
    }


async def test_only_the_newest_runs_report_lists_its_turns(ledger: Ledger) -> None:
    kept = json.dumps({"fates": [{"turn": "t"}], "owed": 1})
    await ledger.store.keep_continuity(kept)
    first = ledger.store.instance
    await ledger.store.end_instance(Stopped.RESTART)
    await ledger.crash()
    await ledger.store.keep_continuity(kept)
    found = await ledger.store.overview(0)
    assert [(run.id, run.stopped) for run in found.instances] == [
        (ledger.store.instance, None),
        (first, Stopped.RESTART),
    ]
    assert [json.loads(one.report) for one in found.reports] == [
        {"fates": [{"turn": "t"}], "owed": 1},
        {"owed": 1},
    ]
    assert [one.instance for one in (await ledger.store.overview(0, runs=1)).reports] == [
        ledger.store.instance
    ]


async def test_a_report_that_cannot_be_read_is_handed_on_as_it_is(ledger: Ledger) -> None:
    await ledger.store.keep_continuity("{ damaged")
    await ledger.crash()
    (found,) = (await ledger.store.overview(0)).reports
    assert found.report == "{ damaged"


async def test_sessions_are_found_by_state_platform_and_text(ledger: Ledger) -> None:
    made = {}
    for chat in ("Home", "office", "homework"):
        made[chat] = (await ledger.complete(chat=chat)).session.id
        ledger.clock.advance(1)
    running = (await ledger.begin(chat="runs")).session.id
    assert await ids(ledger, Wanted()) == [running, *reversed(made.values())]
    assert await ids(ledger, Wanted(text="hOmE")) == [made["homework"], made["Home"]]
    assert await ids(ledger, Wanted(text=made["office"])) == [made["office"]]
    assert await ids(ledger, Wanted(state="done")) == list(reversed(made.values()))
    assert await ids(ledger, Wanted(state="running")) == [running]
    assert await ids(ledger, Wanted(state="running", text="home")) == []
    assert len(await ids(ledger, Wanted(platform="fake"))) == 4
    assert await ids(ledger, Wanted(platform="fak")) == []
    assert await ids(ledger, Wanted(platform="fake/bot")) != [], "a platform and its account"
    assert await ids(ledger, Wanted(text="%")) == [], "nothing in the text is a pattern"


@pytest.mark.parametrize(
    ("row", "state"),
    [("platform_down", "held"), ("platform_down", "interrupted"), ("too_many_strikes", "parked")],
)
async def test_what_recovery_left_is_found_by_how_it_stands(ledger: Ledger, row: str, state: str) -> None:
    await ledger.complete(chat="c0")
    sessions = [(await ledger.begin(chat=f"c{n}")).session.id for n in range(1, 6)]
    await ledger.recover(row)
    assert await ids(ledger, Wanted(state=state), limit=2) == sessions[::-1]
    assert await ids(ledger, Wanted(state=state, text="c3")) == [sessions[2]]


async def test_a_parked_session_that_has_ended_needs_nobody(ledger: Ledger) -> None:
    await ledger.begin()
    await ledger.recover("too_many_strikes")
    await ledger.store.stop(key(), StopKind.NEW, None)
    assert await ids(ledger, Wanted(state="parked")) == []
    assert (await ledger.store.overview(0)).parked == 0


async def test_a_page_comes_in_pieces_and_repeats_nothing(ledger: Ledger) -> None:
    made = []
    for n in range(7):
        made.append((await ledger.complete(chat=f"c{n}")).session.id)
        ledger.clock.advance(1)
    for limit in (1, 2, 3, 7, 50):
        assert await ids(ledger, Wanted(state="done"), limit) == made[::-1]
    await ledger.store.stop(key("c3"), StopKind.NEW, None)
    live = [session for session in made[::-1] if session != made[3]]
    assert await ids(ledger, Wanted(live_only=True), 2) == live


async def test_one_session_is_shown_with_what_its_turns_did(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.start(claimed.fence, "c1")
    await ledger.append(claimed.fence, result("c1"))
    await ledger.recover("platform_down")
    await ledger.settle("resume")
    again = await ledger.claim()
    await ledger.store.finish(again.fence, TurnState.DONE, (answers(),), (owed("reply"),))
    await ledger.store.owe(owed("of the gateway"))
    await ledger.word("next")
    found = await ledger.store.inspect(claimed.session.id)
    assert (found.session.id, [turn.id for turn in found.turns]) == (claimed.session.id, [claimed.turn.id])
    assert [entry.seq for entry in found.entries] == list(range(1, len(found.entries) + 1))
    assert [(call.id, call.name, call.state, call.runs) for call in found.calls] == [
        ("c1", "tool_c1", CallState.DONE, 1)
    ]
    assert [(one.dedupe, one.state) for one in found.deliveries] == [("reply", DeliveryState.PENDING)]
    assert [row.text for row in found.waiting] == ["next"]
    what = [(one.what, json.loads(one.detail or "{}").get("row")) for one in found.happenings]
    assert what == [("claimed", None), ("held", "platform_down"), ("interrupted", None)]


async def test_of_a_long_transcript_its_end_is_shown(ledger: Ledger) -> None:
    for n in range(4):
        await ledger.complete(f"message {n}")
    session = (await ledger.begin("last")).session.id
    whole = await ledger.store.transcript(session)
    found = await ledger.store.inspect(session, entries=3, turns=2)
    assert found.entries == whole[-3:]
    assert len(found.turns) == 2
    with pytest.raises(NotFound):
        await ledger.store.inspect(SessionId("none"))


async def test_a_turn_says_where_it_belongs(ledger: Ledger) -> None:
    claimed = await ledger.begin(chat="c7")
    found = await ledger.store.whereabouts((claimed.turn.id, TurnId("none")))
    (where,) = found.values()
    assert (where.session, where.key, where.state) == (claimed.session.id, key("c7"), TurnState.RUNNING)


async def test_what_is_set_aside_can_be_read_newest_first(ledger: Ledger) -> None:
    await set_aside(ledger, 3, "too long")
    page = await ledger.store.set_aside(limit=2)
    assert [one.payload for one in page] == ["payload 2", "payload 1"]
    (last,) = await ledger.store.set_aside(page[-1].id)
    assert last == KeptAside(last.id, ACCOUNT, "too long-0", "too long", "payload 0", ledger.clock.now())


async def test_every_platform_is_known_that_the_ledger_has_a_chat_of(ledger: Ledger) -> None:
    assert await ledger.store.platforms() == ()
    for platform, chat in (("telegram", "a"), ("tele", "z"), ("web", "b"), ("telegram", "c")):
        where = Place(platform, ACCOUNT, chat)
        said = Inbound(f"{platform}{chat}", Key(where.address), where, PersonId("p:ann"), "hello")
        await ledger.store.accept(Batch(ACCOUNT, (said,)))
    assert await ledger.store.platforms() == ("tele", "telegram", "web")
