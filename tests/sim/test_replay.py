"""An incident as a file: not a word of what was said is in it, and it can be played again."""

import json
import re
from pathlib import Path

import pytest

from holdfast.errors import Unusable
from holdfast.maintenance.incidents import collect, load
from holdfast.model import (
    Attachment,
    CallId,
    CallState,
    EffectClass,
    Owed,
    PersonId,
    PlannedCall,
    Rejected,
    Replied,
    Returned,
    StopReason,
    ToolCall,
    TurnState,
)
from holdfast.policy.turn import calls
from holdfast.store import LEDGER, ReadOnlyLedger
from holdfast.testing.explore.replay import Incident, replay
from tests.support.backends import SqliteBackend
from tests.support.ledger import Ledger, address
from tests.support.loops import on_a_loop

SAID = "Bitte überweise 4711 Euro an Rumpelstilzchen, das Kennwort ist hunter2"
REPLIED = "Gerne, ich überweise sofort an die Sparkasse"
ARGUMENTS = '{"konto": "DE4400001111", "token": "sk-abcdefghijklmnop"}'
RETURNED = "Überweisung bestätigt: Quittung 998877"
ANSWERED = "Erledigt! Das Geld ist bei Rumpelstilzchen."
WORDS = (SAID, REPLIED, ARGUMENTS, RETURNED, ANSWERED, "/stop sofort aufhören", "Rosalinde", "geheimzimmer",
         "bank_transfer", "Steuerbescheid.pdf", "zugestellt")  # fmt: skip


def words_of(*texts: str) -> set[str]:
    return {word.lower() for text in texts for word in re.findall(r"\w{3,}", text)} - {"stop", "token"}


async def told(home: Path) -> Incident:
    """A session with everything that is nobody else's business, killed once in a tool, as it is exported."""
    ledger = Ledger(SqliteBackend(home))
    await ledger.open()
    sender = PersonId("fake:Rosalinde")
    attached = (Attachment("abc", "Steuerbescheid.pdf", "application/pdf", 9),)
    await ledger.say(SAID, "geheimzimmer", sender=sender, attachments=attached)
    claimed = await ledger.claim()
    call = ToolCall(CallId("call_bank"), "bank_transfer", ARGUMENTS)
    await ledger.append(
        claimed.fence,
        Replied(REPLIED, StopReason.CALLS, (call,)),
        plan=(PlannedCall(call.id, call.name, ARGUMENTS, EffectClass.EFFECT),),
        start=(call.id,),
    )
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    ledger.clock.advance(1_000)
    await ledger.recover()
    again = await ledger.claim()
    await ledger.append(again.fence, Returned(call.id, CallState.UNKNOWN, RETURNED))
    reply = Owed(address("geheimzimmer"), "answer", (ANSWERED,))
    await ledger.store.finish(
        again.fence, TurnState.DONE, (Replied(ANSWERED, StopReason.COMPLETE),), (reply,)
    )
    (part,) = await ledger.send("geheimzimmer")
    await ledger.store.record_delivery(part.id, Rejected("nicht zugestellt"))
    ledger.clock.advance(1_000)
    await ledger.command("/stop sofort aufhören", "geheimzimmer")
    await ledger.store.close()
    looking = ReadOnlyLedger(home / LEDGER, ledger.clock)
    try:
        return await collect(looking, await looking.session(claimed.session.id))
    finally:
        await looking.close()


@pytest.mark.guards("R15")
@on_a_loop
async def test_no_word_name_or_secret_of_a_session_is_in_its_incident(tmp_path: Path) -> None:
    incident = await told(tmp_path)
    file = json.dumps(incident, ensure_ascii=False).lower()
    assert [word for word in words_of(*WORDS) if word in file] == []
    said = next(one for one in incident["entries"] if one["kind"] == "said")
    assert said["text"] == "x" * len(SAID)
    assert [row["text"][:6] for row in incident["inbox"]] == ["xxxxxx", "/stopx"]
    assert [(one["effect"], one["state"]) for one in incident["calls"]] == [("effect", "unknown")]


@pytest.mark.guards("R15")
@on_a_loop
async def test_an_incident_is_played_again_with_its_death_at_the_same_point(tmp_path: Path) -> None:
    incident = await told(tmp_path)
    played = replay(incident)
    assert played.violations == ()
    assert played.deaths == 1
    assert played.turns == (("turn-1", "done", "done"),)
    ledger = played.outcome.history.ledger
    assert [(call.effect, call.state) for call in ledger.calls] == [("effect", "unknown")]
    assert played.outcome.digest == replay(incident).outcome.digest


@pytest.mark.guards("R15")
@on_a_loop
async def test_a_bug_that_the_incident_is_about_is_found_by_playing_it(tmp_path: Path) -> None:
    incident = await told(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calls, "_cut_off", lambda call, allowed: calls.ToRun(call, again=True))
        assert replay(incident).violations


@pytest.mark.guards("R15")
def test_messages_come_at_their_point_and_an_orderly_cut_is_one() -> None:
    incident: Incident = {
        "platform": "web",
        "inbox": [
            {"message": "message-1", "kind": "message", "text": "x", "at": 0},
            {"message": "message-2", "kind": "message", "text": "x", "at": 500},
            {"message": "message-3", "kind": "wakeup", "text": "x", "at": 600},
        ],
        "turns": [
            {"turn": "turn-1", "cause": "message-1", "state": "done"},
            {"turn": "turn-2", "cause": "message-2", "state": "done"},
        ],
        "entries": [
            {"turn": "turn-1", "kind": "said", "text": "x", "at": 1},
            {"turn": "turn-1", "kind": "replied", "text": "", "calls": ["call-1", "call-2"], "at": 100},
            {"turn": "turn-1", "kind": "returned", "call": "call-1", "state": "done", "text": "x", "at": 800},
            {"turn": "turn-1", "kind": "returned", "call": "call-2", "state": "done", "text": "x", "at": 801},
            {"turn": "turn-1", "kind": "replied", "text": "x" * 900, "calls": [], "at": 900},
            {"turn": "turn-2", "kind": "said", "text": "x", "at": 901},
            {"turn": "turn-2", "kind": "replied", "text": "x" * 900, "calls": [], "at": 990},
        ],
        "calls": [
            {"turn": "turn-1", "call": "call-1", "effect": "read", "state": "done", "started": 101},
            {"turn": "turn-1", "call": "call-2", "effect": "idempotent", "state": "done", "started": 102},
        ],
        "events": [{"at": 700, "what": "interrupted", "turn": "turn-1", "why": "restart_timeout"}],
    }
    played = replay(incident)
    assert played.violations == ()
    assert played.left_out == ("message-3: a wakeup",)
    assert [now for _, _, now in played.turns] == ["done", "done"]
    assert played.deaths == 1
    texts = [row.text for row in played.outcome.history.ledger.inbox]
    # The cut comes at the same point as the second message, before or after it: both have a number.
    assert texts in [["tools read+idempotent #1", f"wordy 22 #{number}"] for number in (2, 3)]


@pytest.mark.guards("R15")
@on_a_loop
async def test_a_question_to_a_person_and_its_answer_are_said_to_be_left_out(tmp_path: Path) -> None:
    ledger = Ledger(SqliteBackend(tmp_path))
    await ledger.open()
    claimed = await ledger.begin()
    await ledger.ask(claimed.fence)
    await ledger.say("the second one")
    again = await ledger.claim()
    await ledger.finish(again.fence)
    await ledger.store.close()
    looking = ReadOnlyLedger(tmp_path / LEDGER, ledger.clock)
    incident = await collect(looking, await looking.session(claimed.session.id))
    await looking.close()
    played = replay(incident)
    assert played.left_out == (
        "turn-1: a question to a person (clarify, answered)",
        "message-2: the answer to a question",
    )
    assert [(then, now) for _, then, now in played.turns] == [("done", "done")]


@pytest.mark.parametrize(
    "text", ["", "[]", '{"format": "other"}', '{"format": "holdfast-incident", "version": 99}']
)
@pytest.mark.guards("R15")
def test_what_is_no_incident_is_refused_in_words(tmp_path: Path, text: str) -> None:
    (file := tmp_path / "x.json").write_text(text)
    with pytest.raises(Unusable, match="incident"):
        load(file)
