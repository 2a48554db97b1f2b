from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.browser import houses
from tests.browser.houses import House

# One browser and one gateway for this folder: Playwright's loop must be gone before other tests run theirs.


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with houses.chromium() as browser:
        yield browser


@pytest.fixture(scope="package")
def common(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    home = tmp_path_factory.mktemp("home")
    houses.apart(houses.long_told(home))
    with houses.house(home) as house:
        yield house


@pytest.fixture(scope="module")
def shared(common: House) -> House:
    """The gateway of a module's tests, unless it has one of its own."""
    return common


@pytest.fixture
def house(shared: House) -> Iterator[House]:
    """The module's gateway; whatever a test held goes on afterwards."""
    yield shared
    shared.go()


@pytest.fixture
def chat(request: pytest.FixtureRequest) -> str:
    """A chat of the test's own."""
    return Path(request.node.name).name.replace("[", "-").replace("]", "")


@pytest.fixture
def context(browser: Browser, house: House) -> Iterator[BrowserContext]:
    context = houses.signed_in(browser, house)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext, chat: str) -> Page:
    """The test's own chat, opened."""
    return houses.opened(context, chat)
