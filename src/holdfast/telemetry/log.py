"""The gateway's log: one JSON object per line in `logs/gateway.log`, and readable lines on the terminal.

A thread of its own writes the log, so no caller waits for a disk or a terminal. This thread imports the
formatting library at the first line, when the gateway already runs. A kill may lose the last few lines;
everything that matters is in the ledger.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from .control_characters import controls_named
from .known_secrets import NONE, KnownSecrets, Secrets, no_secrets
from .secrets import SECRET, is_secret_name, without_secrets

FOLDER = "logs"
FILE = "gateway.log"
LARGEST = 5 * 1024 * 1024
"""The size in bytes at which the log moves the file to `gateway.log.1`, … and begins a new one."""
KEPT = 5
"""How many older files are kept."""
_LAST_LINES = 2.0
"""How many seconds the last lines get at the end: a terminal may be stuck."""


class Log:
    """Takes records from every logger of this process and writes them in order, in a thread."""

    def __init__(self, home: Path, secrets: Secrets = no_secrets) -> None:
        self._home = home
        self._secrets = secrets
        self._queue: SimpleQueue[logging.LogRecord | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="log", daemon=True)

    def begin(self) -> None:
        root = logging.getLogger()
        root.handlers[:] = [_Into(self._queue)]
        root.setLevel(logging.INFO)
        # Otherwise, on a full disk, Python would print each lost line unmasked, with its secrets.
        logging.raiseExceptions = False
        self._thread.start()

    def end(self) -> None:
        """Write the lines that are left, for two seconds at most."""
        self._queue.put(None)
        self._thread.join(_LAST_LINES)

    def _write(self) -> None:
        handlers: list[logging.Handler] = []
        while (record := self._queue.get()) is not None:
            if not handlers:
                handlers = _handlers(self._home, self._secrets)
            for handler in handlers:
                handler.handle(record)
        for handler in handlers:
            handler.close()


class _Into(logging.Handler):
    """Hands records to the thread; it formats their message first, because the arguments may change later."""

    def __init__(self, queue: SimpleQueue[logging.LogRecord | None]) -> None:
        super().__init__()
        self._queue = queue

    def emit(self, record: logging.LogRecord) -> None:
        try:
            record.msg, record.args = record.getMessage(), None
        except Exception:  # noqa: BLE001 - a message that does not fit its arguments is logged as it is
            record.args = None
        self._queue.put(record)


def _handlers(home: Path, secrets: Secrets) -> list[logging.Handler]:
    import structlog  # noqa: PLC0415 - the import takes as long as the rest of a start; only this thread waits

    shown = logging.StreamHandler(sys.stderr)
    shown.setFormatter(
        _Rendered(
            structlog.dev.ConsoleRenderer(
                colors=sys.stderr.isatty(),
                exception_formatter=structlog.dev.plain_traceback,
                event_key="what",
                timestamp_key="at",
                pad_event_to=0,
            ),
            secrets,
        )
    )
    kept = _file(home)
    if kept is None:
        return [shown]
    kept.setFormatter(_Rendered(structlog.processors.JSONRenderer(ensure_ascii=False), secrets))
    return [shown, kept]


def _file(home: Path) -> logging.Handler | None:
    """The handler of the log file; None if the file cannot be opened, as the gateway runs without it too."""
    from logging.handlers import RotatingFileHandler  # noqa: PLC0415 - as above

    folder = home / FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return RotatingFileHandler(folder / FILE, maxBytes=LARGEST, backupCount=KEPT, encoding="utf-8")
    except OSError as error:
        os.write(2, f"holdfast: cannot write the log in {folder}: {error}\n".encode())
        return None


class _Rendered(logging.Formatter):
    """Formats a record with one of structlog's renderers."""

    def __init__(self, render: Callable[[Any, str, dict[str, Any]], Any], secrets: Secrets) -> None:
        super().__init__()
        self._render = render
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        return str(self._render(None, "", event_of(record, self._secrets())))


_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "taskName"}
"""The attributes of every record; all others are values that the caller logged with the line."""


def event_of(record: logging.LogRecord, known: KnownSecrets = NONE) -> dict[str, Any]:
    """A record as an event: time, level and message, then the logged values, then the traceback.

    It has no secrets, and no characters that would control a reader's terminal.
    """

    def shown(text: str) -> str:
        # Known values are masked first: a pattern may end in the middle of one.
        return controls_named(without_secrets(known.without(text)))

    event: dict[str, Any] = {
        "at": moment(int(record.created * 1_000)),
        "level": record.levelname.lower(),
        "what": shown(record.getMessage()),
    }
    for name, value in vars(record).items():
        if name not in _STANDARD:
            event[name] = SECRET if is_secret_name(name) else shown(str(value))
    if record.exc_info:
        event["exception"] = shown(_FAULTS.formatException(record.exc_info))
    return event


_FAULTS = logging.Formatter()


def moment(milliseconds: int) -> str:
    """A moment in UTC, as the log keeps it."""
    at = datetime.fromtimestamp(milliseconds // 1_000, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1_000:03d}Z"
