"""What a chat with a running turn is told when the gateway goes: only what is true of its work."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from holdfast.model import OnInterruption

from .admission import Drain

_GOING: Mapping[Drain, str] = MappingProxyType(
    {
        Drain.RESTART: "The gateway is restarting.",
        Drain.SHUTDOWN: "The gateway is shutting down.",
    }
)
_BACK: Mapping[Drain, str] = MappingProxyType(
    {Drain.RESTART: "after the restart", Drain.SHUTDOWN: "when it runs again"}
)
_THEN: Mapping[OnInterruption, str] = MappingProxyType(
    {
        OnInterruption.RESUME: "What is not done by then I'll try to resume where we left off, {back}.",
        OnInterruption.ASK: "What is not done by then stays as it is, and I ask you {back} whether to go on.",
        OnInterruption.NEVER: "What is not done by then is left; this chat wants nothing taken up again.",
    }
)


def farewells(why: Drain) -> Mapping[OnInterruption, str]:
    """The words, by what the chat wants done with interrupted work."""
    return MappingProxyType(
        {wanted: f"{_GOING[why]} {words.format(back=_BACK[why])}" for wanted, words in _THEN.items()}
    )
