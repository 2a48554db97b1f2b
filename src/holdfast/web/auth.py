"""How a person signs in: with the token in the home, or with a link that works once.

The gateway reads the token's file for each request, so replacing the file revokes every link and sign-in.
"""

from __future__ import annotations

import hmac
import os
from collections import deque
from pathlib import Path

from holdfast.clock import Clock, new_secret
from holdfast.config.home import TOKEN
from holdfast.errors import BadConfig, HoldfastError
from holdfast.policy.settings import MINUTE, SECOND
from holdfast.records import dataclass
from holdfast.store.sqlite.home_lock import sync_folder

from .sign_ins import BrowserSecrets, Signed, SignIns, marked

CODE_LASTS = 15 * MINUTE
_LEAST_CHARACTERS = 16
"""The least characters of a token: with an empty file, no sign-in succeeds."""
_MOST_CODES = 100
_MOST_FAILURES = 10
_FAILURE_WINDOW = MINUTE // SECOND


class TooManyTries(HoldfastError):
    """Too many sign-ins failed; the gateway checks tokens again after `retry_after` seconds."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"too many failed sign-ins; try again in {retry_after} s")
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class _Code:
    token: str
    until: int


class SignIn:
    """Checks tokens, links and sign-ins; a new sign-in is on disk before the browser gets its secrets."""

    def __init__(self, home: Path, clock: Clock) -> None:
        self._path = home / TOKEN
        self.clock = clock
        self._signed = SignIns(home, clock)
        self._codes: dict[str, _Code] = {}
        self._failures: deque[float] = deque(maxlen=_MOST_FAILURES)

    def prepare(self) -> None:
        """Make the token if there is none; only the owner of the home may read it.

        The file gets its name when it is complete. So a start that is cut off leaves no token, rather than
        a broken one that would stop the next start.
        """
        if os.path.lexists(self._path):
            self._check()
            return
        new = self._path.with_name(f"{TOKEN}.new")
        file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(file, "w", encoding="ascii") as written:
            written.write(f"{new_secret()}\n")
            written.flush()
            os.fsync(written.fileno())
        os.replace(new, self._path)
        sync_folder(self._path.parent)

    def _check(self) -> None:
        if self._token() is None:
            wanted = (
                f"a readable file with at least {_LEAST_CHARACTERS} characters; delete it to get a new one"
            )
            raise BadConfig("token", str(self._path), wanted)
        os.chmod(self._path, 0o600)

    def _token(self) -> str | None:
        try:
            found = self._path.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            return None
        return found if len(found) >= _LEAST_CHARACTERS else None

    def is_token(self, given: str) -> bool:
        token = self._token()
        return token is not None and hmac.compare_digest(token.encode(), given.encode())

    # Links.

    def new_code(self) -> str | None:
        """A code that signs one browser in, once, within 15 minutes; None without a token."""
        token, now = self._token(), self.clock.now()
        if token is None:
            return None
        self._codes = {name: code for name, code in self._codes.items() if code.until > now}
        while len(self._codes) >= _MOST_CODES:
            del self._codes[next(iter(self._codes))]
        code = marked(token, f"code:{new_secret()}")
        self._codes[code] = _Code(token, now + CODE_LASTS)
        return code

    # Signing in and out.

    async def follow(self, given: str, browser: str) -> BrowserSecrets | None:
        """Sign in a browser that opened a fresh link; None for any other code.

        Failures are not counted. A code cannot be guessed, and any page can make a browser try links: that
        must not lock the owner out.
        """
        code = self._codes.pop(given, None)
        good = code is not None and code.until > self.clock.now() and self.is_token(code.token)
        return await self._sign_in(browser) if good else None

    async def enter(self, given: str, browser: str) -> BrowserSecrets | None:
        """Sign in a person who typed the token; None for any other text, which counts as a failure.

        Raises `TooManyTries` after too many recent failures, even for the right token. Links still work.
        """
        now = self.clock.monotonic()
        while self._failures and now - self._failures[0] >= _FAILURE_WINDOW:
            self._failures.popleft()
        if len(self._failures) == _MOST_FAILURES:
            raise TooManyTries(max(1, round(_FAILURE_WINDOW - (now - self._failures[0]))))
        if self.is_token(given):
            return await self._sign_in(browser)
        self._failures.append(now)
        return None

    async def _sign_in(self, browser: str) -> BrowserSecrets | None:
        token = self._token()
        return None if token is None else await self._signed.add(token, browser)

    def is_signed_in(self, cookie: str, proof: str) -> bool:
        """Whether both secrets belong to one valid sign-in."""
        token = self._token()
        return token is not None and self._signed.find(token, cookie, proof) is not None

    async def leave(self, cookie: str, proof: str) -> None:
        """End this sign-in at once."""
        token = self._token()
        found = None if token is None else self._signed.find(token, cookie, proof)
        if found is not None:
            await self._signed.remove(lambda one: one.id == found.id)

    def everyone(self) -> tuple[Signed, ...]:
        """The valid sign-ins, newest first."""
        token = self._token()
        return () if token is None else self._signed.all(token)

    async def revoke(self, name: str | None) -> int:
        """End the sign-in with this id, or all of them; returns how many ended."""
        return await self._signed.remove(lambda one: name in (None, one.id))
