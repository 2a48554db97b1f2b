"""What `holdfast doctor` finds on this machine; what it means is `policy.health`."""

import asyncio
import fcntl
import os
from pathlib import Path

import httpx
import pytest

from holdfast.clock import SystemClock, SystemIds
from holdfast.config.settings import NamedAgent, Provider, Settings, TelegramSettings
from holdfast.maintenance.doctor import look_over, missing_extras, unit_files
from holdfast.policy.health import Finding, Grade
from holdfast.process.systemd_unit import unit_text
from holdfast.store import open_ledger
from holdfast.testing.fakes.botapi import TOKEN, BotApi, BotPeople, serving
from holdfast.tools.mcp import McpSettings
from tests.support.loops import on_a_loop


def looked(home: Path, *units: Path) -> dict[str, Finding]:
    return {one.check: one for one in asyncio.run(look_over(Settings(home), SystemClock(), units))}


def with_ledger(home: Path) -> None:
    async def made() -> None:
        clock = SystemClock()
        await (await open_ledger(home, clock, SystemIds(clock))).close()

    asyncio.run(made())


def test_a_home_where_nothing_ran_is_no_fault_and_nothing_is_made(tmp_path: Path) -> None:
    found = looked(tmp_path / "home")
    assert all(one.grade is not Grade.BAD for one in found.values())
    assert not (tmp_path / "home").exists()


def test_the_unit_we_print_gives_a_stop_its_time_and_a_shorter_one_does_not(tmp_path: Path) -> None:
    home, folder = tmp_path / "gateway", tmp_path / ".config" / "systemd" / "user"
    with_ledger(home)
    folder.mkdir(parents=True)
    unit = folder / "holdfast.service"
    unit.write_text(unit_text(Settings(home)))
    (folder / "other.service").write_text("[Service]\nTimeoutStopSec=1\n")
    assert unit in unit_files(tmp_path)
    assert looked(home, *unit_files(tmp_path))["stop"].grade is Grade.WELL
    for given in ("TimeoutStopSec=10", "TimeoutStopSec=1min"):
        lines = unit.read_text().splitlines()
        unit.write_text("\n".join(given if "TimeoutStopSec" in line else line for line in lines))
        stop = looked(home, *unit_files(tmp_path))["stop"]
        assert stop.grade is Grade.BAD and str(unit) in stop.fix


def test_a_home_that_a_silent_process_has_is_told_apart_from_one_that_rests(tmp_path: Path) -> None:
    with_ledger(tmp_path)
    assert looked(tmp_path)["gateway"].grade is Grade.WARN
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        assert looked(tmp_path)["gateway"].grade is Grade.BAD
    finally:
        os.close(folder)


@pytest.mark.parametrize(("mode", "grade"), [(0o755, Grade.WARN), (0o700, Grade.WELL)])
def test_a_ledger_that_others_can_read_is_named(tmp_path: Path, mode: int, grade: Grade) -> None:
    with_ledger(tmp_path)
    tmp_path.chmod(mode)
    (tmp_path / "ledger.db").chmod(0o644)
    assert looked(tmp_path)["home"].grade is grade


def test_every_table_whose_packages_are_missing_is_named_before_anything_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(
        tmp_path,
        agents={"main": NamedAgent("m", Provider.ANTHROPIC)},
        mcp={"time": McpSettings(command="uvx")},
        telegram=TelegramSettings(token_file=Path("none")),
    )
    assert missing_extras(settings) == {}
    monkeypatch.setattr("holdfast.installation.find_spec", lambda name: None)
    found = asyncio.run(look_over(settings, SystemClock(), ()))[:3]
    assert {(one.check, one.grade) for one in found} == {("packages", Grade.BAD)}
    for one, (table, extra) in zip(
        found, [("agents.main", "anthropic"), ("mcp.time", "mcp"), ("telegram", "telegram")], strict=True
    ):
        assert f"[{table}]" in one.words and one.fix.endswith(f"[{extra}]'")
    assert missing_extras(Settings(tmp_path)) == {}, "what is not configured is not missed"


async def _reads(address: str) -> None:
    """Another program with the same token, that comes back whenever it is sent away."""
    async with httpx.AsyncClient(timeout=60) as client:
        while True:
            await client.get(f"{address}/bot{TOKEN}/getUpdates", params={"timeout": 50})


@pytest.mark.guards("O18")
@on_a_loop
async def test_another_reader_of_the_bot_is_found_and_nothing_is_confirmed(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    api = BotApi()
    async with serving(api) as address:
        settings = Settings(tmp_path, telegram=TelegramSettings(token_file=Path("token"), base_url=address))

        async def updates() -> Finding:
            found = await look_over(settings, SystemClock(), ())
            return next(one for one in found if one.check == "updates")

        other = asyncio.ensure_future(_reads(address))
        await api.until(lambda: bool(api.asked("getUpdates")))
        found = await updates()
        other.cancel()
        assert (found.grade, "409" in found.words, bool(found.fix)) == (Grade.BAD, True, True)
        BotPeople(api).add("Ada").write("still here")
        assert (await updates()).grade is Grade.WELL
        assert len(api.updates.pending()) == 1


@on_a_loop
async def test_while_a_process_has_the_home_nobody_asks_for_the_bots_updates(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    api = BotApi()
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        async with serving(api) as address:
            telegram = TelegramSettings(token_file=Path("token"), base_url=address)
            await look_over(Settings(tmp_path, telegram=telegram), SystemClock(), ())
        assert api.asked("getUpdates") == []
    finally:
        os.close(folder)
