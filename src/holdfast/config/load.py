"""Configuration: `holdfast.toml` in the home, then the environment, which only this module reads."""

from __future__ import annotations

import difflib
import fnmatch
import os
import re
import stat
import tomllib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from holdfast.errors import BadConfig
from holdfast.installation import bubblewrap, installation_folders
from holdfast.policy.containment import ClosedFolders, refused_path
from holdfast.policy.settings import Ruling, ToolSettings
from holdfast.records import dataclass
from holdfast.telemetry.secrets import SECRET, is_secret_name
from holdfast.tools.builtin import environment
from holdfast.tools.mcp import McpSettings

from .containment_keys import CONTAINMENT_KEYS
from .home import CHANNEL_VARIABLE, LISTENING_VARIABLE, WORKSPACE, home_at
from .home import VARIABLE as HOME_VARIABLE
from .keys import KEYS, Key, value_at, with_value
from .kinds import AGENT_NAMES, OUR_AGENTS
from .named_tables import NAME, NAMES, SECTIONS, Section, is_name
from .settings import LOCAL_PERSON, Reading, Settings, TelegramSettings
from .telegram_keys import PLATFORM_KEYS

FILE = "holdfast.toml"
PREFIX = "HOLDFAST_"
PLATFORMS = "platforms"

_ALL_KEYS = (*KEYS, *CONTAINMENT_KEYS, *PLATFORM_KEYS)
_OTHER_VARIABLES = (HOME_VARIABLE, CHANNEL_VARIABLE, LISTENING_VARIABLE)
_FIRST_OF_SYSTEMD = 3
_LOOPBACK = re.compile(r"localhost|::1|127(?:\.\d{1,3}){3}")
_ALIKE = 0.85
"""How close the name of a variable must be to a known one to count as a misspelling of it."""


@dataclass(frozen=True, slots=True)
class Described:
    """One key with its value, the source of the value, and its default."""

    key: str
    value: object
    source: str
    default: object
    allowed: str
    help: str
    variable: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings, and the source of each."""

    settings: Settings
    sources: Mapping[str, str]
    """By key; only for keys that were set."""
    keys: tuple[Key, ...] = _ALL_KEYS
    """All keys, with those of the tables in the file."""


@dataclass(frozen=True, slots=True)
class StartContext:
    """What the parent of this process told it."""

    notify_socket: str | None = None
    watchdog_seconds: float | None = None
    """systemd expects a sign of life at least this often."""
    under_systemd: bool = False
    channel: int | None = None
    """The open socket to Holdfast's supervisor."""
    listening: int | None = None
    """The open socket on which the gateway before listened, if its supervisor has held it."""


def find_home(home: Path | None = None, environment: Mapping[str, str] | None = None) -> Path:
    """The home folder."""
    return Path(home_at(home, environment))


def load_settings(home: Path | None = None, environment: Mapping[str, str] | None = None) -> Loaded:
    """Everything a gateway needs to know; raises `BadConfig` with key, value and what is allowed.

    The environment (`HOLDFAST_DRAIN_WAIT` for `drain.wait`) wins over the file, the file over defaults.
    """
    known = os.environ if environment is None else environment
    empty = Settings(find_home(home, known))
    path = empty.home / FILE
    tree = _tree(path)
    empty = replace(empty, platform_tables=_platform_tables(tree))
    settings, keys = _with_tables(empty, {section: _tables(tree, section) for section in SECTIONS})
    sources: dict[str, str] = {}
    for key, value, source in (*_from_file(tree, keys, str(path)), *_from_environment(known, keys)):
        settings = with_value(settings, key.path, _read(key, value, source))
        sources[key.name] = source
    settings = _with_model(settings, sources)
    _check_needed(settings, sources)
    _check_together(settings)
    # A person who can open the home's socket can also write the ledger, so there is nothing to protect.
    owners = settings.access.owners | {LOCAL_PERSON}
    return Loaded(with_value(settings, "access.owners", owners), sources, keys)


def describe(loaded: Loaded) -> tuple[Described, ...]:
    """Every key, in the order of the reference. The keys of tables occur once for each table."""
    given = {section: list(_records(loaded.settings, section)) for section in SECTIONS}
    defaults, _ = _with_tables(Settings(loaded.settings.home), given)
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
        for key in loaded.keys
    )


def reference() -> tuple[Described, ...]:
    """Every possible key. The keys of tables that people name have NAME in the place of the name."""
    settings, keys = _with_tables(Settings(Path()), {section: [NAME] for section in SECTIONS})
    return describe(Loaded(settings, {}, keys))


def needed() -> frozenset[str]:
    """The keys of named tables that have no default."""
    return frozenset(f"{section.name}.{NAME}.{key}" for section in SECTIONS for key in section.needed)


def secret(
    name: str,
    variable: str | None,
    file: Path | None,
    home: Path,
    environment: Mapping[str, str] | None = None,
) -> str | None:
    """The secret that the keys `name`_env and `name`_file point to; None if neither is set.

    Raises `BadConfig` if the variable or file is empty or missing. The caller must not record the secret.
    """
    known = os.environ if environment is None else environment
    if variable is not None and file is not None:
        raise BadConfig(f"{name}_file", str(file), f"only one of {name}_env and {name}_file")
    if variable is not None:
        if not known.get(variable, "").strip():
            raise BadConfig(f"{name}_env", variable, "a variable that is set where the gateway is started")
        return known[variable].strip()
    if file is None:
        return None
    try:
        found = (home / file).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        found = ""
    if not found:
        raise BadConfig(
            f"{name}_file", str(file), "a text file that this process may read and that is not empty"
        )
    return found


def secret_files(settings: Settings) -> tuple[Path, ...]:
    """The files that hold keys and tokens, with every link in their paths resolved."""
    named = [*(agent.key_file for agent in settings.agents.values()), settings.telegram.token_file]
    found = ((settings.home / one).expanduser() for one in named if one is not None)
    return tuple(dict.fromkeys(Path(os.path.realpath(one)) for one in found))


def variable(name: str, environment: Mapping[str, str] | None = None) -> str:
    """The value of a variable; an empty text if it is not set."""
    known = os.environ if environment is None else environment
    return known.get(name, "").strip()


def surroundings(environment: Mapping[str, str] | None = None) -> StartContext:
    """What the parent of this process told it in the environment."""
    known = os.environ if environment is None else environment
    # An inherited watchdog time may be meant for another process.
    ours = known.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    micros = known.get("WATCHDOG_USEC", "") if ours else ""
    # The session of a desktop is a service too, and every shell in it has its variables.
    service = known.get("SYSTEMD_EXEC_PID", str(os.getpid())) == str(os.getpid())
    return StartContext(
        known.get("NOTIFY_SOCKET") or None,
        int(micros) / 1_000_000 if micros.isdigit() else None,
        "INVOCATION_ID" in known and service,
        _inherited(known.get(CHANNEL_VARIABLE)),
        _inherited(known.get(LISTENING_VARIABLE)) or _held_by_systemd(known),
    )


def _held_by_systemd(known: Mapping[str, str]) -> int | None:
    """The first socket that systemd passes, as it does for `FDSTORE=1` and for a socket unit."""
    ours = known.get("LISTEN_PID") == str(os.getpid()) and known.get("LISTEN_FDS", "0") != "0"
    return _inherited(str(_FIRST_OF_SYSTEMD)) if ours else None


def _inherited(number: str | None) -> int | None:
    """An open socket that this process was started with. Programs that it starts do not inherit it."""
    if number is None or not number.isdigit():
        return None
    with suppress(OSError):
        if stat.S_ISSOCK(os.fstat(int(number)).st_mode):
            os.set_inheritable(int(number), False)
            return int(number)
    return None


def commands_see(settings: ToolSettings, known: Mapping[str, str] | None = None) -> dict[str, str]:
    """The part of the environment that commands of an agent see: allowed variables, and no secret."""
    return environment(os.environ if known is None else known, settings.terminal.env)


def _tree(path: Path) -> dict[str, object]:
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadConfig(str(path), str(error), "TOML: [section] and key = value lines") from None
    except OSError as error:
        raise BadConfig(str(path), error.strerror, "a file this process may read") from None


def _tables(tree: Mapping[str, object], section: Section) -> list[str]:
    """The names of the file's tables of this kind."""
    found = tree.get(section.name, {})
    if not isinstance(found, dict):
        raise BadConfig(section.name, found, f"tables: [{section.name}.{NAME}] and key = value lines")
    for name, table in found.items():
        if not is_name(name):
            raise BadConfig(f"{section.name}.{name}", name, f"as a name: {NAMES}")
        if not isinstance(table, dict):
            raise BadConfig(f"{section.name}.{name}", table, f"a table: [{section.name}.{name}]")
    return list(found)


def _platform_tables(tree: dict[str, object]) -> dict[str, Mapping[str, object]]:
    """Take the tables of platforms from other packages out of the tree, unchanged."""
    found = tree.get(PLATFORMS)
    if not isinstance(found, dict):
        return {}
    tables: dict[str, Mapping[str, object]] = {
        name: table for name, table in found.items() if isinstance(table, dict)
    }
    for name in tables:
        del found[name]
    return tables


def _with_tables(
    settings: Settings, given: Mapping[Section, Sequence[str]]
) -> tuple[Settings, tuple[Key, ...]]:
    """The settings with these tables, still empty, and all keys with those of the tables."""
    keys = [*_ALL_KEYS]
    for section, names in given.items():
        settings = with_value(settings, section.path, {name: section.make() for name in names})
        keys += [key for name in names for key in section.keys_of(name)]
    return settings, tuple(keys)


def _records(settings: Settings, section: Section) -> Mapping[str, object]:
    found = value_at(settings, section.path)
    assert isinstance(found, Mapping)
    return found


def _from_file(
    tree: Mapping[str, object], keys: Sequence[Key], source: str
) -> Iterator[tuple[Key, object, str]]:
    by_name = {key.name: key for key in keys}
    for name, value in _flat(tree, by_name):
        if name not in by_name:
            # In a named table this may be a secret in the place of its variable's name.
            shown = SECRET if _in_table(name) or is_secret_name(name) else value
            raise BadConfig(name, shown, _known_keys(name, by_name))
        yield by_name[name], value, source


def _flat(
    tree: Mapping[str, object], known: Container[str], prefix: str = ""
) -> Iterator[tuple[str, object]]:
    for name, value in tree.items():
        if isinstance(value, dict) and prefix + name not in known:
            yield from _flat(value, known, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _in_table(name: str) -> bool:
    return name.partition(".")[0] in {section.name for section in SECTIONS}


def _known_keys(name: str, known: Iterable[str]) -> str:
    """The key that may have been meant. In a named table, only the last part can be misspelled."""
    table = ".".join(name.split(".")[:2]) + "." if _in_table(name) else ""
    meant = {one.removeprefix(table): one for one in known if one.startswith(table)}
    near = difflib.get_close_matches(name.removeprefix(table), meant, n=1, cutoff=0.5)
    return f"a known key; did you mean {meant[near[0]]}?" if near else f"a known key: {', '.join(meant)}"


def _from_environment(
    environment: Mapping[str, str], keys: Sequence[Key]
) -> Iterator[tuple[Key, object, str]]:
    by_variable = {key.variable: key for key in keys}
    for variable, value in environment.items():
        if variable in by_variable:
            yield by_variable[variable], value, variable
        elif variable.startswith(PREFIX) and variable not in _OTHER_VARIABLES:
            near = difflib.get_close_matches(variable, by_variable, n=1, cutoff=_ALIKE)
            if near:
                shown = SECRET if is_secret_name(variable) else value
                raise BadConfig(variable, shown, f"a known variable; did you mean {near[0]}?")


def _read(key: Key, value: object, source: str) -> object:
    try:
        return key.kind.read(value)
    except (ValueError, KeyError, OverflowError):
        where = "" if source == key.variable else f" (in {source})"
        name = key.variable if source == key.variable else key.name
        # An address with a user may contain a password, or a key in the place of the user.
        private = key.kind.private or ("://" in str(value) and "@" in str(value))
        raise BadConfig(name, SECRET if private else value, key.kind.allowed + where) from None


def _with_model(settings: Settings, said: Container[str]) -> Settings:
    """The defaults that follow from an [agents.NAME]: the first such agent answers, effects need consent.

    Effects also need consent if the agent of another module gets built-in tools, such as a shell, or tools of
    MCP servers: only the owner of a server knows what its tools do.
    """
    if settings.agents and "agent.use" not in said:
        settings = with_value(settings, "agent.use", next(iter(settings.agents)))
    given = settings.agents or settings.gateway.tools.use or settings.mcp
    if given and "approvals.effect" not in said:
        settings = with_value(settings, "gateway.approvals.effect", Ruling.ASK)
    return settings


def _check_needed(settings: Settings, said: Container[str]) -> None:
    for section in SECTIONS:
        for table in _records(settings, section):
            for key in section.keys_of(table):
                if key.name not in said and key.name.rpartition(".")[2] in section.needed:
                    raise BadConfig(key.name, "", f"{key.kind.allowed}; it has no default")


def _check_together(settings: Settings) -> None:
    """Refuse values that are allowed alone but make no sense together."""
    for key, name in (
        ("agent.use", settings.agent.use),
        *(("routes", name) for _, name in settings.agent.routes),
    ):
        if name not in OUR_AGENTS and ":" not in name and name not in settings.agents:
            there = ", ".join(settings.agents) or "none"
            raise BadConfig(key, name, f"{AGENT_NAMES} (there are: {there})")
    for name, server in settings.mcp.items():
        _check_server(f"mcp.{name}", server)
    for name, agent in settings.agents.items():
        for pattern in agent.mcp:
            if pattern != "*" and not fnmatch.filter(settings.mcp, pattern):
                there = ", ".join(settings.mcp) or "none"
                raise BadConfig(f"agents.{name}.mcp", pattern, f"an [mcp.NAME] (there are: {there})")
    _check_paths(settings)
    progress = settings.gateway.progress
    if progress.abort < progress.warn:
        raise BadConfig("progress.abort", progress.abort / 1_000, "at least progress.warn")
    _check_tables(settings)
    _check_telegram(settings.telegram)
    web = settings.web
    if not web.allow_remote and not _LOOPBACK.fullmatch(web.host):
        raise BadConfig("web.host", web.host, "a loopback address, unless web.allow_remote is true")


def _check_paths(settings: Settings) -> None:
    """Refuse a path list that opens the gateway's home, or its installation or a user's home for writing."""
    contains = bubblewrap(os.environ.get("PATH", os.defpath))
    run = () if contains is None else (Path(contains).parent, Path(os.path.realpath(contains)))
    kept = ClosedFolders(
        Path(os.path.realpath(settings.home)),
        (*installation_folders(), *run),
        Path(os.path.realpath(Path.home())),
        secret_files(settings),
    )
    for key, path, write in (*_opened(settings), *_run_in(settings)):
        why = refused_path(path, write, kept)
        if why is not None:
            raise BadConfig(key, str(path), f"a path that agents may use: {why}")


def _opened(settings: Settings) -> Iterator[tuple[str, Path, bool]]:
    """Each path that a list opens: the key, the path, and whether programs may change it."""
    for name, agent in settings.agents.items():
        yield from ((f"agents.{name}.read", path, False) for path in agent.read)
        yield from ((f"agents.{name}.write", path, True) for path in agent.write)
    for name, server in settings.mcp.items():
        yield from ((f"mcp.{name}.read", path, False) for path in server.read)
        yield from ((f"mcp.{name}.write", path, True) for path in server.write)


def _run_in(settings: Settings) -> Iterator[tuple[str, Path, bool]]:
    """The folders outside of the workspace in which programs of MCP servers run."""
    workspace = Path(os.path.realpath(settings.home / WORKSPACE))
    for name, server in settings.mcp.items():
        cwd = Path(os.path.realpath(workspace / server.cwd)) if server.cwd else workspace
        if not cwd.is_relative_to(workspace):
            yield f"mcp.{name}.cwd", cwd, True


def _check_tables(settings: Settings) -> None:
    for name in settings.platform_tables:
        if name not in settings.platforms:
            there = ", ".join(settings.platforms) or "none"
            raise BadConfig(f"platforms.{name}", SECRET, f"a platform of platforms.use (there are: {there})")


def _check_telegram(telegram: TelegramSettings) -> None:
    if telegram.reading is Reading.WEBHOOK and telegram.webhook_url is None:
        raise BadConfig("telegram.webhook_url", "none", "an address, since telegram.reading is webhook")


def _check_server(table: str, server: McpSettings) -> None:
    """A server has a program or an address, and only keys that belong to it."""
    if (server.command is None) == (server.url is None):
        raise BadConfig(f"{table}.command", server.command or "none", "one of command and url, and not both")
    if server.url is None and server.headers:
        raise BadConfig(f"{table}.headers", SECRET, "only with url")
    if server.command is None and (server.args or server.env or server.cwd or server.read or server.write):
        words = "without args, env, cwd, read and write: those are for a command"
        raise BadConfig(f"{table}.url", server.url, words)
