"""The exact values of this gateway's secrets, and how they are removed from text.

The search looks for each value as it is, and as it appears in an address, in JSON and in base64. Each form
is one `str.find`: that search is linear, and for the few dozen forms of a gateway it is five times as fast
as one compiled alternation (and needs no library, as Aho-Corasick would). The search does not find values
that a program changes in another way (cut, reversed, encrypted): containment, not masking, keeps secrets
from programs.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from urllib.parse import quote, quote_plus

# This file imports nothing of the package: the helpers around contained programs load it alone.

SECRET = "[secret]"
"""The text that replaces a secret."""
SHORTEST = 8
"""The length of the shortest value that is masked: a shorter one would match everywhere by chance."""
_WRAPPED = 40
"""The shortest line of base64 that may go on in the next line: tools wrap at 64 or 76 characters."""
_GOES_ON = re.compile(rf"[A-Za-z0-9+/_-]{{{_WRAPPED}}}(?:\r?\n[A-Za-z0-9+/_-]*|\r)\Z")

_WINDOW = 1_000_000
"""How many bytes of a file are searched at once."""

Span = tuple[int, int]


class KnownSecrets:
    """A set of secret values that never changes. Its representation shows none of them."""

    __slots__ = ("_encoded", "_forms", "_longest", "_values")

    def __init__(self, values: Iterable[str] = ()) -> None:
        known = self._values = frozenset(value for value in values if len(value) >= SHORTEST)
        encoded = {form for value in known for form in _base64_forms(value)}
        self._encoded = tuple(sorted(encoded))
        self._forms = tuple(sorted({form for value in known for form in _plain_forms(value)} | encoded))
        self._longest = max(map(len, self._forms), default=0)

    def __bool__(self) -> bool:
        return bool(self._forms)

    def __repr__(self) -> str:
        return f"KnownSecrets({len(self._forms)} forms)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KnownSecrets) and self._forms == other._forms

    def __hash__(self) -> int:
        return hash(self._forms)

    def without(self, text: str) -> str:
        """The text with every known value replaced; the same object if it holds none."""
        spans = self.spans(text)
        return _replaced(text, spans) if spans else text

    def spans(self, text: str) -> list[Span]:
        """The places of known values, in order; no two of them touch."""
        if len(text) < SHORTEST or not self._forms:
            return []
        return _merged([*_found(text, self._forms), *self._wrapped(text)])

    def closed(self, text: str) -> str:
        """A text that was cut at its end, masked, without a last piece that may begin a secret."""
        return self.stream().feed(text)

    def cut(self, text: str, most: int) -> str:
        """About the first `most` characters of a text, masked as they would be in the whole text."""
        return self.without(text) if len(text) <= most else self.closed(text[:most])

    def are_in(self, data: bytes) -> bool:
        """Whether any bytes hold a known value, also in UTF-16; too slow for the event loop."""
        # The zeros of UTF-16 double the length of a form, and the line ends of base64 add to it.
        over = 8 * self._longest
        for at in range(0, len(data) if self else 0, _WINDOW):
            window = data[at : at + _WINDOW + over]
            views = (window, window.replace(b"\0", b"")) if b"\0" in window else (window,)
            if any(self.spans(view.decode("utf-8", "surrogateescape")) for view in views):
                return True
        return False

    def and_more(self, values: Iterable[str]) -> KnownSecrets:
        """A new set with these values and others, for a place that knows more secrets."""
        return KnownSecrets((*self._values, *values))

    def handed_over(self) -> bytes:
        """The values, for a helper that masks by itself; never for a file, an environment or a command."""
        return json.dumps(sorted(self._values)).encode()

    def stream(self) -> SecretStream:
        """A stream that masks a text which comes in pieces."""
        return SecretStream(self)

    def open_end(self, text: str, before: str = "") -> int:
        """How many characters at the end of `text` may begin a secret; `before` is the text before it."""
        tail = text[-(self._longest * 2) :]
        most = max((_open_end(tail, form) for form in self._forms), default=0)
        if _GOES_ON.search(before + tail):
            joined = _joined(tail)
            inside = max((_open_end(joined, form) for form in self._encoded), default=0)
            if inside:
                most = max(most, len(tail) - _Lines(tail).at(len(joined) - inside))
        return most

    def _wrapped(self, text: str) -> Iterator[Span]:
        """The places of base64 forms that run over the end of a line."""
        found = list(_found(_joined(text), self._encoded)) if "\n" in text else []
        if found:
            # Rare: only a text with a secret pays for counting its lines.
            lines = _Lines(text)
            for first, last in found:
                yield lines.at(first), lines.at(last - 1) + 1


NONE = KnownSecrets()
Secrets = Callable[[], KnownSecrets]
"""Returns the secrets of this moment: a new value is masked as soon as it is set."""


def no_secrets() -> KnownSecrets:
    """An empty set: masks nothing."""
    return NONE


class SecretStream:
    """Masks across pieces: the end of a piece that may begin a secret waits for the next piece.

    The waiting text is at most as long as the longest form, and a line end releases it.
    """

    def __init__(self, known: KnownSecrets) -> None:
        self._known = known
        self._before = self._waiting = ""

    def feed(self, piece: str) -> str:
        """The text that can be shown after this piece."""
        text = self._waiting + piece
        ready = len(text) - self._known.open_end(text, self._before)
        spans = self._known.spans(text)
        for first, last in spans:
            if first < ready < last:
                # A secret is whole, and its end looks like the beginning of another one.
                ready = last
        shown, self._waiting = text[:ready], text[ready:]
        self._before = (self._before + shown[-_WRAPPED:])[-_WRAPPED:]
        return _replaced(shown, [span for span in spans if span[1] <= ready])

    def end(self) -> str:
        """The waiting rest, after the last piece."""
        rest, self._waiting = self._waiting, ""
        return self._known.without(rest)


class GrowingText:
    """Masks a text that is given whole each time it has grown; each time it searches only the new end."""

    def __init__(self, known: KnownSecrets) -> None:
        self._known = known
        self._stream = known.stream()
        self._text = self._shown = ""

    def shown(self, text: str) -> str:
        """The part of the text that can be shown now, masked."""
        if not self._known:
            return text
        if not text.startswith(self._text):
            self._stream, self._text, self._shown = self._known.stream(), "", ""
        self._shown += self._stream.feed(text[len(self._text) :])
        self._text = text
        return self._shown


def _joined(text: str) -> str:
    """The text without its line ends."""
    return text.removesuffix("\r").replace("\r\n", "").replace("\n", "")


class _Lines:
    """Maps a place in a text without line ends to the place in the text itself."""

    def __init__(self, text: str) -> None:
        whole = text.split("\n")
        lines = [line.removesuffix("\r") for line in whole]
        self._from = [0, *accumulate(len(line) + 1 for line in whole[:-1])]
        self._to = [0, *accumulate(len(line) for line in lines[:-1])]

    def at(self, index: int) -> int:
        line = bisect_right(self._to, index) - 1
        return self._from[line] + index - self._to[line]


def _plain_forms(value: str) -> set[str]:
    """The forms of a value: as it is, in an address, and in JSON."""
    data = value.encode("utf-8", "surrogateescape")
    escaped = {quote(data, safe=""), quote(data), quote_plus(data)}
    lowered = {re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), one) for one in escaped}
    quoted = {json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    return {value, *escaped, *lowered, *quoted}


def _base64_forms(value: str) -> Iterator[str]:
    """The base64 forms of the value at each offset, without the characters that depend on its neighbours."""
    data = value.encode("utf-8", "surrogateescape")
    for before in range(3):
        whole = b64encode(bytes(before) + data).decode()
        form = whole[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
        yield form
        yield form.replace("+", "-").replace("/", "_")


def _found(text: str, forms: Iterable[str]) -> Iterator[Span]:
    for form in forms:
        at = text.find(form)
        while at >= 0:
            yield at, at + len(form)
            at = text.find(form, at + len(form))


def _merged(spans: list[Span]) -> list[Span]:
    """Spans in order; spans that touch become one, so that no part of a secret stays between two."""
    merged: list[Span] = []
    for first, last in sorted(spans):
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged


def _replaced(text: str, spans: list[Span]) -> str:
    parts: list[str] = []
    done = 0
    for first, last in spans:
        parts += (text[done:first], SECRET)
        done = last
    return "".join((*parts, text[done:]))


def _open_end(text: str, form: str) -> int:
    """The length of the longest end of the text that begins this form, but is not the whole form."""
    at = text.find(form[0], max(0, len(text) - len(form) + 1))
    while at >= 0:
        if form.startswith(text[at:]):
            return len(text) - at
        at = text.find(form[0], at + 1)
    return 0
