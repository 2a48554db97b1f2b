"""The fake Bot API as a process: `python -m holdfast.testing.fakes.botapi --port 8081`.

People act through `POST /people/NAME/VERB` with JSON (`write`, `edit`, `press`, `open_topic`, `block`, ...:
the methods of `Person`), and what they see is at `GET /people/NAME`.
"""

from __future__ import annotations

import argparse
import asyncio
import sys

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from .core import TOKEN, BotApi
from .people import BotPeople, Person
from .server import serving

VERBS = ("write", "edit", "delete", "press", "answer", "open_topic", "block", "unblock")


class _Town:
    """People by their names; a new name adds a person."""

    def __init__(self, people: BotPeople) -> None:
        self._people = people
        self._known: dict[str, Person] = {}

    def _person(self, request: Request) -> Person:
        name = str(request.path_params["name"])
        if name not in self._known:
            self._known[name] = self._people.add(name)
        return self._known[name]

    async def act(self, request: Request) -> Response:
        verb = str(request.path_params["verb"])
        if verb not in VERBS:
            return JSONResponse({"error": f"one of {', '.join(VERBS)}"}, 404)
        given = await request.json() if await request.body() else {}
        try:
            return JSONResponse({"result": getattr(self._person(request), verb)(**given)})
        except (TypeError, LookupError) as error:
            return JSONResponse({"error": str(error)}, 400)

    async def look(self, request: Request) -> Response:
        chat, thread = (request.query_params.get(name) for name in ("chat", "thread"))
        seen = self._person(request).sees(int(chat) if chat else None, int(thread) if thread else None)
        return JSONResponse([{"id": one.id, "by": one.by, "text": one.text} for one in seen])


async def serve(port: int, token: str) -> None:
    """Serve until the process ends."""
    api = BotApi(token=token)
    town = _Town(BotPeople(api))
    more = (
        Route("/people/{name}/{verb}", town.act, methods=["POST"]),
        Route("/people/{name}", town.look),
    )
    async with serving(api, port, more) as address:
        sys.stdout.write(f"{address} {token}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m holdfast.testing.fakes.botapi", description=__doc__)
    parser.add_argument("--port", type=int, default=8081)
    parser.add_argument("--token", default=TOKEN)
    given = parser.parse_args()
    try:
        asyncio.run(serve(given.port, given.token))
    except KeyboardInterrupt:
        sys.exit(0)


if __name__ == "__main__":
    main()
