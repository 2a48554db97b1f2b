"""R13 on the real ledger: "always allow this" stores a rule, and only an owner stores one."""

import json
from dataclasses import replace

import pytest

from holdfast.inbox import CommandContext, Commands
from holdfast.model import (
    CallId,
    ChatAddress,
    Delivery,
    InboxState,
    OwedKind,
    PersonId,
    QuestionId,
    QuestionState,
    Replied,
    Sent,
    StopReason,
    ToolCall,
    TurnState,
)
from holdfast.policy.intake.access import Access
from holdfast.policy.settings import ApprovalSettings, Approver, Rule, Ruling, TurnSettings
from holdfast.store import RULE_USED
from holdfast.turns import ConsentPorts
from tests.support.ledger import ANN, BOB, Ledger, address
from tests.support.platforms import HalfRng, Reports
from tests.support.stage import Deed, Line, Stage, says

ASK = TurnSettings(approvals=ApprovalSettings((Rule(Ruling.ASK, ("terminal",)),)))
OWN = TurnSettings(approvals=replace(ASK.approvals, people=Approver.OWN))
DENY = TurnSettings(approvals=ApprovalSettings((Rule(Ruling.DENY, ("terminal",)),)))
STATUS = "git status"


def wants(*commands: str) -> Replied:
    calls = tuple(ToolCall(CallId("x"), "terminal", json.dumps({"command": one})) for one in commands)
    return Replied("", StopReason.CALLS, calls)


class House:
    """Ann owns the gateway and reads the chat `ann`; she and Bob write in any other."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.owners = {ANN}
        self.terminal = Deed("terminal", held=False)
        self.stage: Stage
        ledger.arrival = replace(ledger.arrival, owner=self.owners.__contains__)

    async def runs(self, *lines: Line, settings: TurnSettings = ASK) -> None:
        async def where(chat: ChatAddress) -> ChatAddress:
            return address("ann")

        ports = ConsentPorts(owner=self.owners.__contains__, owner_chat=where)
        self.stage = Stage(self.ledger, *lines, tools=[self.terminal], settings=settings, consent=ports)
        await self.stage.run()

    async def asks(
        self,
        command: str = STATUS,
        chat: str = "c1",
        sender: PersonId = ANN,
        settings: TurnSettings = ASK,
    ) -> int:
        """Somebody wants something done that runs this command; how often commands ran by then."""
        await self.ledger.say("do it", chat, sender=sender)
        await self.runs(wants(command), says("done"), settings=settings)
        return len(self.terminal.runs)

    async def card(self, chat: str = "c1") -> Delivery:
        return [part for part in await self.ledger.outbox(chat) if part.kind is OwedKind.QUESTION][-1]

    async def goes_on(self, settings: TurnSettings = ASK) -> int:
        await self.runs(says("done"), settings=settings)
        return len(self.terminal.runs)

    async def allows(self, command: str = STATUS, chat: str = "c1") -> None:
        """Ann is asked, says always, and the command has run."""
        await self.asks(command, chat)
        await self.ledger.say("always", chat)
        assert await self.goes_on() == 1
        self.terminal.runs.clear()

    async def rules(self, chat: str = "c1") -> list[str | None]:
        return [rule.prefix for rule in await self.ledger.store.allowed_calls(address(chat))]

    async def command(self, text: str, sender: PersonId = ANN, chat: str = "c1") -> str:
        """A command is given; what it answers."""
        row = await self.ledger.command(text, chat, sender=sender)
        access = Access(frozenset(self.owners), frozenset({ANN, BOB}))
        desk = CommandContext(self.ledger.store, self.ledger.clock, lambda: access)
        await Commands(desk, HalfRng(), Reports()).carry_out_all()
        (told,) = [part for part in await self.ledger.outbox(chat) if part.dedupe == f"command:{row}"]
        return told.text


@pytest.mark.guards("R13")
@pytest.mark.parametrize("said", ["always", "3", "always allow this", "Always."])
async def test_an_owner_who_says_always_is_not_asked_again(ledger: Ledger, said: str) -> None:
    house = House(ledger)
    assert await house.asks() == 0
    card = await house.card()
    assert card.options == ("allow once", "deny", "always allow this")
    assert "Always allow in this chat" in card.text and "commands that begin with `git status`" in card.text
    row = await ledger.say(said)
    assert (await ledger.store.row(row)).state is InboxState.ANSWERED
    assert await house.rules() == [STATUS]
    assert await house.goes_on() == 1
    assert await house.asks("git status --short") == 2, "unasked"
    story = await ledger.store.trace((await house.stage.turn()).cause)
    assert [one.what for one in story].count(RULE_USED) == 1


@pytest.mark.guards("R13")
async def test_the_rule_holds_after_crashes_and_for_everybody_in_its_chat_alone(ledger: Ledger) -> None:
    house = House(ledger)
    await house.allows()
    await ledger.crash()
    assert await house.asks(sender=BOB) == 1
    assert await house.asks(chat="c2") == 1, "asked there"
    assert (await house.stage.turn("c2")).state is TurnState.WAITING


@pytest.mark.guards("R13")
@pytest.mark.parametrize("command", ["git status; rm -r x", "git status\nrm x", "git statusx", "git push"])
async def test_what_the_rule_does_not_cover_is_asked_about(ledger: Ledger, command: str) -> None:
    house = House(ledger)
    await house.allows()
    assert await house.asks(command) == 0
    assert (await house.stage.turn()).state is TurnState.WAITING


@pytest.mark.guards("R13")
async def test_a_rule_never_lets_run_what_the_configuration_forbids(ledger: Ledger) -> None:
    house = House(ledger)
    await house.allows()
    assert await house.asks(settings=DENY) == 0
    assert (await house.stage.turn()).state is TurnState.DONE


@pytest.mark.guards("R13")
async def test_a_revoked_rule_counts_no_more(ledger: Ledger) -> None:
    house = House(ledger)
    await house.allows()
    assert "1. `terminal`: commands that begin with `git status`" in await house.command("/allowed")
    assert "only an owner" in await house.command("/allowed revoke 1", BOB)
    assert "no rule 1 is in force in this chat" in await house.command("/allowed revoke 1", chat="c2")
    assert "no rule 9 is in force" in await house.command("/allowed revoke 9")
    for unknown in ("revoke x", "show 1", "revoke"):
        assert "nothing was changed" in await house.command(f"/allowed {unknown}")
    assert await house.rules() == [STATUS]
    assert "Rule 1 is revoked" in await house.command("/allowed revoke 1")
    assert "No rule is stored" in await house.command("/allowed")
    assert await house.asks() == 0
    assert (await house.stage.turn()).state is TurnState.WAITING


@pytest.mark.guards("R13")
async def test_a_rule_revoked_between_the_look_and_the_start_lets_nothing_run(ledger: Ledger) -> None:
    house = House(ledger)
    await house.allows()
    await ledger.say("do it")
    house.stage = Stage(ledger, wants(STATUS), tools=[house.terminal], settings=ASK)

    async def revoke() -> None:
        await ledger.store.revoke_allowed_call(1, ANN)

    house.stage.store.after["allowed_calls"] = revoke
    await house.stage.run()
    assert house.terminal.runs == []
    turn = await house.stage.turn()
    assert turn.state is TurnState.WAITING
    (asked,) = await ledger.store.questions((turn.id,))
    assert asked.state is QuestionState.OPEN, "and a person is asked"


@pytest.mark.guards("R13")
async def test_the_rule_of_who_is_no_owner_any_more_does_not_count(ledger: Ledger) -> None:
    house = House(ledger)
    await house.allows()
    house.owners.clear()
    house.owners.add(BOB)
    assert await house.asks(sender=BOB) == 0
    assert (await house.stage.turn()).state is TurnState.WAITING
    assert "does not count" in await house.command("/allowed", BOB)


@pytest.mark.guards("R13", "R22.5")
@pytest.mark.parametrize("said", ["always", "always allow this"])
async def test_who_is_no_owner_gives_at_most_a_yes_and_is_told(ledger: Ledger, said: str) -> None:
    house = House(ledger)
    assert await house.asks(sender=BOB, settings=OWN) == 0
    assert (await house.card()).options == ("allow once", "deny")
    assert "Always" not in (await house.card()).text
    await ledger.say(said, sender=BOB)
    assert "only an owner can allow a call always" in (await ledger.outbox())[-1].text
    assert await house.rules() == []
    assert await house.goes_on(OWN) == 1
    assert await house.asks(sender=BOB, settings=OWN) == 1, "asked again"


@pytest.mark.guards("R13", "R22.5")
async def test_an_owner_asked_elsewhere_gives_the_rule_to_the_chat_of_the_work(ledger: Ledger) -> None:
    house = House(ledger)
    await house.asks(sender=BOB)
    card = await house.card("ann")
    assert f"Always allow in the chat `{address()}`, for everybody who may write there" in card.text
    for text in ("always", "3"):
        loose = await ledger.say(text, "ann")
        assert (await ledger.store.row(loose)).state is InboxState.WAITING, "a loose word answers nothing"
    pressed = QuestionId(card.dedupe)
    by_bob = await ledger.say("always allow this", sender=BOB, pressed=pressed)
    assert (await ledger.store.row(by_bob)).state is InboxState.REFUSED
    assert await house.rules() == []
    await ledger.say("always allow this", "ann", pressed=pressed)
    assert (await house.rules(), await house.rules("ann")) == ([STATUS], [])


@pytest.mark.guards("R13", "R22.5")
async def test_a_reply_to_the_card_stores_the_rule_too(ledger: Ledger) -> None:
    house = House(ledger)
    await house.asks(sender=BOB)
    for part in await ledger.send():
        await ledger.store.record_delivery(part.id, Sent(f"m{part.id}"))
    card = await house.card("ann")
    await ledger.say("always", "ann", replies_to=card.platform_id)
    assert await house.rules() == [STATUS]


@pytest.mark.guards("R13")
async def test_where_the_card_was_sent_before_somebody_was_an_owner_always_is_a_yes(ledger: Ledger) -> None:
    house = House(ledger)
    await house.asks(sender=BOB, settings=OWN)
    house.owners.add(BOB)
    await ledger.say("always", sender=BOB)
    assert "does not offer one" in (await ledger.outbox())[-1].text
    assert await house.rules() == []


@pytest.mark.guards("R13", "R7.3")
async def test_a_call_that_is_not_plain_is_allowed_exactly_as_it_is(ledger: Ledger) -> None:
    house = House(ledger)
    await house.asks("ls | wc")
    assert "exactly this call" in (await house.card()).text
    await ledger.say("always")
    assert await house.goes_on() == 1
    assert await house.asks("ls | wc") == 2
    assert await house.asks("ls | wc -l") == 2
