"""Passes a helper the secrets that it masks: by a pipe, so they are on no disk and in no command."""

from __future__ import annotations

import os

from holdfast.telemetry import KnownSecrets
from holdfast.tools.base import ToolFailed


def secret_pipe(known: KnownSecrets) -> int:
    """A descriptor from which a helper reads all secrets; the caller closes it."""
    heard, told = os.pipe()
    os.set_blocking(told, False)
    data = known.handed_over()
    try:
        # A pipe holds this much before its reader runs, so the gateway does not wait for the helper.
        whole = os.write(told, data) == len(data)
    except BlockingIOError:
        whole = False
    finally:
        os.close(told)
    if not whole:
        os.close(heard)
        raise ToolFailed("the configured secrets are too long to mask; no program was run")
    return heard
