"""Runs one whole gateway, and says which values its functions were given.

    python -m tests.support.reached HOME

What the configuration gives itself does not count, nor what the composition passes on: a value has to come
out of there. Nor do the two records that hold every setting: they give no value in particular.
"""

import asyncio
import enum
import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from holdfast.api.frontend import Open, RunningGateway
from holdfast.config.load import StartContext, load_settings
from holdfast.config.secret_values import secrets_of
from holdfast.config.settings import GatewaySettings, Settings
from holdfast.model import Batch
from holdfast.process.main import run_gateway
from holdfast.web import open_page

_CONFIGURATION = ("load", "keys", "named_tables", "telegram_keys", "settings", "approval_rules")
_COMPOSITION = ("process.main", "gateway.gateway", "gateway.build.agents", "gateway.build.providers")
NOT_COUNTED = frozenset(
    [
        *(f"holdfast.config.{name}" for name in _CONFIGURATION),
        *(
            f"holdfast.{name}"
            for name in (*_COMPOSITION, "gateway.build.platforms", "gateway.build.mcp_servers")
        ),
    ]
)
ALL_SETTINGS = (Settings, GatewaySettings)
_DEEPEST = 8

Leaf = bool | int | float | str | None


def leaves(value: object, path: str, depth: int = 0) -> Iterator[tuple[str, Leaf]]:
    """What a value is made of, as far as it is plain data; objects that do something are not looked into."""
    if isinstance(value, enum.Enum):
        yield path, value.value
    elif value is None or isinstance(value, (bool, int, float, str)):
        yield path, value
    elif isinstance(value, Path):
        yield path, str(value)
    elif depth <= _DEEPEST and not isinstance(value, ALL_SETTINGS):
        for name, one in _inside(value):
            yield from leaves(one, f"{path}{name}", depth + 1)


def _inside(value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        yield from ((f".{name}", one) for name, one in value.items())
    elif isinstance(value, (tuple, list, set, frozenset)):
        yield from (("", one) for one in value)
    elif is_dataclass(value):
        names = [field.name for field in fields(value)]
        yield from ((f".{name}", getattr(value, name, None)) for name in names)


class Calls:
    """What the functions of the program were given."""

    def __init__(self) -> None:
        self.seen: set[tuple[str, Leaf]] = set()

    def watch(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        module = str(frame.f_globals.get("__name__"))
        if not module.startswith("holdfast.") or module in NOT_COUNTED:
            return
        batch = frame.f_locals.get("batch")
        if isinstance(batch, Batch) and not batch.messages:
            return  # Nothing in it is judged by a setting: an alert keeps its place so.
        code = frame.f_code
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        for name in names:
            if name != "self" and name in frame.f_locals:
                self.seen.update(leaves(frame.f_locals[name], f"{module}.{code.co_qualname}({name})"))


class Life:
    """One message that is answered, one command, one look, and the end."""

    def __init__(self) -> None:
        self.status: Any = None
        self._driven: asyncio.Future[None] | None = None

    async def open(self, inside: RunningGateway) -> Open:
        """What a gateway is given for a door: the page, and somebody behind it."""
        opened = await open_page(inside)
        self._driven = asyncio.ensure_future(self._drive(inside))
        return opened

    async def _drive(self, inside: RunningGateway) -> None:
        try:
            await inside.verbs["say"].run({"chat": "terminal", "text": "hello"})
            async for event in inside.following.follow("terminal"):
                if "delivery" in event:
                    break
            await inside.verbs["stop"].run({"chat": "terminal"})
            self.status = await inside.verbs["status"].run({})
        finally:
            await inside.verbs["shutdown"].run({})


def main(home: Path) -> None:
    calls, life = Calls(), Life()
    threading.setprofile(calls.watch)
    sys.setprofile(calls.watch)
    settings = load_settings(home).settings
    code = run_gateway(settings, StartContext(), life.open, secrets_of(settings))
    sys.setprofile(None)
    json.dump({"status": life.status, "seen": sorted(calls.seen, key=repr)}, sys.stdout)
    sys.stdout.flush()
    # As the gateway's process does: what is left of it does not keep it.
    os._exit(code)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
