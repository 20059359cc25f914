"""Command-line options of `lookalike vectors pairs`, `groups` and `dedup`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lookalike.cli import options as o
from lookalike.cli.kind_commands import KindCommands
from lookalike.kinds.vectors.options import VectorNearestOptions, VectorOptions

if TYPE_CHECKING:
    from lookalike.io.vectors import Vectors


def open_given(inputs: list[str], options: dict[str, Any], given: dict[str, Any]) -> Vectors:
    from lookalike.io.vectors import open_vectors

    return open_vectors(o.paths(inputs), column=options.pop("column"), id=options.pop("id"))


VECTORS = KindCommands(
    "vectors",
    "lookalike.kinds.vectors.api",
    VectorOptions,
    open_given,
    inputs="Arrays (.npy, .npz), or tables with a column of lists of numbers (Parquet, Arrow, JSON Lines).",
    score="angle (or cosine, distance)",
    near="within the threshold, hence near",
    works=True,
    nearest_options=VectorNearestOptions,
)
