"""The settings of sessions that lookalike starts."""

from __future__ import annotations

import pytest

from lookalike.runtime.spark.session import settings


@pytest.mark.promise("docs/how-to/spark.md", "On this machine they use the compiled kernels of the driver")
def test_executors_elsewhere_get_a_kernel_cache_of_their_own() -> None:
    assert "spark.executorEnv.XDG_CACHE_HOME" in settings("spark://far:7077")
    assert not {name for master in ("local[2]", "spark://localhost:1") for name in settings(master) if "CACHE" in name}


def test_tasks_use_unix_sockets() -> None:
    assert settings("local[2]")["spark.python.unix.domain.socket.enabled"] == "true"
