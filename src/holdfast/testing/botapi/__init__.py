"""The Telegram Bot API on this machine, for tests: a real HTTP server that any client library can talk to.

    api = BotApi(clock)
    people = People(api)
    ada = people.add("Ada")
    async with serving(api) as address:
        ...                                   # a bot with `api.token` at `address`
        ada.write("hello")
        await api.until(lambda: bool(ada.hears()))

What goes wrong is asked for: `api.faults.add(LostAnswer(), "sendMessage")`. Every request stands in
`api.log`, and everything that people could ever see in `api.shown`.
"""

from __future__ import annotations

from .core import TOKEN, Asked, BotApi, Shown
from .entities import Entity, Formatted, length16
from .errors import ApiError
from .faults import Broken, CutAfter, Flood, LostAnswer, LostRequest, NoRanges, Rates, Slow
from .html import parse_html
from .markdown import parse_markdown
from .people import People, Person, Seen
from .server import serving

__all__ = [
    "TOKEN",
    "ApiError",
    "Asked",
    "BotApi",
    "Broken",
    "CutAfter",
    "Entity",
    "Flood",
    "Formatted",
    "LostAnswer",
    "LostRequest",
    "NoRanges",
    "People",
    "Person",
    "Rates",
    "Seen",
    "Shown",
    "Slow",
    "length16",
    "parse_html",
    "parse_markdown",
    "serving",
]
