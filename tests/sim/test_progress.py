"""Work that takes long, as people see it: one notice, kept true where it can be, and over in time."""

from dataclasses import replace
from itertools import groupby

import pytest

from holdfast.config.settings import GatewaySettings
from holdfast.policy.settings import MINUTE, SECOND, ProgressSettings
from holdfast.testing import Die, FaultRates, Options, Say, Scenario, Stop, WorldOutcome, run_world
from tests.sim.scenarios import CANONICAL, SEED, SPEAKING, spoken_of

STUCK = replace(SPEAKING, progress=ProgressSettings(SECOND, warn=3 * SECOND, abort=14 * SECOND))
"""A notice is looked at every ten seconds."""


def played(scenario: Scenario | str, **more: object) -> WorldOutcome:
    known = CANONICAL[scenario] if isinstance(scenario, str) else scenario
    outcome = run_world(known, replace(Options(seed=SEED), **more))  # type: ignore[arg-type] # its own fields
    assert outcome.violations == ()
    return outcome


def messages(outcome: WorldOutcome, platform: str = "lively") -> dict[str, list[str]]:
    """What each message about work in progress read, one after the other."""
    read: dict[str, list[str]] = {}
    for seen in outcome.history.seen:
        if seen.platform == platform and seen.what != "beside":
            read.setdefault(seen.message, []).append(seen.text)
    return read


def runs(outcome: WorldOutcome) -> list[tuple[str, int]]:
    """Whose work people saw, in order; a run whose turn it is twice was mixed with another."""
    return [run for run, _ in groupby((seen.turn, seen.generation) for seen in outcome.history.seen)]


@pytest.mark.guards("R12")
def test_long_work_is_spoken_of_by_one_message_edited_in_place_and_ended() -> None:
    ((first, *edits, last),) = messages(played("long work, to its end")).values()
    assert first == "Still working: 1 second so far, now thinking."
    assert edits == [f"Still working: {second} seconds so far, now thinking." for second in (2, 3, 4)]
    assert last == "This is done."


@pytest.mark.guards("R12")
def test_where_messages_cannot_be_changed_it_is_one_message_however_long_it_takes() -> None:
    outcome = played(Scenario("very long work", (Say(0.1, "slow 40", platform="plain"),), SPEAKING))
    assert list(messages(outcome, "plain").values()) == [["Still working: 1 second so far, now thinking."]]


@pytest.mark.guards("R12")
def test_work_that_does_not_take_long_is_not_spoken_of() -> None:
    usual = Scenario("a minute less a little", (Say(0.1, "slow 50", platform="lively"),))
    assert messages(played(usual)) == {}
    longer = Scenario("a minute and more", (Say(0.1, "slow 65", platform="lively"),))
    assert len(messages(played(longer))) == 1


@pytest.mark.guards("R12", "F14")
@pytest.mark.parametrize(
    ("what", "last"),
    [
        ("stopped", "This was stopped."),
        ("left for a new one", "This was stopped."),
        ("overtaken", "This was stopped."),
        ("cut by a restart", "This was interrupted."),
    ],
)
def test_a_follow_up_finds_the_old_notice_and_all_else_of_the_old_run_ended(what: str, last: str) -> None:
    outcome = played(f"long work, {what}")
    old, new = messages(outcome).values()
    assert (old[-1], new[-1]) == (last, "This is done.")
    assert len(runs(outcome)) == 2


@pytest.mark.guards("R12", "R10.4", "F15")
@pytest.mark.parametrize("platform", ["lively", "strong", "asked", "plain"])
def test_after_a_crash_the_dangling_notice_is_ended_before_the_resumed_run_shows_another(
    platform: str,
) -> None:
    acts = (Say(0.1, "slow 5", platform=platform), Die(3))
    outcome = played(Scenario("killed in long work", acts, SPEAKING))
    old, new = messages(outcome, platform).values()
    if platform == "plain":
        assert (len(old), len(new)) == (1, 1), "nothing can be changed there, and nothing is said twice"
    else:
        assert (old[-1], new[-1]) == ("This was interrupted.", "This is done.")
        assert not any("working" in text for text in old[old.index(old[-1]) :])
    assert len(runs(outcome)) == 2


@pytest.mark.guards("R12", "R10.5")
@pytest.mark.parametrize("then", [(), (Die(3),)])
def test_a_notice_that_did_not_leave_while_its_run_lasted_is_not_sent_after_it(then: tuple[Die, ...]) -> None:
    outcome = played(spoken_of("throttled", *then), faults=FaultRates(throttled=1.0))
    assert messages(outcome) == {}
    owed = {line.state for line in outcome.history.ledger.outbox if line.dedupe.startswith("working:")}
    assert owed == {"expired"}
    assert [turn.state for turn in outcome.history.ledger.turns] == ["done"]


@pytest.mark.guards("R12", "H6", "O9")
def test_stuck_is_what_does_not_move_it_is_warned_of_and_then_ended_as_failed() -> None:
    outcome = played(Scenario("hung", (Say(0.1, "hang", platform="lively"),), STUCK))
    (read,) = messages(outcome).values()
    assert any(text.startswith("Still working, but without progress for 1") for text in read)
    assert read[-1] == "This has failed."
    (turn,) = outcome.history.ledger.turns
    assert (turn.state, turn.why) == ("failed", "no_progress")


@pytest.mark.guards("R12", "O9")
def test_long_work_that_moves_is_neither_warned_of_nor_ended() -> None:
    outcome = played(Scenario("long and well", (Say(0.1, "slow 40", platform="lively"),), STUCK))
    (read,) = messages(outcome).values()
    assert not any("without progress" in text for text in read)
    assert outcome.history.ledger.turns[0].state == "done"


@pytest.mark.guards("R10.4", "E8")
def test_previews_are_no_delivery_the_whole_answer_comes_once_whatever_was_shown_of_it() -> None:
    outcome = played("long work, to its end")
    drafts = [seen.text for seen in outcome.history.seen if "a bit" in seen.text]
    assert drafts
    answers = [shown.text for shown in outcome.history.shown if shown.key.startswith("answer:")]
    assert len(answers) == 1
    assert answers[0].startswith("answer to slow 5")


@pytest.mark.guards("R10.4")
def test_previews_that_are_all_lost_lose_nothing_else() -> None:
    losing = FaultRates(throttled=0.9)
    outcome = played(spoken_of("unseen"), faults=losing)
    assert [turn.state for turn in outcome.history.ledger.turns] == ["done"]


@pytest.mark.guards("R10.5")
def test_of_a_run_that_was_overtaken_nothing_is_shown_and_its_reply_is_still_delivered() -> None:
    acts = (Say(0.1, "slow 3", platform="lively"), Say(0.2, "slow 3", platform="lively"))
    outcome = played(Scenario("a queue of long work", acts, SPEAKING))
    assert len(runs(outcome)) == 2
    answers = [shown for shown in outcome.history.shown if shown.key.startswith("answer:")]
    assert len(answers) == 2


@pytest.mark.guards("R12")
def test_each_of_two_chats_has_its_own_notice() -> None:
    acts = (Say(0.1, "slow 4", "a", "lively"), Say(0.2, "slow 4", "b", "lively"))
    outcome = played(Scenario("two at once", acts, SPEAKING))
    assert [texts[-1] for texts in messages(outcome).values()] == ["This is done."] * 2


@pytest.mark.guards("R12")
def test_an_orderly_stop_leaves_no_notice_that_says_work_goes_on() -> None:
    scenario = spoken_of("stopped for good", Stop(3, restart=False, at_once=True))
    outcome = run_world(scenario, Options(seed=SEED, downtime=(3_000.0, 3_000.0)))
    old, *_ = messages(outcome).values()
    assert old[-1] == "This was interrupted."
    assert outcome.deaths[0].count("turn:interrupted1") == 1


def test_the_default_is_a_minute() -> None:
    assert GatewaySettings().progress.notice == MINUTE
