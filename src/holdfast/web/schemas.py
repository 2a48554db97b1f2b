"""The answers' schemas by name (JSON Schema). An answer may have more members than its schema names."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.api.to_json import Json

TEXT: Json = {"type": "string"}
NUMBER: Json = {"type": "integer"}
FLAG: Json = {"type": "boolean"}


def maybe(kind: Json) -> Json:
    return {"anyOf": [kind, {"type": "null"}]}


def many(kind: Json) -> Json:
    return {"type": "array", "items": kind}


def record(**members: Json) -> Json:
    """An object that has all these members; a later version may add more."""
    return {"type": "object", "properties": members, "required": list(members)}


ANY: Json = {"type": "object"}

ERROR = record(error=record(code=TEXT, words=TEXT))

_ATTACHMENT = record(digest=TEXT, name=TEXT, media_type=TEXT, size=NUMBER)
_DELIVERY = record(
    number=NUMBER,
    kind={"enum": ["reply", "notice", "question"]},
    text=TEXT,
    files=many(_ATTACHMENT),
    part=NUMBER,
    parts=NUMBER,
    options=many(TEXT),
    question=maybe(TEXT),
    reply_to=maybe(TEXT),
    state=TEXT,
    reason=maybe(TEXT),
    turn=maybe(TEXT),
    at=NUMBER,
)
_TURN = record(
    id=TEXT,
    position=NUMBER,
    state=TEXT,
    attempt=NUMBER,
    begun_at=NUMBER,
    progress_at=maybe(NUMBER),
    interruptions=NUMBER,
)
_WAITING = record(
    position=NUMBER, event_id=TEXT, text=TEXT, attachments=many(_ATTACHMENT), at=NUMBER, state=TEXT
)
_RULE = record(
    id=NUMBER,
    chat=TEXT,
    tool=TEXT,
    agent=TEXT,
    covers=TEXT,
    prefix=maybe(TEXT),
    arguments=TEXT,
    allowed_by=TEXT,
    allowed_at=NUMBER,
)
_QUESTION = record(
    id=TEXT,
    kind={"enum": ["clarify", "approval", "continue"]},
    text=TEXT,
    options=many(TEXT),
    state=TEXT,
    asked_at=maybe(NUMBER),
    expires_at=maybe(NUMBER),
    closed_at=maybe(NUMBER),
    answer=maybe(TEXT),
    answered_by=maybe(TEXT),
    asked_by=maybe(TEXT),
    of_owner=FLAG,
)
_SAID = record(
    seq=NUMBER,
    turn=TEXT,
    at=NUMBER,
    text=TEXT,
    attachments=many(_ATTACHMENT),
    woken=FLAG,
    position=maybe(NUMBER),
)
_PROCESS = record(id=TEXT, command=TEXT, started_at=NUMBER, last_line=TEXT)
_CUT = record(
    turn=TEXT,
    position=NUMBER,
    progress_at=NUMBER,
    at=NUMBER,
    reason=maybe(TEXT),
    resumed_at=maybe(NUMBER),
    step=NUMBER,
)

SCHEMAS: Mapping[str, Json] = {
    "Object": ANY,
    "State": record(state=TEXT),
    "Chats": record(
        chats=many(record(chat=TEXT, session=TEXT, title=TEXT, last_at=NUMBER, running=FLAG, asks=FLAG)),
        next=maybe(TEXT),
    ),
    "Chat": record(
        chat=TEXT,
        session=maybe(TEXT),
        generation=NUMBER,
        turn=maybe(_TURN),
        waiting=many(_WAITING),
        questions=many(_QUESTION),
        said=many(_SAID),
        processes=many(_PROCESS),
        interruptions=many(_CUT),
        allowed=many(_RULE),
        earlier=many(TEXT),
        cursor=record(number=NUMBER, session=maybe(TEXT), seq=NUMBER),
    ),
    "Said": record(event_id=TEXT, position=NUMBER, fresh=FLAG, words=maybe(TEXT)),
    "Messages": record(messages=many(_DELIVERY), after=NUMBER),
    "Revised": record(position=NUMBER, state=TEXT, text=TEXT),
    "Blob": record(digest=TEXT, size=NUMBER, media_type=TEXT),
    "Status": record(
        state=TEXT, pid=NUMBER, version=TEXT, instance=TEXT, demo=FLAG, running=NUMBER, waiting=NUMBER
    ),
    "Overview": record(counts=ANY, runs=many(ANY)),
    "Plan": record(running=many(ANY)),
    "Continuity": record(continuity=ANY, reports=many(ANY)),
    "Runs": record(runs=many(ANY)),
    "Sessions": record(sessions=many(ANY)),
    "Session": record(
        session=ANY, turns=many(ANY), entries=many(ANY), waiting=many(ANY), allowed=many(_RULE)
    ),
    "Allowed": record(allowed=many(_RULE)),
    "Revoked": record(rule=NUMBER, revoked=FLAG),
    "Trace": record(message=ANY, happenings=many(ANY)),
    "Unknown": record(deliveries=many(ANY)),
    "SetAside": record(set_aside=many(ANY)),
    "People": record(grants=many(ANY), asking=many(ANY)),
    "Paired": record(person=TEXT, owner=FLAG),
    "LetIn": record(who=TEXT),
    "Carried": record(position=NUMBER, fresh=FLAG, state=TEXT),
    "Settled": record(delivery=NUMBER, settled=TEXT),
    "Asked": record(asked=TEXT),
}
