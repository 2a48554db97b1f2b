"""A model server for tests and first steps: real HTTP, the real protocols, answers by rules.

    async with ModelServer() as server:
        server.faults.append(Fault(Kind.LIMITED, seconds=2))
        ...  # ask at server.openai_url or, in the messages protocol, at server.url

It refuses what the providers refuse: calls without results, results without calls, roles that do not
alternate, empty content. `python -m holdfast.testing.fakes.models --port 8001` serves it to a gateway.
"""

from __future__ import annotations

from .conversation import Call, Conversation, ModelAnswer, RequestRefused, SpokenTurn, Who
from .faults import FaultKind, ModelFault
from .script import Brain, Scripted, Story, read_script
from .server import ModelServer, ServeOptions

__all__ = [
    "ModelAnswer",
    "Brain",
    "Call",
    "Conversation",
    "ModelFault",
    "FaultKind",
    "ModelServer",
    "RequestRefused",
    "Story",
    "Scripted",
    "ServeOptions",
    "SpokenTurn",
    "Who",
    "read_script",
]
