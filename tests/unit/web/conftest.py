"""A small index, and a service over it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lookalike.index.index import Index
from lookalike.web.admission import Limits
from lookalike.web.service import Service
from web_server import ROSE, TULIP, serving


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with Index.create(tmp_path / "index", kind="documents", k=2) as made:
        made.add([ROSE, TULIP], ids=["rose", "red/tulip"])
        yield made


@pytest.fixture
def served(index: Index) -> Iterator[tuple[str, int]]:
    with serving(Service(index, limits=Limits(body=20_000, batch=5, seconds=20))) as where:
        yield where
