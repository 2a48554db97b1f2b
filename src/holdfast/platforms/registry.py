"""The platforms there are: those that come with Holdfast, and what others add by an entry point."""

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
"""The group of entry points by which other packages offer platforms."""


class PlatformOffer(Protocol):
    """What such an entry point names: the platform's capabilities, and a way to make one for a home."""

    @property
    def capabilities(self) -> Capabilities: ...

    def __call__(self, home: Path, table: Mapping[str, object]) -> Platform:
        """One for this home, by its table of `holdfast.toml`; connects to nothing yet.

        What it does not know in there, or cannot take, it refuses: `BadConfig` with key, value and what is
        allowed.
        """
        ...


@dataclass(frozen=True, slots=True)
class Known:
    """A platform by its name, and what it can do."""

    name: str
    capabilities: Capabilities
    come_from: str = DISTRIBUTION
    """The package that brings it."""


def known(offered: Iterable[EntryPoint] | None = None) -> tuple[Known, ...]:
    """Every platform there is on this machine. Raises `Unusable` for an offer that cannot be read."""
    return (
        Known("web", WebChat().capabilities),
        *_telegram(),
        *(_known(point) for point in _points(offered)),
    )


def _telegram() -> Iterator[Known]:
    """Only where its library is, which takes longer to be imported than all of ours."""
    if missing_extra("telegram") is not None:
        return
    from .telegram.adapter import capabilities  # noqa: PLC0415 - as said

    yield Known("telegram", capabilities())


def offer(name: str, offered: Iterable[EntryPoint] | None = None) -> PlatformOffer:
    """What another package offers under this name; raises `Unusable` when there is nothing good."""
    for point in _points(offered):
        if point.name == name:
            return _loaded(point)
    there = ", ".join(point.name for point in _points(offered)) or "none"
    raise Unusable(f"no package offers a platform called {name!r}; there are: {there}")


def made(
    name: str, home: Path, table: Mapping[str, object], offered: Iterable[EntryPoint] | None = None
) -> Platform:
    """The platform that is offered under this name, with what its table says; raises `Unusable`."""
    found = offer(name, offered)
    try:
        return found(home, table)
    except Unusable:
        raise
    except Exception as error:  # noqa: BLE001 - the boundary to another's package
        # By its name alone: the table may hold what nobody else shall read.
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
