"""Where a message came from, where replies go, and which conversation it belongs to."""

from __future__ import annotations

from enum import StrEnum
from urllib.parse import quote, unquote

from holdfast.records import dataclass

from .ids import ChatAddress, Key, PersonId


class ChatKind(StrEnum):
    """The kind of a chat."""

    DIRECT = "direct"
    GROUP = "group"


@dataclass(frozen=True, slots=True)
class Place:
    """One chat, or one thread (topic) of it, as seen by one bot account."""

    platform: str
    account: str
    chat: str
    thread: str | None = None

    @property
    def address(self) -> ChatAddress:
        """The place as one string, which `place_at` reads back."""
        address = f"{served_by(self.platform, self.account)}/{_quoted(self.chat)}"
        return ChatAddress(address if self.thread is None else f"{address}/{_quoted(self.thread)}")


def served_by(platform: str, account: str) -> str:
    """The beginning of the addresses of all chats of this bot account."""
    return f"{_quoted(platform)}/{_quoted(account)}"


def _quoted(part: str) -> str:
    # Most names are plain, and this check costs a tenth of quoting.
    return part if part.isascii() and part.isalnum() else quote(part, safe="")


def place_at(address: ChatAddress) -> Place:
    """Read an address back into the place it names."""
    parts = address.split("/")
    platform, account, chat, *thread = map(unquote, parts) if "%" in address else parts
    return Place(platform, account, chat, thread[0] if thread else None)


def account_at(address: ChatAddress) -> str:
    """The platform and bot account of an address, as `served_by` writes them."""
    return address[: address.find("/", address.find("/") + 1)]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a message came from and who sent it."""

    place: Place
    kind: ChatKind
    sender: str

    @property
    def person(self) -> PersonId:
        return PersonId(f"{self.place.platform}:{self.sender}")


@dataclass(frozen=True, slots=True)
class Sharing:
    """Whether the people of a place share one conversation."""

    groups_per_person: bool = True
    threads_per_person: bool = False


def conversation_key(origin: Origin, sharing: Sharing) -> Key:
    """Decide which conversation a message belongs to; no other place does.

    A direct chat is one conversation, and each of its topics is another. A group has one per person, and a
    group's thread has one for all, unless `sharing` says otherwise.
    """
    place = origin.place
    if origin.kind is ChatKind.DIRECT:
        per_person = False
    elif place.thread is not None:
        per_person = sharing.threads_per_person
    else:
        per_person = sharing.groups_per_person
    return Key(f"{place.address}@{_quoted(origin.sender)}" if per_person else place.address)
