"""The API against its own description, on a real gateway: whatever it is given, it answers as it says."""

import re
from contextlib import nullcontext, suppress
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode

from tests.support.outside import Build, House
from tests.support.web import program, token_of, url_of
from tests.unit.project.tree import ROOT

_EXAMPLES = 10
_ENDS_IT = ("/api/gateway/stop", "/api/gateway/restart")
"""Which would end what is tested."""


def test_every_path_answers_as_it_is_described_whatever_it_is_given(build: Build) -> None:
    house = build("web.demo = false\n")
    gateway = house.up()
    with program(house.home) as client:
        description = client.get("/openapi.json").json()
        client.post("/api/chats/home/messages", json={"text": "do read #a"})
        house.heard("home", "answer to a")
    schema = schemathesis.openapi.from_dict(description)
    tried = [
        operation
        for operation in (_well_described(result) for result in schema.get_all_operations())
        if operation.path not in _ENDS_IT and not operation.path.endswith("/events")
    ]
    assert len(tried) > 20
    for operation in tried:
        for mode in GenerationMode:
            _try(operation, mode, url_of(house.home), {"Authorization": f"Bearer {token_of(house.home)}"})
    with program(house.home) as client:
        assert client.get("/readyz").status_code == 200
    assert house.is_sound()
    assert "a request broke" not in gateway.words


def _well_described(result: Any) -> Any:
    return result.ok()


def _try(operation: Any, mode: GenerationMode, url: str, headers: dict[str, str]) -> None:
    @seed(1)
    @settings(
        max_examples=_EXAMPLES,
        deadline=None,
        database=None,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def answers(case: Case[Any]) -> None:
        case.call_and_validate(base_url=url, headers=headers, checks=[status_and_form])

    # Of what takes nothing, nothing can be wrong.
    with suppress(Unsatisfiable) if mode is GenerationMode.NEGATIVE else nullcontext():
        answers()


def status_and_form(context: Any, response: Any, case: Case[Any]) -> None:
    """No fault of ours, and an answer of a kind and form that is described."""
    assert response.status_code < 500, response.text
    case.operation.validate_response(response)
    found = case.operation.schema.get_content_types(case.operation, response)
    assert response.headers["content-type"][0].partition(";")[0] in {one.partition(";")[0] for one in found}


def test_the_reference_names_every_path_of_the_description_and_no_other(house: House) -> None:
    house.up()
    with program(house.home) as client:
        paths = client.get("/openapi.json").json()["paths"]
    described = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    page = (ROOT / "docs" / "reference" / "http-api.md").read_text()
    named: set[str] = set()
    for line in page.splitlines():
        if found := re.match(r"\| `([A-Z]+) (/\S+)`((?:, `…/\w+`)*) \|", line):
            method, path, more = found.groups()
            others = [path.rpartition("/")[0] + one for one in re.findall(r"`…(/\w+)`", more)]
            named |= {f"{method} {one}" for one in (path, *others)}
    assert named - {"GET /openapi.json"} == described
