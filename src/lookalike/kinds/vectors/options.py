"""The options of `pairs`, `groups` and `dedup` of vectors."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from lookalike.core import run_options as shared
from lookalike.core.options import SIMILARITY_PANEL, Option

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
    threads: shared.Threads
    progress: shared.ProgressOption
