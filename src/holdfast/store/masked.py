"""The ledger without secrets: whatever a verb is given, no known secret in it is kept.

Text is masked where it enters a turn, so that neither a person nor a model sees a secret. This stands behind
all of that: error words, platform payloads, command lines and whatever else a verb may be given.
"""

from __future__ import annotations

import inspect
from typing import Any, cast

from holdfast.telemetry import Secrets, masked

from .contract import Store


def masked_store(store: Store, secrets: Secrets) -> Store:
    """The same store; the arguments of its verbs are masked before they reach it."""
    return cast(Store, _Masked(store, secrets))


class _Masked:
    def __init__(self, store: Store, secrets: Secrets) -> None:
        self._store = store
        self._secrets = secrets

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if not inspect.iscoroutinefunction(found):
            return found

        def verb(*args: Any, **more: Any) -> Any:
            known = self._secrets()
            return getattr(self._store, name)(*masked(args, known), **masked(more, known))

        # Found at once from now on: the stages ask for the same few verbs again and again.
        self.__dict__[name] = verb
        return verb
