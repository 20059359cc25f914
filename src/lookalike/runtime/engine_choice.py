"""Choice of the engine of a run: this machine, or a Spark cluster."""

from __future__ import annotations

from typing import Any

from lookalike.core.arrays import check_choice
from lookalike.errors import UsageError

CLUSTER = ("master", "spark_conf")


def spark_options(options: dict[str, Any], verdicts: object = None) -> dict[str, Any] | None:
    """Remove `engine` and its settings from the options; return how to reach the cluster, or None for this machine.

    verdicts: refused on a cluster, if there are any.

    >>> spark_options({"engine": "spark", "threshold": 0.8})
    {'master': None, 'spark_conf': None}
    """
    engine = options.pop("engine", "local")
    check_choice("engine", engine, ("local", "spark"))
    cluster = {name: options.pop(name, None) for name in CLUSTER}
    if engine == "spark":
        if verdicts is not None:
            raise UsageError("`verdicts` are honoured on one machine; on Spark leave them out.")
        return cluster
    if given := [name for name, value in cluster.items() if value]:
        raise UsageError(f"{given[0]} goes with `engine='spark'`.")
    return None


def only_local(options: dict[str, Any], noun: str, reason: str) -> None:
    """Remove `engine` from the options of a kind that has only the local engine; raise UsageError for another engine.

    >>> only_local({"engine": "spark"}, "faces", "they need one machine")
    Traceback (most recent call last):
    lookalike.errors.UsageError: faces do not run on Spark: they need one machine. Leave the engine out.
    """
    engine = options.pop("engine", "local")
    check_choice("engine", engine, ("local", "spark"))
    if engine == "spark":
        raise UsageError(f"{noun} do not run on Spark: {reason}. Leave the engine out.")
