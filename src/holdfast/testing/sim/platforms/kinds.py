"""The kinds of platforms: how they acknowledge, how they treat a repeated send, and what they show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from types import MappingProxyType

from holdfast.platforms import Ack, Capabilities, Idempotency, Rate
from holdfast.policy.consent.approver import PERSON
from holdfast.policy.settings import DAY

LONGEST = 300
"""Characters of a message here: few, so that replies often have more than one part."""
REPEAT_WITHIN = 20_000
"""Milliseconds for which some platforms remember a key."""

_SETTLING: Mapping[str, Capabilities] = MappingProxyType(
    {
        "forgets": Capabilities(Ack.OFFSET),
        "remembers": Capabilities(Ack.OFFSET, Idempotency.STRONG),
        "remembers-for-a-while": Capabilities(Ack.OFFSET, Idempotency.WINDOW, REPEAT_WITHIN),
        "can-be-asked": Capabilities(Ack.OFFSET, reconcile=True),
    }
)
_LOOKS: Mapping[str, Mapping[str, object]] = MappingProxyType(
    {
        "": {},
        "edits": {"edit": True},
        "lively": {"edit": True, "typing": 1.0, "drafts": True, "show_every": 0.5, "buttons": True},
        "notices": {"notices": True, "drafts": True, "show_every": 0.5},
    }
)


def _every() -> dict[str, Capabilities]:
    """Each way to acknowledge with each way to settle and each way to show."""
    found = {}
    for ack, (settles, capabilities), (look, shows) in product(Ack, _SETTLING.items(), _LOOKS.items()):
        name = "-".join(filter(None, (ack.value, settles, look)))
        more: dict[str, object] = {"ack": ack, "longest": LONGEST, "catch_up": None, **shows}
        found[name] = replace(capabilities, **more)  # type: ignore[arg-type]  # each is one of its fields
    return found


EVERY: Mapping[str, Capabilities] = MappingProxyType(_every())
"""All possible kinds, by name."""

TELEGRAM = Capabilities(
    Ack.OFFSET,
    edit=True,
    threads=True,
    buttons=True,
    longest=4096,
    typing=4.0,
    drafts=True,
    show_every=1.5,
    catch_up=DAY,
    attachments=20 * 1024 * 1024,
    files=50_000_000,
    each_chat=Rate(2, 2.0),
    all_chats=Rate(30, 1.0),
    newcomers=True,
    own_chat=PERSON,
)
"""The bot's capabilities, for code without the bot's dependencies; a test compares the two."""

_SIMPLE = Capabilities(Ack.OFFSET, longest=LONGEST, catch_up=None)

KINDS: Mapping[str, Capabilities] = MappingProxyType(
    {
        "strong": replace(_SIMPLE, idempotency=Idempotency.STRONG, edit=True),
        "plain": _SIMPLE,
        "asked": replace(_SIMPLE, reconcile=True, edit=True),
        "lively": replace(_SIMPLE, edit=True, typing=1.0, drafts=True, show_every=0.5),
        "hook": replace(_SIMPLE, ack=Ack.ANSWER),
        "telegram": TELEGRAM,
        **EVERY,
    }
)
"""The kinds of platforms by name; scenarios use the first few."""
