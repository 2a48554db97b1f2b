"""The Telegram Bot API on this machine, for tests: a real HTTP server that any client library can talk to.

    api = BotApi(clock)
    people = People(api)
    ada = people.add("Ada")
    async with serving(api) as address:
        ...                                   # a bot with `api.token` at `address`
        ada.write("hello")
        await api.until(lambda: bool(ada.hears()))

Tests ask for faults: `api.faults.add(LostAnswer(), "sendMessage")`. `api.log` has every request, and
`api.shown` everything that people could ever see.
"""

from __future__ import annotations

from .core import TOKEN, ApiRequest, BotApi, ShownByBot
from .entities import Entity, Formatted, length16
from .errors import ApiError
from .faults import CutAfter, Flood, LostAnswer, LostRequest, NoRanges, Rates, ServerError, Slow
from .html import parse_html
from .people import BotPeople, Person, SeenMessage
from .server import serving

__all__ = [
    "TOKEN",
    "ApiError",
    "ApiRequest",
    "BotApi",
    "ServerError",
    "CutAfter",
    "Entity",
    "Flood",
    "Formatted",
    "LostAnswer",
    "LostRequest",
    "NoRanges",
    "BotPeople",
    "Person",
    "Rates",
    "SeenMessage",
    "ShownByBot",
    "Slow",
    "length16",
    "parse_html",
    "serving",
]
