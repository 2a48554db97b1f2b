"""A history with questions, a background process, a goal and a summary; and what can be wrong with it."""

import json
from collections.abc import Callable
from dataclasses import replace

from holdfast.model import EffectClass
from holdfast.policy.turn.views import Message, Role
from holdfast.testing.observation.commits import Answered, Woken
from holdfast.testing.observation.history import (
    CallLine,
    EntryLine,
    GoalLine,
    History,
    InboxLine,
    Ledger,
    ModelCalled,
    ProcessLine,
    QuestionLine,
    Ran,
    RuleLine,
    TurnLine,
    Worked,
)

Spoil = Callable[[History], None]
P = "p0123456789ab"
COMMAND = "run 3 (0.0)"
END = f"The background process {P} ({COMMAND}) is ended, exit code 0."
OVER = f"{P} ({COMMAND}): ended, exit code 0.\nIt has written no output."
GOAL = "Standing goal: reach 2"
OWNER = "plain:owner"


def entry(seq: int, turn: str, kind: str, call: str | None = None, **body: object) -> EntryLine:
    return EntryLine("s", seq, turn, kind, call, None, json.dumps(body), seq)


def row(position: int, event_id: str, text: str, turn: str | None, kind: str = "wakeup") -> InboxLine:
    state = "taken" if turn else "dropped"
    account = "plain/bot" if kind == "message" else "holdfast"
    return InboxLine(position, account, event_id, "k", kind, text, state, turn, None, None)


LOOK = CallLine("t2", "c3", "process_look", json.dumps({"how": "poll", "process": P}), "read", "done")
SUMMARY = entry(12, "t4", "summed", first=1, last=7, text="much was said")
LIVED = Ledger(
    inbox=(
        row(1, "e1", "one", "t1", "message"),
        row(2, "e2", "blue", None, "message")._replace(state="answered", question="clarify:t1:c1"),
        row(3, "e3", "yes", None, "message")._replace(state="answered", question="approval:t1:c4"),
        row(4, f"process:{P}:ended", END, "t2"),
        row(5, "goal:s:9", GOAL, "t3"),
        row(6, "goal:t3", GOAL, "t4"),
    ),
    turns=tuple(
        TurnLine(f"t{number}", "s", "k", cause, "done", number, None, None)
        for number, cause in ((1, 1), (2, 4), (3, 5), (4, 6))
    ),
    entries=(
        entry(1, "t1", "said", text="one", sender="ann"),
        entry(2, "t1", "returned", "c1", state="done", text="blue"),
        entry(3, "t1", "returned", "c2", state="done", text="Started."),
        entry(4, "t1", "replied", text="answer", finish="complete", calls=[]),
        entry(5, "t2", "said", text=END, sender="ann"),
        entry(6, "t2", "returned", "c3", state="done", text=OVER),
        entry(7, "t2", "replied", text="answer", finish="complete", calls=[]),
        entry(8, "t3", "said", text=GOAL, sender="ann"),
        entry(9, "t3", "replied", text="answer", finish="complete", calls=[]),
        entry(10, "t4", "said", text=GOAL, sender="ann"),
        entry(11, "t4", "returned", "c5", state="done", text="Noted."),
        SUMMARY,
    ),
    calls=(
        CallLine("t1", "c1", "ask_person", '{"question": "?"}', "read", "done"),
        CallLine("t1", "c2", "process_start", json.dumps({"command": COMMAND}), "idempotent", "done"),
        CallLine("t1", "c4", "effect", "{}", "effect", "done"),
        LOOK,
        CallLine("t4", "c5", "goal", '{"outcome": "reached"}', "idempotent", "done"),
    ),
    questions=(
        QuestionLine("clarify:t1:c1", "clarify", "t1", "c1", "answered", "blue", 2),
        QuestionLine("approval:t1:c4", "approval", "t1", "c4", "answered", "yes", 3),
    ),
    processes=(ProcessLine(P, "s", "t1", "exited", notify=1, consumed=1),),
    goals=(GoalLine("s", "done", 3, 2),),
    rules=(RuleLine(1, OWNER),),
)


def lived(history: History) -> None:
    """All of it as it should be."""
    history.ledger = LIVED
    history.owners = frozenset({OWNER})
    history.wakeups = 5
    history.worked = [Worked("began", P, "t1", COMMAND), Worked("ended", P, "t1", COMMAND)]
    history.woken = [Woken(f"process:{P}:ended", "s", "t2")]
    history.answers = [Answered("clarify:t1:c1", 1, 1)]
    history.summing = [True]
    shown = ("much was said", GOAL, "two")
    history.asked = [ModelCalled(GOAL, tuple(Message(Role.NOTE, text) for text in shown), True, "t4")]
    history.ran = [Ran("begun", "effect", EffectClass.EFFECT, "t1:c4", "s", "t1", "{}", 1, 1)]


def but(**changes: object) -> Spoil:
    """As it should be, but for some of the ledger."""

    def spoil(history: History) -> None:
        lived(history)
        history.ledger = replace(history.ledger, **changes)  # type: ignore[arg-type]  # names are fields

    return spoil


def and_then(spoil: Spoil) -> Spoil:
    """As it should be, and then this."""

    def both(history: History) -> None:
        lived(history)
        spoil(history)

    return both


def process(**changes: object) -> tuple[ProcessLine, ...]:
    return (LIVED.processes[0]._replace(**changes),)  # type: ignore[arg-type]  # names are fields


def goal(**changes: object) -> tuple[GoalLine, ...]:
    return (LIVED.goals[0]._replace(**changes),)  # type: ignore[arg-type]  # names are fields


def asked(place: int, **changes: object) -> tuple[QuestionLine, ...]:
    questions = list(LIVED.questions)
    questions[place] = questions[place]._replace(**changes)  # type: ignore[arg-type]  # names are fields
    return tuple(questions)


def without_the_look() -> dict[str, object]:
    return {
        "calls": tuple(call for call in LIVED.calls if call != LOOK),
        "entries": tuple(line for line in LIVED.entries if line.call != "c3"),
    }


def moved(line: EntryLine, seq: int) -> tuple[EntryLine, ...]:
    return tuple(one._replace(seq=seq) if one is line else one for one in LIVED.entries)


def summed(first: int, last: int) -> tuple[EntryLine, ...]:
    return (*LIVED.entries[:-1], entry(12, "t4", "summed", first=first, last=last, text="much was said"))


WRITTEN = row(7, "e7", "two", "t4", "message")
SPOILT: dict[str, tuple[str, str, Spoil]] = {
    "a process started twice": (
        "R11",
        "was started 2 times",
        and_then(lambda h: h.worked.append(Worked("began", "pother", "t1", COMMAND))),
    ),
    "a process nobody knows": ("R11", "was started, and the ledger does not know it", but(processes=())),
    "a process of a turn that is over": (
        "R11",
        "after the end of turn t1",
        and_then(lambda h: h.worked.append(Worked("began", P, "t1", "other", over=True))),
    ),
    "a process by a call that never ran": (
        "R11",
        "was started by a call that is skipped",
        but(calls=(LIVED.calls[1]._replace(state="skipped"),)),
    ),
    "a process that is taken for over": (
        "R11",
        "is exited, but in the world: it runs",
        and_then(lambda h: h.worked.clear()),
    ),
    "a process that is taken for running": (
        "R11",
        "is running, but in the world: ended",
        but(processes=process(state="running")),
    ),
    "a process that should be forgotten": (
        "R11",
        "is exited, but its conversation is forgotten",
        but(processes=process(remembered=1)),
    ),
    "an end that nobody hears of": (
        "R11",
        "woke no session, and no call showed it",
        but(processes=process(consumed=0), inbox=LIVED.inbox[:3]),
    ),
    "an end that counts as seen": (
        "R11",
        "counts as seen, but no call showed it",
        but(**without_the_look()),
    ),
    "a wake-up for what was seen": (
        "R11",
        "but a call had shown its end",
        and_then(lambda h: h.woken.append(h.woken[0]._replace(seen=True))),
    ),
    "a wake-up for what was shown": (
        "R11",
        "after its end was shown there",
        but(entries=moved(LIVED.entries[5], 0)),
    ),
    "a wake-up of others": (
        "R11",
        "woke other, but it belongs to s",
        and_then(lambda h: h.woken.append(h.woken[0]._replace(session="other"))),
    ),
    "a match after the end": (
        "R11",
        "after the note of its end",
        but(
            inbox=(*LIVED.inbox, row(7, f"process:{P}:match:1", "ready", "t3")),
            entries=(*LIVED.entries, entry(13, "t4", "said", text="ready")),
        ),
    ),
    "too many matches": (
        "R11",
        "is one wake-up more than allowed",
        but(inbox=(*LIVED.inbox, row(7, f"process:{P}:match:6", "ready", None))),
    ),
    "a wake-up for nothing": (
        "I7",
        "which never happened",
        and_then(lambda h: h.worked.clear()),
    ),
    "summing up for nobody": (
        "I7",
        "while no turn was running",
        and_then(lambda h: h.summing.append(False)),
    ),
    "a call run with other arguments": (
        "R7.3",
        'began with {"all": 1}, but no person had allowed it',
        and_then(lambda h: h.ran.append(h.ran[0]._replace(arguments='{"all": 1}', consented=False))),
    ),
    "a call done that was denied": (
        "R7.3",
        "but its consent is answered",
        but(questions=asked(1, answer="no")),
    ),
    "a call done that nobody answered about": (
        "R7.3",
        "but its consent is expired",
        but(questions=asked(1, state="expired", answer=None)),
    ),
    "a rule of a person who is no owner": (
        "R7.3",
        "rule 2 was given by plain:ann, who is not an owner",
        but(rules=(*LIVED.rules, RuleLine(2, "plain:ann"))),
    ),
    "a rule without an answer that asked for it": (
        "R7.3",
        "rule 1 exists, but no person has said always",
        but(rules=(RuleLine(1, OWNER, answers=0),)),
    ),
    "a call done that only seems to be allowed always": (
        "R7.3",
        "effect t1:c4 is done, but its consent is cancelled",
        but(questions=asked(1, state="cancelled", answer="always")),
    ),
    "an answer taken twice": (
        "R13",
        "is answered, but has 2 answers",
        but(inbox=(*LIVED.inbox, LIVED.inbox[1]._replace(position=7))),
    ),
    "an answer to a closed question": (
        "R13",
        "is expired, but has 1 answers",
        but(questions=asked(0, state="expired")),
    ),
    "an answer too late": (
        "R13",
        "ms after it expired",
        and_then(lambda h: h.answers.append(Answered("clarify:t1:c1", 1, 1, late=5))),
    ),
    "a turn that is done without the answer it asked for": (
        "R13",
        "turn t1 is done, but its question clarify:t1:c1 got no answer",
        but(questions=asked(0, state="expired", answer=None)),
    ),
    "a model that goes on without the answer it asked for": (
        "R13",
        "the model went on in turn t1 when its question clarify:t1:c1 got no answer",
        but(questions=asked(0, state="undeliverable", answer=None)),
    ),
    "an answer nobody gave": ("R13", "but no person has answered", but(questions=asked(0, state="open"))),
    "another answer": ("R13", "but the answer was 'green'", but(questions=asked(0, answer="green"))),
    "a goal after a failure": (
        "R17",
        "goes on after a turn that is failed",
        but(turns=tuple(t._replace(state="failed") if t.id == "t3" else t for t in LIVED.turns)),
    ),
    "a goal with too many turns": ("R17", "has had 2 turns of 1", but(goals=goal(budget=1))),
    "a goal that nobody set": (
        "R17",
        "with a goal that no person has set",
        but(inbox=(*LIVED.inbox[:4], LIVED.inbox[5])),
    ),
    "a goal after its report": (
        "R17",
        "goes on after turn t4 reported on the goal",
        but(inbox=(*LIVED.inbox, row(7, "goal:t4", GOAL, None)), goals=goal(used=3)),
    ),
    "a goal after somebody wrote": (
        "R17",
        "goes on after 'two' was written",
        but(inbox=(*LIVED.inbox, WRITTEN, row(8, "goal:t4", GOAL, None)), goals=goal(used=3)),
    ),
    "a goal that counts wrong": ("R17", "has used 1 turns, but 2 were queued", but(goals=goal(used=1))),
    "a goal that is lost": ("R17", "but no turn follows", but(goals=goal(state="active"))),
    "a completion as a person's words": (
        "R11.2",
        "was shown process:p0123456789ab:ended as a person's words",
        and_then(lambda h: h.asked.append(ModelCalled(END, (Message(Role.USER, END),), True, "t2"))),
    ),
    "a standing goal as a person's words": (
        "R11.2",
        "as a person's words",
        and_then(lambda h: h.asked.append(ModelCalled(GOAL, (Message(Role.USER, GOAL),), True, "t4"))),
    ),
    "a summary of the open turn": ("R9.6", "of its own turn, which is open", but(entries=summed(1, 10))),
    "a summary of half a turn": ("R9.6", "replaces a part of turn t2", but(entries=summed(1, 6))),
    "a summary of what is to come": (
        "R9.6",
        "replaces later entries",
        but(entries=(SUMMARY._replace(seq=2), LIVED.entries[0])),
    ),
    "a summary that loses what it sums up": (
        "R9.6",
        "replaces entries [3], which do not exist",
        but(entries=tuple(line for line in LIVED.entries if line.seq != 3)),
    ),
    "a summary that nobody is shown": (
        "R9.6",
        "saw nothing of 'one'",
        and_then(lambda h: h.asked.append(ModelCalled(GOAL, (Message(Role.USER, GOAL),), True, "t4"))),
    ),
}
