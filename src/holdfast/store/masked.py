"""A store that masks secrets: it removes every known secret from the arguments of every verb.

The turn masks text where it enters, so that neither a person nor a model sees a secret. This store is the
second line of defence: it covers error words, platform payloads, command lines and everything else.
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

        # The next lookup of this verb skips `__getattr__`: the stages use the same few verbs all the time.
        self.__dict__[name] = verb
        return verb
