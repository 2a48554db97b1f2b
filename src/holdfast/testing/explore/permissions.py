"""What owners do in random worlds about calls that need their permission."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from holdfast.testing.sim.ports import SeededRng
from holdfast.testing.sim.scenario import Act, Admit, Bar, Press, Say

_OWNER = "a"
"""The chat of the owner."""
_ALWAYS = 2
"""The third button of a card."""


def decides(rng: SeededRng, platform: str, acts: Sequence[Act]) -> Iterable[Act]:
    """The owner answers questions about others' work: by the button, in words, or if there are none."""
    end = max(act.at for act in acts) + 20
    for _ in range(rng.randint(3, 8)):
        at = rng.uniform(2, end)
        pressed = Press(at, rng.choice((0, 0, 1)), _OWNER, platform)
        yield rng.choice((pressed, pressed, pressed, Say(at, "yes", _OWNER, platform, exact=True)))
    if rng.random() < 0.2:
        at = rng.uniform(2, end)
        yield Bar(at, _OWNER, platform)
        yield Admit(at + rng.uniform(2, 20), _OWNER, platform)


def allows_always(rng: SeededRng, platform: str) -> Iterable[Act]:
    """Several chats want the same call; the owner allows it always there, and may revoke that."""
    at = rng.uniform(0, 5)
    for _ in range(rng.randint(3, 6)):
        chat = rng.choice((_OWNER, _OWNER, "b"))
        yield Say(at, rng.choice(("tools usual", "tools usual+read", "tools read usual")), chat, platform)
        at += rng.uniform(3, 7)
        yield from _answers(rng, chat, platform, at)
        at += rng.uniform(1, 4)
        if rng.random() < 0.4:
            yield Say(at, f"/allowed revoke {rng.randint(1, 3)}", rng.choice((_OWNER, "b")), platform)
            at += rng.uniform(0.1, 2)


def _answers(rng: SeededRng, chat: str, platform: str, at: float) -> Iterable[Act]:
    yield rng.choice(
        (
            Press(at, _ALWAYS, _OWNER, platform),
            Press(at, _ALWAYS, _OWNER, platform),
            Press(at, _ALWAYS, chat, platform),
            Say(at, "always", chat, platform, exact=True),
            Say(at, "yes", chat, platform, exact=True),
        )
    )
