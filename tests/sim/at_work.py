"""Canonical scenarios of an agent at work: what it starts, what it works towards, and what it can read."""

from holdfast.config.settings import GatewaySettings
from holdfast.model import OnInterruption
from holdfast.policy.settings import (
    SECOND,
    ApprovalSettings,
    Approver,
    GoalSettings,
    ProgressSettings,
    Ruling,
)
from holdfast.testing import Admit, Babble, BackUp, Bar, Die, FullDisk, Press, Revise, Say, Scenario, Stop

GOALS = GatewaySettings(goals=GoalSettings(budget=3))
"""Few turns, so that they are soon used."""


def bulky(times: int) -> tuple[Say, ...]:
    """Work with long results, one after the other."""
    return tuple(Say(0.1 + 2 * number, "tools bulky") for number in range(times))


AT_WORK = {
    scenario.name: scenario
    for scenario in (
        Scenario(
            "a person is asked, and what has been asked for is gone when they answer again",
            (
                Say(0.1, "tools ask_person"),
                Say(6, "blue", exact=True),
                Press(8, 0),
                Say(9, "green", exact=True),
            ),
        ),
        Scenario("a background process", (Say(0.1, "tools start:4:look"), Say(0.2, "tools read", "b"))),
        Scenario(
            "a background process ends while nobody is there",
            (Say(0.1, "tools start:4 read"), Die(3.5, away=3)),
        ),
        Scenario("a background process ends while a turn runs", (Say(0.1, "tools start:2 read read wait"),)),
        Scenario(
            "a background process ends beside a message", (Say(0.1, "tools start:4"), Say(3.9, "slow 2"))
        ),
        Scenario("a background process says what is waited for", (Say(0.1, "tools start:9:4:look"),)),
        Scenario(
            "a background process is killed", (Say(0.1, "tools start:30 look kill"), Say(5, "tools list"))
        ),
        Scenario("two background processes end", (Say(0.1, "tools start:4+start:5"), Say(9, "plain"))),
        Scenario(
            "a background process is lost with its machine",
            (Say(0.1, "tools serve"), Die(4, power=True), Say(12, "tools look")),
        ),
        Scenario(
            "a background process outlives its conversation",
            (Say(0.1, "tools start:5"), Say(3, "/new"), Say(4, "plain")),
        ),
        Scenario(
            "a conversation with a background process is stopped and forgotten",
            (Say(0.1, "tools start:20+serve read"), Say(0.9, "/stop"), Say(4, "/forget everything")),
        ),
        Scenario(
            "a background process of work that is left",
            # It dies when the process runs and nobody has written that down.
            (Say(0.1, "tools start:3 read"), Die(0.73)),
            GatewaySettings(on_interruption=OnInterruption.NEVER),
        ),
        Scenario(
            "files for people, where they can be sent and where not",
            (
                Say(0.1, "tools give read", platform="telegram"),
                Say(0.2, "tools read+give", "b", "plain"),
                Say(1.5, "tools give give", platform="telegram"),
            ),
        ),
        Scenario(
            "backups while files come and go",
            (
                *(Say(0.1, "tools give give give"), Say(0.3, "tools read give give", "b")),
                *(BackUp(0.7), BackUp(1.0), BackUp(1.3), BackUp(1.6)),
                *(Say(4, "/forget everything"), BackUp(4.1), Say(5, "plain"), BackUp(6)),
            ),
        ),
        Scenario(
            "a page that is followed",
            (
                Say(0.1, "tools read give", platform="web"),
                *(Say(2, "/new", platform="web"), Say(2.1, "plain", platform="web")),
                *(Say(3, "/new", platform="web"), Say(3.5, "plain", platform="web")),
            ),
        ),
        Scenario(
            "a bot on Telegram, in topics and groups",
            (
                Say(0.1, "tools read give effect", "a/1", "bot", attached=True),
                *(Say(0.2, "wordy 200", "b", "bot"), Revise(0.3, "wordy 99", "b", "bot")),
                *(
                    Say(0.5, "tools ask_person give", "group/1", "bot", person="ann"),
                    Babble(0.6, platform="bot"),
                ),
                *(Say(4, "blue", "group/1", "bot", exact=True, person="bob"), Say(5, "slow 2", "a/1", "bot")),
                *(
                    Say(6, "green", "group/1", "bot", exact=True, person="ann"),
                    Say(7, "plain", "stranger", "bot"),
                ),
            ),
            GatewaySettings(progress=ProgressSettings(notice=SECOND)),
        ),
        Scenario(
            "a bot on Telegram whose work needs consent",
            (
                Say(0.1, "tools effect give", "group", "bot", person="ann"),
                *(Press(4, 0, "group", "bot", person="bob"), Press(5, 0, "group", "bot", person="ann")),
            ),
            GatewaySettings(approvals=ApprovalSettings(effect=Ruling.ASK, people=Approver.OWN)),
        ),
        Scenario("a goal that is reached", (Say(0.1, "/goal reach 2"), Say(9, "/goal")), GOALS),
        Scenario("a goal that cannot be reached", (Say(0.1, "/goal block 2"),), GOALS),
        Scenario("a goal whose turns are used", (Say(0.1, "/goal endless"),), GOALS),
        Scenario(
            "a goal whose answer recovery finds",
            (Say(0.1, "/goal talk"), FullDisk(0.4, 0.6), Stop(1.1, at_once=True)),
            GOALS,
        ),
        Scenario("a goal, and somebody writes", (Say(0.1, "/goal endless"), Say(1.4, "plain")), GOALS),
        Scenario(
            "a goal of somebody who is let out",
            (Say(0.1, "/goal endless", "b"), Bar(0.65, "b"), Admit(9, "b"), Say(10, "plain", "b")),
            GOALS,
        ),
        Scenario("a goal is stopped", (Say(0.1, "/goal endless"), Say(1.4, "/goal stop")), GOALS),
        Scenario(
            "a tool that prints a secret of the gateway",
            (Say(0.1, "tools leaky read", platform="lively"), Say(9, "plain", platform="lively")),
        ),
        Scenario("more than a model can read", (*bulky(3), Say(8, "plain")), reads=900),
        Scenario(
            "more than a model can read in one turn", (Say(0.1, "tools bulky bulky read"),), reads=1_100
        ),
    )
}
