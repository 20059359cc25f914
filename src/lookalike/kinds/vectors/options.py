"""The options of `pairs`, `groups` and `dedup` of vectors."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from lookalike.core import run_options as shared
from lookalike.core.options import SIMILARITY_PANEL, Option, changed

BOUND = Option(None, "", unset="one of the three bounds is needed", panel=SIMILARITY_PANEL)


class VectorOptions(shared.SparkOptions, total=False):
    """The options of `pairs`, `groups` and `dedup`; exactly one bound is required."""

    max_angle: Annotated[float | None, replace(BOUND, help="Largest angle of a pair, in degrees.", range="[0, 180]")]
    min_cosine: Annotated[float | None, replace(BOUND, help="Lowest cosine of a pair.", range="[-1, 1]")]
    max_distance: Annotated[
        float | None, replace(BOUND, help="Largest Euclidean distance of a pair.", range="[0, inf)")
    ]
    recall: shared.Recall
    exact: shared.Exact
    method: shared.RowMethodOption
    audit: shared.RowAudit
    seed: shared.Seed
    column: shared.Column
    id: shared.Id
    on_bad: shared.OnBadItemOption
    max_pairs: shared.MaxPairs
    verdicts: shared.Verdicts
    threads: shared.Threads
    memory: shared.Memory
    work_dir: shared.WorkDir
    beside: shared.Beside
    progress: shared.ProgressOption


class VectorNearestOptions(shared.NearestOptions, total=False):
    """The options of `nearest`."""

    measure: Annotated[
        Literal["angle", "cosine", "distance"],
        Option("angle", "Score: the angle in degrees, the cosine, or the Euclidean distance.", panel=SIMILARITY_PANEL),
    ]
    at_least: Annotated[float | None, changed(
        shared.AtLeast, help="Lowest cosine of a neighbour, with the measure cosine.", range="[-1, 1]"
    )]  # fmt: skip
    at_most: Annotated[float | None, changed(shared.AtMost, help="Largest angle or distance of a neighbour.")]
    column: shared.Column
    id: shared.Id
    on_bad: shared.OnBadItemOption
