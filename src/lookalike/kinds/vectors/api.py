"""Public API for vectors: find pairs within an angle or a distance, group them, and remove near-duplicates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from lookalike.core.nearest_options import lowest_score, nearest_values
from lookalike.core.options import accepts
from lookalike.core.run_options import (
    Against,
    Grouping,
    GroupingOption,
    KeepPolicy,
    NearestAgainst,
    Top,
    silent,
    take_exact,
)
from lookalike.core.trace import Trace
from lookalike.errors import UsageError
from lookalike.kinds.vectors.neighbors import NearestNeighbors, RadiusNeighbors
from lookalike.kinds.vectors.options import VectorNearestOptions, VectorOptions
from lookalike.result import Asked, Result, answer, given_verdicts, wanted
from lookalike.runtime.engine_choice import spark_options

if TYPE_CHECKING:
    from lookalike.kinds.vectors.spec import VectorJob
    from lookalike.runtime.nearest_result import NearestResult
    from lookalike.runtime.spark.result import SparkResult

BOUNDS = {"max_angle": "angle", "min_cosine": "cosine", "max_distance": "distance"}


@overload
def pairs(
    source: Any, *, against: Any = ..., engine: Literal["spark"], **options: Unpack[VectorOptions]
) -> SparkResult: ...
@overload
def pairs(
    source: Any, *, against: Any = ..., engine: Literal["local"] = ..., **options: Unpack[VectorOptions]
) -> Result: ...
@accepts(VectorOptions)
def pairs(source: Any, *, against: Against = None, **options: Any) -> Result | SparkResult:
    """Find all pairs of vectors within an angle (degrees) or a distance, in `source` or between `source` and `against`.

    Numbers are converted to float32; scores are computed from these in float64. A pair at the threshold is found with a
    probability of at least `recall` (with `exact`, always); no pair beyond it is reported.

    Parameters
    ----------
    source
        A NumPy array with one row per item, paths (.npy, .npz, .fvecs, or tables with a column of lists), or
        anything that exports Arrow data. With `engine="spark"`, also a Spark DataFrame or any source that Spark
        reads.

    Returns
    -------
    Result
        The table `pairs` has the columns left, right, and angle, cosine or distance. With `engine="spark"` a
        SparkResult, whose tables are DataFrames.

    Examples
    --------
    >>> import lookalike as la, numpy as np
    >>> la.vectors.pairs(np.array([[3, 4], [6, 8], [0, 1]]), max_angle=10).pairs.to_pylist()
    [{'left': 0, 'right': 1, 'angle': 0.0}]
    """
    return _run("pairs", source, against, "components", "first", options)


@overload
def groups(
    source: Any,
    *,
    grouping: Grouping = ...,
    keep: str = ...,
    engine: Literal["spark"],
    **options: Unpack[VectorOptions],
) -> SparkResult: ...
@overload
def groups(
    source: Any,
    *,
    grouping: Grouping = ...,
    keep: str = ...,
    engine: Literal["local"] = ...,
    **options: Unpack[VectorOptions],
) -> Result: ...
@accepts(VectorOptions)
def groups(
    source: Any, *, grouping: GroupingOption = "components", keep: KeepPolicy = "first", **options: Any
) -> Result | SparkResult:
    """Group near vectors by their verified pairs.

    Parameters
    ----------
    source
        As for `pairs`.

    Returns
    -------
    Result
        The table `groups` has the columns id, group, size, representative. With `engine="spark"` a SparkResult,
        whose tables are DataFrames.

    Examples
    --------
    >>> import lookalike as la, numpy as np
    >>> la.vectors.groups(np.array([[0, 0], [0, 1], [9, 9]]), max_distance=1).groups["id"].to_pylist()
    [0, 1]
    """
    return _run("groups", source, None, grouping, keep, options)


@overload
def dedup(
    source: Any, *, against: Any = ..., keep: str = ..., engine: Literal["spark"], **options: Unpack[VectorOptions]
) -> SparkResult: ...
@overload
def dedup(
    source: Any,
    *,
    against: Any = ...,
    keep: str = ...,
    engine: Literal["local"] = ...,
    **options: Unpack[VectorOptions],
) -> Result: ...
@accepts(VectorOptions)
def dedup(source: Any, *, against: Against = None, keep: KeepPolicy = "first", **options: Any) -> Result | SparkResult:
    """Remove near-duplicate vectors: each removed vector is within the threshold of one that is kept.

    Parameters
    ----------
    source
        As for `pairs`.

    Returns
    -------
    Result
        The tables `kept` (rows of the input) and `removed` (id, kept, and the score). With `engine="spark"` a
        SparkResult, whose tables are DataFrames.

    Examples
    --------
    >>> import lookalike as la, numpy as np
    >>> la.vectors.dedup(np.array([[0, 0], [0, 1], [9, 9]]), max_distance=1).removed.to_pylist()
    [{'id': 1, 'kept': 0, 'distance': 1.0}]
    """
    return _run("dedup", source, against, "stars", keep, options)


@accepts(VectorNearestOptions)
def nearest(
    source: Any, *, against: NearestAgainst = None, top: Top = 10, **options: Unpack[VectorNearestOptions]
) -> NearestResult:
    """Find the `top` nearest vectors of each vector of `source`, in `against` or, without it, among the others.

    The result is exact, and equal scores are ordered by the input. A vector is never its own neighbour, but a copy of
    it is one.

    Parameters
    ----------
    source
        As for `pairs`.

    Returns
    -------
    NearestResult
        The table `nearest` has the columns left, right, rank, and the score.

    Examples
    --------
    >>> import lookalike as la
    >>> la.vectors.nearest([[3.0, 4.0], [6.0, 8.0], [0.0, 1.0]], top=1).nearest["right"].to_pylist()
    [1, 0, 0]
    """
    from lookalike.io.vectors import open_vectors
    from lookalike.kinds.vectors.spec import VectorJob
    from lookalike.kinds.vectors.top_k import NEAREST_VECTORS_NEED, nearest_of
    from lookalike.runtime.local.memory_limit import MemoryLimit

    given = nearest_values(VectorNearestOptions, options, top)
    asked = {name: given[name] for name in ("measure", "max_pairs", "threads", "on_bad")}
    sign = 1 if given["measure"] == "cosine" else -1
    lowest = lowest_score(given["at_least"], given["at_most"], sign=sign, what=given["measure"])
    columns: Any = {name: given[name] for name in ("column", "id")}
    sources = [open_vectors(one, **columns) for one in (source, against) if one is not None]
    job = VectorJob(threshold=0.0, **asked)
    memory = MemoryLimit.of(given)
    memory.check_input(sources, NEAREST_VECTORS_NEED)
    return nearest_of(sources, top, lowest, job, Trace(given.pop("progress")), given, memory)


def _run(
    asked: Asked, source: Any, against: Any, grouping: Grouping, keep: str, options: dict[str, Any]
) -> Result | SparkResult:
    from lookalike.io.vectors import open_vectors
    from lookalike.kinds.vectors.local import VECTORS_NEED, run
    from lookalike.runtime.local.memory_limit import MemoryLimit, works_on_disk
    from lookalike.runtime.local.work_folder import ResourceLimits

    job_options: dict[str, Any] = dict(options)
    progress: Any = job_options.pop("progress", silent)
    columns: Any = {name: job_options.pop(name, None) for name in ("column", "id")}
    verdicts = given_verdicts(job_options)
    cluster = spark_options(job_options, verdicts)
    if cluster is not None:
        return _on_spark(asked, [source, against], grouping, keep, columns, cluster, job_options, Trace(progress))
    place = ResourceLimits.of(job_options)
    job = make_job(job_options)
    sources = [open_vectors(source, **columns)]
    if against is not None:
        sources.append(open_vectors(against, **columns))
    trace, want = Trace(progress), wanted(asked, grouping, verdicts)
    if verdicts is None and works_on_disk(sources, VECTORS_NEED, place):
        from lookalike.kinds.vectors.disk import run_on_disk
        from lookalike.runtime.run_output import Request

        stored = run_on_disk(sources, job, Request(want, None if asked == "pairs" else grouping, keep), trace, place)
        return answer(asked, grouping, job, sources, stored, trace)
    memory = MemoryLimit(place)
    memory.check_input(sources, VECTORS_NEED)
    with memory.within(job) as limited:
        found = run(sources, limited, want, trace, keep=keep, memory=memory)
        return answer(asked, grouping, limited, sources, found, trace, verdicts=verdicts)


def _on_spark(
    asked: Asked, sources: list[Any], grouping: Grouping, keep: str, columns: dict[str, Any], cluster: dict[str, Any],
    options: dict[str, Any], trace: Trace,
) -> SparkResult:  # fmt: skip
    from lookalike.kinds.vectors.spark.sources import run_vectors
    from lookalike.runtime.spark.result import SparkResult
    from lookalike.runtime.spark.session import check_options

    check_options(options)
    there = run_vectors(sources, columns, make_job(options), wanted(asked, grouping), keep, cluster, trace)
    return SparkResult(asked, grouping, there)


def make_job(options: dict[str, Any]) -> VectorJob:
    """Create the job from the user's options, with exactly one of max_angle, min_cosine and max_distance."""
    from lookalike.kinds.vectors.spec import VectorJob

    given = {name: options.pop(name) for name in BOUNDS if options.get(name) is not None}
    for name in BOUNDS:
        options.pop(name, None)
    if len(given) != 1:
        said = " and ".join(given) or "nothing"
        raise UsageError(
            f"{said} given; expected one of `max_angle` (degrees), `min_cosine`, `max_distance` (Euclidean)."
        )
    take_exact(options)
    ((name, threshold),) = given.items()
    return VectorJob(measure=BOUNDS[name], threshold=float(threshold), **options)  # type: ignore[arg-type]


__all__ = ["NearestNeighbors", "RadiusNeighbors", "dedup", "groups", "nearest", "pairs"]
