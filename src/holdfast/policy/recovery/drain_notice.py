"""What a chat with a running turn is told when the gateway stops: only what is true of its work."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from holdfast.model import OnInterruption
from holdfast.policy.intake.admission import Drain
from holdfast.policy.settings import SECOND
from holdfast.policy.turn.progress_notice import span

_GOING: Mapping[Drain, str] = MappingProxyType(
    {
        Drain.RESTART: "The gateway is restarting.",
        Drain.SHUTDOWN: "The gateway is shutting down.",
    }
)
_BACK: Mapping[Drain, str] = MappingProxyType(
    {Drain.RESTART: "after the restart", Drain.SHUTDOWN: "when it runs again"}
)
_WAITS = "It waits up to {wait} for the work in this chat. If the work is not done by then, "
_AT_ONCE = "It does not wait for the work in this chat. "
_THEN: Mapping[OnInterruption, str] = MappingProxyType(
    {
        OnInterruption.RESUME: "I'll try to resume where we left off, {back}.",
        OnInterruption.ASK: "I keep it, and ask you {back} whether to continue or drop it.",
        OnInterruption.NEVER: "I leave it unfinished: this chat is set to resume nothing.",
    }
)


def farewells(why: Drain, wait: int) -> Mapping[OnInterruption, str]:
    """The notice for each setting of a chat about interrupted work; `wait` is how long the drain waits."""
    waits = _WAITS.format(wait=span(wait)) if wait >= SECOND else _AT_ONCE
    return MappingProxyType(
        {wanted: f"{_GOING[why]} {waits}{words.format(back=_BACK[why])}" for wanted, words in _THEN.items()}
    )
