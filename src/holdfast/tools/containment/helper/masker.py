"""Removes known secrets from everything a helper keeps, with the gateway's own masker.

The gateway passes the values through a pipe (`secret_pipe.py`). A helper reads it only after it has started
the program, so no process with the rights of the program ever had them.
"""

from __future__ import annotations

import codecs
import json
import os
from importlib.util import module_from_spec, spec_from_file_location
from typing import TYPE_CHECKING

from .kernel import close_memory

if TYPE_CHECKING:
    from holdfast.telemetry.known_secrets import KnownSecrets

_AT_ONCE = 65_536
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
_MASKER = os.path.join(_PACKAGE, "telemetry", "known_secrets.py")
"""The module as a file: a helper starts without the rest of the package, which takes long to import."""


class Masked:
    """Bytes without known secrets, also across pieces; bytes that are not UTF-8 stay as they are."""

    def __init__(self, known: KnownSecrets | None) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._stream = None if known is None else known.stream()

    def feed(self, data: bytes) -> bytes:
        """What can be kept after this piece."""
        if self._stream is None:
            return data
        return _bytes(self._stream.feed(self._decoder.decode(data)))

    def end(self) -> bytes:
        """The rest, after the last piece."""
        if self._stream is None:
            return b""
        last = self._stream.feed(self._decoder.decode(b"", final=True))
        return _bytes(last + self._stream.end())


class ToldSecrets:
    """The secrets that the gateway passed to this helper."""

    def __init__(self, known: KnownSecrets | None = None) -> None:
        self._known = known

    def stream(self) -> Masked:
        return Masked(self._known)


def told(descriptor: int | None) -> ToldSecrets:
    """Read the secrets, close the pipe behind them, and hide the memory of this process from all others."""
    if descriptor is None:
        return ToldSecrets()
    close_memory()
    data = b"".join(iter(lambda: os.read(descriptor, _AT_ONCE), b""))
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, descriptor)
    os.close(nothing)
    values = json.loads(data or b"[]")
    return ToldSecrets(_known(values) if values else None)


def _known(values: list[str]) -> KnownSecrets:
    spec = spec_from_file_location("known_secrets", _MASKER)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    known: KnownSecrets = module.KnownSecrets(values)
    return known


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
