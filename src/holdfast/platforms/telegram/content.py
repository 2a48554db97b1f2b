"""The content of a message: text, files, and places and contacts as text. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.records import dataclass

from .format import readable

Json = Mapping[str, object]

_LARGEST = 1 << 63
_FILES = {
    "document": "application/octet-stream",
    "audio": "audio/mpeg",
    "voice": "audio/ogg",
    "video": "video/mp4",
    "video_note": "video/mp4",
    "animation": "video/mp4",
    "sticker": "image/webp",
}
"""The fields with files, each with the media type to use if the message names none."""
_SERVICE = frozenset(
    (
        *("new_chat_members", "left_chat_member", "new_chat_title", "new_chat_photo", "delete_chat_photo"),
        *("group_chat_created", "supergroup_chat_created", "channel_chat_created", "pinned_message"),
        *("message_auto_delete_timer_changed", "write_access_allowed", "users_shared", "chat_shared"),
        *("forum_topic_created", "forum_topic_edited", "forum_topic_closed", "forum_topic_reopened"),
        *("general_forum_topic_hidden", "general_forum_topic_unhidden", "video_chat_scheduled"),
        *("video_chat_started", "video_chat_ended", "video_chat_participants_invited", "boost_added"),
        *("chat_background_set", "direct_message_price_changed", "successful_payment", "connected_website"),
    )
)


@dataclass(frozen=True, slots=True)
class TelegramFile:
    """A file on Telegram's servers; `getFile` fetches it by its id."""

    id: str
    unique: str
    name: str
    media_type: str
    size: int | None


@dataclass(frozen=True, slots=True)
class Content:
    """The text or the caption, and the files."""

    text: str = ""
    files: tuple[TelegramFile, ...] = ()


NO_CONTENT = Content()


def part(payload: Json, name: str) -> Json:
    """The object in this field; an empty one if the field is no object."""
    value = payload.get(name)
    return value if isinstance(value, dict) else {}


def integer(payload: Json, name: str) -> int | None:
    """The 64-bit whole number in this field; None for anything else."""
    value = payload.get(name)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if -_LARGEST <= value < _LARGEST else None


def text_in(payload: Json, name: str) -> str:
    """The text in this field, as valid Unicode; empty if the field is no text."""
    value = payload.get(name)
    return readable(value) if isinstance(value, str) else ""


def content_of(message: Json) -> Content | None:
    """The content of a message; None for a service message about the chat."""
    text = text_in(message, "text") or text_in(message, "caption") or _in_words(message)
    files = _files(message)
    if not text and not files and not _SERVICE.isdisjoint(message):
        return None
    return Content(text, files)


def _in_words(message: Json) -> str:
    place, person = part(message, "location"), part(message, "contact")
    if place:
        title = text_in(part(message, "venue"), "title")
        where = f"{place.get('latitude')}, {place.get('longitude')}"
        return readable(f"Location: {title} ({where})" if title else f"Location: {where}")[:1_000]
    if person:
        names = (text_in(person, name) for name in ("first_name", "last_name", "phone_number"))
        return f"Contact: {' '.join(filter(None, names))}"
    return ""


def _files(message: Json) -> tuple[TelegramFile, ...]:
    photos = message.get("photo")
    sizes = [size for size in photos if isinstance(size, dict)] if isinstance(photos, list) else []
    # One photo in several sizes; the last is the largest.
    found = [_file(sizes[-1], "photo.jpg", "image/jpeg")] if sizes else []
    # An animation also comes as a document.
    fields = [name for name in _FILES if name != "document" or "animation" not in message]
    found += [_file(part(message, name), name, _FILES[name]) for name in fields]
    return tuple(file for file in found if file is not None)


def _file(given: Json, name: str, media_type: str) -> TelegramFile | None:
    id_ = text_in(given, "file_id")
    if not id_:
        return None
    size = integer(given, "file_size")
    return TelegramFile(
        id_,
        text_in(given, "file_unique_id"),
        # Only the part after the last slash: a name, never a path.
        (text_in(given, "file_name") or name).replace("\\", "/").rpartition("/")[2] or name,
        text_in(given, "mime_type") or media_type,
        size if size is None or size >= 0 else None,
    )
