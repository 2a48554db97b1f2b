"""What operators are shown, made from a real ledger: each run's end, what it left, and why."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from holdfast.api.overview import MINUTE, decisions
from holdfast.api.queries import MOST_LISTED, GatewayQueries
from holdfast.model import Batch, InstanceId, Lost, SetAside, Stopped, TurnState
from holdfast.store import Happening
from tests.support.backends import SqliteBackend
from tests.support.ledger import Ledger, owed
from tests.support.loops import on_a_loop


@asynccontextmanager
async def opened(home: Path) -> AsyncIterator[tuple[Ledger, GatewayQueries]]:
    ledger = Ledger(SqliteBackend(home))
    await ledger.open()
    yield ledger, GatewayQueries(ledger.store, ledger.clock)
    await ledger.store.close()


def kept(**more: object) -> str:
    return json.dumps({"owed": 0, "unknown": 0, "waiting": 0, "counts": [], "fates": [], "lines": [], **more})


@on_a_loop
async def test_each_run_says_how_it_ended_and_the_run_after_it_what_was_left(tmp_path: Path) -> None:
    async with opened(tmp_path) as (ledger, _):
        await ledger.store.keep_continuity(kept())
        cut = await ledger.begin()
        ledger.clock.advance(1_000)
        await ledger.store.heartbeat()
        ledger.clock.advance(4_999)
        await ledger.recover("platform_down")
        ledger.clock.advance(30)
        fate = {"turn": cut.turn.id, "found": "running", "became": "hold", "row": "platform_down", "why": "…"}
        await ledger.store.keep_continuity(kept(counts=[["hold", 1]], fates=[fate], waiting=2))
        await ledger.store.end_instance(Stopped.RESTART)
        await ledger.crash()
        found = await GatewayQueries(ledger.store, ledger.clock).overview()
    newest, restarted, crashed = found["runs"]
    assert [run["ended"] for run in found["runs"]] == [None, "restart", "crashed"]
    assert crashed["left"] == {
        "became": [{"outcome": "hold", "count": 1}],
        "owed": 0,
        "unknown": 0,
        "waiting": 2,
    }
    assert (restarted["left"], newest["left"]) == (None, None), "nobody has told of them yet"
    assert (restarted["down_before"], restarted["recovered_after"]) == (5_000, 30)
    assert newest["recovered_after"] is None


@on_a_loop
async def test_the_last_report_leads_to_the_sessions_it_is_about(tmp_path: Path) -> None:
    async with opened(tmp_path) as (ledger, looks):
        claimed = await ledger.begin(chat="c9")
        fates = [{"turn": claimed.turn.id, "found": "running"}, {"turn": "forgotten", "found": "running"}]
        await ledger.store.keep_continuity(kept(fates=fates, lines=["one line"]))
        last = (await looks.overview())["last_report"]
    assert last["lines"] == ["one line"]
    first, second = last["fates"]
    assert (first["session"], first["state"]) == (claimed.session.id, "running")
    assert (second["session"], second["state"]) == (None, None)


@on_a_loop
async def test_an_unreadable_report_spoils_nothing_else(tmp_path: Path) -> None:
    async with opened(tmp_path) as (ledger, looks):
        await ledger.store.keep_continuity("{ damaged")
        found = await looks.overview()
    assert found["last_report"]["lines"] == ["This report cannot be read."]
    assert found["last_report"]["fates"] == []


@on_a_loop
async def test_the_pace_has_a_place_for_every_minute_of_the_last_hour(tmp_path: Path) -> None:
    async with opened(tmp_path) as (ledger, looks):
        ledger.clock.advance(MINUTE - ledger.clock.now() % MINUTE)
        await ledger.complete(chat="too old")
        ledger.clock.advance(MINUTE)
        await ledger.complete(chat="c1")
        failed = await ledger.begin(chat="c2")
        await ledger.finish(failed.fence, TurnState.FAILED)
        ledger.clock.advance(59 * MINUTE)
        await ledger.begin(chat="c3")
        pace = (await looks.overview())["pace"]
    assert [len(pace[name]) for name in ("done", "open", "other")] == [60, 60, 60]
    assert (sum(pace["done"]), pace["done"][0], pace["other"][0], pace["open"][59]) == (1, 1, 1, 1)
    assert pace["since"] % MINUTE == 0


@on_a_loop
async def test_counts_name_what_needs_somebody(tmp_path: Path) -> None:
    async with opened(tmp_path) as (ledger, looks):
        await ledger.begin(chat="c1")
        await ledger.recover("platform_down")
        looks = GatewayQueries(ledger.store, ledger.clock)
        await ledger.store.owe(owed("n"))
        (delivery,) = await ledger.send()
        await ledger.store.record_delivery(delivery.id, Lost("timeout"))
        counts = (await looks.overview())["counts"]
        unknown = await looks.outbox(unknown=True)
    assert counts["turns"] == {"queued": 0, "running": 0, "waiting": 0, "interrupted": 1}
    assert (counts["held"], counts["unknown"], counts["owed"], counts["parked"]) == (1, 1, 0, 0)
    (doubt,) = unknown["deliveries"]
    assert (doubt["id"], doubt["chat"], doubt["reason"]) == (delivery.id, "fake/bot/c1", "timeout")


@on_a_loop
async def test_a_decision_is_told_with_its_row_and_the_facts_it_saw(tmp_path: Path) -> None:
    async with opened(tmp_path) as (ledger, _):
        claimed = await ledger.begin()
        await ledger.recover("platform_down")
        found = await GatewayQueries(ledger.store, ledger.clock).session(claimed.session.id)
    held, interrupted = found["decisions"]
    assert (held["what"], held["row"], held["turn"]) == ("held", "platform_down", claimed.turn.id)
    assert "platform is not connected" in held["found"]
    assert any("interrupted" in fact for fact in held["facts"])
    assert interrupted["detail"] == {"reason": "restart_interrupted"}


@on_a_loop
async def test_no_page_is_longer_than_anybody_reads(tmp_path: Path) -> None:
    async with opened(tmp_path) as (ledger, looks):
        strange = tuple(SetAside(f"e{n}", "strange", "?") for n in range(MOST_LISTED + 1))
        await ledger.store.accept(Batch("bot", unreadable=strange))
        assert len((await looks.set_aside(limit=10**18))["set_aside"]) == MOST_LISTED


def test_facts_of_another_version_are_not_guessed_at() -> None:
    def told(detail: str | None) -> list[str]:
        (decision,) = decisions([Happening(0, "held", "turn:t1", InstanceId("i"), detail)])
        facts: list[str] = decision["facts"]
        return facts

    assert told(None) == told("damaged") == told("[1]") == told('{"facts": [1, 2]}') == []
    assert told('{"row": "of a later version", "facts": {"new": 1}}') == []


@pytest.mark.guards("R8.1")
def test_waiting_for_a_person_is_no_recovery_and_going_on_after_a_cut_is() -> None:
    def decided(*events: tuple[str, str | None]) -> list[str]:
        """Newest first, as the ledger gives them."""
        found = [
            Happening(at, what, "turn:t1", InstanceId("i"), detail)
            for at, (what, detail) in enumerate(events)
        ]
        return [one["what"] for one in decisions(found[::-1])]

    answered = (("waiting", None), ("queued", None), ("claimed", '{"generation": 2}'))
    assert decided(*answered) == []
    before = ("claimed", '{"attempt": 2, "generation": 2}')
    assert decided(*answered[:2], before) == [], "nor is it in a ledger of an older version"
    cut = (
        ("interrupted", '{"reason": "restart_interrupted"}'),
        ("claimed", '{"generation": 2, "resumed": 1}'),
    )
    assert decided(*cut) == ["claimed", "interrupted"]
    assert decided(("waiting", '{"row": "question_open"}')) == ["waiting"], "recovery decided that"
