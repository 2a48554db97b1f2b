"""A person who is no owner tries to reach an agent that the routes keep from their chat."""

import pytest

from holdfast.model import ChatSettings
from tests.scenario.test_choosing import agents
from tests.scenario.test_inbox_commands import said
from tests.support.ledger import ANN, BOB, Ledger, address

ROUTES = (("fake/bot/c1", "guest"), ("fake/*", "helper"))


@pytest.mark.guards("R22.5")
async def test_no_choice_walks_around_the_routes(ledger: Ledger) -> None:
    there = agents("main", "guest", "helper", "root", routes=ROUTES)
    refused = await said(ledger, "/agent root", agents=there, sender=BOB)
    assert "no agent root" in refused and refused.endswith("Choose one of: guest, helper.")
    listed = await said(ledger, "/agent", agents=there, sender=BOB)
    assert "root" not in listed and "main" not in listed
    assert (await ledger.store.chat_settings(address())).agent is None
    assert "guest has no model" not in listed
    assert "no model root-1" in await said(ledger, "/model root-1", agents=there, sender=BOB)
    assert "helper answers" in await said(ledger, "/agent helper", agents=there, sender=BOB)
    assert "guest answers" in await said(ledger, "/agent default", agents=there, sender=BOB)
    assert "root answers" in await said(ledger, "/agent root", agents=there, sender=ANN)


def test_without_a_route_a_person_has_the_usual_agent_and_an_owner_all() -> None:
    there = agents("main", "root")
    assert there.offered(address(), owner=False) == ("main",)
    assert there.offered(address(), owner=True) == ("main", "root")
    assert there.choose(address(), ChatSettings()).name == "main"
