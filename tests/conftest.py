"""Fixtures that several folders of tests share."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import settings

import postgres_server

settings.register_profile("no deadline", deadline=None)  # how long an example takes depends on the machine
settings.load_profile("no deadline")

NUMBERS = itertools.count()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Append the xdist group of a test to its id, which is how `--dist loadgroup` learns about groups.

    xdist 3.8 does so in an attribute that pytest 9.2 ignores (pytest-xdist issue 1386): every worker would start a Spark
    cluster. Not needed with a release of xdist that knows pytest 9.2.
    """
    for item in items:
        mark = item.get_closest_marker("xdist_group")
        if "spark" in getattr(item, "fixturenames", ()) and (mark is None or mark.args != ("spark",)):
            raise pytest.UsageError(f'{item.nodeid} uses the fixture spark; mark it with xdist_group("spark").')
        if mark is not None and getattr(config.option, "loadgroup", False):
            group = f"@{mark.args[0]}"
            if not item.nodeid.endswith(group):
                identity: Any = item
                identity._id = type(identity.id).parse(item.nodeid + group)


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
    """A session with two tasks at a time within one Java process, which needs half the time of a cluster.

    Tests that use it carry the mark xdist_group("spark"): one process runs them all, so that one session is started.
    tests/unit/runtime/spark/test_failures.py starts a cluster.
    """
    from lookalike.runtime.spark.session import open_session

    few = {
        "spark.sql.shuffle.partitions": "3",
        "spark.default.parallelism": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.sql.codegen.wholeStage": "false",  # compiling takes longer than these small jobs
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.driver.memory": "4g",
    }
    session = open_session("local[2]", few)
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def _no_frames_stay_in_memory(request: pytest.FixtureRequest) -> Iterator[None]:
    """Drop the frames that the results of a test keep in memory, which would fill that of Java."""
    yield
    if "spark" in request.fixturenames:
        request.getfixturevalue("spark").catalog.clearCache()


@pytest.fixture(autouse=True, scope="session")
def _own_cache_of_pictures(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the hashes of pictures of tests away from those of the user, and from those of other versions."""
    from lookalike.kinds.images import feature_store

    place, default = tmp_path_factory.mktemp("pictures"), feature_store.cache_folder
    feature_store.cache_folder = lambda: place
    yield
    feature_store.cache_folder = default
