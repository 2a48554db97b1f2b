"""The platforms on this machine: those of Holdfast, and those of other packages by entry points."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Protocol

from holdfast.errors import Unusable
from holdfast.installation import DISTRIBUTION, missing_extra
from holdfast.records import dataclass

from .base import Capabilities, Platform
from .web import WebChat

GROUP = "holdfast.platforms"
"""The group of entry points for platforms of other packages."""


class PlatformOffer(Protocol):
    """The object that an entry point names: it has the platform's capabilities, and makes one for a home."""

    @property
    def capabilities(self) -> Capabilities: ...

    def __call__(self, home: Path, table: Mapping[str, object]) -> Platform:
        """A platform for this home, from its table in `holdfast.toml`; it does not connect yet.

        It refuses an unknown key or a wrong value: `BadConfig` with the key, the value and what is allowed.
        """
        ...


@dataclass(frozen=True, slots=True)
class Known:
    """A platform with its name and its capabilities."""

    name: str
    capabilities: Capabilities
    come_from: str = DISTRIBUTION
    """The package it comes from."""


def known(offered: Iterable[EntryPoint] | None = None) -> tuple[Known, ...]:
    """Every platform on this machine; raises `Unusable` for an entry point that cannot be loaded."""
    return (
        Known("web", WebChat().capabilities),
        *_telegram(),
        *(_known(point) for point in _points(offered)),
    )


def _telegram() -> Iterator[Known]:
    """Telegram, if its library is installed. Its import is slow, so only this function does it."""
    if missing_extra("telegram") is not None:
        return
    from .telegram.adapter import capabilities  # noqa: PLC0415 - slow, as said

    yield Known("telegram", capabilities())


def offer(name: str, offered: Iterable[EntryPoint] | None = None) -> PlatformOffer:
    """Another package's platform with this name; raises `Unusable` if there is none that works."""
    for point in _points(offered):
        if point.name == name:
            return _loaded(point)
    there = ", ".join(point.name for point in _points(offered)) or "none"
    raise Unusable(f"no package offers a platform called {name!r}; there are: {there}")


def made(
    name: str, home: Path, table: Mapping[str, object], offered: Iterable[EntryPoint] | None = None
) -> Platform:
    """Another package's platform with this name, made from its table; raises `Unusable`."""
    found = offer(name, offered)
    try:
        return found(home, table)
    except Unusable:
        raise
    except Exception as error:  # noqa: BLE001 - the boundary to another package
        # Only the kind of the error: its text may quote the table, which may hold secrets.
        kind = type(error).__name__
        raise Unusable(f"the platform {name!r} cannot be made with its [platforms.{name}]: {kind}") from None


def _points(offered: Iterable[EntryPoint] | None) -> Iterator[EntryPoint]:
    found = entry_points(group=GROUP) if offered is None else offered
    yield from sorted(found, key=lambda point: point.name)


def _known(point: EntryPoint) -> Known:
    package = point.dist.name if point.dist is not None else point.value
    return Known(point.name, _loaded(point).capabilities, package)


def _loaded(point: EntryPoint) -> PlatformOffer:
    try:
        found = point.load()
    except Exception as error:
        raise Unusable(f"the platform {point.name!r} ({point.value}) cannot be loaded: {error}") from error
    if not isinstance(getattr(found, "capabilities", None), Capabilities) or not callable(found):
        raise Unusable(f"the platform {point.name!r} ({point.value}) has no capabilities, or cannot be made")
    offered: PlatformOffer = found
    return offered
