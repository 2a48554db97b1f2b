"""What looks like a secret, by its name or its shape: for logs and for error words of other people's code.

Values that the gateway knows are masked exactly (`known_secrets`); this is for those it cannot know. Every
pattern is linear: it begins at a fixed word, its repetitions are bounded or cannot overlap what follows, and
the text is cut first. Rather one too many is left out than one too few.
"""

from __future__ import annotations

import re

from .known_secrets import SECRET as SECRET

LONGEST = 65_536
"""Characters of one text that are looked at; the rest is left out."""

_NAMES = re.compile(r"(?i)token|secret|passw|credential|cookie|authorization|api_?key|private_?key")
_SHAPES = (
    # A scheme and what it vouches with: `Authorization: Bearer …`.
    re.compile(r"(?i)(\b(?:bearer|basic)\s{1,8})[A-Za-z0-9._~+/=-]{6,}"),
    # `name=value` or `"name": "value"` whose name says it, in an address or a dump as well as in a sentence.
    re.compile(
        r"(?i)((?:token|secret|passw|credential|api_?key|private_?key|cookie)[\w.-]{0,64}"
        r"[\"']?\s{0,8}[=:]\s{0,8}[\"']?)(?!\[secret\])[^\s\"'&,;}\]]+"
    ),
    # The one-time code of a sign-in link.
    re.compile(r"(?i)([?&#]key=)[^\s\"'&]+"),
    # A user's password in an address.
    re.compile(r"(://[^\s/:@]{0,256}:)[^\s/@]{1,1024}(?=@)"),
    # Tokens that are known by their looks: Telegram's bots, keys with a vendor's prefix.
    re.compile(r"()(?<!\d)\d{6,12}:[A-Za-z0-9_-]{30,}"),
    re.compile(r"()\b(?:sk|pk|rk|xox[abposr]|gh[opsur]|github_pat|glpat|AKIA)[-_]?[A-Za-z0-9_-]{16,}"),
)
_MAYBE = re.compile(r"[=:@]|(?i:bearer|basic)|sk|pk|rk|xox|gh|glpat|AKIA")
"""What every one of these shapes holds some of; most lines hold none of it."""


def is_secret_name(name: str) -> bool:
    """Whether what goes by this name is not to be shown."""
    return _NAMES.search(name) is not None


def without_secrets(text: str) -> str:
    """The text with everything in it that looks like a secret left out, and no longer than `LONGEST`."""
    more = len(text) - LONGEST
    if more > 0:
        return f"{without_secrets(text[:LONGEST])} [{more} more characters are left out]"
    if not _MAYBE.search(text):
        return text
    for shape in _SHAPES:
        text = shape.sub(rf"\g<1>{SECRET}", text)
    return text
