"""What the next message finds after work that was cut off, left, dropped or failed: session and note."""

import pytest

from holdfast.agents import ModelError, Role
from holdfast.model import InboxState, Interruption, NoteKind, StopKind, TurnState
from holdfast.policy.recovery.notes import resume_text
from holdfast.policy.recovery.outcome import Outcome
from holdfast.policy.settings import HOUR, MINUTE, RecoverySettings
from holdfast.recovery import Outside, Reconciler
from tests.support.ledger import PLATFORM, SERVED, Ledger, key, result
from tests.support.stage import Deed, Line, Stage, hangs, says, soon, wants


def reconciler(ledger: Ledger) -> Reconciler:
    outside = Outside(frozenset({ledger.store.instance}), frozenset({PLATFORM}), SERVED, lambda _: True)
    return Reconciler(ledger.store, ledger.clock, RecoverySettings(), lambda: outside)


async def cut_off(ledger: Ledger, reason: str = Interruption.RESTART_INTERRUPTED) -> None:
    claimed = await ledger.begin("do it")
    await ledger.start(claimed.fence, "a")
    await ledger.append(claimed.fence, result("a"))
    await ledger.store.interrupt(claimed.fence, reason)
    await ledger.crash()


async def notes(ledger: Ledger, text: str, *lines: Line) -> list[str]:
    """A message is answered; the notes the model saw in its place, just before it or instead of it."""
    await ledger.say(text)
    stage = Stage(ledger, *(lines or (says(),)))
    await stage.run()
    shown = stage.model.shown[0]
    assert (shown[-1].role, shown[-1].text) == (Role.USER, text), "as the person wrote it"
    unanswered = [place for place, message in enumerate(shown) if message.role is Role.ASSISTANT]
    after = shown[unanswered[-1] + 1 :] if unanswered else shown
    return [message.text for message in after if message.role is Role.NOTE]


def says_of(kind: NoteKind) -> str:
    """Words by which each note is known."""
    return {
        NoteKind.LEFT_BEHIND: "left behind",
        NoteKind.RESUME_FAILED: "resumed, and failed",
        NoteKind.DROPPED: "the person dropped it",
        NoteKind.TOOL_TAIL: "tool results that were never answered",
    }[kind]


@pytest.mark.guards("R2.1")
async def test_an_unknown_reason_is_never_resumed_by_itself_and_a_message_lets_it_go_on(
    ledger: Ledger,
) -> None:
    await cut_off(ledger, "of_a_newer_version")
    recovery = reconciler(ledger)
    assert await recovery.round() == {Outcome.HOLD: 1}
    assert await ledger.try_claim(recovery.judge) is None
    (before,) = await ledger.store.sessions()
    await ledger.say("and now?")
    assert await recovery.round() == {Outcome.RESUME: 1}
    stage = Stage(ledger, says(), judge=recovery.judge)
    await stage.run()
    note, message = stage.model.shown[0][-2:]
    assert (note.role, note.text) == (
        Role.NOTE,
        resume_text(NoteKind.GENERAL, message_follows=True, results_left=True),
    )
    assert message.text == "and now?"
    turn = await stage.turn()
    assert (turn.session, turn.state) == (before.id, TurnState.DONE)
    assert turn.interruption == "of_a_newer_version", "stored as it stands"


@pytest.mark.guards("R1.5", "R2.1")
@pytest.mark.parametrize(
    ("damage", "kind"),
    [
        ("UPDATE turns SET interruption = NULL", NoteKind.RESTARTED),
        ("UPDATE turns SET interrupted_at = -1", NoteKind.INTERRUPTED),
    ],
)
async def test_a_field_that_cannot_be_read_counts_as_absent_and_the_interruption_holds(
    ledger: Ledger, damage: str, kind: NoteKind
) -> None:
    await cut_off(ledger)
    ledger.damage(damage)
    assert await reconciler(ledger).round() == {Outcome.RESUME: 1}
    stage = Stage(ledger, says("done"))
    await stage.run()
    assert stage.model.shown[0][-1].text == resume_text(kind, message_follows=False, results_left=True)
    assert await stage.told() == ["done"]


@pytest.mark.guards("R1.5", "A17")
async def test_a_row_whose_state_cannot_be_read_is_set_aside_alone(ledger: Ledger) -> None:
    bad = await ledger.begin(chat="bad")
    await ledger.begin("good work", chat="good")
    ledger.damage(f"UPDATE turns SET state = 'gibberish' WHERE id = '{bad.turn.id}'")
    await ledger.crash()
    assert await reconciler(ledger).round() == {Outcome.RESUME: 1}
    await ledger.say("hello", chat="new")
    stage = Stage(ledger, says("done"), says("done"))
    await stage.run()
    assert (await stage.told("good"), await stage.told("new")) == (["done"], ["done"])
    assert await ledger.store.turns(bad.session.id) == ()


@pytest.mark.guards("R6.2")
async def test_after_work_that_was_left_one_note_says_so_and_only_once(ledger: Ledger) -> None:
    await cut_off(ledger)
    ledger.clock.advance(HOUR + MINUTE)
    assert await reconciler(ledger).round() == {Outcome.EXPIRE: 1}
    (session,) = await ledger.store.sessions()
    (note,) = await notes(ledger, "something else")
    assert says_of(NoteKind.LEFT_BEHIND) in note
    assert await notes(ledger, "and more") == []
    assert [line.id for line in await ledger.store.sessions()] == [session.id]


@pytest.mark.guards("R2.4", "R6.2", "A7")
@pytest.mark.parametrize("late", [False, True])
async def test_after_a_resume_that_failed_the_next_message_hears_of_it_within_the_window(
    ledger: Ledger, late: bool
) -> None:
    await cut_off(ledger)
    await reconciler(ledger).round()
    stage = Stage(ledger, ModelError("no more"))
    await stage.run()
    assert (await stage.turn()).state is TurnState.FAILED
    await ledger.crash()
    assert await reconciler(ledger).round() == {}, "no later boot runs it again"
    if late:
        ledger.clock.advance(HOUR + MINUTE)
    found = await notes(ledger, "something else")
    assert [says_of(NoteKind.RESUME_FAILED) in note for note in found] == ([] if late else [True])
    assert len(await ledger.store.sessions()) == 1


@pytest.mark.guards("R6.2", "C16")
@pytest.mark.parametrize("late", [False, True])
async def test_unanswered_results_are_taken_up_with_the_next_message_while_they_are_fresh(
    ledger: Ledger, late: bool
) -> None:
    await ledger.say("do it")
    stage = Stage(ledger, wants("deed"), ModelError("no more"), tools=[Deed(held=False)])
    await stage.run()
    assert (await stage.turn()).interruptions == 0
    if late:
        ledger.clock.advance(HOUR + MINUTE)
    await ledger.say("something else")
    again = Stage(ledger, says())
    await again.run()
    found = [message.text for message in again.model.shown[0] if message.role is Role.NOTE]
    assert [says_of(NoteKind.TOOL_TAIL) in note for note in found] == ([] if late else [True])


@pytest.mark.guards("R6.2", "C16")
async def test_a_note_of_a_resume_that_was_left_is_not_shown_to_the_next_message(ledger: Ledger) -> None:
    await cut_off(ledger)
    await reconciler(ledger).round()
    async with Stage(ledger, hangs) as stage:
        await soon(stage.model.asked.wait())
    await ledger.crash()
    ledger.clock.advance(HOUR + MINUTE)
    assert await reconciler(ledger).round() == {Outcome.EXPIRE: 1}
    (note,) = await notes(ledger, "something else")
    assert says_of(NoteKind.LEFT_BEHIND) in note


@pytest.mark.guards("R1.4", "R6.2")
async def test_a_note_of_a_resume_that_was_stopped_is_not_shown_to_the_next_message(ledger: Ledger) -> None:
    await cut_off(ledger)
    await reconciler(ledger).round()
    async with Stage(ledger, hangs) as stage:
        await soon(stage.model.asked.wait())
        await ledger.store.stop(key(), StopKind.STOP, None)
        await stage.quiet()
    assert await notes(ledger, "something else") == []


@pytest.mark.guards("R1.4")
@pytest.mark.parametrize("kind", [StopKind.STOP, StopKind.NEW])
async def test_what_a_person_ended_leaves_no_note(ledger: Ledger, kind: StopKind) -> None:
    await cut_off(ledger)
    await ledger.store.stop(key(), kind, None)
    await ledger.crash()
    assert await reconciler(ledger).round() == {}
    await ledger.say("something else")
    stage = Stage(ledger, says())
    await stage.run()
    assert [message.role for message in stage.model.shown[0] if message.role is Role.NOTE] == []
    assert stage.model.shown[0][-1].text == "something else"
    assert len(await ledger.store.sessions()) == (1 if kind is StopKind.STOP else 2)


@pytest.mark.guards("R6.2", "R6.4")
async def test_what_is_dropped_by_another_message_is_named_in_the_note_of_that_message(
    ledger: Ledger,
) -> None:
    await cut_off(ledger)
    await ledger.settle("chat_says_ask", ask=ledger.question(call=None, options=("continue", "drop")))
    ledger.clock.advance(MINUTE)
    position = await ledger.say("something else", sent_at=ledger.clock.now())
    stage = Stage(ledger, says("here you are"))
    await stage.run()
    found = [message.text for message in stage.model.shown[0] if message.role is Role.NOTE]
    assert [says_of(NoteKind.DROPPED) in note for note in found] == [True]
    first, second = (await ledger.store.turns((await stage.turn()).session))[::-1]
    assert (first.state, second.state) == (TurnState.CANCELLED, TurnState.DONE)
    assert (await ledger.store.row(position)).state is InboxState.TAKEN
