"""The browsers that are signed in: a short list in the home that survives restarts and holds no secret.

A browser proves its sign-in with two secrets. The cookie alone is worth nothing: browsers send a cookie to
every port of its host. The page keeps the second secret, the proof, in its origin's storage, which no other
port reads. The list keeps only marks of both, made with the home's token: a new token ends every sign-in.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from holdfast.clock import Clock, new_secret
from holdfast.errors import DiskFull
from holdfast.policy.settings import DAY
from holdfast.records import dataclass
from holdfast.store.sqlite.home_lock import sync_folder

FILE = "sign-ins.json"
LASTS = 30 * DAY
MOST = 50
"""The most sign-ins that are kept; one more ends the oldest."""
_LONGEST_BROWSER = 200
_ID = 12

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BrowserSecrets:
    """The two secrets that a browser gets when it signs in. The gateway keeps neither."""

    cookie: str
    proof: str


@dataclass(frozen=True, slots=True)
class Signed:
    """One sign-in as the home keeps it."""

    id: str
    at: int
    browser: str
    """How the browser named itself."""
    token: str
    """Marks of the token, of the cookie's secret and of the proof."""
    cookie: str
    proof: str


class SignIns:
    """Every change is on disk before it is answered; an ended sign-in is refused from that moment on."""

    def __init__(self, home: Path, clock: Clock) -> None:
        self._path = home / FILE
        self._clock = clock
        self._alone = asyncio.Lock()
        self._known = _read(self._path)

    async def add(self, token: str, browser: str) -> BrowserSecrets:
        name, secret, proof = new_secret()[:_ID], new_secret(), new_secret()
        signed = Signed(
            name,
            self._clock.now(),
            "".join(filter(str.isprintable, browser))[:_LONGEST_BROWSER],
            marked(token, "token"),
            marked(token, f"cookie:{secret}"),
            marked(token, f"proof:{proof}"),
        )
        async with self._alone:
            kept = [*self.all(token)[: MOST - 1]][::-1]
            await self._keep({one.id: one for one in (*kept, signed)})
        return BrowserSecrets(f"{name}.{secret}", proof)

    def find(self, token: str, cookie: str, proof: str) -> Signed | None:
        """The valid sign-in that both secrets belong to; None if there is none."""
        name, _, secret = cookie.partition(".")
        found = self._known.get(name)
        if found is None or not self._counts(found, token):
            return None
        right = _same(found.cookie, marked(token, f"cookie:{secret}"))
        return found if _same(found.proof, marked(token, f"proof:{proof}")) and right else None

    def all(self, token: str) -> tuple[Signed, ...]:
        """The valid sign-ins, newest first."""
        return tuple(one for one in reversed(self._known.values()) if self._counts(one, token))

    async def remove(self, which: Callable[[Signed], bool]) -> int:
        """End these sign-ins; returns how many."""
        async with self._alone:
            left = {name: one for name, one in self._known.items() if not which(one)}
            ended = len(self._known) - len(left)
            # First in memory: a disk that fails to store this must not leave them signed in.
            self._known = left
            if ended:
                await self._keep(left)
            return ended

    def _counts(self, one: Signed, token: str) -> bool:
        return _same(one.token, marked(token, "token")) and 0 <= self._clock.now() - one.at < LASTS

    async def _keep(self, known: dict[str, Signed]) -> None:
        try:
            await asyncio.to_thread(_write, self._path, known)
        except OSError as error:
            raise DiskFull(f"the list of sign-ins could not be kept: {error.strerror}") from error
        self._known = known


def marked(token: str, what: str) -> str:
    """A keyed hash: only a program with the token can make it, and it does not reveal `what`."""
    return hmac.new(token.encode(), what.encode(), hashlib.sha256).hexdigest()


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())


def _read(path: Path) -> dict[str, Signed]:
    """The stored list. An unreadable one counts as empty: people sign in again."""
    try:
        found = [Signed(**one) for one in json.loads(path.read_text(encoding="utf-8"))]
        return {one.id: one for one in found}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError) as fault:
        log.warning("%s cannot be read (%s); all people have to sign in again", path, fault)
        return {}


def _write(path: Path, known: dict[str, Signed]) -> None:
    new = path.with_name(f"{FILE}.new")
    file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(file, "w", encoding="utf-8") as written:
        json.dump([asdict(one) for one in known.values()], written)
        written.flush()
        os.fsync(written.fileno())
    os.replace(new, path)
    sync_folder(path.parent)
