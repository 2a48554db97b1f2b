"""The canonical scenarios that sweeps kill everywhere, and the random ones of worlds."""

from dataclasses import replace

from holdfast.config.settings import DrainSettings, GatewaySettings
from holdfast.model import OnInterruption, Place
from holdfast.policy.settings import (
    HOUR,
    MINUTE,
    SECOND,
    ApprovalSettings,
    Approver,
    LimitSettings,
    ProgressSettings,
    RetrySettings,
    Ruling,
    SafeModeSettings,
)
from holdfast.testing import (
    Act,
    Admit,
    Babble,
    BadGateway,
    Bar,
    BootBeside,
    Die,
    FullDisk,
    Outage,
    Press,
    Revise,
    Say,
    Scenario,
    SetClock,
    Stop,
)
from holdfast.testing.sim.platforms.servers import ACCOUNT
from tests.sim.at_work import AT_WORK

SEED = 2
"""Under which the scenarios do what they are named for."""
SHORT = GatewaySettings(grace=1 * SECOND, drain=DrainSettings(wait=2 * SECOND))
ASKING = GatewaySettings(heartbeat=MINUTE, reconcile=MINUTE, on_interruption=OnInterruption.ASK)
"""Interrupted work is asked about; few rounds, so that an hour is soon over."""


def asked(what: str, *then: Act) -> Scenario:
    """Work that is cut off, in a chat that wants to be asked what becomes of it."""
    return Scenario(f"asked, and {what}", (Say(0.1, "tools read effect"), Die(0.9), *then), ASKING)


CAREFUL = GatewaySettings(
    heartbeat=MINUTE, reconcile=MINUTE, approvals=ApprovalSettings(effect=Ruling.ASK, people=Approver.OWN)
)
"""No effect without consent."""
OWNED = replace(
    CAREFUL, approvals=ApprovalSettings(effect=Ruling.ASK), owner_chat=Place("strong", ACCOUNT, "a").address
)
"""Nor one of other people without the owner's, who reads chat `a`."""


def owned(what: str, *then: Act) -> Scenario:
    """Somebody who is no owner wants something done in chat `b`."""
    return Scenario(
        f"an owner is asked, and {what}", (Say(0.1, "plain"), Say(3, "tools effect", "b"), *then), OWNED
    )


def careful(what: str, *then: Act) -> Scenario:
    """Work of which a person has to allow a part."""
    return Scenario(f"consent is needed, and {what}", (Say(0.1, "tools read effect"), *then), CAREFUL)


QUIET = GatewaySettings(heartbeat=MINUTE, reconcile=20 * SECOND)
"""Few rounds, so that a minute is soon over."""
TOPIC = "group/1"
"""A topic of a group, whose people share one conversation."""


def shared(what: str, settings: GatewaySettings, *then: Act) -> Scenario:
    """Ann's work asks her something where Bob and an owner can write as well."""
    acts = (Say(0.1, "tools read effect read give", TOPIC, person="ann"), *then)
    return Scenario(f"in a shared topic, {what}", acts, settings)


SPEAKING = GatewaySettings(grace=SECOND, progress=ProgressSettings(notice=SECOND))
"""Work is spoken of after a second."""


def spoken_of(what: str, *then: Act) -> Scenario:
    """Long work on a platform that edits, types and shows drafts, and knows no repeated send."""
    return Scenario(f"long work, {what}", (Say(0.1, "slow 5", platform="lively"), *then), SPEAKING)


RARELY = GatewaySettings(heartbeat=5 * MINUTE, reconcile=5 * MINUTE)
"""Few rounds, so that hours are soon over."""
GIVEN_UP = replace(RARELY, retry=RetrySettings(age=2 * HOUR))
"""The last repeat of a part comes before it is two hours old: a world lasts three."""
IMPATIENT = replace(SPEAKING, progress=ProgressSettings(notice=SECOND, warn=2 * SECOND, abort=4 * SECOND))
"""Who says nothing for four seconds is given up."""

CANONICAL = {
    scenario.name: scenario
    for scenario in (
        Scenario("an answer", (Say(0.1, "plain"),)),
        Scenario("every class of tool", (Say(0.1, "tools read effect idempotent reconcilable"),)),
        Scenario("tools side by side", (Say(0.1, "parallel", platform="plain"),)),
        Scenario(
            "a reply of several parts",
            (Say(0.1, "wordy 30", platform="plain"), Say(0.2, "wordy 9", "b", "plain")),
        ),
        Scenario(
            "a queue",
            (
                Say(0.1, "tools effect", platform="asked"),
                Say(0.3, "plain", platform="asked"),
                Say(0.5, "plain", platform="asked"),
            ),
        ),
        Scenario(
            "a queue of three that steers",
            (
                Say(0.1, "/queue steer"),
                Say(0.4, "tools read effect"),
                Say(0.6, "plain"),
                Say(1.1, "tools idempotent"),
                Say(1.3, "plain"),
            ),
        ),
        Scenario(
            "two topics of a chat",
            (
                Say(0.1, "tools read effect", "a/1", "telegram"),
                Say(0.15, "slow 3", "a/2", "telegram"),
                Say(0.5, "plain", "a/1", "telegram"),
                Say(0.6, "wordy 9", "a", "telegram"),
            ),
            SPEAKING,
        ),
        Scenario(
            "answered deliveries",
            (Say(0.1, "plain", platform="hook"), Say(0.15, "tools effect", "b", platform="hook")),
        ),
        Scenario(
            "something unreadable and somebody unknown",
            (Say(0.1, "plain"), Babble(0.11), Say(0.12, "plain", "stranger")),
        ),
        Scenario(
            "somebody let out in the middle of work, and in again",
            (
                Say(0.1, "tools read effect idempotent read", "b"),
                Say(0.5, "plain", "b"),
                Bar(1.3, "b"),
                Say(1.6, "plain", "b"),
                Admit(6, "b"),
                Say(6.5, "plain", "b"),
            ),
        ),
        Scenario(
            "an answer stopped in the middle",
            (Say(0.1, "slow 9", platform="lively"), Say(6, "/stop", platform="lively"), Say(6.5, "plain")),
        ),
        Scenario(
            "an answer cut off, and left as too old",
            (Say(0.1, "slow 20", platform="lively"), Die(9, away=2 * 3600.0), Say(9000, "plain")),
            RARELY,
        ),
        Scenario(
            "replies with effects inside",
            (Say(0.1, "tools read read", platform="lively"), Say(4, "slow 4"), Say(12, "plain")),
            effects=True,
        ),
        Scenario(
            "a reply with effects inside cut off",
            (Say(0.1, "slow 4"), Die(2.5), Say(12, "plain")),
            effects=True,
        ),
        Scenario("a second gateway", (Say(0.1, "tools effect"), BootBeside(0.3))),
        Scenario(
            "one that kills beside one that does not",
            (Say(0.1, "crash"), Say(0.2, "tools read effect", "b", platform="plain")),
        ),
        Scenario(
            "one that kills among five",
            (
                Say(0.1, "plain", "a"),
                Say(0.1, "tools effect", "b"),
                Say(0.2, "crash", "c"),
                Say(0.2, "slow 3", "d", "plain"),
                Say(0.3, "tools read", "e", "plain"),
            ),
        ),
        Scenario(
            "a model that never answers", (Say(0.1, "hang", platform="lively"), Say(0.5, "plain")), IMPATIENT
        ),
        Scenario(
            "poison that is repeated",
            (*(Say(at, "crash") for at in (0.1, 30.0, 42.0, 54.0)), Say(55.0, "plain")),
            QUIET,
        ),
        Scenario(
            "work that safe mode holds until its person writes",
            (Say(0.1, "tools read effect"), Die(0.9), Say(15.0, "plain")),
            replace(QUIET, safe_mode=SafeModeSettings(unclean_exits=1)),
        ),
        Scenario(
            "a suspect that safe mode asks about",
            (Say(0.1, "slow 9"), Die(0.9), Die(11.0), Say(22.0, "plain"), Say(24.0, "continue", exact=True)),
            replace(QUIET, safe_mode=SafeModeSettings(unclean_exits=2)),
        ),
        Scenario("a restart in the middle", (Say(0.1, "tools read effect"), Stop(0.7))),
        Scenario(
            "forgetting in the middle of work",
            (
                Say(0.1, "plain"),
                Say(0.5, "tools read effect"),
                Say(0.9, "/forget everything"),
                Say(1.0, "plain"),
            ),
        ),
        Scenario(
            "a drain with one that finishes and one that does not",
            (Say(0.1, "slow 2"), Say(0.2, "tools effect read", "b"), Say(0.2, "slow 9", "c"), Stop(1)),
            SHORT,
        ),
        Scenario(
            "a stop at once that meets a turn just claimed",
            (Say(0.1, "slow 2", "b"), Stop(0.5, at_once=True, on_claim=True), Say(0.6, "tools effect")),
            SHORT,
        ),
        Scenario(
            "a resume that meets a new message",
            (Say(0.1, "tools read effect"), Say(0.7, "plain"), Die(1), Say(2.5, "plain"), Say(4, "plain")),
        ),
        Scenario(
            "an edit and a withdrawal",
            (
                Say(0.1, "slow 1"),
                Say(0.2, "plain"),
                Revise(0.4, "tools read"),
                Say(0.5, "tools effect"),
                Revise(0.7, None),
            ),
        ),
        Scenario(
            "taken back before it was read",
            (
                Say(0.1, "tools effect", platform="hook"),
                Revise(0.11, None, platform="hook"),
                Say(0.12, "plain"),
            ),
        ),
        Scenario("stop", (Say(0.1, "tools read effect"), Say(0.8, "/stop"), Say(1.0, "plain"))),
        Scenario("new", (Say(0.1, "slow 1"), Say(0.5, "plain"), Say(0.7, "/new"), Say(0.9, "plain"))),
        Scenario("undo", (Say(0.1, "tools effect"), Say(2.5, "/undo"), Say(3.5, "plain"))),
        Scenario("retry", (Say(0.1, "tools effect"), Say(2.5, "/retry"), Say(3.5, "plain"))),
        Scenario(
            "an answer of several parts that recovery finds",
            # The end finds no room; what there is of it is kept by the stop, and owed by the next process.
            (Say(0.1, "wordy 30", platform="plain"), FullDisk(0.4, 0.6), Stop(1.1, at_once=True)),
        ),
        asked("told to continue", Say(9, "continue", exact=True), Say(12, "plain")),
        asked("told to drop it", Say(9, "drop", exact=True), Say(12, "plain")),
        asked("something else is said", Say(9, "plain"), Say(12, "continue", exact=True)),
        asked("nobody answers", SetClock(20, HOUR + MINUTE), Say(90, "plain")),
        careful("given", Say(9, "yes", exact=True), Say(12, "plain")),
        careful("given by a button", Press(9, 0), Press(9.1, 0), Say(12, "plain")),
        Scenario(
            "an owner allows a call always, has it done again and revokes that",
            (
                Say(0.1, "tools usual"),
                Press(5, 2),
                Say(8, "tools usual read"),
                Say(13, "/allowed revoke 1"),
                Say(14, "tools usual"),
                Press(20, 1),
            ),
            CAREFUL,
        ),
        Scenario(
            "a call is allowed always in one chat and wanted in another",
            (
                Say(0.1, "tools usual"),
                Say(5, "always", exact=True),
                Say(8, "tools usual", "b"),
                Say(14, "always", "b", exact=True),
                Say(18, "tools usual", "b"),
                Press(24, 1, "b"),
            ),
            CAREFUL,
        ),
        careful("refused", Say(9, "no", exact=True), Say(12, "plain")),
        careful("something else is said", Say(9, "plain"), Say(12, "yes", exact=True)),
        careful("nobody answers", SetClock(20, HOUR + MINUTE), Say(90, "plain")),
        careful(
            "given too late", SetClock(20, HOUR + MINUTE), Say(20.5, "yes", exact=True), Say(90, "plain")
        ),
        careful("the work is stopped", Say(9, "/stop"), Say(9.5, "yes", exact=True)),
        Scenario(
            "consent is needed twice side by side",
            (
                Say(0.1, "tools effect+read+effect"),
                Say(9, "yes", exact=True),
                Say(15, "no", exact=True),
                Say(20, "plain"),
            ),
            CAREFUL,
        ),
        Scenario(
            "a person is asked",
            (Say(0.1, "tools ask_person effect"), Say(9, "blue", exact=True), Say(12, "plain")),
        ),
        Scenario(
            "a person is asked and does not answer",
            (Say(0.1, "tools ask_person read"), SetClock(20, 24 * HOUR + MINUTE), Say(90, "plain")),
            GatewaySettings(heartbeat=MINUTE, reconcile=MINUTE),
        ),
        shared(
            "another says whether to go on",
            ASKING,
            Die(0.9),
            Say(9, "continue", TOPIC, exact=True, person="bob"),
            Say(10, "/resume", TOPIC, person="bob"),
            Say(11, "drop", TOPIC, exact=True, person="bob"),
            Say(13, "continue", TOPIC, exact=True, person="ann"),
        ),
        shared(
            "another lifts a limit",
            replace(ASKING, limits=LimitSettings(steps=2)),
            Press(9, 0, TOPIC, person="bob"),
            Say(10, "continue", TOPIC, exact=True, person="bob"),
            Say(12, "/resume", TOPIC, person="person-a"),
            Say(20, "stop", TOPIC, exact=True, person="ann"),
        ),
        shared(
            "another allows a call",
            CAREFUL,
            Say(9, "yes", TOPIC, exact=True, person="bob"),
            Press(10, 0, TOPIC, person="bob"),
            Say(13, "yes", TOPIC, exact=True, person="ann"),
        ),
        owned("allows it", Press(12, 0), Press(13, 0)),
        owned("refuses", Press(12, 1)),
        Scenario(
            "an owner allows a call always, and is none any more when it is wanted again",
            (
                Say(0.1, "plain"),
                Say(3, "tools usual", "b"),
                Press(12, 2),
                Say(16, "tools usual", "b"),
                Bar(21),
                Say(22, "tools usual", "b"),
            ),
            OWNED,
        ),
        owned("allows it always", Press(12, 2), Say(16, "tools effect", "b"), Press(24, 1)),
        owned("says yes beside it", Say(9, "yes", exact=True), Say(12, "1", exact=True)),
        owned("another allows it", Say(9, "yes", "b", exact=True), Press(10, 0, "b"), Press(14, 0)),
        owned("the work is stopped", Say(9, "/stop", "b"), Press(12, 0)),
        owned("dies before the answer", Die(8), Press(12, 0)),
        owned("is none any more soon after", Press(12, 0), Bar(12.4)),
        Scenario(
            "what is replied to was taken back",
            (
                *(Say(0.1, "tools read give", platform="plain"), Revise(1.5, None, platform="plain")),
                *(Say(3, "wordy 30", platform="asked"), Die(3.6), Revise(3.7, None, platform="asked")),
            ),
        ),
        spoken_of("to its end"),
        spoken_of("stopped", Say(3, "/stop", platform="lively"), Say(3.5, "slow 2", platform="lively")),
        spoken_of(
            "left for a new one", Say(3, "/new", platform="lively"), Say(3.1, "slow 3", platform="lively")
        ),
        spoken_of(
            "overtaken",
            Say(2, "/queue interrupt", platform="lively"),
            Say(3, "slow 3", platform="lively"),
        ),
        spoken_of("cut by a restart", Stop(2.5, at_once=True)),
        Scenario(
            "long work where messages can be asked about, repeated, or nothing",
            (Say(0.1, "slow 3", platform="asked"), Say(0.1, "slow 3"), Say(0.1, "slow 3", platform="plain")),
            SPEAKING,
        ),
        Scenario(
            "work too old to go on",
            (
                Say(0.1, "tools read effect"),
                Die(0.9, away=3, power=True),
                SetClock(1.5, 2 * HOUR),
                Say(15, "plain"),
            ),
        ),
        Scenario(
            "two resumes that hang and one that does not",
            (
                *(Say(0.1, "hang", chat) for chat in "ab"),
                *(Say(0.2, "tools read effect", chat) for chat in "cd"),
                Die(0.9),
                Say(60, "plain", "e"),
            ),
            GatewaySettings(workers=4, progress=ProgressSettings(abort=10 * MINUTE)),
        ),
        Scenario(
            "a wall clock that jumps during work",
            (Say(0.1, "tools read effect"), SetClock(0.8, 2 * HOUR), Stop(0.9, at_once=True)),
        ),
        Scenario(
            "a message too old to run",
            (Die(0.05, away=3), Say(0.5, "tools effect"), SetClock(1, 25 * HOUR), Say(15, "plain")),
        ),
        Scenario(
            "a reply too old to send",
            (Say(0.1, "plain"), Outage(0.5, 30), SetClock(5, 25 * HOUR), Say(40, "plain")),
        ),
        Scenario(
            "a platform that answers nothing of use for half an hour",
            (
                *(Say(0.1, "plain", chat, "plain") for chat in "ab"),
                BadGateway(0.2, 1_800, "plain"),
                Say(900, "plain", "a", "plain"),
            ),
            GIVEN_UP,
        ),
        Scenario(
            "answers that are lost for an hour, and all of it arrives",
            (Say(0.1, "plain", platform="plain"), BadGateway(0.2, 3_000, "plain", arrives=True)),
            GIVEN_UP,
        ),
        Scenario(
            "a part that fails while others arrive",
            (
                BadGateway(0, 3_000, "plain", "#2"),
                Say(0.1, "plain", platform="plain"),
                *(Say(60 * minute, "plain", "b", "plain") for minute in (1, 5)),
                Say(120, "plain", platform="plain"),
            ),
            GIVEN_UP,
        ),
        Scenario("a model that refuses", (Say(0.1, "fail"), Say(0.3, "plain"))),
        Scenario("a full disk in the middle of work", (Say(0.1, "tools read effect"), FullDisk(0.7, 3))),
        Scenario("a resume after a park", (Say(0.1, "crash"), Say(60, "/resume"), Say(61, "plain"))),
    )
} | AT_WORK

SIXTY = Scenario(
    "one that kills beside sixty",
    (
        *(Say(0.1 if number % 2 else 0.8, "slow 5", f"i{number}") for number in range(60)),
        Say(0.4, "crash 2", "culprit"),
        Say(60, "plain", "newcomer"),
    ),
    GatewaySettings(workers=130),
)
"""All run at once when the process dies, and again when it dies once more: then all are suspects."""
