"""Words that worlds plant, and that the rules look for afterwards."""

from __future__ import annotations

CANARY = "c4n4ry-6f0d2e"
"""A secret. It stands in the words of every fault, as tokens do in those of real ones."""
KEY = "k3y-91c2-of+the/gateway"
"""A secret that the gateway knows. A leaky tool prints it, and nothing about it looks like a secret."""
STRANGER = "stranger"
"""The chat of a person who may not talk."""
