"""A home's socket with what a test wants to be answered there, and no gateway behind it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from holdfast.api.arguments import Operation
from holdfast.clock import SystemClock
from holdfast.policy.connections import ConnectionLimits
from holdfast.web.application import home_application
from holdfast.web.auth import SignIn
from holdfast.web.routes.route import ApiRoute
from holdfast.web.server import Serving, listen_in


@asynccontextmanager
async def served(home: Path, verbs: Mapping[str, Operation], *ways: ApiRoute) -> AsyncIterator[None]:
    sign_in = SignIn(home, SystemClock())
    sign_in.prepare()
    serving = Serving(home_application(ways, verbs, sign_in), listen_in(home), ConnectionLimits(100, 100))
    try:
        yield
    finally:
        await serving.close()
