"""Configuration: `holdfast.toml` in the home, then the environment; the only place that reads the latter."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from holdfast.errors import BadConfig
from holdfast.policy.processes import environment_for
from holdfast.policy.settings import ToolSettings
from holdfast.records import dataclass
from holdfast.tools.builtin import environment

from .home import VARIABLE as HOME_VARIABLE
from .home import home_at
from .keys import KEYS, Key, value_at, with_value
from .settings import LOCAL_PERSON, Settings

FILE = "holdfast.toml"
PREFIX = "HOLDFAST_"

_BY_NAME: Mapping[str, Key] = {key.name: key for key in KEYS}
_BY_VARIABLE: Mapping[str, Key] = {key.variable: key for key in KEYS}
_OTHER_VARIABLES = (HOME_VARIABLE,)
_LOOPBACK = re.compile(r"localhost|::1|127(?:\.\d{1,3}){3}")
_ALIKE = 0.85
"""How close a variable's name must be to one of ours to be a slip rather than somebody else's."""


@dataclass(frozen=True, slots=True)
class Described:
    """One key as it stands: its value, where that comes from, and what it is without anybody's word."""

    key: str
    value: object
    source: str
    default: object
    allowed: str
    help: str
    variable: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings, and where each of them was said."""

    settings: Settings
    sources: Mapping[str, str]
    """By key, only those that were set."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What whoever started this process told it."""

    notify_socket: str | None = None
    watchdog_seconds: float | None = None
    """How often systemd wants to hear from us at the least."""
    under_systemd: bool = False


def find_home(home: Path | None = None, environment: Mapping[str, str] | None = None) -> Path:
    """The folder that holds everything."""
    return Path(home_at(home, environment))


def load_settings(home: Path | None = None, environment: Mapping[str, str] | None = None) -> Loaded:
    """Everything a gateway needs to know; raises `BadConfig` with key, value and what is allowed.

    The environment (`HOLDFAST_DRAIN_WAIT` for `drain.wait`) wins over the file, the file over defaults.
    """
    known = os.environ if environment is None else environment
    settings = Settings(find_home(home, known))
    sources: dict[str, str] = {}
    for key, value, source in (*_from_file(settings.home / FILE), *_from_environment(known)):
        settings = with_value(settings, key.path, _read(key, value, source))
        sources[key.name] = source
    _check_together(settings)
    # Who can open the home's socket could as well write the ledger: there is nothing to keep them out of.
    owners = settings.access.owners | {LOCAL_PERSON}
    return Loaded(with_value(settings, "access.owners", owners), sources)


def describe(loaded: Loaded) -> tuple[Described, ...]:
    """Every key, in the order of the reference."""
    defaults = Settings(loaded.settings.home)
    return tuple(
        Described(
            key.name,
            key.kind.show(value_at(loaded.settings, key.path)),
            loaded.sources.get(key.name, "default"),
            key.kind.show(value_at(defaults, key.path)),
            key.kind.allowed,
            key.help,
            key.variable,
        )
        for key in KEYS
    )


def surroundings(environment: Mapping[str, str] | None = None) -> Surroundings:
    """Who started us, as far as they said so."""
    known = os.environ if environment is None else environment
    # A watchdog time meant for another process (an inherited variable) is not ours.
    ours = known.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    micros = known.get("WATCHDOG_USEC", "") if ours else ""
    # The session of a desktop is a service as well, and every shell in it has its variables.
    service = known.get("SYSTEMD_EXEC_PID", str(os.getpid())) == str(os.getpid())
    return Surroundings(
        known.get("NOTIFY_SOCKET") or None,
        int(micros) / 1_000_000 if micros.isdigit() else None,
        "INVOCATION_ID" in known and service,
    )


def commands_see(settings: ToolSettings, known: Mapping[str, str] | None = None) -> dict[str, str]:
    """What commands of an agent see of this process's environment: what is allowed, and no secret."""
    return environment(os.environ if known is None else known, settings.terminal.env)


def process_environment(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """What background processes are told of ours: no secret is among it."""
    return environment_for(os.environ if environment is None else environment)


def _from_file(path: Path) -> Iterator[tuple[Key, object, str]]:
    try:
        with path.open("rb") as file:
            tree = tomllib.load(file)
    except FileNotFoundError:
        return
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadConfig(str(path), str(error), "TOML: [section] and key = value lines") from None
    except OSError as error:
        raise BadConfig(str(path), error.strerror, "a file this process may read") from None
    for name, value in _flat(tree):
        if name not in _BY_NAME:
            raise BadConfig(name, value, _known_keys(name))
        yield _BY_NAME[name], value, str(path)


def _flat(tree: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _known_keys(name: str) -> str:
    near = difflib.get_close_matches(name, _BY_NAME, n=1, cutoff=0.5)
    return f"a known key; did you mean {near[0]}?" if near else f"a known key: {', '.join(_BY_NAME)}"


def _from_environment(environment: Mapping[str, str]) -> Iterator[tuple[Key, object, str]]:
    for variable, value in environment.items():
        if variable in _BY_VARIABLE:
            yield _BY_VARIABLE[variable], value, variable
        elif variable.startswith(PREFIX) and variable not in _OTHER_VARIABLES:
            near = difflib.get_close_matches(variable, _BY_VARIABLE, n=1, cutoff=_ALIKE)
            if near:
                raise BadConfig(variable, value, f"a known variable; did you mean {near[0]}?")


def _read(key: Key, value: object, source: str) -> object:
    try:
        return key.kind.read(value)
    except (ValueError, KeyError, OverflowError):
        where = "" if source == key.variable else f" (in {source})"
        name = key.variable if source == key.variable else key.name
        raise BadConfig(name, value, key.kind.allowed + where) from None


def _check_together(settings: Settings) -> None:
    """What is allowed by itself and makes no sense together."""
    progress = settings.gateway.progress
    if progress.abort < progress.warn:
        raise BadConfig("progress.abort", progress.abort / 1_000, "at least progress.warn")
    web = settings.web
    if not web.allow_remote and not _LOOPBACK.fullmatch(web.host):
        raise BadConfig("web.host", web.host, "a loopback address, unless web.allow_remote is true")
