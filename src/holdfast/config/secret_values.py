"""Which values are secrets of this gateway, by its configuration. No output of the gateway shows them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from holdfast.errors import BadConfig, Unusable
from holdfast.platforms.webhook_secret import webhook_secret
from holdfast.telemetry import KnownSecrets, is_secret_name
from holdfast.tools.builtin.terminal import USUAL

from .home import TOKEN
from .load import load_settings, secret, variable
from .settings import Settings

_VARIABLE = re.compile(r"\$(\w+)")
_HARMLESS = frozenset({"TERM", "COLORTERM", "EDITOR", "VISUAL", "PAGER", "DISPLAY", "PWD", "HOSTNAME"})
_WORDS = frozenset(
    {"production", "development", "localhost", "127.0.0.1", "disabled", "required", "optional", "critical"}
)
"""Common setting values of eight characters and more. Shorter values are never masked."""
_Stamp = tuple[int, int, int] | None


class HomeSecrets:
    """The secrets of one home (`Secrets`): the keys of its configuration, and the token in its file now.

    A person can replace the token while the gateway runs. The old one stays masked until the gateway ends.
    """

    def __init__(self, token: Path, values: frozenset[str]) -> None:
        self._token = token
        self._values = values
        self._stamp: _Stamp = None
        self._known = KnownSecrets(values)

    def __call__(self) -> KnownSecrets:
        stamp = _stamp(self._token)
        if stamp != self._stamp:
            self._stamp = stamp
            with suppress(OSError, UnicodeDecodeError):
                self._values |= {self._token.read_text(encoding="ascii").strip()}
            self._known = KnownSecrets(self._values)
        return self._known


def secrets_of(settings: Settings, environment: Mapping[str, str] | None = None) -> HomeSecrets:
    """The secrets that this configuration names. A variable that is not set is not a secret."""
    return HomeSecrets(settings.home / TOKEN, frozenset(_values(settings, environment)))


def secrets_at(home: Path) -> HomeSecrets:
    """The same for a command outside of the gateway; works also if the configuration is broken."""
    try:
        return secrets_of(load_settings(home).settings)
    except Unusable:
        return HomeSecrets(home / TOKEN, frozenset())


def _values(settings: Settings, environment: Mapping[str, str] | None) -> Iterator[str]:
    home, telegram = settings.home, settings.telegram
    named = [("key", one.key_env, one.key_file) for one in settings.agents.values()]
    for key, name, file in (*named, ("token", telegram.token_env, telegram.token_file)):
        with suppress(BadConfig):
            found = secret(key, name, file, home, environment) or ""
            yield found
            if key == "token":
                yield webhook_secret(found)
    for name in _variables(settings):
        value = variable(name, environment)
        if is_secret_name(name) or not (_is_harmless(name) or _is_setting(value)):
            yield value
            yield from _passwords(value)
    for table in settings.platform_tables.values():
        yield from (str(value) for name, value in table.items() if is_secret_name(name))


def _variables(settings: Settings) -> Iterator[str]:
    """The variables that MCP servers and commands get by name."""
    for server in settings.mcp.values():
        yield from server.env
        for _, value in server.headers:
            yield from _VARIABLE.findall(value)
    yield from settings.gateway.tools.terminal.env


def _is_harmless(name: str) -> bool:
    """Whether a variable of this name never holds a secret: commands see it anyway, or it is harmless."""
    return name in USUAL or name in _HARMLESS or name.startswith("LC_")


def _is_setting(value: str) -> bool:
    """Whether a value is clearly not a secret: a path on this machine, the bare address of a server, or a
    common setting value.

    Many texts contain such values, and a command with one of them masked would be another command.
    """
    parts = _address(value)
    if parts is not None:
        return not (parts.username or parts.password or parts.query or parts.path.strip("/"))
    return value.casefold() in _WORDS or (_is_place(value) and "\n" not in value)


def _is_place(value: str) -> bool:
    """Whether this is a path. A key may begin with a slash too, but then there is no such folder."""
    if value.startswith("/"):
        return os.path.lexists("/".join(value.split("/")[:2]))
    return value.startswith(("~/", "./", "../"))


def _passwords(value: str) -> Iterator[str]:
    """The password inside of an address, as written and decoded."""
    parts = _address(value)
    if parts is not None and parts.password:
        yield parts.password
        yield unquote(parts.password)


def _address(value: str) -> SplitResult | None:
    try:
        return urlsplit(value) if "://" in value else None
    except ValueError:
        return None


def _stamp(path: Path) -> _Stamp:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
