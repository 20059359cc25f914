"""Command-line options of `lookalike vectors pairs`, `groups` and `dedup`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from lookalike.cli import options as o
from lookalike.cli.kind_commands import KindCommands
from lookalike.cli.row_options import Bad, Column, Seed

if TYPE_CHECKING:
    from lookalike.io.vectors import Vectors


def open_given(inputs: list[str], options: dict[str, Any], given: dict[str, Any]) -> Vectors:
    from lookalike.io.vectors import open_vectors

    return open_vectors(o.paths(inputs), column=options.pop("column"), id=options.pop("id"))


def vector_options(
    column: Column = None,
    id: o.Id = None,  # noqa: A002
    max_angle: Annotated[float | None, o.option(o.WHAT, help="Match within so many degrees, 0 to 180.")] = None,
    min_cosine: Annotated[float | None, o.option(o.WHAT, help="Match from this cosine on, -1 to 1.")] = None,
    max_distance: Annotated[float | None, o.option(o.WHAT, help="Match within this Euclidean distance.")] = None,
    recall: o.Recall = 0.99,
    exact: Annotated[bool, o.option(o.WHAT, "--exact", help="Find every pair, none missed.")] = False,
    method: Annotated[
        o.RowMethod,
        o.option(o.WHAT, help="How to look for pairs; auto takes the cheapest way that keeps the promise."),
    ] = o.RowMethod.auto,
    audit: o.Audit = 128,
    seed: Seed = 42,
    max_pairs: o.MaxPairs = 100_000_000,
    on_bad: Bad = o.OnBad.error,
    threads: o.Threads = None,
    engine: o.Where = o.Engine.local,
    master: o.Master = None,
    spark_conf: o.SparkConf = None,
) -> None:
    """Declare the options of vectors pairs, groups and dedup; this function is never called."""


VECTORS = KindCommands(
    "vectors",
    "lookalike.kinds.vectors.api",
    vector_options,
    open_given,
    score="angle (or cosine, distance)",
    near="within the threshold, hence near",
)
