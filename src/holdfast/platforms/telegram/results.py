"""Turns the Bot API's answer to a send into the delivery's result. Pure."""

from __future__ import annotations

from holdfast.model import Lost, Rejected, SendResult, Sent, TryAgain
from holdfast.platforms.base import PlatformDown
from holdfast.policy.settings import SECOND

from .client import CallFault, CallRefused, FloodWait, Unreached
from .content import integer

_TOKEN = (401, 404)
"""The codes with which Telegram answers every call with an unknown token."""
_GONE = (
    "chat not found",
    "group chat was deactivated",
    "have no rights to send",
    "not enough rights",
    "need administrator rights",
    "chat_write_forbidden",
    "chat_restricted",
    "channel_private",
    "peer_id_invalid",
    "user_is_blocked",
    "input_user_deactivated",
    "message thread not found",
    "topic_closed",
    "topic_deleted",
    "topic_id_invalid",
    "direct messages topic",
)
"""Refusals that end all sends to this chat or topic. The message never goes to another topic instead."""
_LOOKS = (
    "can't parse entities",
    "entity_",
    "unsupported parse_mode",
    "message is too long",
    "caption is too long",
)
_REPLY = ("message to be replied not found", "message to reply not found", "reply_message_id_invalid")
_AS_IT_IS = ("message is not modified",)
_NOT_THERE = (
    "message to edit not found",
    "message can't be edited",
    "message_id_invalid",
    "there is no text in the message",
)


def sent(answer: object, prefix: str = "") -> Sent:
    """The result of a send that arrived, with the message's id."""
    number = integer(answer, "message_id") if isinstance(answer, dict) else None
    return Sent(None if number is None else f"{prefix}{number}")


def unsent(fault: CallFault, now: int) -> SendResult:
    """The result of a send that failed; raises `PlatformDown` if every send would fail."""
    match fault:
        case FloodWait():
            return TryAgain(now + fault.seconds * SECOND, str(fault), counts=False)
        case Unreached():
            raise down(fault)
        case CallRefused() if fault.code in _TOKEN:
            raise down(fault)
        case CallRefused():
            gone = fault.code == 403 or _says(fault, _GONE)
            return Rejected(fault.words, whole_chat=gone, reply_gone=_says(fault, _REPLY))
    return Lost(f"no answer ({fault})")


def down(fault: CallFault) -> PlatformDown:
    """The fault in words for the operator, who has to repair it."""
    match fault:
        case FloodWait():
            return PlatformDown(str(fault), fault.seconds)
        case CallRefused() if fault.code in _TOKEN:
            return PlatformDown(
                "Telegram does not know the bot's token; check telegram.token_env or telegram.token_file"
            )
        case CallRefused() if fault.code == 409:
            return PlatformDown(
                "another program reads this bot's messages with the same token, or a webhook is set (409); "
                "Telegram serves only one of them: stop the other one"
            )
        case CallRefused():
            return PlatformDown(f"Telegram refused: {fault.words}")
    return PlatformDown(f"Telegram cannot be reached ({fault})")


def is_about_looks(fault: CallRefused) -> bool:
    """Whether Telegram may take the same text as plain text."""
    return _says(fault, _LOOKS)


def is_edited(fault: CallRefused) -> bool:
    """Whether no edit is needed: the text is already so, or the message is gone."""
    return fault.code == 403 or _says(fault, (*_AS_IT_IS, *_NOT_THERE, *_GONE))


def _says(fault: CallRefused, words: tuple[str, ...]) -> bool:
    said = fault.words.lower()
    return any(one in said for one in words)
