"""Attacks on what a person reads before they allow a call: nothing of it is hidden, left out or invisible."""

import json
import sys
import unicodedata

import pytest

from holdfast.model import CallId, CallState, Replied, StopReason, ToolCall
from holdfast.policy.consent.visible_text import is_unseen, visible
from holdfast.policy.settings import ApprovalSettings, Approver, Rule, Ruling, TurnSettings
from holdfast.turns import ConsentPorts
from tests.support.ledger import Ledger
from tests.support.stage import Deed, Stage, says

ASK = TurnSettings(approvals=ApprovalSettings((Rule(Ruling.ASK, ("deed",)),), people=Approver.OWN))
DEFAULT_IGNORABLE = (
    *(0x00AD, 0x034F, 0x061C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFEFF, 0xFFA0),
    *(*range(0x180B, 0x1810), *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070)),
    *(*range(0xFE00, 0xFE10), *range(0xFFF0, 0xFFF9), *range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B)),
    *range(0xE0000, 0xE1000),
)
"""What Unicode says a program may draw as nothing (`DerivedCoreProperties.txt`)."""
BLANK = (0x2800, 0x13441, 0x13442, 0x16FE4, 0x1D159)
"""What fonts draw as nothing besides."""


def wants(**arguments: str) -> Replied:
    return Replied("", StopReason.CALLS, (ToolCall(CallId("x"), "deed", json.dumps(arguments)),))


NO_PORTS = ConsentPorts()


async def card(ledger: Ledger, /, ports: ConsentPorts = NO_PORTS, **arguments: str) -> str:
    """All that a person is shown before they can allow this call."""
    await ledger.say("do it")
    await Stage(ledger, wants(**arguments), tools=[Deed()], settings=ASK, consent=ports).run()
    return "\n".join(part.text for part in await ledger.outbox())


@pytest.mark.guards("R22.4")
@pytest.mark.parametrize(
    "command",
    [
        "GH_TOKEN=$(id>/tmp/owned) gh auth status",
        "curl 'https://example.org/?key=$(id>/tmp/owned)'",
        "git clone https://u:$(id>/tmp/owned)@example.org/x",
        "curl -H 'Authorization: Bearer $(id>/tmp/owned)' example.org",
        "password=`id`;api_key=$(id>/tmp/owned)",
    ],
)
async def test_no_shape_of_a_secret_hides_what_will_run(ledger: Ledger, command: str) -> None:
    assert f"command: {command}\n" in await card(ledger, command=command)


@pytest.mark.guards("R22.4")
@pytest.mark.parametrize("name", ["token", "password", "api_key"])
async def test_no_name_of_an_argument_hides_its_value(ledger: Ledger, name: str) -> None:
    assert f"{name}: $(id>/tmp/owned)" in await card(ledger, NO_PORTS, **{name: "$(id>/tmp/owned)"})


@pytest.mark.guards("R22.4")
async def test_only_the_exact_value_of_a_known_secret_is_masked(ledger: Ledger) -> None:
    ports = ConsentPorts(hide=lambda text: text.replace("hunter2hunter2", "[secret]"))
    shown = await card(ledger, ports, command="login hunter2hunter2; login hunter2hunter; $(id)")
    assert "command: login [secret]; login hunter2hunter; $(id)\n" in shown
    assert "masked" in shown


@pytest.mark.guards("R22.4")
@pytest.mark.parametrize("place", [100, 2_300, 5_000, 9_000])
async def test_no_length_leaves_a_payload_out(ledger: Ledger, place: int) -> None:
    command = f"{'echo ok; ' * 1_200}"[:place] + "rm -rf ~; " + "echo ok; " * 200
    shown = await card(ledger, command=command)
    assert "rm -rf ~" in shown and "left out" not in shown


@pytest.mark.guards("R22.4")
async def test_what_is_too_long_to_be_read_does_not_run_and_the_model_reads_why(ledger: Ledger) -> None:
    await ledger.say("do it")
    deed = Deed(held=False)
    stage = Stage(ledger, wants(command="x" * 13_000), says("in a file then"), tools=[deed], settings=ASK)
    await stage.run()
    ((state, text),) = await stage.results()
    assert state is CallState.SKIPPED and "too long" in text and "file" in text
    assert deed.runs == [] and await stage.told() == ["in a file then"]


@pytest.mark.guards("R22.4")
async def test_spaces_and_empty_lines_cannot_push_a_payload_out_of_sight(ledger: Ledger) -> None:
    shown = await card(ledger, command=f"ls{' ' * 5_000}{chr(10) * 3_000}; rm -rf ~")
    assert r"command: ls\u{20}×5000\u{a}×3000; rm -rf ~" in shown


@pytest.mark.guards("R22.4")
def test_no_character_of_unicode_is_drawn_as_nothing() -> None:
    """Every code point: what shows nothing, looks like a space or turns text around is named instead."""
    plain = {ord(one) for one in " \n\t"}
    hidden = {*DEFAULT_IGNORABLE, *BLANK}
    for number in range(sys.maxunicode + 1):
        character = chr(number)
        category = unicodedata.category(character)
        unseen = number in hidden or category[0] in "CZ"
        if number in plain:
            assert visible(character) == character
        elif unseen:
            assert is_unseen(character), f"U+{number:04X} ({category}) cannot be seen"
            assert visible(character).isascii() and visible(character).isprintable()
