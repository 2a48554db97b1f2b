"""Who is signed in: the token in the home, the cookie made from it, links that are good once.

The token's file is read for each request, so that replacing it revokes everything that was made from it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections import deque
from pathlib import Path

from holdfast.clock import Clock, new_secret
from holdfast.errors import BadConfig, HoldfastError
from holdfast.policy.settings import DAY, MINUTE, SECOND
from holdfast.records import dataclass
from holdfast.store.sqlite.home import sync_folder

TOKEN = "token"
COOKIE_LASTS = 30 * DAY
CODE_LASTS = 15 * MINUTE
_SHORTEST = 16
"""Characters a token has at the least: an emptied file lets nobody in."""
_MOST_CODES = 100
_FAILURES = 10
_WITHIN = MINUTE // SECOND


class TooManyTries(HoldfastError):
    """Signing in has failed too often; `retry_after` says in how many seconds it is listened to again."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"too many failed sign-ins; try again in {retry_after} s")
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class _Code:
    token: str
    until: int


class SignIn:
    """Makes and checks what proves that somebody may come in. Keeps no record of who is in."""

    def __init__(self, home: Path, clock: Clock) -> None:
        self._path = home / TOKEN
        self.clock = clock
        self._codes: dict[str, _Code] = {}
        self._failures: deque[float] = deque(maxlen=_FAILURES)

    def prepare(self) -> None:
        """Make the token if there is none; nobody else may read it.

        It gets its name when it is whole: a start cut off in the middle leaves none, not one that keeps
        the next from starting.
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
            wanted = f"a readable file with {_SHORTEST} characters or more; removed, it is made anew"
            raise BadConfig("token", str(self._path), wanted)
        os.chmod(self._path, 0o600)

    def _token(self) -> str | None:
        try:
            found = self._path.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            return None
        return found if len(found) >= _SHORTEST else None

    def is_token(self, given: str) -> bool:
        token = self._token()
        return token is not None and hmac.compare_digest(token.encode(), given.encode())

    # Links.

    def new_code(self) -> str | None:
        """A code that signs its bearer in once, within a quarter of an hour; None without a token."""
        token, now = self._token(), self.clock.now()
        if token is None:
            return None
        self._codes = {name: code for name, code in self._codes.items() if code.until > now}
        while len(self._codes) >= _MOST_CODES:
            del self._codes[next(iter(self._codes))]
        code = _mark(token, f"code:{new_secret()}")
        self._codes[code] = _Code(token, now + CODE_LASTS)
        return code

    # Signing in.

    def follow(self, given: str) -> str | None:
        """The cookie for who comes by a fresh link; None for anything else.

        Nobody guesses a code, so failures are neither counted nor a reason to refuse: any page can make a
        browser try links, and must not lock anybody out by that.
        """
        code = self._codes.pop(given, None)
        good = code is not None and code.until > self.clock.now() and self.is_token(code.token)
        return self._cookie() if good else None

    def enter(self, given: str) -> str | None:
        """The cookie for who types the token; None, and counted, for anything else.

        Raises `TooManyTries` while too many failures are fresh, whatever is given. Links stay good.
        """
        now = self.clock.monotonic()
        while self._failures and now - self._failures[0] >= _WITHIN:
            self._failures.popleft()
        if len(self._failures) == _FAILURES:
            raise TooManyTries(max(1, round(_WITHIN - (now - self._failures[0]))))
        if self.is_token(given):
            return self._cookie()
        self._failures.append(now)
        return None

    def _cookie(self) -> str | None:
        token, until = self._token(), self.clock.now() + COOKIE_LASTS
        return None if token is None else f"{until}.{_mark(token, f'cookie:{until}')}"

    def is_cookie(self, given: str) -> bool:
        until, _, mark = given.partition(".")
        token = self._token()
        if token is None or not (until.isascii() and until.isdigit() and len(until) < 20):
            return False
        right = hmac.compare_digest(_mark(token, f"cookie:{until}").encode(), mark.encode())
        return right and int(until) > self.clock.now()


def _mark(token: str, what: str) -> str:
    return hmac.new(token.encode(), what.encode(), hashlib.sha256).hexdigest()
