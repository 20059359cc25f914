"""Choice of the engine of a run: this machine, or a Spark cluster."""

from __future__ import annotations

from typing import Any

from lookalike.core.arrays import check_choice
from lookalike.errors import UsageError

CLUSTER = ("master", "spark_conf")


def spark_options(options: dict[str, Any]) -> dict[str, Any] | None:
    """Remove `engine` and its settings from the options; return how to reach the cluster, or None for this machine.

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
