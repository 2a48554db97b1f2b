"""Check a gateway: this module collects the facts, and `policy.health` says what they mean."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from holdfast.api.client import NotRunning, ask
from holdfast.api.client import RequestDeclined as NotAnswered
from holdfast.api.to_json import Json
from holdfast.clock import Clock
from holdfast.config.load import commands_see, secret
from holdfast.config.settings import LOCAL_PERSON, Reading, Settings
from holdfast.errors import BadConfig
from holdfast.gateway.files.disk_space import free_room
from holdfast.installation import missing_extra
from holdfast.model import ChatAddress, place_at
from holdfast.platforms.telegram.setup_checks import ApiDeclined, ApiNotReached, SetupChecks, TokenRefused
from holdfast.policy.health import (
    BotFacts,
    Finding,
    HomeFacts,
    of_bot,
    of_containment,
    of_extras,
    of_home,
    of_ledger,
)
from holdfast.policy.intake.access import Access, with_grants
from holdfast.process.systemd_unit import stop_seconds
from holdfast.store import LEDGER, LEDGER_ACCOUNT, ReadOnlyLedger, is_taken
from holdfast.tools.containment import INSTALL, Launcher

_OTHERS = 0o077
_TIMEOUT = re.compile(r"(?m)^\s*TimeoutStopSec\s*=\s*(\d+)\s*(s|sec|min|m)?\s*$")
_SYSTEMD_GIVES = 90.0
_LOOK_AGAIN = 2.0
_MOST_GROUPS = 20
_MOST_DAMAGE = 5


async def look_over(settings: Settings, clock: Clock, units: Sequence[Path]) -> tuple[Finding, ...]:
    """All findings about this gateway and its platforms. The check changes nothing."""
    status = await _status(settings.home)
    access, ahead, damage, on_hold = await _kept(settings, clock)
    found = tuple(of_extras(missing_extras(settings)))
    found += (await _containment(settings),)
    found += tuple(of_home(_home(settings, status, access, ahead, units, on_hold)))
    found += tuple(of_ledger(damage))
    if settings.telegram.is_on:
        found += tuple(of_bot(await _bot(settings, clock, status, access)))
    return found


async def _containment(settings: Settings) -> Finding:
    tools = settings.gateway.tools
    launcher = Launcher(tools, commands_see(tools), settings.home)
    probe = await asyncio.to_thread(launcher.probe)
    return of_containment(probe.containment, launcher.required, probe.trouble, INSTALL)


def missing_extras(settings: Settings) -> dict[str, str]:
    """Tables of the configuration whose packages are not installed, each with the install command."""
    needed = {f"agents.{name}": one.provider.value for name, one in settings.agents.items()}
    needed |= {f"mcp.{name}": "mcp" for name in settings.mcp}
    if settings.telegram.is_on:
        needed["telegram"] = "telegram"
    return {table: line for table, extra in needed.items() if (line := missing_extra(extra)) is not None}


def unit_files(home: Path) -> tuple[Path, ...]:
    """The systemd units of this machine, and of the user with this home folder."""
    folders = (home / ".config" / "systemd" / "user", Path("/etc/systemd/system"))
    return tuple(path for folder in folders for path in sorted(folder.glob("*.service")))


async def _status(home: Path) -> Json | None:
    try:
        return await ask(home, "status")
    except (NotRunning, NotAnswered):
        return None


async def _kept(settings: Settings, clock: Clock) -> tuple[Access, int, tuple[str, ...], int]:
    """Facts of the ledger: who may talk, how far it is ahead of the clock, its damaged rows, and the number
    of conversations on hold."""
    path = settings.home / LEDGER
    if not path.exists():
        return settings.access, 0, (), 0
    ledger = ReadOnlyLedger(path, clock)
    try:
        runs = await ledger.instances(limit=1)
        access = with_grants(settings.access, await ledger.grants())
        damage = await ledger.set_aside(limit=_MOST_DAMAGE, account=LEDGER_ACCOUNT)
        on_hold = len(await ledger.on_hold())
    finally:
        await ledger.close()
    ahead = runs[0].heartbeat_at - clock.now() if runs else 0
    return access, ahead, tuple(one.reason for one in damage), on_hold


def _home(
    settings: Settings,
    status: Json | None,
    access: Access,
    ahead: int,
    units: Sequence[Path],
    on_hold: int,
) -> HomeFacts:
    home, ledger = settings.home, settings.home / LEDGER
    there = home.exists()
    return HomeFacts(
        str(home),
        there,
        os.access(home, os.W_OK | os.X_OK),
        _is_open(ledger),
        free_room(home)() if there else 0,
        settings.gateway.alerts.disk,
        status is not None,
        status is None and is_taken(home),
        ahead,
        len(access.owners - {LOCAL_PERSON}),
        stop_seconds(settings),
        tuple(found for path in units if (found := _unit(path, home)) is not None),
        on_hold,
    )


def _is_open(ledger: Path) -> bool:
    """Whether other users can read the ledger."""
    if not ledger.exists():
        return False
    return bool(ledger.stat().st_mode & 0o044) and bool(ledger.parent.stat().st_mode & 0o011)


def _unit(path: Path, home: Path) -> tuple[str, float] | None:
    """The unit's path and the seconds it gives a stop, if it runs a gateway on this home."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    if str(home.absolute()) not in text or "holdfast" not in text:
        return None
    given = _TIMEOUT.search(text)
    if given is None:
        return str(path), _SYSTEMD_GIVES
    return str(path), float(given[1]) * (60 if (given[2] or "s").startswith("m") else 1)


async def _bot(settings: Settings, clock: Clock, status: Json | None, access: Access) -> BotFacts:
    telegram = settings.telegram
    file = (settings.home / telegram.token_file).expanduser() if telegram.token_file else None
    facts = BotFacts(str(file) if file else f"the variable {telegram.token_env}")
    try:
        token = secret("telegram.token", telegram.token_env, telegram.token_file, settings.home)
    except BadConfig as error:
        return replace(facts, no_token=str(error))
    facts = replace(facts, token_is_open=file is not None and bool(file.stat().st_mode & _OTHERS))
    asking = SetupChecks(telegram.base_url, token or "", clock)
    try:
        return await _asked(facts, asking, settings, clock, status, access)
    except TokenRefused as error:
        return replace(facts, refused=str(error))
    except (ApiNotReached, ApiDeclined) as error:
        return replace(facts, unreached=str(error))


async def _asked(
    facts: BotFacts,
    asking: SetupChecks,
    settings: Settings,
    clock: Clock,
    status: Json | None,
    access: Access,
) -> BotFacts:
    bot, hook = await asking.bot(), await asking.hook()
    moved, first = True, hook.waiting
    if first and status is not None:
        await clock.sleep(_LOOK_AGAIN)
        hook = await asking.hook()
        moved = hook.waiting < first
    wants = settings.telegram.webhook_url if settings.telegram.reading is Reading.WEBHOOK else None
    return replace(
        facts,
        name=bot.username,
        joins_groups=bot.joins_groups,
        reads_groups=bot.reads_groups,
        ahead=bot.ahead,
        webhook=hook.url,
        wants_webhook=wants,
        trouble=hook.trouble,
        waiting=hook.waiting,
        moved=moved,
        connected=_connected(status),
        read_elsewhere=await _read_elsewhere(asking, settings, status, hook.url),
        groups=tuple([(chat, await _welcome(asking, chat)) for chat in _groups(access, str(bot.id))]),
    )


def _connected(status: Json | None) -> bool | None:
    if status is None:
        return None
    return any(one["name"] == "telegram" and one["connected"] for one in status["platforms"])


async def _read_elsewhere(asking: SetupChecks, settings: Settings, status: Json | None, hook: str) -> bool:
    """Whether another program reads the bot. A running gateway knows; else this asks Telegram."""
    if status is not None:
        troubles = [one["trouble"] or "" for one in status["platforms"] if one["name"] == "telegram"]
        return not hook and any("(409)" in trouble for trouble in troubles)
    if hook or settings.telegram.reading is Reading.WEBHOOK or is_taken(settings.home):
        return False
    return await asking.is_read_elsewhere()


def _groups(access: Access, account: str) -> list[ChatAddress]:
    """The groups of this bot that are let in."""
    places = {chat: place_at(chat) for chat in access.chats}
    ours = [
        chat for chat, place in places.items() if (place.platform, place.account) == ("telegram", account)
    ]
    return sorted(ours)[:_MOST_GROUPS]


async def _welcome(asking: SetupChecks, chat: ChatAddress) -> str | None:
    try:
        await asking.chat(place_at(chat).chat)
    except ApiDeclined as error:
        return str(error)
    return None
