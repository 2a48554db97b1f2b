"""A model server for tests and first steps: real HTTP, the real protocols, answers by rules.

    async with ModelServer() as server:
        server.faults.append(Fault(Kind.LIMITED, seconds=2))
        ...  # ask at server.openai_url or, in the messages protocol, at server.url

It refuses what the providers refuse: calls without results, results without calls, roles that do not take
turns, empty content. `python -m holdfast.testing.models --port 8001` serves it to a gateway.
"""

from __future__ import annotations

from .conversation import Answer, Call, Conversation, Refused, Turn, Who
from .faults import Fault, Kind
from .script import Brain, Rule, Scripted, read_script
from .server import ModelServer, Serving

__all__ = [
    "Answer",
    "Brain",
    "Call",
    "Conversation",
    "Fault",
    "Kind",
    "ModelServer",
    "Refused",
    "Rule",
    "Scripted",
    "Serving",
    "Turn",
    "Who",
    "read_script",
]
