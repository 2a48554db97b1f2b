"""Rules about who answers: a question is for the person whose work asks it."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.testing.observation.history import History, InboxLine, QuestionLine


def only_the_person_asked_answers(history: History) -> Iterator[str]:
    """R13, R14, R18: in a group, no other person answers a question, drops work or lifts a limit.

    An owner may answer the gateway's own questions with `/resume`, and allow or refuse a call.
    """
    rows = {row.position: row for row in history.ledger.inbox}
    causes = {turn.id: rows.get(turn.cause) for turn in history.ledger.turns}
    people = {(event.account, event.event_id): event.person for event in history.events}
    questions = {question.id: question for question in history.ledger.questions}

    def person(row: InboxLine) -> str:
        return people.get((row.account, row.event_id)) or row.sender

    def may(question: QuestionLine, who: str, by: InboxLine | None = None) -> bool:
        cause = causes.get(question.turn)
        resumes = by is not None and by.kind == "command" and question.kind == "continue"
        for_owners = question.kind == "approval" or resumes
        return cause is None or who == person(cause) or (for_owners and who in history.owners)

    for question in history.ledger.questions:
        by = rows.get(question.by or 0)
        if question.state == "answered" and by is not None and not may(question, person(by), by):
            yield f"question {question.id} ({question.kind}) was answered by {person(by)}, who was not asked"
    written = {(event.account, event.event_id) for event in history.events if event.how == "written"}
    for question in history.ledger.questions:
        by = rows.get(question.by or 0)
        if question.of_owner and by is not None and (by.account, by.event_id) in written:
            yield f"question {question.id}, which an owner was asked, was answered beside its card"
    for closed in history.put_aside:
        asked = questions.get(closed.question)
        if asked is not None and closed.senders and not any(may(asked, who) for who in closed.senders):
            who = ", ".join(closed.senders)
            yield f"question {asked.id} ({asked.kind}) was set aside by {who}, who was not asked"
