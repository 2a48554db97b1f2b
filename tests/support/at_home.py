"""A home's socket with what a test wants to be answered there, and no gateway behind it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from holdfast.app.local import Verb
from holdfast.web.application import at_home
from holdfast.web.server import Serving, listen_in
from holdfast.web.table import Way


@asynccontextmanager
async def served(home: Path, verbs: Mapping[str, Verb], *ways: Way) -> AsyncIterator[None]:
    serving = Serving(at_home(ways, verbs), listen_in(home))
    try:
        yield
    finally:
        await serving.close()
