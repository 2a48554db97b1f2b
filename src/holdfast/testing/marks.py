"""Words that worlds plant and rules look for."""

from __future__ import annotations

CANARY = "c4n4ry-6f0d2e"
"""A secret inside the message of every fault, as real faults contain tokens."""
KEY = "k3y-91c2-of+the/gateway"
"""A secret that the gateway knows. A leaky tool prints it; its form does not look like a secret."""
STRANGER = "stranger"
"""The chat of a person who may not talk."""
