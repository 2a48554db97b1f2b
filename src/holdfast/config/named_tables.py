"""The tables of `holdfast.toml` that people name, `[agents.NAME]` and `[mcp.NAME]`, and their keys.

A secret is never a value of the file: a key names the variable, or another file, that holds the secret.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from holdfast.model import EffectClass
from holdfast.policy.settings import DAY, HOUR, MINUTE, SECOND
from holdfast.records import dataclass
from holdfast.tools.mcp import McpSettings

from .keys import Key
from .kinds import KeyKind, choice, count, dollars, duration, inherited, switch
from .settings import Effort, NamedAgent, Provider

NAME = "NAME"
"""The placeholder for the name of a table."""

_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_URL = re.compile(r"https?://[^\s/?#@]+(?:/[^\s?#]*)?")
_WORD = re.compile(r"\S+")
_LINE = re.compile(r"[^\n]+")
_HEADER = re.compile(r"[A-Za-z0-9-]+")
_BY_VARIABLE = re.compile(r"(?:[A-Za-z]+ )?\$[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Section:
    """Tables of one kind. `Settings` has their records in a mapping by name."""

    name: str
    path: str
    """The place of that mapping in `Settings`, attribute by attribute."""
    make: Callable[[], Any]
    """Makes a record with default values; the paths of `keys` begin there."""
    keys: tuple[Key, ...]
    needed: frozenset[str] = frozenset()
    """Keys without a default: a table must have them."""

    def keys_of(self, table: str) -> Iterator[Key]:
        """Its keys with the names they have in this table: `agents.main.model`."""
        for key in self.keys:
            yield Key(
                f"{self.name}.{table}.{key.name}", f"{self.path}.{table}.{key.path}", key.kind, key.help
            )


def is_name(text: str) -> bool:
    """Whether a table may have this name."""
    return _NAME.fullmatch(text) is not None


NAMES = "small letters, digits and dashes, beginning with a letter, 32 at most"


def _said(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    return value.strip()


def word(words: str) -> KeyKind:
    """A name without spaces."""
    return matching(_WORD, words)


def matching(form: re.Pattern[str], words: str) -> KeyKind:
    """A text of this form."""

    def read(value: object) -> str:
        if not form.fullmatch(_said(value)):
            raise ValueError
        return _said(value)

    return KeyKind(words, read)


def optional(kind: KeyKind) -> KeyKind:
    """The same, or nothing, which people write as `none`."""

    def read(value: object) -> object:
        return None if value in ("", "none") else kind.read(value)

    def show(value: Any) -> object:
        return "none" if value is None else kind.show(value)

    return KeyKind(f"{kind.allowed}, or none", read, show, kind.private)


def url() -> KeyKind:
    """The address of a server. It has no place for a secret: no user, no query, no fragment."""
    return matching(_URL, 'an address without user and password, like "http://127.0.0.1:11434/v1"')


def variable() -> KeyKind:
    """The name of a variable. Only `config.load.secret` reads its value."""
    kind = matching(_VARIABLE, 'the name of a variable of the environment, like "OPENAI_API_KEY"')
    return replace(kind, private=True)


def file() -> KeyKind:
    return KeyKind(
        "the path of a file, from the home folder if relative", lambda value: Path(_said(value)), str
    )


def paths() -> KeyKind:
    """Existing files and folders, with every link in their paths resolved."""

    def read(value: object) -> tuple[Path, ...]:
        given = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
        if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
            raise ValueError
        found = tuple(Path(os.path.expanduser(one)) for one in given if one)
        if not all(one.is_absolute() and one.exists() for one in found):
            raise ValueError
        return tuple(Path(os.path.realpath(one)) for one in found)

    words = 'a list of existing paths that begin with / or ~, like ["~/data"]'
    return KeyKind(words, read, lambda value: [str(one) for one in value])


def texts(words: str, form: re.Pattern[str] = _WORD) -> KeyKind:
    """A list in the given order; in the environment with commas between."""

    def read(value: object) -> tuple[str, ...]:
        given = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
        if not isinstance(given, list):
            raise ValueError
        if not all(isinstance(one, str) and form.fullmatch(one) for one in given if one != ""):
            raise ValueError
        return tuple(one for one in given if one != "")

    return KeyKind(words, read, list)


AGENTS = Section(
    "agents",
    "agents",
    NamedAgent,
    (
        Key("provider", "provider", choice(Provider), "the protocol of the model; many servers speak openai"),
        Key("model", "model", word("the name of a model at its provider"), "the model that answers"),
        Key("models", "models", texts("a list of models' names"), "other models that /model may choose"),
        Key("base_url", "base_url", optional(url()), "the server's address; none: the provider's own"),
        Key("key_env", "key_env", optional(variable()), "the variable that holds the provider's key"),
        Key("key_file", "key_file", optional(file()), "a file that holds the key instead"),
        Key("instructions", "instructions", optional(file()), "a text that says who it is and how it works"),
        Key("tools", "tools", texts("a list of tools' names"), "the tools that it may use"),
        Key(
            "mcp",
            "mcp",
            texts('a list of patterns of [mcp.NAME], like ["git"]'),
            "the MCP servers whose tools it gets",
        ),
        Key("read", "read", paths(), "what its commands may read besides the workspace and the system"),
        Key("write", "write", paths(), "what its commands may change besides the workspace"),
        Key(
            "images", "images", switch(), "whether the model gets pictures, or only a note that there was one"
        ),
        Key(
            "context",
            "context",
            count(1_000, 100_000_000),
            "tokens that the model can read at once; the agent sums up older text",
        ),
        Key("max_output", "max_output", count(1, 10_000_000), "most tokens of one reply"),
        Key("effort", "effort", optional(choice(Effort)), "how hard it thinks; none: the provider's default"),
        Key("timeout", "timeout", duration(SECOND, HOUR), "time until the next sign of life of a reply"),
        Key("price_input", "price_input", dollars(), "price of a million tokens that the model reads"),
        Key("price_cached", "price_cached", optional(dollars()), "the same for tokens from a cache"),
        Key("price_output", "price_output", dollars(), "the same for tokens that the model writes"),
    ),
    needed=frozenset({"model"}),
)


def variables() -> KeyKind:
    """Names of variables, in the given order. No message repeats a value that was written instead."""
    kind = texts('a list of names of variables of the environment, like ["GITHUB_TOKEN"]', _VARIABLE)
    return replace(kind, private=True)


def headers() -> KeyKind:
    """Headers and their values. A secret is given only by the name of its variable."""

    def read(value: object) -> tuple[tuple[str, str], ...]:
        if not isinstance(value, dict):
            raise ValueError
        found = tuple((str(name), _said(held)) for name, held in value.items())
        if not all(_HEADER.fullmatch(name) and _BY_VARIABLE.fullmatch(held) for name, held in found):
            raise ValueError
        return found

    words = 'a table of headers and variables, like { Authorization = "Bearer $GITHUB_TOKEN" }'
    return KeyKind(words, read, dict, private=True)


def effects() -> KeyKind:
    """Patterns of tools and their effect classes; the first pattern that matches counts."""
    known = tuple(one for one in EffectClass if one is not EffectClass.RECONCILABLE)

    def read(value: object) -> tuple[tuple[str, EffectClass], ...]:
        if not isinstance(value, dict) or not all(name in known for name in value.values()):
            raise ValueError
        return tuple((str(pattern), EffectClass(name)) for pattern, name in value.items())

    return KeyKind(f'a table of tools and {", ".join(known)}, like {{ "get_*" = "read" }}', read, dict)


MCP = Section(
    "mcp",
    "mcp",
    McpSettings,
    (
        Key(
            "command",
            "command",
            optional(matching(_LINE, "a program")),
            "the program of a server; or use url",
        ),
        Key("args", "args", texts("a list of texts", _LINE), "the arguments of the program"),
        Key("env", "env", variables(), "variables the program gets besides PATH, HOME and the like"),
        Key("cwd", "cwd", optional(file()), "its working folder, from the agents' workspace if relative"),
        Key("read", "read", paths(), "what it may read besides the workspace, its installation, the system"),
        Key("write", "write", paths(), "what it may change besides the workspace"),
        Key("network", "network", inherited(), "whether it reaches the network; auto: like tools.network"),
        Key("url", "url", optional(url()), "the address of a server that runs elsewhere (streamable HTTP)"),
        Key("headers", "headers", headers(), "headers of every request to it"),
        Key("tools", "tools", texts("a list of patterns"), "which of its tools agents get; none: all"),
        Key("effects", "effects", effects(), "the classes of its tools, instead of what the server says"),
        Key("timeout", "timeout", duration(SECOND, DAY), "time for an answer, or for the next progress"),
        Key("wait", "wait", duration(0, 10 * MINUTE), "how long a call waits for a server that is down"),
    ),
)

SECTIONS: tuple[Section, ...] = (AGENTS, MCP)
