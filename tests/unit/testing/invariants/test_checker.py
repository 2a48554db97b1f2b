"""The checker checked: a sound history passes, one spoilt by hand is flagged by the invariant it breaks."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from holdfast.model import CallId, EffectClass, ToolCall
from holdfast.policy.turn.views import Message, Role
from holdfast.testing.invariants.checker import INVARIANTS, violations
from holdfast.testing.observation.commits import Answered, Claim, Death, Left, Write
from holdfast.testing.observation.history import (
    CallLine,
    Confirmed,
    EntryLine,
    History,
    InboxLine,
    Ledger,
    ModelCalled,
    OutboxLine,
    PlatformEvent,
    Ran,
    Seen,
    Shown,
    Size,
    Span,
    Tried,
    TurnLine,
    Waited,
    Windows,
)
from tests.unit.testing.invariants.bad_cuts import SPOILT_CUTS, died, stopped, unknown
from tests.unit.testing.invariants.bad_groups import (
    IN_BETWEEN,
    OWNER,
    SPOILT_GROUPS,
    answered_by,
    in_place,
    shared,
    taken_up_again,
)
from tests.unit.testing.invariants.bad_groups import shown as shown_there
from tests.unit.testing.invariants.bad_histories import SPOILT, asked, but, lived
from tests.unit.testing.invariants.bad_parks import SPOILT_PARKS, dangers

ACCOUNT = "plain/bot"
ANN = "plain:ann"
MINUTE = 60_000
HOUR = 60 * MINUTE


def said(seq: int, turn: str, text: str) -> EntryLine:
    body = json.dumps({"text": text, "sender": "plain:ann"})
    return EntryLine("s", seq, turn, "said", None, None, body, seq)


def replied(seq: int, turn: str, text: str, *calls: str) -> EntryLine:
    finish = "calls" if calls else "complete"
    body = {"text": text, "finish": finish, "calls": [(call, "effect", "{}") for call in calls]}
    return EntryLine("s", seq, turn, "replied", None, None, json.dumps(body), seq)


def returned(seq: int, turn: str, call: str, state: str) -> EntryLine:
    return EntryLine("s", seq, turn, "returned", call, None, json.dumps({"state": state, "text": state}), seq)


def ran(what: str, effect: EffectClass = EffectClass.EFFECT, key: str = "t1:c1") -> Ran:
    return Ran(what, "effect", effect, key, "s", "t1", "{}", 1, 1)


def shown(key: str, order: int, marked: bool = False, platform: str = "plain") -> Shown:
    text = {"answer:t1/1": "to one", "answer:t2/1": "to two"}.get(key, "…")
    return Shown(platform, "a", key, order, text, marked)


def seen(what: str, text: str, message: str = "m1", current: int | None = 1, generation: int = 1) -> Seen:
    return Seen("plain", "a", what, text, "t1", generation, current, message)


def spoken(*notes: Seen) -> Callable[[History], None]:
    """People see these, on a platform that edits."""

    def spoil(history: History) -> None:
        history.editing = frozenset({"plain"})
        history.seen.extend(notes)

    return spoil


def sound() -> History:
    """Two messages in one chat, an effect in the first, both answered."""
    ledger = Ledger(
        inbox=(
            InboxLine(1, ACCOUNT, "e1", "k", "message", "one", "taken", "t1", None, None),
            InboxLine(2, ACCOUNT, "e2", "k", "message", "two", "taken", "t2", None, None),
        ),
        turns=(
            TurnLine("t1", "s", "k", 1, "done", 1, None, None),
            TurnLine("t2", "s", "k", 2, "done", 2, None, None),
        ),
        entries=(
            said(1, "t1", "one"),
            replied(2, "t1", "", "c1"),
            returned(3, "t1", "c1", "done"),
            replied(4, "t1", "to one"),
            said(5, "t2", "two"),
            replied(6, "t2", "to two"),
        ),
        calls=(CallLine("t1", "c1", "effect", "{}", "effect", "done"),),
        outbox=(
            OutboxLine(1, "plain/bot/a", 1, "t1", "reply", "answer:t1", 1, "to one", "sent", None),
            OutboxLine(2, "plain/bot/a", 2, "t2", "reply", "answer:t2", 1, "to two", "sent", None),
        ),
        set_aside=frozenset({(ACCOUNT, "e3")}),
        refused=frozenset({(ACCOUNT, "e4")}),
    )
    return History(
        events=[
            *(PlatformEvent(ACCOUNT, f"e{n}", "message", "a", "", ANN) for n in range(1, 4)),
            PlatformEvent(ACCOUNT, "e4", "message", "stranger", "", "plain:nobody"),
        ],
        confirmed=[Confirmed(ACCOUNT, f"e{n}", True) for n in range(1, 5)],
        shown=[shown("answer:t1/1", 1), shown("answer:t2/1", 2), shown("answer:t2/1", 2, marked=True)],
        ran=[ran("begun"), ran("happened"), ran("returned")],
        asked=[ModelCalled("one", (Message(Role.USER, "one"),), True)],
        spans=[Span("session s", "process 1", 1, 5), Span("session s", "process 2", 5, 9)],
        writes=[Write("s", 1, "t1", 1, 0), Write("s", 2, "t1", 1, 1)],
        claims=[Claim("s", "t1", 1, 0, 1), Claim("s", "t2", 2, 1, 2)],
        boots=[({"inbox": [(1,)]}, {"inbox": [(1,)]})],
        answers=[Answered("q1", 1, 1)],
        deaths=[Death("t1", frozenset({"t1", "t2"}))],
        sizes=[Size(60, 4, 2)],
        windows=Windows(HOUR, HOUR, HOUR, 20 * MINUTE, 2),
        idempotent=frozenset({"strong"}),
        ledger=ledger,
    )


def test_a_sound_history_passes() -> None:
    assert violations(sound()) == []


def in_ledger(**changes: object) -> Callable[[History], None]:
    def change(history: History) -> None:
        history.ledger = replace(history.ledger, **changes)  # type: ignore[arg-type]  # names are fields

    return change


def with_command(*answers: str, turns: Sequence[TurnLine] | None = None) -> Callable[[History], None]:
    """Somebody said `/stop`, and these were its answers."""

    def change(history: History) -> None:
        row = InboxLine(3, ACCOUNT, "e5", "k", "command", "/stop", "executed", None, None, "stop")
        lines = [
            OutboxLine(9 + n, "plain/bot/a", 9 + n, None, "notice", f"command:3:{n}", 1, text, "failed", "x")
            for n, text in enumerate(answers)
        ]
        history.events.append(PlatformEvent(ACCOUNT, "e5", "message", "a", "/stop"))
        history.ledger = replace(
            GOOD,
            inbox=(*GOOD.inbox, row),
            outbox=(*GOOD.outbox, *lines),
            turns=GOOD.turns if turns is None else tuple(turns),
        )

    return change


def ended_in_order(history: History) -> None:
    history.stops, history.ends = 1, 2


def cut_off(**more: object) -> Callable[[History], None]:
    """The effect began and never returned; its call still says so."""

    def change(history: History) -> None:
        del history.ran[1:]
        entries = tuple(line for line in GOOD.entries if line.kind != "returned")
        in_ledger(calls=(GOOD.calls[0]._replace(state="started"),), entries=entries, **more)(history)

    return change


def acknowledged_and_dropped(history: History) -> None:
    row = InboxLine(3, ACCOUNT, "e5", "k", "message", "three", "dropped", None, None, "draining")
    in_ledger(inbox=(*GOOD.inbox, row))(history)
    history.shown.append(shown("ack:3/1", 3))


def killed_after_long(history: History) -> None:
    history.asked.append(ModelCalled("crash 90 #1", (), True, "t1"))
    history.deaths += [Death("t1", frozenset())] * 8


def row(**changes: object) -> Callable[[History], None]:
    """The second message is none of a turn, but this."""
    changed = GOOD.inbox[1]._replace(turn=None, **changes)  # type: ignore[arg-type]  # names are fields
    return in_ledger(
        inbox=(GOOD.inbox[0], changed), turns=GOOD.turns[:1], entries=GOOD.entries[:4], outbox=GOOD.outbox[:1]
    )


def turn(**changes: object) -> Callable[[History], None]:
    """The second turn came to another end."""
    return in_ledger(turns=(GOOD.turns[0], GOOD.turns[1]._replace(**changes)))  # type: ignore[arg-type]  # as above


def part(**changes: object) -> Callable[[History], None]:
    """The second answer is another."""
    return in_ledger(outbox=(GOOD.outbox[0], GOOD.outbox[1]._replace(**changes)))  # type: ignore[arg-type]  # as above


def unchanged(history: History) -> None:
    history.events.append(PlatformEvent(ACCOUNT, "e9", "revision", "a", "another"))
    history.confirmed.append(Confirmed(ACCOUNT, "e9", False))


GOOD = sound().ledger
UNANSWERED = Message(Role.ASSISTANT, "", (ToolCall(CallId("c"), "effect", "{}"),))


def calmly(spoil: Callable[[History], None]) -> Callable[[History], None]:
    """The same where no process died before."""

    def spoilt(history: History) -> None:
        history.deaths.clear()
        history.troubles = frozenset()
        spoil(history)

    return spoilt


BAD: dict[str, tuple[str, str, Callable[[History], None]]] = {
    "confirmed before the commit": (
        "I1",
        "e1 was confirmed before the ledger had it",
        lambda h: h.confirmed.__setitem__(0, Confirmed(ACCOUNT, "e1", False)),
    ),
    "confirmed and lost": ("I1", "e2 is confirmed and is in 0 places", in_ledger(inbox=GOOD.inbox[:1])),
    "accepted twice": (
        "I1",
        "e1 is confirmed and is in 2 places",
        in_ledger(inbox=(*GOOD.inbox, GOOD.inbox[0]._replace(position=3))),
    ),
    "left waiting": (
        "I2",
        "inbox row 2 (two) is still waiting",
        in_ledger(inbox=(GOOD.inbox[0], GOOD.inbox[1]._replace(state="waiting"))),
    ),
    "consumed twice": (
        "I2",
        "'two' was taken 1 times, but written 2 times",
        in_ledger(entries=(*GOOD.entries, said(7, "t2", "two"))),
    ),
    "refused in silence": (
        "I2",
        "inbox row 2 (two) is refused without a reason",
        in_ledger(inbox=(GOOD.inbox[0], GOOD.inbox[1]._replace(state="refused"))),
    ),
    "a turn left open": (
        "I2",
        "turn t2 is still interrupted",
        in_ledger(turns=(GOOD.turns[0], GOOD.turns[1]._replace(state="interrupted"))),
    ),
    "a reply not owed": (
        "I3",
        "turn t2 is done, but its reply is not in the outbox",
        in_ledger(outbox=GOOD.outbox[:1]),
    ),
    "somebody else's reply": (
        "I3",
        "turn t2 answers something other than 'two'",
        in_ledger(outbox=(GOOD.outbox[0], GOOD.outbox[1]._replace(text="to one"))),
    ),
    "sent to nobody": ("I3", "is sent, but it is not visible", lambda h: h.shown.clear()),
    "a file that nobody owes": (
        "I3",
        "call t1:c1 says that it sent a file, but the ledger owes none",
        in_ledger(calls=(CallLine("t1", "c1", "give", "{}", "idempotent", "done"),)),
    ),
    "a file left out": (
        "I3",
        "file:t1:c1/1 came with 0 files to plain/a",
        lambda h: h.shown.append(shown("file:t1:c1/1", 3)),
    ),
    "a part left over": (
        "I3",
        "part 2 (answer:t2) is still unknown",
        in_ledger(outbox=(GOOD.outbox[0], GOOD.outbox[1]._replace(state="unknown"))),
    ),
    "failed in silence": (
        "I3",
        "part 2 (answer:t2) is failed without a reason",
        in_ledger(outbox=(GOOD.outbox[0], GOOD.outbox[1]._replace(state="failed"))),
    ),
    "resent unmarked": (
        "I4",
        "answer:t2/1 was shown 2 times unmarked on plain",
        lambda h: h.shown.append(shown("answer:t2/1", 2)),
    ),
    "repeated under its key": (
        "I4",
        "answer:t9/1 was shown 2 times on strong",
        lambda h: h.shown.extend(shown("answer:t9/1", 1, marked, "strong") for marked in (False, True)),
    ),
    "an effect run again": (
        "I5",
        "effect {} of turn t1 ran 2 times",
        lambda h: h.ran.append(ran("begun")),
    ),
    "another key": (
        "I5",
        "ran under the keys t1:c1, t1:c2",
        lambda h: h.ran.append(ran("begun", EffectClass.IDEMPOTENT, "t1:c2")),
    ),
    "a cut-off effect told as done": (
        "I6",
        "is done in the ledger, but it never returned",
        lambda h: h.ran.__setitem__(slice(1, None), []),
    ),
    "a cut-off effect left as it was": ("I6", "was cut off and is started, not unknown", cut_off()),
    "an effect that ran told as skipped": (
        "I6",
        "is skipped in the ledger, but it was run",
        in_ledger(calls=(GOOD.calls[0]._replace(state="skipped"),)),
    ),
    "a turn nobody caused": (
        "I7",
        "turn t9 has no cause that names it",
        in_ledger(turns=(*GOOD.turns, TurnLine("t9", "s", "k", 2, "done", 3, None, None))),
    ),
    "a turn from nowhere": ("I7", "which no person sent", lambda h: h.events.clear()),
    "a model called for nobody": (
        "I7",
        "a model was called outside a running turn",
        lambda h: h.asked.append(ModelCalled("two", (Message(Role.USER, "two"),), False)),
    ),
    "two agents in one session": (
        "I8",
        "session s was held by process 1 and by process 2 at once",
        lambda h: h.spans.__setitem__(1, Span("session s", "process 2", 4, 9)),
    ),
    "a stale write": (
        "I9",
        "entry 7 of s was written under generation 1, when its session had 2",
        lambda h: h.writes.append(Write("s", 7, "t1", 1, 2)),
    ),
    "a generation left as it was": (
        "I9",
        "the claim of turn t2 under generation 2 left its session's generation at 1, and it had been 1",
        lambda h: h.claims.__setitem__(1, Claim("s", "t2", 2, 1, 1)),
    ),
    "a claim under an old generation": (
        "I9",
        "the claim of turn t2 under generation 1 left",
        lambda h: h.claims.__setitem__(1, Claim("s", "t2", 1, 1, 2)),
    ),
    "a tool of a stale run": (
        "I9",
        "began under generation 1, when its turn had 2",
        lambda h: h.ran.__setitem__(0, ran("begun")._replace(current=2)),
    ),
    "a command without an answer": ("I2", "command 3 (/stop) has 0 answers", with_command()),
    "a command answered twice": ("I2", "command 3 (/stop) has 2 answers", with_command("So.", "Or so.")),
    "a stop that only says so": (
        "I2",
        "says it stopped something, but it did not",
        with_command("Stopped."),
    ),
    "longer than the platform takes": (
        "I3",
        "answer:t1/1 has 6 characters, more than plain takes",
        lambda h: h.longest.update(plain=0),
    ),
    "parts with another's between them": (
        "I10",
        "other parts came between the parts of answer:t2",
        in_ledger(outbox=(*GOOD.outbox, GOOD.outbox[1]._replace(id=3, number=4, part=2))),
    ),
    "gone without a word": (
        "I1",
        "there were 2 inbox rows",
        lambda h: h.vanished.append("there were 2 inbox rows"),
    ),
    "an answer to a conversation that is over": (
        "I9",
        "question q2 of incarnation 1 was answered, when its session had 2",
        lambda h: h.answers.append(Answered("q2", 1, 2)),
    ),
    "killed once too often": (
        "I11",
        "turn t1 killed the process 4 times",
        lambda h: h.deaths.extend([Death("t1", frozenset())] * 3),
    ),
    "killed too often, each time after long": (
        "I11",
        "turn t1 killed the process 9 times",
        killed_after_long,
    ),
    "an innocent parked": (
        "I11",
        "turn t2 is parked, but it killed no process",
        in_ledger(turns=(GOOD.turns[0], GOOD.turns[1]._replace(state="parked"))),
    ),
    "old work resumed": (
        "I12",
        "turn t2 was resumed 7200000 ms after its last progress",
        lambda h: h.claims.append(Claim("s", "t2", 3, 2, 3, 2 * HOUR)),
    ),
    "an old message run": (
        "I12",
        "inbox row 2 (two) was run, but it came 7200000 ms late",
        in_ledger(inbox=(GOOD.inbox[0], GOOD.inbox[1]._replace(late=2 * HOUR))),
    ),
    "an old reply sent": (
        "I12",
        "answer:t2/1 was sent 7200000 ms after it was owed",
        lambda h: h.shown.append(shown("answer:t2/1", 2, marked=True)._replace(owed=2 * HOUR)),
    ),
    "left in silence": (
        "I12",
        "turn t9 is expired (too_old), and its person was not told",
        in_ledger(turns=(*GOOD.turns, TurnLine("t9", "s", "k", 2, "expired", 3, None, "too_old"))),
    ),
    "told before it was kept": (
        "I13",
        "ack:2/1 was shown before the ledger had it",
        lambda h: h.shown.append(shown("ack:2/1", 3)._replace(owed=None)),
    ),
    "told and kept no more": (
        "I13",
        "ack:2/1 was shown, but the ledger has it no more",
        lambda h: h.shown.append(shown("ack:2/1", 3)),
    ),
    "queued, it said": (
        "I13",
        "ack:9/1 is about a message that does not exist",
        lambda h: h.shown.append(shown("ack:9/1", 3)),
    ),
    "a model called for somebody let out": (
        "I14",
        "a model was called for a person barred for 2.0 s",
        lambda h: h.asked.append(h.asked[0]._replace(barred=2.0)),
    ),
    "a tool run for somebody let out": (
        "I14",
        "effect t1:c1 began for a person barred for 2.0 s",
        lambda h: h.ran.__setitem__(0, ran("begun")._replace(barred=2.0)),
    ),
    "a token in the log": ("I15", "there is a secret in the log", lambda h: h.exposed.append("the log")),
    "a row for every failure": (
        "I19",
        "1000 rows for 4 messages and 2 boots",
        lambda h: h.sizes.append(Size(1_000, 4, 2)),
    ),
    "a platform in limbo": (
        "liveness",
        "plain/bot is reachable, but no process listens to it",
        lambda h: h.deaf.append(ACCOUNT),
    ),
    "out of order": ("I10", "part 1 of plain/a came after part 2", lambda h: h.shown.reverse()),
    "overtaken": (
        "I10",
        "turn t2 of k began after a later message's",
        in_ledger(turns=(GOOD.turns[0]._replace(cause=2), GOOD.turns[1]._replace(cause=1))),
    ),
    "shown without a result": (
        "I16",
        "it ends without the results of ['c']",
        lambda h: h.asked.append(ModelCalled("one", (Message(Role.USER, "one"), UNANSWERED), True)),
    ),
    "a result of no call": (
        "I16",
        "the transcript of s has a problem",
        in_ledger(entries=(*GOOD.entries, returned(7, "t2", "c9", "done"))),
    ),
    "a torn page": ("I17", "page 3 is torn", lambda h: h.damage.append("page 3 is torn")),
    "a draft of a run that is over": (
        "R10.5",
        "beside 'typing' was shown for turn t1 under generation 1, when it had 2",
        spoken(seen("beside", "typing", current=2)),
    ),
    "a call nobody allowed": (
        "R7.3",
        "effect k began with",
        lambda h: h.ran.append(ran("begun", key="k")._replace(consented=False)),
    ),
    "a notice that is never ended": (
        "R12",
        "the notice m1 of turn t1 still says 'Still working'",
        spoken(seen("message", "Still working")),
    ),
    "two notices at once": (
        "R12",
        "turn t1 has 2 notices that say it goes on",
        spoken(seen("message", "Still working"), seen("message", "Still working", "m2", generation=2)),
    ),
    "a notice that goes on after its end": (
        "R12",
        "the notice m1 of turn t1 goes on after its last words",
        spoken(*(seen(*said) for said in (("message", "one"), ("edit", "This is done."), ("edit", "two")))),
    ),
    "told twice where nothing can be changed": (
        "R12",
        "turn t1 says twice under generation 1 that it goes on",
        lambda h: h.seen.extend([seen("message", "one"), seen("message", "two", "m2")]),
    ),
    "a turn that nobody stopped": (
        "I2",
        "turn t1 is cancelled (restart_timeout), but no person asked for that",
        in_ledger(turns=(TurnLine("t1", "s", "k", 1, "cancelled", 1, None, "restart_timeout"),)),
    ),
    "a failure nobody hears of": (
        "I3",
        "turn t3 failed (model_failed), and its person was not told",
        in_ledger(turns=(TurnLine("t3", "s", "k", 1, "failed", 1, None, "model_failed"),)),
    ),
    "an answer nobody remembers": (
        "I3",
        "turn t2 is done, but its transcript has no reply",
        in_ledger(entries=GOOD.entries[:-1]),
    ),
    "something kept and dropped": (
        "I13",
        "inbox row 3 (three) was acknowledged and then dropped: draining",
        acknowledged_and_dropped,
    ),
    "a result that became another": (
        "I16",
        "the model has seen 'it rains' of c1, but the ledger has 'done'",
        lambda h: h.asked.append(
            ModelCalled(
                "one",
                (
                    Message(Role.USER, "one"),
                    Message(Role.ASSISTANT, "", (ToolCall(CallId("c1"), "effect", "{}"),)),
                    Message(Role.TOOL, "it rains", call=CallId("c1")),
                ),
                True,
                "t1",
            )
        ),
    ),
    "a session that ended by itself": (
        "R1",
        "k has had 2 sessions, but 0 reasons to end one",
        in_ledger(
            turns=(
                TurnLine("t1", "s", "k", 1, "done", 1, None, None),
                TurnLine("t2", "s2", "k", 2, "done", 2, None, None),
            )
        ),
    ),
    "a wait that a restart forgot": (
        "R10.3",
        "answer:t1/1 was sent to plain/a 1500 ms too early",
        lambda h: h.tried.append(Tried("plain", "a", "answer:t1/1", 1_500)),
    ),
    "a flood of copies": (
        "R10.3",
        "answer:t1/1 was shown 4 times on plain",
        lambda h: h.shown.extend([shown("answer:t1/1", 1, marked=True)] * 3),
    ),
    "a reply given up by count": (
        "R10.3",
        "was given up (repeated 2 times; it may have arrived) after 60000 ms",
        in_ledger(
            outbox=(
                GOOD.outbox[0]._replace(
                    state="failed", reason="repeated 2 times; it may have arrived", age=60_000
                ),
            )
        ),
    ),
    "a chat that a bad part mutes": (
        "R10.3",
        "answer:t2/1 waited 3000 s, while plain/b got messages",
        calmly(
            lambda h: h.shown.extend(
                [
                    shown("answer:t9/1", 1)._replace(chat="b", at=100.0),
                    shown("answer:t2/1", 2)._replace(at=3_050.0, owed=3_000_000),
                ]
            )
        ),
    ),
    "last words long after the answer": (
        "R12",
        "the notice of turn t1 ended 3.0 s after its answer",
        calmly(
            lambda h: h.seen.extend(
                [seen("message", "Still working"), seen("edit", "This is done.")._replace(at=3.0)]
            )
        ),
    ),
    "a burst in one turn": (
        "I7",
        "turn t1 was interrupted 0 times and holds 'one', 'two'",
        in_ledger(inbox=(GOOD.inbox[0], GOOD.inbox[1]._replace(turn="t1"))),
    ),
    "a message nobody answered": (
        "I3",
        "turn t1 has taken 'three', but answers without it",
        in_ledger(inbox=(*GOOD.inbox, GOOD.inbox[0]._replace(position=3, event_id="e5", text="three"))),
    ),
    "a stop carried out twice": (
        "I2",
        "2 turns of k ended by stop, but 1 commands asked for that",
        with_command("Stopped.", turns=[turn._replace(state="cancelled", why="stop") for turn in GOOD.turns]),
    ),
    "an undo carried out twice": (
        "I2",
        "1 turns of k were undone by 0 commands",
        in_ledger(entries=(*GOOD.entries, EntryLine("s", 7, "t2", "undone", None, None, "{}", 7))),
    ),
    "a restart carried out twice": (
        "I2",
        "2 processes ended in order, but only 1 were asked to and 0 commands did",
        ended_in_order,
    ),
    "two suspects at once": (
        "I11",
        "2 suspects ran at once: t1, t2",
        lambda h: h.quarantined.add(frozenset({"t1", "t2"})),
    ),
    "blamed without a trial": (
        "I11",
        "turn t1 is parked, but it never ran as the only suspect",
        in_ledger(turns=(GOOD.turns[0]._replace(state="parked", why="too_many_strikes"),)),
    ),
    "an edit that is confirmed and lost": ("I1", "its change was not carried out", unchanged),
    "said in another turn": (
        "I2",
        "'one' was taken 1 times, but written 0 times",
        in_ledger(entries=(said(1, "t2", "one"), *GOOD.entries[1:])),
    ),
    "somebody refused who is allowed": (
        "I2",
        "inbox row 2 (two) was refused, but plain:ann was always allowed",
        row(state="refused", reason="not_allowed"),
    ),
    "taken for a stranger": (
        "I2",
        "plain/bot e1 was refused, but plain:ann was always allowed",
        in_ledger(refused=frozenset({(ACCOUNT, "e1")})),
    ),
    "withdrawn by nobody": (
        "I2",
        "inbox row 2 (two) was withdrawn, but not by its sender",
        row(state="withdrawn", reason="withdrawn by its sender"),
    ),
    "offered although it is new": (
        "I2",
        "inbox row 2 (two) was only offered, but it came 0 ms late",
        row(state="offered", reason="backlog"),
    ),
    "an answer to nothing": ("I2", "inbox row 2 (two) answers no question", row(state="answered")),
    "overtaken where nobody wants that": (
        "I2",
        "turn t2 was overtaken in a chat where messages wait",
        turn(state="cancelled", why="interrupt"),
    ),
    "cancelled for somebody who is allowed": (
        "I2",
        "turn t2 was cancelled, but plain:ann was always allowed",
        turn(state="cancelled", why="not_allowed"),
    ),
    "dropped without a question": (
        "I2",
        "turn t2 was dropped (dropped_unanswered), but no person was asked",
        turn(state="cancelled", why="dropped_unanswered"),
    ),
    "failed by itself": (
        "I2",
        "turn t2 failed, but no model failed",
        turn(state="failed", why="model_failed"),
    ),
    "given up untried": (
        "I3",
        "part 2 (answer:t2) failed (no), but no try was made",
        part(state="failed", reason="no"),
    ),
    "given up without a word": (
        "I3",
        "part 2 (answer:t2) is failed (no), but no line says so",
        part(state="failed", reason="no"),
    ),
    "expired too soon": (
        "I3",
        "part 2 (answer:t2) expired after 1000 ms",
        part(state="expired", reason="too_old", age=1_000),
    ),
    "shown to others": (
        "I3",
        "answer:t2/1 is owed to plain/bot/a, but was shown in plain/b",
        lambda h: h.shown.append(shown("answer:t2/1", 2, marked=True)._replace(chat="b")),
    ),
    "other words": (
        "I3",
        "answer:t2/1 is 'to two', but was shown as 'to you'",
        lambda h: h.shown.append(shown("answer:t2/1", 2, marked=True)._replace(text="to you")),
    ),
    "answered elsewhere": (
        "I3",
        "turn t2 came from plain/bot/a, but is answered in plain/bot/b",
        part(chat="plain/bot/b"),
    ),
    "a failure told as done": (
        "I6",
        "call t1:c1 is failed, but the model is told that it is done",
        in_ledger(calls=(GOOD.calls[0]._replace(state="failed"),)),
    ),
    "said out of order": (
        "I10",
        "inbox row 1 is in s after row 2",
        in_ledger(entries=(*GOOD.entries[4:], *GOOD.entries[:4])),
    ),
    "parked too soon": (
        "I11",
        "turn t2 is parked for its strikes, but was cut off 0 times",
        turn(state="parked", why="too_many_strikes"),
    ),
    "left too soon": (
        "I12",
        "turn t2 was left as too old 60000 ms after its last progress",
        lambda h: h.left.append(Left("t2", 60_000)),
    ),
    "a resume that starves": (
        "R4.2",
        "turn t2 waited 90001 ms for a worker",
        lambda h: h.waited.append(Waited("t2", 90_001, 30_000)),
    ),
    "told of something else": (
        "I12",
        "turn t2 is expired (too_old), and its person was not told",
        turn(state="expired", why="too_old"),
    ),
    "a boot that does something": (
        "I18",
        "another boot changed inbox",
        lambda h: h.boots.append(({"inbox": [(1,)]}, {"inbox": [(1,), (2,)]})),
    ),
}

BAD |= SPOILT | SPOILT_GROUPS | SPOILT_CUTS | SPOILT_PARKS


@pytest.mark.parametrize("what", BAD)
def test_a_bad_history_is_flagged(what: str) -> None:
    name, words, spoil = BAD[what]
    history = sound()
    spoil(history)
    assert any(words in found for found in INVARIANTS[name](history)), violations(history)


@pytest.mark.parametrize("name", ["R8.3", "R8.4", "R8.6"])
def test_a_sound_history_of_parks_and_safe_mode_passes(name: str) -> None:
    history = sound()
    dangers(history)
    assert list(INVARIANTS[name](history)) == []


@pytest.mark.parametrize("name", ["I7", "R7.3", "R9.6", "R11", "R13", "R17"])
def test_a_sound_history_with_questions_processes_goals_and_summaries_passes(name: str) -> None:
    history = sound()
    lived(history)
    assert list(INVARIANTS[name](history)) == []


@pytest.mark.parametrize("answer", ["always", None])
def test_a_call_that_an_owner_allowed_always_may_run_also_once_the_words_are_erased(
    answer: str | None,
) -> None:
    history = sound()
    but(questions=asked(1, answer=answer))(history)
    assert list(INVARIANTS["R7.3"](history)) == []


@pytest.mark.parametrize("name", ["R10.1", "R10.1 feed", "R14", "R19"])
def test_a_sound_history_of_people_who_share_a_conversation_passes(name: str) -> None:
    history = sound()
    shared(history)
    assert list(INVARIANTS[name](history)) == []


@pytest.mark.parametrize(
    "seen",
    [
        taken_up_again(("s", 1), ("s", 2), ("s2", 1), ("s", 3)),
        taken_up_again(("s", 3), since=IN_BETWEEN),
    ],
)
def test_a_sound_history_of_a_conversation_taken_up_again_passes(
    seen: Callable[[History], None],
) -> None:
    history = sound()
    seen(history)
    assert list(INVARIANTS["R10.1 feed"](history)) == []


@pytest.mark.parametrize("cut", [stopped, died, unknown])
def test_a_sound_history_of_a_reply_that_was_cut_off_passes(cut: Callable[[History], None]) -> None:
    history = sound()
    cut(history)
    assert [*INVARIANTS["R24.3"](history), *INVARIANTS["R7.2"](history)] == []


def test_an_owner_may_let_work_go_on_that_another_was_asked_about() -> None:
    history = sound()
    answered_by(3)(history)
    history.events[2] = history.events[2]._replace(person=OWNER)
    assert list(INVARIANTS["R14"](history)) == []


def test_a_reply_to_what_was_taken_back_replies_to_nothing() -> None:
    history = sound()
    in_place(0, shown_there("answer:t1", 1, None))(history)
    history.gone.add(("plain", "m1"))
    assert list(INVARIANTS["R10.1"](history)) == []


def test_a_cut_off_effect_stays_as_it_was_while_a_person_is_asked_about_its_turn() -> None:
    history = sound()
    cut_off(open_questions=frozenset({"t1"}))(history)
    assert list(INVARIANTS["I6"](history)) == []


def test_who_was_cut_off_by_a_stop_has_its_strike_for_that() -> None:
    history = sound()
    parked = (GOOD.turns[0], GOOD.turns[1]._replace(state="parked"))
    in_ledger(turns=parked, cut=frozenset({"t2"}))(history)
    assert list(INVARIANTS["I11"](history)) == []


def test_every_invariant_is_shown_to_bite() -> None:
    assert {name for name, _, _ in BAD.values()} == set(INVARIANTS)
