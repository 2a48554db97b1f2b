"""Commands in a shell: each in contained processes of its own, of which none survives the call."""

from __future__ import annotations

import asyncio
import codecs
import json
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from holdfast.clock import Clock, in_time
from holdfast.model import EffectClass
from holdfast.policy.settings import SECOND, TerminalSettings
from holdfast.records import dataclass
from holdfast.telemetry import KnownSecrets
from holdfast.tools.base import CutShort, Tool, ToolContext, ToolFailed
from holdfast.tools.containment import Launcher, Prepared, helper_command, private_of_session
from holdfast.tools.functions import FunctionTool

from .safe_paths import SafePaths, put_state, state_of

USUAL = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR")
"""What a command sees of the gateway's environment, besides all `LC_*` and the configured variables."""
_SHELLS = ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/bin/sh")
_PIECE = 65_536
_DEFAULT = 120.0
_SHELL = 'trap "pwd -P >&3" EXIT\neval "$1"'
_FILES = 4
"""Descriptors of a command: on the fourth it says in which folder it ended."""
_ENDS = 3.0
"""Seconds in which the helper ends the command; after them the gateway kills the helper."""
_BEYOND = 15.0
"""Seconds beyond the longest time of a command, after which the gateway gives the call up."""


def environment(known: Mapping[str, str], more: frozenset[str] = frozenset()) -> dict[str, str]:
    """What commands see of an environment: only names on a list, so that no secret can be forgotten."""
    seen = {
        name: value
        for name, value in known.items()
        if name in USUAL or name in more or name.startswith("LC_")
    }
    return {**seen, "TERM": "dumb", "PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}


class CommandTool(FunctionTool):
    """A function that runs a contained program."""

    starts_program = True


@dataclass(frozen=True, slots=True)
class Terminal:
    """The shell of an agent's sessions."""

    clock: Clock
    settings: TerminalSettings
    places: SafePaths
    environment: Mapping[str, str]
    launcher: Launcher
    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    """What commands see besides the workspace, and what of that they may change."""

    def tools(self) -> tuple[Tool, ...]:
        # The terminal ends the command earlier by itself; this limit is for a helper that does not end.
        most = self.settings.timeout / SECOND + _BEYOND
        return (CommandTool(self.terminal, None, EffectClass.EFFECT, most),)

    async def terminal(self, context: ToolContext, command: str, seconds: float = _DEFAULT) -> str:
        """Run a shell command in the workspace and return its output and exit code.

        The next command starts in the folder where this one ended. Nothing else carries over. Programs that
        the command leaves running are ended. The command has no input.

        Args:
            command: The command for the shell; several lines are allowed.
            seconds: The command is ended after this time.
        """
        seconds = min(max(1.0, seconds), self.settings.timeout / SECOND)
        kept = _Kept(self.settings.output, context.secrets)
        running = await self._begin(context, command)
        try:
            status = await in_time(self.clock, seconds, running.listen(context, kept))
        except TimeoutError:
            await running.end()
            raise CutShort(_cut(f"the command was ended after {seconds:g} seconds", kept)) from None
        except asyncio.CancelledError:
            await running.end()
            raise CutShort(_cut("the command and everything it started were stopped", kept)) from None
        except BaseException:
            await running.end()
            raise
        return self._told(context, status, kept)

    async def _begin(self, context: ToolContext, command: str) -> _Running:
        prepared = await asyncio.to_thread(self._prepared, context, command)
        process = await asyncio.create_subprocess_exec(
            *helper_command("command"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=dict(prepared.environment),
            start_new_session=True,
        )
        running = _Running(process, self.clock)
        await running.order({"argv": prepared.argv, **prepared.order})
        return running

    def _prepared(self, context: ToolContext, command: str) -> Prepared:
        folder = self.places.files(context)
        view = self.launcher.view(
            folder, private_of_session(context.workspace, context.session), self.read, self.write
        )
        shell = next(shell for shell in _SHELLS if os.access(shell, os.X_OK))
        flags = ("--noprofile", "--norc") if shell.endswith("bash") else ()
        return self.launcher.prepare(
            view,
            (shell, *flags, "-c", _SHELL, shell, command),
            Path(state_of(self._cwd(context)) or folder),
            # Filtered again, whatever the source: a command sees no variable that is on no list.
            environment(self.environment, self.settings.env),
            files=_FILES,
            joined=True,
        )

    def _cwd(self, context: ToolContext) -> Path:
        return self.places.state(context) / "cwd"

    def _told(self, context: ToolContext, status: Mapping[str, Any], kept: _Kept) -> str:
        over = status.get("ended")
        if over in ("memory", "processes"):
            most = {
                "memory": f"{self.settings.memory} MB",
                "processes": f"{self.settings.processes} processes",
            }
            raise CutShort(_cut(f"the command used more than {most[over]} and was ended", kept))
        if over is not None:
            raise CutShort(_cut("the command ended, but how it ended is not known", kept))
        cwd = status.get("cwd")
        if isinstance(cwd, str) and cwd != state_of(self._cwd(context)):
            put_state(self._cwd(context), cwd)
        output = kept.text
        if output and not output.endswith("\n"):
            output += "\n"
        number = status.get("signal")
        end = f"ended by signal {number}" if number else f"exit code {status.get('exit')}"
        return f"{output}[{end}]"


class _Running:
    """A command, and the helper around it."""

    def __init__(self, process: asyncio.subprocess.Process, clock: Clock) -> None:
        self._process = process
        self._clock = clock

    async def order(self, order: Mapping[str, Any]) -> None:
        """Tell the helper what to run; its input stays open as long as the command may run."""
        assert self._process.stdin is not None
        # If the helper ended at once, `listen` finds that out.
        with suppress(ConnectionError):
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            await self._process.stdin.drain()

    async def listen(self, context: ToolContext, kept: _Kept) -> Mapping[str, Any]:
        """Read the output of the command until it ends, and return how it ended."""
        output, words = self._process.stdout, self._process.stderr
        assert output is not None
        assert words is not None
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while piece := await output.read(_PIECE):
            text = decoder.decode(piece)
            kept.add(text)
            context.output(text)
        kept.add(decoder.decode(b"", final=True))
        said = (await words.read()).decode("utf-8", "replace").strip().splitlines()
        await self._process.wait()
        try:
            *trouble, last = said
            status = json.loads(last)
            if trouble:
                raise ValueError
        except ValueError:
            raise ToolFailed(f"the command could not be run: {' '.join(said)[-500:]}") from None
        return status if isinstance(status, dict) else {"ended": "lost"}

    async def end(self) -> None:
        """End everything that the command started and return when it is gone; bounded, never cancelled."""
        ending = asyncio.ensure_future(self._end())
        while not ending.done():
            with suppress(asyncio.CancelledError):
                await asyncio.shield(ending)

    async def _end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await in_time(self._clock, _ENDS, self._gone())
        except TimeoutError:
            # The command dies with the helper, where the machine can promise that.
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def _gone(self) -> None:
        """Read its output to the end: asyncio notices the end of the process only after that."""
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            while await stream.read(_PIECE):
                continue
        await self._process.wait()


class _Kept:
    """The output of a command without known secrets: if it is too long, only its beginning and its end."""

    def __init__(self, most: int, known: KnownSecrets) -> None:
        # Masked before the middle is dropped: a part of a secret cannot be recognised.
        self._masked = known.stream()
        self._half = most // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def add(self, text: str) -> None:
        self._add(self._masked.feed(text).encode())

    def _add(self, piece: bytes) -> None:
        room = self._half - len(self._head)
        self._head += piece[: max(0, room)]
        self._tail += piece[max(0, room) :]
        over = len(self._tail) - self._half
        if over > self._half:
            # Rarely, so that small pieces do not move the whole tail each time.
            del self._tail[:over]
            self._dropped += over

    @property
    def text(self) -> str:
        self._add(self._masked.end().encode())
        over = max(0, len(self._tail) - self._half)
        tail, dropped = bytes(self._tail[over:]), self._dropped + over
        middle = f"\n[{dropped} bytes in the middle were not kept]\n".encode() if dropped else b""
        return (bytes(self._head) + middle + tail).decode("utf-8", "replace")


def _cut(why: str, kept: _Kept) -> str:
    output = kept.text
    return f"{why}. Its output until then: {output}" if output else f"{why}, without any output until then"
