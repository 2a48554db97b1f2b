"""A world as a file: its scenario and its options, so that anyone can play it again."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from enum import Enum
from pathlib import Path
from typing import Any

from holdfast.config.settings import AlertSettings, DrainSettings, GatewaySettings
from holdfast.errors import Unusable
from holdfast.model import BusyMode, EffectClass, OnInterruption, Sharing
from holdfast.policy.settings import (
    ApprovalSettings,
    Approver,
    GoalSettings,
    LimitSettings,
    ProcessSettings,
    ProgressSettings,
    QuestionSettings,
    QueueSettings,
    RecoverySettings,
    ResetSettings,
    RetrySettings,
    Rule,
    Ruling,
    SafeModeSettings,
)
from holdfast.store import Keep
from holdfast.testing.sim.faults import FaultRates
from holdfast.testing.sim.scenario import ACTS, Cue, Scenario

from .options import Kill, Options, WorldOutcome

FORMAT, VERSION = "holdfast-world", 1
_KINDS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        *ACTS,
        *(Scenario, Cue, Options, Kill, FaultRates, GatewaySettings, AlertSettings, DrainSettings),
        *(LimitSettings, ProgressSettings, QueueSettings, RecoverySettings, ResetSettings, RetrySettings),
        *(SafeModeSettings, Keep, Sharing, BusyMode, OnInterruption, ApprovalSettings, QuestionSettings),
        *(Rule, Ruling, Approver, EffectClass, GoalSettings, ProcessSettings),
    )
}
_NOT_KEPT = ("boot", "folder")
"""Options that belong to the machine that plays the world."""


def save(scenario: Scenario, outcome: WorldOutcome, path: Path) -> None:
    """Write a world down with its violations."""
    found = {
        "format": FORMAT,
        "version": VERSION,
        "violations": outcome.violations,
        "scenario": _plain(scenario),
        "options": _plain(outcome.options),
        "last": outcome.last,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def load_world(path: Path) -> tuple[Scenario, Options]:
    """Read a world that `save` wrote; raises `Unusable` for any other file or a newer version."""
    found = _read(path)
    if found.get("format") != FORMAT:
        raise Unusable(f"{path} is not a world that a run of worlds wrote")
    if found.get("version") != VERSION:
        raise Unusable(
            f"{path} is a world of version {found.get('version')}; this Holdfast knows version {VERSION}"
        )
    try:
        return _made(found["scenario"]), _made(found["options"])
    except (KeyError, TypeError, ValueError) as error:
        raise Unusable(f"{path} is a world that this Holdfast cannot read ({error})") from None


def is_world(path: Path) -> bool:
    """Whether a file claims to be a saved world."""
    return _read(path).get("format") == FORMAT


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Unusable(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _plain(value: Any) -> Any:
    """A record as its name and the fields that differ from the default."""
    if isinstance(value, Enum):
        return {"is": type(value).__name__, "value": value.value}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "__dataclass_fields__"):
        given = {field.name: getattr(value, field.name) for field in fields(value) if _is_kept(field, value)}
        return {"is": type(value).__name__, **{name: _plain(one) for name, one in given.items()}}
    return value


def _is_kept(field: Any, record: Any) -> bool:
    usual = field.default if field.default_factory is MISSING else field.default_factory()
    return field.name not in _NOT_KEPT and getattr(record, field.name) != usual


def _made(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_made(one) for one in value)
    if isinstance(value, dict):
        given = {name: _made(one) for name, one in value.items() if name != "is"}
        return _KINDS[value["is"]](**given)
    return value
