"""`holdfast doctor`: each fact that is not well is named, with what to do; what is well is left alone."""

from dataclasses import replace

import pytest

from holdfast.policy.health import BotFacts, Finding, Grade, HomeFacts, of_bot, of_home

HOME = HomeFacts(
    "/srv/home",
    exists=True,
    writable=True,
    readable_by_others=False,
    free=2_000_000_000,
    wanted=500,
    answers=True,
    locked=False,
    ahead=-5_000,
    owners=1,
    stop_needs=79,
    units=(("holdfast.service", 84.0),),
)
BOT = BotFacts("/srv/home/telegram.token", name="a_bot", connected=True, groups=(("telegram/1/-100", None),))


def unwell(findings: tuple[Finding, ...]) -> list[tuple[str, Grade]]:
    assert all((one.fix == "") is (one.grade is Grade.WELL) for one in findings)
    return [(one.check, one.grade) for one in findings if one.grade is not Grade.WELL]


def test_of_a_gateway_that_is_well_nothing_is_to_be_done() -> None:
    assert unwell(tuple(of_home(HOME))) == []
    assert unwell(tuple(of_bot(BOT))) == []


@pytest.mark.parametrize(
    ("change", "check", "grade"),
    [
        ({"exists": False}, "home", Grade.WARN),
        ({"writable": False}, "home", Grade.BAD),
        ({"readable_by_others": True}, "home", Grade.WARN),
        ({"free": 499_999_999}, "disk", Grade.BAD),
        ({"answers": False}, "gateway", Grade.WARN),
        ({"answers": False, "locked": True}, "gateway", Grade.BAD),
        ({"ahead": 3_600_000}, "clock", Grade.BAD),
        ({"owners": 0}, "owners", Grade.WARN),
        ({"units": (("holdfast.service", 78.0),)}, "stop", Grade.BAD),
    ],
)
def test_one_thing_wrong_with_the_home_is_one_finding(
    change: dict[str, object], check: str, grade: Grade
) -> None:
    facts = replace(HOME, **change)  # type: ignore[arg-type]  # each is one of its fields
    assert unwell(tuple(of_home(facts))) == [(check, grade)]


@pytest.mark.parametrize(
    ("change", "check", "grade"),
    [
        ({"no_token": "telegram.token_file is empty"}, "telegram token", Grade.BAD),
        ({"read_elsewhere": True}, "updates", Grade.BAD),
        ({"read_elsewhere": True, "connected": False}, "updates", Grade.BAD),
        ({"read_elsewhere": True, "connected": None}, "updates", Grade.BAD),
        ({"token_is_open": True}, "telegram token", Grade.BAD),
        ({"refused": "it does not know this token"}, "telegram token", Grade.BAD),
        ({"unreached": "no answer"}, "telegram", Grade.BAD),
        ({"ahead": 61.0}, "clock", Grade.BAD),
        ({"ahead": -61.0}, "clock", Grade.BAD),
        ({"webhook": "https://elsewhere"}, "webhook", Grade.BAD),
        ({"wants_webhook": "https://here"}, "webhook", Grade.BAD),
        ({"wants_webhook": "https://h", "webhook": "https://h", "trouble": "502"}, "webhook", Grade.WARN),
        ({"connected": False}, "updates", Grade.BAD),
        ({"waiting": 3, "moved": False}, "updates", Grade.BAD),
        ({"joins_groups": False}, "groups", Grade.WARN),
        ({"reads_groups": False}, "groups", Grade.WARN),
        ({"groups": (("telegram/1/-100", "bot was kicked"),)}, "groups", Grade.BAD),
    ],
)
def test_one_thing_wrong_with_the_bot_is_one_finding(
    change: dict[str, object], check: str, grade: Grade
) -> None:
    facts = replace(BOT, **change)  # type: ignore[arg-type]  # each is one of its fields
    assert unwell(tuple(of_bot(facts))) == [(check, grade)]


@pytest.mark.parametrize(
    "change",
    [
        {"waiting": 3, "connected": None, "moved": False},
        {"waiting": 3, "moved": True},
        {"wants_webhook": "https://here", "webhook": "https://here"},
        {"groups": (), "reads_groups": False, "joins_groups": False},
    ],
)
def test_what_only_looks_wrong_is_well(change: dict[str, object]) -> None:
    facts = replace(BOT, **change)  # type: ignore[arg-type]  # each is one of its fields
    assert unwell(tuple(of_bot(facts))) == []


@pytest.mark.guards("R8.4")
@pytest.mark.parametrize(("count", "many"), [(1, "1 conversation was"), (2, "2 conversations were")])
def test_conversations_whose_messages_wait_for_an_owner_are_counted(count: int, many: str) -> None:
    (found,) = [one for one in of_home(replace(HOME, on_hold=count)) if one.check == "on hold"]
    assert found.grade is Grade.WARN and found.words.startswith(f"{many} parked too often")
    assert "holdfast release" in found.fix
