"""The log of a process, and the masking that keeps secrets out of it."""

from __future__ import annotations

from .control_characters import controls_named
from .known_secrets import GrowingText, KnownSecrets, Secrets, SecretStream, no_secrets
from .masked_values import masked
from .secrets import SECRET, is_secret_name, without_secrets

__all__ = [
    "SECRET",
    "GrowingText",
    "KnownSecrets",
    "SecretStream",
    "Secrets",
    "controls_named",
    "is_secret_name",
    "masked",
    "no_secrets",
    "without_secrets",
]
