"""What several rooms of tests share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


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
        "spark.sql.codegen.wholeStage": "false",  # compiling takes longer than these small jobs
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }
    with cluster(tmp_path_factory.mktemp("cluster")) as made:
        session = open_session(made.url, few)
        yield session
        session.stop()
