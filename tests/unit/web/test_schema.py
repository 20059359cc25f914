"""What the service's own schema promises, tried by schemathesis: valid requests, and requests that break the schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from lookalike.index.index import Index
from lookalike.web.admission import Access
from lookalike.web.service import Service

PEOPLE = [
    {"name": f"{first} {last}", "city": city}
    for first in ("Anna", "Otto", "Mia")
    for last in ("Meier", "Roth")
    for city in ("Bern", "Genf")
]
KINDS: dict[str, dict[str, Any]] = {
    "documents": {"k": 1},
    "sets": {},
    "vectors": {"dimensions": 3},
    "bits": {"bits": 16, "threshold": 2},
    "strings": {"threshold": 1},
    "records": {"sample": pa.Table.from_pylist(PEOPLE), "threshold": 0.8},
}
PATHS = [
    "POST /query",
    "POST /items",
    "GET /items/{id}",
    "DELETE /items/{id}",
    "POST /compare",
    "GET /stats",
    "GET /health",
]
CASES = [(path, mode) for path in PATHS for mode in GenerationMode if not path.startswith("GET") or mode.is_positive]
# What a schema cannot say: as many ids as items and all of one type; no vector of zeros; one type in each column.
UNSAID = ("POST /items", "vectors", "records")


@pytest.fixture(scope="module", params=KINDS)
def schema(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Any]]:
    place = tmp_path_factory.mktemp("schema") / "index"
    with Index.create(place, kind=request.param, **KINDS[request.param]) as index:
        service = Service(index, access=Access(token="secret", reads=True))
        schema = schemathesis.openapi.from_asgi("/openapi.json", service, headers={"Authorization": "Bearer secret"})
        yield request.param, schema


@pytest.mark.parametrize(("path", "mode"), CASES, ids=[f"{path} {mode.value}" for path, mode in CASES])
def test_the_service_keeps_its_schema(schema: tuple[str, Any], path: str, mode: GenerationMode) -> None:
    kind, whole = schema
    operations = {found.ok().label: found.ok() for found in whole.get_all_operations()}
    assert sorted(operations) == sorted(PATHS)
    but = [positive_data_acceptance] if {path, kind} & set(UNSAID) else []

    @given(case=operations[path].as_strategy(generation_mode=mode))
    @settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
    def try_it(case: Any) -> None:
        case.call_and_validate(headers={"Authorization": "Bearer secret"}, excluded_checks=but)

    try_it()
