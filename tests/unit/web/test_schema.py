"""What the service's own schema promises, tried by schemathesis: valid requests, and requests that break the schema."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from lookalike.index.index import Index
from lookalike.web.admission import Access
from lookalike.web.service import Service

KINDS = {"documents": {"k": 1}, "sets": {}}
PATHS = ["POST /query", "POST /items", "DELETE /items/{id}", "POST /compare", "GET /stats", "GET /health"]


@pytest.fixture(scope="module", params=KINDS)
def schema(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    place: Path = tmp_path_factory.mktemp("schema") / "index"
    with Index.create(place, kind=request.param, **KINDS[request.param]) as index:
        made = schemathesis.openapi.from_asgi(
            "/openapi.json", Service(index, access=Access(token="secret", reads=True))
        )
        yield made


CASES = [(path, mode) for path in PATHS for mode in GenerationMode if not path.startswith("GET") or mode.is_positive]


@pytest.mark.parametrize(("path", "mode"), CASES, ids=[f"{path} {mode.value}" for path, mode in CASES])
def test_the_service_keeps_its_schema(schema: Any, path: str, mode: GenerationMode) -> None:
    operations = {found.ok().label: found.ok() for found in schema.get_all_operations()}
    assert sorted(operations) == sorted(PATHS)

    @given(case=operations[path].as_strategy(generation_mode=mode))
    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
    def try_it(case: Any) -> None:
        # A schema cannot say that there are as many ids as items, or that all are of one type.
        but = [positive_data_acceptance] if path == "POST /items" else []
        case.call_and_validate(headers={"Authorization": "Bearer secret"}, excluded_checks=but)

    try_it()
