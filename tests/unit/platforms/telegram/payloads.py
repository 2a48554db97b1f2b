"""Updates as the Bot API brings them, written from its documentation."""

from typing import Any

from holdfast.model import Delivery, DeliveryId, DeliveryState, OwedKind, Place
from holdfast.platforms.telegram import Me

ME = Me("1000", "holdfast_bot")
ADA = {"id": 1001, "is_bot": False, "first_name": "Ada"}
PRIVATE = {"id": 1001, "type": "private", "first_name": "Ada"}
GROUP = {"id": -2001, "type": "group", "title": "Small"}
SUPERGROUP = {"id": -1000000003001, "type": "supergroup", "title": "Large"}
FORUM = {**SUPERGROUP, "is_forum": True}
PHOTO = [
    {"file_id": "small", "file_unique_id": "s", "width": 90, "height": 67, "file_size": 1000},
    {"file_id": "large", "file_unique_id": "l", "width": 1280, "height": 960, "file_size": 90000},
]
DOCUMENT = {
    "file_id": "doc",
    "file_unique_id": "d",
    "file_name": "notes.txt",
    "mime_type": "text/plain",
    "file_size": 12,
}


def message(number: int = 7, **more: Any) -> dict[str, Any]:
    return {"message_id": number, "date": 1_800_000_000, "chat": PRIVATE, "from": ADA, **more}


def update(kind: str, content: Any, number: int = 100) -> dict[str, Any]:
    return {"update_id": number, kind: content}


def press(data: str, **more: Any) -> dict[str, Any]:
    return {"id": "q1", "from": ADA, "chat_instance": "1", "data": data, "message": message(9), **more}


def place(chat: int = 1001, thread: str | None = None) -> Place:
    return Place("telegram", "1000", str(chat), thread)


def delivery(**more: Any) -> Delivery:
    given: dict[str, Any] = {
        "id": DeliveryId(1),
        "chat": place().address,
        "order": 1,
        "kind": OwedKind.REPLY,
        "part": 1,
        "parts": 1,
        "text": "**hi** <you>",
        "options": (),
        "reply_to": None,
        "dedupe": "asked:t1:c1-1",
        "state": DeliveryState.SENDING,
        "attempts": 1,
        "repeated": False,
        "created_at": 0,
    }
    return Delivery(**(given | more))
