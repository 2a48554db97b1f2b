"""Text that looks like a secret, by its name or its shape: for logs and for errors of other people's code.

`known_secrets` masks the values that the gateway knows; this module is for the others. Every pattern is
linear: it begins at a fixed word, its repetitions are bounded or cannot overlap what follows, and the text is
cut first. The patterns rather mask too much than too little.
"""

from __future__ import annotations

import re

from .known_secrets import SECRET as SECRET

LONGEST = 65_536
"""How many characters of one text are searched; the rest is left out."""

_NAMES = re.compile(r"(?i)token|secret|passw|credential|cookie|authorization|api_?key|private_?key")
_SHAPES = (
    # A scheme and its token: `Authorization: Bearer …`.
    re.compile(r"(?i)(\b(?:bearer|basic)\s{1,8})[A-Za-z0-9._~+/=-]{6,}"),
    # `name=value` or `"name": "value"` with the name of a secret, in an address, a dump or a sentence.
    re.compile(
        r"(?i)((?:token|secret|passw|credential|api_?key|private_?key|cookie)[\w.-]{0,64}"
        r"[\"']?\s{0,8}[=:]\s{0,8}[\"']?)(?!\[secret\])[^\s\"'&,;}\]]+"
    ),
    # The one-time code of a sign-in link.
    re.compile(r"(?i)([?&#]key=)[^\s\"'&]+"),
    # A user's password in an address.
    re.compile(r"(://[^\s/:@]{0,256}:)[^\s/@]{1,1024}(?=@)"),
    # Tokens with a known form: those of Telegram bots, keys with a vendor's prefix.
    re.compile(r"()(?<!\d)\d{6,12}:[A-Za-z0-9_-]{30,}"),
    re.compile(r"()\b(?:sk|pk|rk|xox[abposr]|gh[opsur]|github_pat|glpat|AKIA)[-_]?[A-Za-z0-9_-]{16,}"),
)
_MAYBE = re.compile(r"[=:@]|(?i:bearer|basic)|sk|pk|rk|xox|gh|glpat|AKIA")
"""Every shape contains one of these; most lines contain none, so the shapes are not tried on them."""


def is_secret_name(name: str) -> bool:
    """Whether a value of this name must not be shown."""
    return _NAMES.search(name) is not None


def without_secrets(text: str) -> str:
    """The text with everything masked that looks like a secret, cut to `LONGEST`."""
    more = len(text) - LONGEST
    if more > 0:
        return f"{without_secrets(text[:LONGEST])} [{more} more characters are left out]"
    if not _MAYBE.search(text):
        return text
    for shape in _SHAPES:
        text = shape.sub(rf"\g<1>{SECRET}", text)
    return text
