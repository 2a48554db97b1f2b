"""Who is asked for consent, and where: the person, if they may consent, or else an owner."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from holdfast.model import ChatAddress, PersonId, Place, place_at
from holdfast.policy.settings import ApprovalSettings, Approver
from holdfast.records import dataclass

from .card import one_line

PERSON = "{person}"
"""The place of a person's id in the name of a direct chat."""


@dataclass(frozen=True, slots=True)
class OwnChats:
    """How an account reaches one person alone: in a chat named by their id, or in a fixed one."""

    platform: str
    account: str
    name: str

    def of(self, person: PersonId) -> ChatAddress | None:
        """The chat with this person alone; None if their id is of another platform."""
        platform, _, id_ = person.partition(":")
        if platform != self.platform:
            return None
        return Place(platform, self.account, self.name.replace(PERSON, id_)).address

    def is_always_there(self) -> bool:
        """Whether the gateway can write there before a person has written."""
        return PERSON not in self.name


@dataclass(frozen=True, slots=True)
class AskThem:
    """Ask the person who caused the call, in the turn's own chat; None: any person there may answer."""

    person: PersonId | None


@dataclass(frozen=True, slots=True)
class AskOwner:
    """Ask any owner, in this chat, about what this person caused."""

    chat: ChatAddress
    person: PersonId | None


@dataclass(frozen=True, slots=True)
class NobodyToAsk:
    """Only an owner could consent, and the gateway can reach none."""


def causing(
    cause: PersonId | None, said: Iterable[PersonId], is_owner: Callable[[PersonId], bool]
) -> PersonId | None:
    """The person who causes what a turn does: the first one who wrote in it and is no owner, if any."""
    people = [*([cause] if cause else []), *said]
    return next((person for person in people if not is_owner(person)), cause)


def asks_owner(
    person: PersonId | None, is_owner: Callable[[PersonId], bool], settings: ApprovalSettings
) -> bool:
    """Whether only an owner may consent to what this person causes; None is an operator."""
    return settings.people is Approver.OWNER and not (person is not None and is_owner(person))


def owner_chats(
    chat: ChatAddress, owners: Iterable[PersonId], own: Sequence[OwnChats], configured: ChatAddress | None
) -> tuple[tuple[ChatAddress, bool], ...]:
    """Where an owner may be asked about work in this chat, best first; each with whether it surely exists.

    First comes the turn's own chat, if only an owner reads it. Then come the owners' direct chats on the same
    platform, with the configured `owner_chat` before the others; then that chat on any platform; then the
    owners' direct chats on other platforms, the built-in page last.
    """
    place = place_at(chat)
    if any(
        (one.platform, one.account) == (place.platform, place.account) and one.is_always_there()
        for one in own
    ):
        # Only the owner reads the chats of the built-in page.
        return ((chat, True),)
    found = {
        address: one for one in own for person in sorted(owners) if (address := one.of(person)) is not None
    }

    def rank(address: ChatAddress) -> tuple[bool, bool, bool, bool]:
        one = found[address]
        here = (one.platform, one.account) == (place.platform, place.account)
        return not here, address != chat, address != configured, one.is_always_there()

    ordered = sorted(found, key=rank)
    near = [address for address in ordered if not rank(address)[0]]
    far = [address for address in ordered if rank(address)[0]]
    chosen = [*near, *([configured] if configured else []), *far]
    return tuple((one, one in found and found[one].is_always_there()) for one in dict.fromkeys(chosen))


def is_own_chat(person: PersonId, chat: ChatAddress, own: Iterable[OwnChats]) -> bool:
    """Whether only this person reads this chat, in any of its topics."""
    place = place_at(chat)
    for one in own:
        if (one.platform, one.account) == (place.platform, place.account) and one.is_always_there():
            return True
        if one.of(person) == Place(place.platform, place.account, place.chat).address:
            return True
    return False


def asking_words(person: PersonId | None, chat: ChatAddress) -> str:
    """The sentence that tells an owner whose work the card is about, and where it runs."""
    name = one_line(person or "").replace("`", "'")
    who = f"`{name}`, who is no owner," if name else "An operator's request"
    return f"{who} caused this in the chat `{chat}`. I ask you because you are an owner."


def waiting_words(tool: str) -> str:
    """The message to the person whose work waits for an owner."""
    return (
        f"To run `{tool}` I need an owner's permission. I have asked an owner, and go on when they answer. "
        "/stop ends this work."
    )
