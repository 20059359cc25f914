"""Fixtures that several folders of tests share."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

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


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session on a cluster of one master and two workers. Tests that use it carry the mark xdist_group("spark"): one
    process runs them all, so that one cluster is started."""
    from lookalike.engines.spark.session import open_session
    from spark_cluster import cluster

    few = {
        "spark.sql.shuffle.partitions": "3",
        "spark.default.parallelism": "2",
        "spark.executor.memory": "800m",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.sql.codegen.wholeStage": "false",  # compiling takes longer than these small jobs
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }
    with cluster(tmp_path_factory.mktemp("cluster")) as made:
        session = open_session(made.url, few)
        yield session
        session.stop()
