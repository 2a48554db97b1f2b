"""What `holdfast doctor` says: from the facts, what is well, what is not, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from holdfast.records import dataclass

from .containment import Containment

MB = 1_000_000
SKEW = 60.0
"""Seconds by which two clocks may differ without a finding."""


class Grade(StrEnum):
    """How a check ended."""

    WELL = "well"
    WARN = "warn"
    """It works, but perhaps not as the operator expects."""
    BAD = "bad"
    """Something does not work until the operator changes it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found, and what to do unless all is well."""

    check: str
    grade: Grade
    words: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class HomeFacts:
    """The state of a home and of its gateway."""

    home: str
    exists: bool
    writable: bool
    readable_by_others: bool
    free: int
    """Bytes of free disk."""
    wanted: int
    """Megabytes that should be free."""
    answers: bool
    """A gateway answers on this home."""
    locked: bool
    """A process holds the lock of the home."""
    ahead: int
    """Milliseconds by which the ledger is ahead of this machine's clock; 0 or below when it is not."""
    owners: int
    """How many owners there are, besides the operator at this machine."""
    stop_needs: int
    """Seconds an orderly stop may take."""
    units: tuple[tuple[str, float], ...]
    """systemd units for this home, each with the seconds that it gives a stop."""
    on_hold: int = 0
    """Conversations whose messages wait for an owner."""


@dataclass(frozen=True, slots=True)
class BotFacts:
    """The state of a Telegram bot; what Telegram could not be asked is None."""

    token: str
    """Where the configuration has its token."""
    no_token: str | None = None
    """Why the token cannot be read."""
    token_is_open: bool = False
    """Other users of this machine can read the token."""
    refused: str | None = None
    unreached: str | None = None
    name: str = ""
    joins_groups: bool = True
    reads_groups: bool = True
    ahead: float = 0.0
    """Seconds by which this machine's clock is ahead of Telegram's."""
    webhook: str = ""
    wants_webhook: str | None = None
    """Where the gateway wants Telegram to send updates; None when it asks for them."""
    trouble: str = ""
    """What Telegram says about its last try to send an update."""
    waiting: int = 0
    moved: bool = True
    """Whether fewer updates wait at a second look."""
    connected: bool | None = None
    """Whether the running gateway says that it is connected; None when no gateway runs."""
    read_elsewhere: bool = False
    """Another program asks for this bot's updates."""
    groups: tuple[tuple[str, str | None], ...] = ()
    """The allowed groups, each with what Telegram says if the bot is not a member."""


def of_extras(missing: Mapping[str, str]) -> Iterator[Finding]:
    """A finding for each configuration table whose packages are missing, with the line that installs them."""
    for table, line in missing.items():
        words = f"[{table}] needs packages that are not installed; the gateway does not start without them"
        yield Finding("packages", Grade.BAD, words, line)


def of_containment(found: Containment, required: bool, trouble: str, fix: str) -> Finding:
    """How programs of agents are contained; `trouble` is why it is no better, `fix` what to do about it."""
    if found is Containment.BUBBLEWRAP:
        return Finding("containment", Grade.WELL, f"programs of agents are {found.words}")
    if found is Containment.LANDLOCK:
        words = f"programs of agents are {found.words} ({trouble}): they see which files there are"
        return Finding("containment", Grade.WARN, words, fix)
    if not required:
        words = f"programs of agents are {found.words}: they can read the gateway's token and all your files"
        return Finding("containment", Grade.WARN, words, 'tools.containment = "required"')
    words = f"this machine cannot contain programs of agents, so none is run ({trouble})"
    return Finding("containment", Grade.BAD, words, fix)


def of_home(facts: HomeFacts) -> Iterator[Finding]:
    """The findings about the home and the process on it."""
    yield from _room(facts)
    yield _process(facts)
    yield _clock(facts.ahead / 1_000, "the ledger", "its times")
    yield _owners(facts)
    yield from _on_hold(facts)
    yield from (_unit(unit, given, facts.stop_needs) for unit, given in facts.units)


def of_ledger(damage: Sequence[str]) -> Iterator[Finding]:
    """A finding for each part of the ledger that the gateway could not read or work on."""
    for reason in damage:
        fix = "holdfast set-aside shows what it held; holdfast verify checks the whole ledger"
        yield Finding("ledger", Grade.BAD, reason, fix)
    if not damage:
        yield Finding("ledger", Grade.WELL, "the gateway set nothing of the ledger aside")


def _room(facts: HomeFacts) -> Iterator[Finding]:
    if not facts.exists:
        yield Finding("home", Grade.WARN, f"{facts.home} does not exist yet", "holdfast up makes it")
        return
    if not facts.writable:
        fix = f"make it writable for the user who runs the gateway: chown -R $USER {facts.home}"
        yield Finding("home", Grade.BAD, f"the gateway cannot write to {facts.home}", fix)
    elif facts.readable_by_others:
        words = f"others on this machine can read the ledger in {facts.home}"
        yield Finding("home", Grade.WARN, words, f"chmod -R go= {facts.home}")
    else:
        yield Finding("home", Grade.WELL, f"only you can read {facts.home}")
    free = f"{facts.free // MB:,} MB are free"
    if facts.free < facts.wanted * MB:
        fix = "free some space: on a full disk the gateway accepts no message; or lower alerts.disk"
        yield Finding("disk", Grade.BAD, f"{free}, and {facts.wanted:,} MB should be", fix)
    else:
        yield Finding("disk", Grade.WELL, free)


def _on_hold(facts: HomeFacts) -> Iterator[Finding]:
    if facts.on_hold:
        many = "1 conversation was" if facts.on_hold == 1 else f"{facts.on_hold} conversations were"
        words = f"{many} parked too often: messages there wait until an owner releases them"
        yield Finding("on hold", Grade.WARN, words, "holdfast release lists them and lets them go on")


def _process(facts: HomeFacts) -> Finding:
    if facts.answers:
        return Finding("gateway", Grade.WELL, "it runs, and answers")
    if facts.locked:
        words = "a process uses this home and does not answer: it is starting, stopping, or stuck"
        return Finding(
            "gateway", Grade.BAD, words, "look again in a minute; then holdfast logs, holdfast stop"
        )
    return Finding("gateway", Grade.WARN, "it does not run", "holdfast up")


def _clock(ahead: float, whose: str, what: str) -> Finding:
    if abs(ahead) <= SKEW or (whose == "the ledger" and ahead <= 0):
        return Finding("clock", Grade.WELL, f"this machine's clock and {whose} agree")
    fix = "set the clock, and keep it in step: timedatectl set-ntp true"
    return Finding("clock", Grade.BAD, f"{what} differ from this machine's clock by {abs(ahead):,.0f} s", fix)


def _owners(facts: HomeFacts) -> Finding:
    if facts.owners:
        return Finding("owners", Grade.WELL, f"owners who can act from a chat: {facts.owners}")
    words = "the gateway has no owner who could act from a chat: only you, at this machine, may do everything"
    fix = "write to the bot, then: holdfast pair CODE --owner; or put your id into owners of holdfast.toml"
    return Finding("owners", Grade.WARN, words, fix)


def _unit(unit: str, given: float, needs: int) -> Finding:
    if given >= needs:
        return Finding("stop", Grade.WELL, f"{unit} gives a stop {given:g} s, and it may take {needs} s")
    words = f"{unit} kills the gateway after {given:g} s, and an orderly stop may take {needs} s"
    fix = f"holdfast service print > {unit}, then systemctl daemon-reload; or lower drain.wait"
    return Finding("stop", Grade.BAD, words, fix)


def of_bot(facts: BotFacts) -> Iterator[Finding]:
    """The findings about the bot; without a good token there is nothing more to ask."""
    again = "holdfast setup telegram"
    if facts.no_token is not None:
        yield Finding("telegram token", Grade.BAD, facts.no_token, again)
        return
    if facts.token_is_open:
        words = f"others on this machine can read the token in {facts.token}"
        yield Finding("telegram token", Grade.BAD, words, f"chmod 600 {facts.token}")
    if facts.unreached is not None:
        yield Finding("telegram", Grade.BAD, facts.unreached, "check the network, and telegram.base_url")
        return
    if facts.refused is not None:
        fix = f"take a new one from @BotFather, then {again}"
        yield Finding("telegram token", Grade.BAD, facts.refused, fix)
        return
    yield Finding("telegram", Grade.WELL, f"@{facts.name} answers, and its token is good")
    yield _clock(facts.ahead, "Telegram's", "Telegram's times")
    yield _hook(facts)
    yield from _reading(facts)
    yield from _groups(facts)


def _hook(facts: BotFacts) -> Finding:
    if facts.wants_webhook is None and facts.webhook:
        words = "this bot has a webhook, so the gateway cannot ask Telegram for updates"
        fix = "if you do not need the webhook: holdfast setup telegram --drop-webhook; else use another bot"
        return Finding("webhook", Grade.BAD, words, fix)
    if facts.wants_webhook is not None and facts.webhook != facts.wants_webhook:
        words = "Telegram sends updates elsewhere, or nowhere, and not to telegram.webhook_url"
        fix = "holdfast restart sets it; make sure that no other program sets it, too"
        return Finding("webhook", Grade.BAD, words, fix)
    if facts.trouble:
        fix = "check the proxy before telegram.webhook_port, and its certificate"
        return Finding("webhook", Grade.WARN, f"Telegram says of its last try: {facts.trouble}", fix)
    words = "Telegram sends updates to telegram.webhook_url" if facts.webhook else "the bot has no webhook"
    return Finding("webhook", Grade.WELL, words)


def _reading(facts: BotFacts) -> Iterator[Finding]:
    many = f"{facts.waiting} updates wait" if facts.waiting != 1 else "1 update waits"
    if facts.read_elsewhere:
        words = f"another program reads this bot's messages with the same token (409); {many}"
        fix = (
            "stop the other gateway or program; if you cannot find it: /revoke at @BotFather, then holdfast "
            "setup telegram"
        )
        yield Finding("updates", Grade.BAD, words, fix)
    elif facts.connected is None:
        later = "; the gateway fetches them at its next start" if facts.waiting else ""
        yield Finding("updates", Grade.WELL, f"{many}{later}")
    elif not facts.connected:
        fix = "holdfast logs says why: another gateway with this token, or no network?"
        yield Finding("updates", Grade.BAD, f"the gateway runs and is not connected; {many}", fix)
    elif facts.waiting and not facts.moved:
        words = f"the gateway says that it is connected, but it fetches nothing; {many}"
        fix = "holdfast restart; if that does not help, holdfast logs"
        yield Finding("updates", Grade.BAD, words, fix)
    else:
        yield Finding("updates", Grade.WELL, "the gateway fetches updates")


def _groups(facts: BotFacts) -> Iterator[Finding]:
    if not facts.groups:
        return
    if not facts.joins_groups:
        fix = "/setjoingroups at @BotFather"
        yield Finding("groups", Grade.WARN, "people may not add the bot to groups", fix)
    if not facts.reads_groups:
        words = "privacy mode is on: in groups the bot sees only commands and replies to it"
        fix = "/setprivacy at @BotFather, then take the bot out of the group and add it again"
        yield Finding("groups", Grade.WARN, words, fix)
    for address, trouble in facts.groups:
        if trouble is None:
            yield Finding("groups", Grade.WELL, f"the bot is in {address}")
        else:
            words, fix = f"{address}: {trouble}", f"add the bot there, or holdfast people remove {address}"
            yield Finding("groups", Grade.BAD, words, fix)
