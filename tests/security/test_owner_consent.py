"""People who are no owners try to have their calls run: only an owner's answer to the card lets one run."""

import json
from dataclasses import replace

import pytest

from holdfast.api.chat_snapshot import ChatSnapshots
from holdfast.model import (
    Batch,
    CallId,
    CallState,
    ChatAddress,
    Delivery,
    Inbound,
    InboxState,
    Key,
    OwedKind,
    PersonId,
    Place,
    QuestionId,
    QuestionRecord,
    QuestionState,
    Replied,
    Sent,
    StopKind,
    StopReason,
    ToolCall,
    TurnState,
)
from holdfast.platforms.web import PERMISSIONS
from holdfast.policy.consent.approver import PERSON, OwnChats, owner_chats
from holdfast.policy.settings import HOUR, ApprovalSettings, Approver, Rule, Ruling, TurnSettings
from holdfast.tools import ToolContext
from holdfast.turns import ConsentPorts
from tests.support.ledger import ANN, BOB, Ledger, address, key
from tests.support.stage import Deed, Line, Stage, says

EVE = PersonId("fake:eve")
ASK = TurnSettings(approvals=ApprovalSettings((Rule(Ruling.ASK, ("deed",)),)))
OWN = TurnSettings(approvals=replace(ASK.approvals, people=Approver.OWN))


def wants(*files: str) -> Replied:
    calls = tuple(ToolCall(CallId("x"), "deed", json.dumps({"file": file})) for file in files)
    return Replied("", StopReason.CALLS, calls)


class Club:
    """Ann owns the gateway and reads the chat `ann`; Bob may talk, and writes in `c1`."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.deed = Deed(held=False)
        self.owners = {ANN}
        self.reachable: ChatAddress | None = address("ann")
        self.stage: Stage
        ledger.arrival = replace(ledger.arrival, owner=self.owners.__contains__)

    async def runs(self, *lines: Line, settings: TurnSettings = ASK) -> None:
        async def where(chat: ChatAddress) -> ChatAddress | None:
            return self.reachable

        ports = ConsentPorts(owner=self.owners.__contains__, owner_chat=where)
        self.stage = Stage(self.ledger, *lines, tools=[self.deed], settings=settings, consent=ports)
        await self.stage.run()

    async def asked(self, *files: str) -> Delivery:
        """Bob has said what he wants, and this is the card in Ann's chat."""
        await self.ledger.say("do it", sender=BOB)
        await self.runs(wants(*(files or ("a.txt",))))
        return await self.card()

    async def card(self) -> Delivery:
        return [part for part in await self.ledger.outbox("ann") if part.kind is OwedKind.QUESTION][-1]

    async def question(self) -> QuestionRecord:
        turn = await self.stage.turn()
        return (await self.ledger.store.questions((turn.id,)))[-1]

    async def press(self, text: str, sender: PersonId, chat: str = "ann") -> InboxState:
        pressed = QuestionId((await self.card()).dedupe)
        row = await self.ledger.say(text, chat, sender=sender, pressed=pressed)
        return (await self.ledger.store.row(row)).state

    async def goes_on(self) -> list[ToolContext]:
        """The turn goes on; the calls that have run by then."""
        await self.stage.run()
        return list(self.deed.runs)


@pytest.mark.guards("R22.5")
async def test_an_owner_is_asked_elsewhere_and_the_person_is_told_what_is_waited_for(ledger: Ledger) -> None:
    club = Club(ledger)
    card = await club.asked()
    asked = await club.question()
    assert (asked.id, asked.of_owner, asked.asked_of) == (card.dedupe, True, None)
    assert BOB in card.text and address() in card.text and "file: a.txt" in card.text
    assert card.options == ("allow once", "deny", "always allow this") and card.reply_to is None
    (told,) = await ledger.outbox()
    assert "owner's permission" in told.text and not told.options, "and Bob gets no button"
    assert await club.press("allow once", ANN) is InboxState.ANSWERED
    assert len(await club.goes_on()) == 1
    assert (await club.question()).answered_by == ANN


@pytest.mark.guards("R22.5")
@pytest.mark.parametrize("text", ["yes", "1", "allow once", "y"])
async def test_who_caused_a_call_cannot_allow_it(ledger: Ledger, text: str) -> None:
    club = Club(ledger)
    await club.asked()
    assert await club.press(text, BOB, "c1") is InboxState.REFUSED
    assert await club.press(text, BOB, "ann") is InboxState.REFUSED, "nor in the owner's chat"
    typed = await ledger.say(text, sender=BOB)
    assert (await ledger.store.row(typed)).state is InboxState.WAITING
    assert await club.goes_on() == []
    assert (await club.question()).state is QuestionState.OPEN
    words = [part.text for part in await ledger.outbox()]
    assert any("First I wait for an owner's permission" in text for text in words)


@pytest.mark.guards("R22.5")
@pytest.mark.parametrize("chat", ["ann", "c1"])
@pytest.mark.parametrize("text", ["yes", "1", "allow once", "y"])
async def test_a_loose_yes_of_an_owner_allows_nothing(ledger: Ledger, text: str, chat: str) -> None:
    club = Club(ledger)
    await club.asked()
    row = await ledger.say(text, chat, sender=ANN)
    assert (await ledger.store.row(row)).state is InboxState.WAITING, "it is any message, and no answer"
    assert (await club.question()).state is QuestionState.OPEN
    assert club.deed.runs == []


@pytest.mark.guards("R22.5")
async def test_a_reply_to_the_card_answers_it_and_a_reply_to_anything_else_does_not(ledger: Ledger) -> None:
    club = Club(ledger)
    await club.asked()
    for part in await ledger.send():
        await ledger.store.record_delivery(part.id, Sent(f"m{part.id}"))
    card = await club.card()
    assert card.platform_id is not None
    for other in ("m999", None):
        row = await ledger.say("yes", "ann", replies_to=other)
        assert (await ledger.store.row(row)).state is InboxState.WAITING
    row = await ledger.say("yes", "ann", sender=BOB, replies_to=card.platform_id)
    assert (await ledger.store.row(row)).state is InboxState.REFUSED
    row = await ledger.say("what is that file?", "ann", replies_to=card.platform_id)
    assert (await ledger.store.row(row)).state is InboxState.WAITING, "no answer, so any message"
    row = await ledger.say("yes", "ann", replies_to=card.platform_id)
    assert (await ledger.store.row(row)).state is InboxState.ANSWERED
    late = await ledger.say("no", "ann", replies_to=card.platform_id)
    assert (await ledger.store.row(late)).state is InboxState.REFUSED
    assert len(await club.goes_on()) == 1


@pytest.mark.guards("R22.5")
async def test_an_owner_who_lost_that_before_the_answer_allows_nothing(ledger: Ledger) -> None:
    club = Club(ledger)
    await club.asked()
    club.owners.clear()
    assert await club.press("allow once", ANN) is InboxState.REFUSED
    assert await club.goes_on() == []


@pytest.mark.guards("R22.5")
async def test_an_owner_who_lost_that_after_the_answer_has_allowed_nothing(ledger: Ledger) -> None:
    club = Club(ledger)
    await club.asked()
    assert await club.press("allow once", ANN) is InboxState.ANSWERED
    club.owners.clear()
    await ledger.crash()
    await club.runs(says("as you like"))
    assert club.deed.runs == []
    ((state, text),) = await club.stage.results()
    assert state is CallState.SKIPPED and "owner" in text


@pytest.mark.guards("R22.5")
async def test_an_owner_who_caused_the_call_and_lost_that_has_allowed_nothing(ledger: Ledger) -> None:
    club = Club(ledger)
    await ledger.say("do it")
    await club.runs(wants("a.txt"))
    await ledger.say("yes")
    club.owners.clear()
    await club.runs(says())
    assert club.deed.runs == []


@pytest.mark.guards("R22.5")
async def test_of_two_owners_the_first_answer_counts_and_the_second_reads_so(ledger: Ledger) -> None:
    club = Club(ledger)
    club.owners.add(EVE)
    await club.asked()
    assert await club.press("deny", EVE) is InboxState.ANSWERED
    assert await club.press("allow once", ANN) is InboxState.REFUSED
    assert await club.press("deny", EVE) is InboxState.REFUSED
    assert "already has an answer" in (await ledger.outbox("ann"))[-1].text
    await club.runs(says())
    assert club.deed.runs == []


@pytest.mark.guards("R22.5")
async def test_where_no_owner_can_be_reached_the_call_is_refused_at_once(ledger: Ledger) -> None:
    club = Club(ledger)
    club.reachable = None
    await ledger.say("do it", sender=BOB)
    await club.runs(wants("a.txt"), says("then not"))
    ((state, text),) = await club.stage.results()
    assert state is CallState.SKIPPED and "no owner" in text
    assert club.deed.runs == [] and await club.stage.told() == ["then not"]


@pytest.mark.guards("R22.5", "R17")
async def test_a_standing_goal_of_somebody_else_asks_an_owner(ledger: Ledger) -> None:
    club = Club(ledger)
    began = await ledger.command("/goal tidy up", sender=BOB)
    await ledger.store.set_goal(key(), address(), "tidy up", 3, BOB, began)
    await club.runs(wants("a.txt"), says("done"), says("over"))
    assert (await club.question()).of_owner and club.deed.runs == []


@pytest.mark.guards("R22.5")
async def test_a_message_of_somebody_else_that_joins_an_owners_turn_makes_it_theirs(ledger: Ledger) -> None:
    """Interrupted work of Ann takes Bob's waiting message along; what follows acts on his word as well."""
    club = Club(ledger)
    claimed = await ledger.begin("begin")
    await ledger.crash()
    await ledger.say("and do it", sender=BOB)
    await ledger.store.interrupt_orphans()
    await ledger.settle("resume")
    await club.runs(wants("a.txt"), says())
    turn = await ledger.turn(claimed.session.id)
    (asked,) = await ledger.store.questions((turn.id,))
    assert asked.of_owner
    await ledger.say("yes")
    assert await club.goes_on() == []


@pytest.mark.guards("R22.5", "R13")
@pytest.mark.parametrize("kind", [StopKind.STOP, StopKind.NEW])
async def test_an_end_of_the_work_withdraws_the_card(ledger: Ledger, kind: StopKind) -> None:
    club = Club(ledger)
    await club.asked()
    await ledger.store.stop(key(), kind, None)
    assert (await club.question()).state is QuestionState.CANCELLED
    assert await club.press("allow once", ANN) is InboxState.REFUSED
    assert await club.goes_on() == []


@pytest.mark.guards("R22.5", "R13")
async def test_an_owner_who_does_not_answer_has_refused(ledger: Ledger) -> None:
    club = Club(ledger)
    await club.asked()
    ledger.clock.advance(HOUR)
    await ledger.store.expire_questions()
    assert await club.press("allow once", ANN) is InboxState.REFUSED
    await club.runs(says("without it"))
    assert club.deed.runs == [] and (await club.stage.turn()).state is TurnState.DONE


@pytest.mark.guards("R22.5", "R13")
async def test_question_and_answer_survive_the_death_of_the_process(ledger: Ledger) -> None:
    club = Club(ledger)
    await club.asked()
    await ledger.crash()
    await club.runs()
    assert await club.press("allow once", ANN) is InboxState.ANSWERED
    await ledger.crash()
    await club.runs(says())
    assert len(club.deed.runs) == 1
    assert len(await ledger.outbox("ann")) == 1, "she was asked once"


@pytest.mark.guards("R22.5")
async def test_where_the_owner_says_so_people_allow_their_own_calls(ledger: Ledger) -> None:
    club = Club(ledger)
    await ledger.say("do it", sender=BOB)
    await club.runs(wants("a.txt"), says(), settings=OWN)
    await ledger.say("yes", sender=BOB)
    assert len(await club.goes_on()) == 1


@pytest.mark.guards("R22.4")
async def test_nothing_is_allowed_before_all_of_it_was_delivered(ledger: Ledger) -> None:
    club = Club(ledger)
    await club.asked("x" * 9_000)
    first, *rest = await ledger.outbox("ann")
    assert first.parts == len(rest) + 1 > 2
    assert [part.options for part in (first, *rest[:-1])] == [()] * len(rest), "no button before the last"
    assert await club.press("allow once", ANN) is InboxState.REFUSED
    assert "not been delivered" in (await ledger.outbox("ann"))[-1].text
    assert (await club.question()).state is QuestionState.OPEN
    for _ in range(len(rest) + 4):
        for part in await ledger.send():
            await ledger.store.record_delivery(part.id, Sent(f"m{part.id}"))
    assert await club.press("allow once", ANN) is InboxState.ANSWERED
    assert len(await club.goes_on()) == 1


@pytest.mark.guards("R22.5")
async def test_on_the_page_an_owner_finds_the_question_in_a_chat_for_that(ledger: Ledger) -> None:
    club, page = Club(ledger), ChatSnapshots(ledger.store)
    assert (await page.chats())["chats"] == []
    club.reachable = Place("web", "main", PERMISSIONS).address
    assert await ledger.store.known_chats((club.reachable, address())) == frozenset()
    await ledger.say("do it", sender=BOB)
    await club.runs(wants("a.txt"))
    assert await ledger.store.known_chats((club.reachable, address())) == {club.reachable, address()}
    asked = await club.question()
    (line,) = (await page.chats())["chats"]
    assert (line["chat"], line["asks"]) == (PERMISSIONS, True)
    (shown,) = (await page.chat(PERMISSIONS))["questions"]
    assert (shown["id"], shown["of_owner"], shown["state"]) == (asked.id, True, "open")
    (message,) = (await page.messages(PERMISSIONS))["messages"]
    options = ["allow once", "deny", "always allow this"]
    assert (message["question"], message["options"]) == (asked.id, options)
    mark = await page.mark(PERMISSIONS)
    batch = Batch("web/main", (replace(_pressed(asked.id), sender=ANN),))
    await ledger.store.accept(batch, ledger.arrival)
    assert await page.mark(PERMISSIONS) != mark
    (closed,) = (await page.chat(PERMISSIONS))["questions"]
    assert (closed["state"], closed["answered_by"]) == ("answered", ANN)
    assert (await page.chats())["chats"][0]["asks"] is False
    assert len(await club.goes_on()) == 1


def _pressed(question: QuestionId) -> Inbound:
    place = Place("web", "main", PERMISSIONS)
    return Inbound("press", Key(place.address), place, ANN, "allow once", pressed=question)


@pytest.mark.guards("R22.5")
@pytest.mark.parametrize(
    ("chat", "configured", "expected"),
    [
        ("telegram/7/5", None, ["telegram/7/1", "telegram/7/2", "web/main/permissions"]),
        ("telegram/7/5", "telegram/7/2", ["telegram/7/2", "telegram/7/1", "web/main/permissions"]),
        (
            "telegram/7/-9",
            "fake/bot/x",
            ["telegram/7/1", "telegram/7/2", "fake/bot/x", "web/main/permissions"],
        ),
        ("telegram/7/2", None, ["telegram/7/2", "telegram/7/1", "web/main/permissions"]),
        ("fake/bot/y", "fake/bot/x", ["fake/bot/x", "telegram/7/1", "telegram/7/2", "web/main/permissions"]),
        ("web/main/home", "telegram/7/1", ["web/main/home"]),
    ],
)
def test_an_owner_is_looked_for_near_the_work_first(
    chat: str, configured: str | None, expected: list[str]
) -> None:
    owners = [PersonId(one) for one in ("telegram:2", "web:local", "telegram:1")]
    own = [OwnChats("telegram", "7", PERSON), OwnChats("web", "main", PERMISSIONS)]
    at = ChatAddress(configured) if configured else None
    assert [one for one, _ in owner_chats(ChatAddress(chat), owners, own, at)] == expected
