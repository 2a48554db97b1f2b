"""A history of a topic that Ann and Bob share: what can be wrong with who answers and with what replies."""

from collections.abc import Callable
from dataclasses import replace

from holdfast.testing.observation.commits import PutAside
from holdfast.testing.observation.history import (
    EntryLine,
    FeedRead,
    History,
    InboxLine,
    Ledger,
    OutboxLine,
    PlatformEvent,
    QuestionLine,
    Shown,
    TurnLine,
)

Spoil = Callable[[History], None]
ACCOUNT, TOPIC = "plain/bot", "group/1"
CHAT = f"{ACCOUNT}/{TOPIC}"
ANN, BOB, OWNER = "plain:ann", "plain:bob", "plain:person-a"
LIMIT = "limit:steps:t1:1"
FROM_THE_FIRST, IN_BETWEEN = FeedRead(CHAT, "cursor", 0), FeedRead(CHAT, "cursor", 1, "s2")


def row(position: int, person: str, text: str, state: str, **more: object) -> InboxLine:
    kind = "command" if text.startswith("/") else "message"
    line = InboxLine(position, ACCOUNT, f"e{position}", "k", kind, text, state, None, None, None)
    return line._replace(sender=person, message=f"m{position}", **more)  # type: ignore[arg-type]  # its fields


def said(position: int, person: str, chat: str = TOPIC) -> PlatformEvent:
    return PlatformEvent(ACCOUNT, f"e{position}", "message", chat, "", person, f"m{position}")


def owed(dedupe: str, number: int, turn: str | None = "t1", kind: str = "reply") -> OutboxLine:
    return OutboxLine(number, f"{ACCOUNT}/{TOPIC}", number, turn, kind, dedupe, 1, "words", "sent", None)


def shown(dedupe: str, order: int, reply_to: str | None = "m1", chat: str = TOPIC) -> Shown:
    return Shown("plain", chat, f"{dedupe}/1", order, "words", False, reply_to=reply_to)


SHARED = Ledger(
    inbox=(
        row(1, ANN, "one", "taken", turn="t1"),
        row(2, ANN, "continue", "answered", question=LIMIT),
        row(3, BOB, "/resume", "executed"),
    ),
    turns=(TurnLine("t1", "s", CHAT, 1, "done", 1, None, None),),
    entries=(
        EntryLine("s", 1, "t1", "said", None, None, None, 1),
        EntryLine("s", 2, "t1", "replied", None, None, None, 2),
    ),
    outbox=(
        owed("answer:t1", 1),
        owed("file:t1:c1", 2),
        owed("line:file:t1:c1/1", 3, None, "notice"),
        owed("ack:2", 4, None, "notice"),
    ),
    questions=(
        QuestionLine(LIMIT, "continue", "t1", None, "answered", "continue", 2, ANN),
        QuestionLine("clarify:t1:c1", "clarify", "t1", "c1", "set_aside", None, None, ANN),
    ),
)


def shared(history: History) -> None:
    """All of it as it should be."""
    history.ledger = SHARED
    history.events = [said(1, ANN), said(2, ANN), said(3, BOB)]
    history.owners = frozenset({OWNER})
    history.put_aside = [PutAside("clarify:t1:c1", (BOB, ANN))]
    history.shown = [
        shown("answer:t1", 1),
        shown("file:t1:c1", 2),
        shown("line:file:t1:c1/1", 3),
        shown("ack:2", 4, "m2"),
    ]
    history.read = [
        FROM_THE_FIRST,
        *(FeedRead(CHAT, "delivery", number) for number in range(1, 5)),
        *(FeedRead(CHAT, "entry", seq, "s") for seq in (1, 2)),
    ]


def and_then(spoil: Spoil) -> Spoil:
    def both(history: History) -> None:
        shared(history)
        spoil(history)

    return both


def answered_by(position: int) -> Spoil:
    questions = (SHARED.questions[0]._replace(by=position), *SHARED.questions[1:])
    return and_then(lambda history: setattr(history, "ledger", replace(SHARED, questions=questions)))


def taken_up_again(*seen: tuple[str, int], since: FeedRead = FROM_THE_FIRST) -> Spoil:
    """The conversation was left for another one and goes on after that; a reader saw these steps of it."""
    turns = (
        SHARED.turns[0]._replace(id=id_, session=session) for id_, session in (("t2", "s2"), ("t3", "s"))
    )
    entries = (
        EntryLine("s2", 1, "t2", "said", None, None, None, 3),
        EntryLine("s", 3, "t3", "said", None, None, None, 4),
    )
    ledger = replace(SHARED, turns=(*SHARED.turns, *turns), entries=(*SHARED.entries, *entries))

    def spoil(history: History) -> None:
        history.ledger = ledger
        history.read[:1] = [since]
        history.read[-2:] = [FeedRead(CHAT, "entry", seq, session) for session, seq in seen]

    return and_then(spoil)


def in_place(number: int, line: Shown) -> Spoil:
    return and_then(lambda history: history.shown.__setitem__(number, line))


SPOILT_GROUPS: dict[str, tuple[str, str, Spoil]] = {
    "a limit that somebody else lifts": ("R14", "was answered by plain:bob", answered_by(3)),
    "a question that somebody else sets aside": (
        "R14",
        "was set aside by plain:bob",
        and_then(lambda h: h.put_aside.append(PutAside("clarify:t1:c1", (BOB,)))),
    ),
    "an answer that replies to another message": (
        "R10.1",
        "answer:t1/1 replies to m2, but m1 began it",
        in_place(0, shown("answer:t1", 1, "m2")),
    ),
    "a file that lost what it replies to": (
        "R10.1",
        "file:t1:c1/1 replies to None, but m1 began it",
        in_place(1, shown("file:t1:c1", 2, None)),
    ),
    "a line that lost what it replies to": (
        "R10.1",
        "line:file:t1:c1/1/1 replies to None, but m1 began it",
        in_place(2, shown("line:file:t1:c1/1", 3, None)),
    ),
    "words about a message that reply to another": (
        "R10.1",
        "ack:2/1 replies to m1, but m2 began it",
        in_place(3, shown("ack:2", 4, "m1")),
    ),
    "a file that is named, but it is missing": (
        "R19",
        "is named, but it is missing",
        and_then(lambda h: h.lost_files.append("the file abc is named, but it is missing")),
    ),
    "a backup that lacks something": (
        "R19",
        "in a backup, e1 is missing",
        and_then(lambda h: h.bad_copies.append("in a backup, e1 is missing")),
    ),
    "a delivery that a reader missed": (
        "R10.1 feed",
        "has seen 1, 3-4, but the chat was owed 1-4",
        and_then(lambda h: h.read.__delitem__(2)),
    ),
    "a delivery that a reader saw twice": (
        "R10.1 feed",
        "has seen 1-4, 4, but the chat was owed 1-4",
        and_then(lambda h: h.read.append(FeedRead(CHAT, "delivery", 4))),
    ),
    "an entry that a reader missed": (
        "R10.1 feed",
        "has seen the entries 1 of session s, which has 1-2",
        and_then(lambda h: h.read.__delitem__(-1)),
    ),
    "a conversation that a reader saw again from its beginning": (
        "R10.1 feed",
        "has seen the entries 1-2, 1-3 of session s, which has 1-3",
        taken_up_again(("s", 1), ("s", 2), ("s2", 1), ("s", 1), ("s", 2), ("s", 3)),
    ),
    "a step that a reader saw after a later one": (
        "R10.1 feed",
        "has seen steps of a turn after those of a later one",
        taken_up_again(("s", 1), ("s", 2), ("s", 3), ("s2", 1)),
    ),
    "a page that shows what is over": (
        "R10.1 feed",
        "shows [('t1', 'running')] at rest, but there is []",
        and_then(lambda h: h.last_looks.update({CHAT: {"turn": {"id": "t1", "state": "running"}}})),
    ),
    "an answer in another topic": (
        "R10.1",
        "was shown in plain/group/2, but it began in group/1",
        in_place(0, shown("answer:t1", 1, chat="group/2")),
    ),
}
