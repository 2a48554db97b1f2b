"""Who is asked for consent, and where: a person who is an owner themselves, or else an owner elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from holdfast.model import ChatAddress, PersonId, Place, place_at
from holdfast.policy.settings import ApprovalSettings, Approver
from holdfast.records import dataclass

from .card import one_line

PERSON = "{person}"
"""Stands for a person's id in the name of a platform's own chats."""


@dataclass(frozen=True, slots=True)
class OwnChats:
    """Where an account reaches one person alone: a chat named by their id, or one that is always the same."""

    platform: str
    account: str
    name: str

    def of(self, person: PersonId) -> ChatAddress | None:
        """The own chat of this person; None when they are known on another platform."""
        platform, _, id_ = person.partition(":")
        if platform != self.platform:
            return None
        return Place(platform, self.account, self.name.replace(PERSON, id_)).address

    def is_always_there(self) -> bool:
        """Whether nobody has to write there before it can be written to."""
        return PERSON not in self.name


@dataclass(frozen=True, slots=True)
class AskThem:
    """The person who caused the call is asked, in the turn's own chat; None: whoever reads it."""

    person: PersonId | None


@dataclass(frozen=True, slots=True)
class AskOwner:
    """Any owner is asked, in this chat, about what this person caused."""

    chat: ChatAddress
    person: PersonId | None


@dataclass(frozen=True, slots=True)
class NobodyToAsk:
    """An owner would have to be asked, and none can be reached."""


def causing(
    cause: PersonId | None, said: Iterable[PersonId], is_owner: Callable[[PersonId], bool]
) -> PersonId | None:
    """The person on whose word a turn acts: the first of those who wrote in it that is no owner, if any."""
    people = [*([cause] if cause else []), *said]
    return next((person for person in people if not is_owner(person)), cause)


def asks_owner(
    person: PersonId | None, is_owner: Callable[[PersonId], bool], settings: ApprovalSettings
) -> bool:
    """Whether an owner has to be asked about what this person causes; an operator's work is no person's."""
    return settings.people is Approver.OWNER and not (person is not None and is_owner(person))


def owner_chats(
    chat: ChatAddress, owners: Iterable[PersonId], own: Sequence[OwnChats], configured: ChatAddress | None
) -> tuple[tuple[ChatAddress, bool], ...]:
    """Where an owner may be asked about work in this chat, best first; each with whether it surely is there.

    The turn's own chat if only an owner reads it; an owner's own chat on the same platform, the configured
    `owner_chat` first if it is one of them; then that chat, wherever it is; then owners' own chats on other
    platforms, the built-in page's the last.
    """
    place = place_at(chat)
    if any(
        (one.platform, one.account) == (place.platform, place.account) and one.is_always_there()
        for one in own
    ):
        # Every chat of the built-in page is its owner's.
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
    """Whether this chat is one that reaches this person alone, whichever of its topics."""
    place = place_at(chat)
    for one in own:
        if (one.platform, one.account) == (place.platform, place.account) and one.is_always_there():
            return True
        if one.of(person) == Place(place.platform, place.account, place.chat).address:
            return True
    return False


def asking_words(person: PersonId | None, chat: ChatAddress) -> str:
    """Who asked, and where, for an owner who is asked about another person's work."""
    name = one_line(person or "").replace("`", "'")
    who = f"`{name}`, who is no owner," if name else "An operator's request"
    return f"{who} caused this in the chat `{chat}`. I ask you because you are an owner."


def waiting_words(tool: str) -> str:
    """What the person reads whose work waits for an owner."""
    return (
        f"To run `{tool}` I need an owner's permission. I have asked an owner, and go on when they answer. "
        "/stop ends this work."
    )
