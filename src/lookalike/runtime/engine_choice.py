"""On which engine a run is asked for: this machine, or a cluster."""

from __future__ import annotations

from typing import Any

from lookalike.core.arrays import check_choice
from lookalike.errors import UsageError

CLUSTER = ("master", "spark_conf")


def spark_options(options: dict[str, Any]) -> dict[str, Any] | None:
    """Take `engine` and what goes with it out of the options: how to reach the cluster, or None for this machine.

    >>> spark_options({"engine": "spark", "threshold": 0.8})
    {'master': None, 'spark_conf': None}
    """
    engine = options.pop("engine", "local")
    check_choice("engine", engine, ("local", "spark"))
    cluster = {name: options.pop(name, None) for name in CLUSTER}
    if engine == "spark":
        return cluster
    if given := [name for name, value in cluster.items() if value]:
        raise UsageError(f"{given[0]} goes with engine='spark' (--engine spark).")
    return None
