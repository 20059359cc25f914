"""Fixtures that several folders of tests share."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest

import postgres_server

NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a PostgreSQL of this session's own."""
    if postgres_server.FOUND is None:
        pytest.skip(postgres_server.MISSING)
    with postgres_server.server() as url:
        yield url


@pytest.fixture
def new_schema() -> Callable[[], str]:
    """Names of schemas that nobody uses."""
    return lambda: f"test{next(NUMBERS)}"
