"""Public API for bit codes, such as image hashes or sign bits of vectors: find pairs that differ in few bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from lookalike.core.nearest_options import lowest_score, nearest_values
from lookalike.core.options import accepts
from lookalike.core.run_options import Against, Grouping, GroupingOption, KeepPolicy, NearestAgainst, Top, silent
from lookalike.core.trace import Trace
from lookalike.kinds.bits.options import BitsNearestOptions, BitsOptions
from lookalike.kinds.bits.spec import BitsJob
from lookalike.result import Asked, Result, answer, given_verdicts, wanted
from lookalike.runtime.engine_choice import spark_options

if TYPE_CHECKING:
    from lookalike.runtime.nearest_result import NearestResult
    from lookalike.runtime.spark.result import SparkResult


@overload
def pairs(
    source: Any, *, against: Any = ..., engine: Literal["spark"], **options: Unpack[BitsOptions]
) -> SparkResult: ...
@overload
def pairs(
    source: Any, *, against: Any = ..., engine: Literal["local"] = ..., **options: Unpack[BitsOptions]
) -> Result: ...
@accepts(BitsOptions)
def pairs(source: Any, *, against: Against = None, **options: Any) -> Result | SparkResult:
    """Find all pairs of codes in `source`, or between `source` and `against`, that differ in at most `max_bits` bits.

    The search is exact, unless an approximate one is clearly cheaper; that finds each pair with a probability of at
    least `recall`.

    Parameters
    ----------
    source
        Paths, a list of integers, bytes or hexadecimal text, a NumPy array (n integers, or one row per code), or
        Arrow data. With `engine="spark"`, also a Spark DataFrame or any source that Spark reads.

    Returns
    -------
    Result
        The table `pairs` has the columns left, right, distance. With `engine="spark"` a SparkResult, whose tables
        are DataFrames.

    Examples
    --------
    >>> import lookalike as la
    >>> la.bits.pairs(["ff00", "ff01", "00ff"], max_bits=2).pairs.to_pylist()
    [{'left': 0, 'right': 1, 'distance': 1.0}]
    """
    return _run("pairs", source, against, "components", "first", options)


@overload
def groups(
    source: Any, *, grouping: Grouping = ..., keep: str = ..., engine: Literal["spark"], **options: Unpack[BitsOptions]
) -> SparkResult: ...
@overload
def groups(
    source: Any,
    *,
    grouping: Grouping = ...,
    keep: str = ...,
    engine: Literal["local"] = ...,
    **options: Unpack[BitsOptions],
) -> Result: ...
@accepts(BitsOptions)
def groups(
    source: Any, *, grouping: GroupingOption = "components", keep: KeepPolicy = "first", **options: Any
) -> Result | SparkResult:
    """Group near codes by their verified pairs.

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
    >>> import lookalike as la
    >>> la.bits.groups([0b1111, 0b1110, 1 << 40], max_bits=1).groups["id"].to_pylist()
    [0, 1]
    """
    return _run("groups", source, None, grouping, keep, options)


@overload
def dedup(
    source: Any, *, against: Any = ..., keep: str = ..., engine: Literal["spark"], **options: Unpack[BitsOptions]
) -> SparkResult: ...
@overload
def dedup(
    source: Any, *, against: Any = ..., keep: str = ..., engine: Literal["local"] = ..., **options: Unpack[BitsOptions]
) -> Result: ...
@accepts(BitsOptions)
def dedup(source: Any, *, against: Against = None, keep: KeepPolicy = "first", **options: Any) -> Result | SparkResult:
    """Remove near-duplicate codes: each removed code is within `max_bits` of one kept (or of one in `against`).

    Parameters
    ----------
    source
        As for `pairs`.

    Returns
    -------
    Result
        The tables `kept` (rows of the input) and `removed` (id, kept, distance). With `engine="spark"` a
        SparkResult, whose tables are DataFrames.

    Examples
    --------
    >>> import lookalike as la
    >>> la.bits.dedup([0b1111, 0b1110, 1 << 40], max_bits=1).removed.to_pylist()
    [{'id': 1, 'kept': 0, 'distance': 1.0}]
    """
    return _run("dedup", source, against, "stars", keep, options)


@accepts(BitsNearestOptions)
def nearest(
    source: Any, *, against: NearestAgainst = None, top: Top = 10, **options: Unpack[BitsNearestOptions]
) -> NearestResult:
    """Find the `top` nearest codes of each code of `source`, in `against` or, without it, among the others.

    The result is exact, and equal distances are ordered by the input. A code is never its own neighbour, but a copy of
    it is one.

    Parameters
    ----------
    source
        As for `pairs`.

    Returns
    -------
    NearestResult
        The table `nearest` has the columns left, right, rank, distance.

    Examples
    --------
    >>> import lookalike as la
    >>> la.bits.nearest(["ff00", "ff01", "00ff"], top=1).nearest.to_pylist()[0]
    {'left': 0, 'right': 1, 'rank': 1, 'distance': 1.0}
    """
    from lookalike.kinds.bits.local import CODES_NEED
    from lookalike.kinds.bits.source import open_codes
    from lookalike.kinds.bits.top_k import nearest_of
    from lookalike.runtime.local.memory_limit import MemoryLimit

    given = nearest_values(BitsNearestOptions, options, top)
    trace, memory = Trace(given.pop("progress")), MemoryLimit.of(given)
    lowest = lowest_score(None, given["at_most"], sign=-1, what="differing bits")
    columns: Any = {name: given[name] for name in ("column", "id", "form")}
    sources = [open_codes(one, **columns) for one in (source, against) if one is not None]
    memory.check_input(sources, CODES_NEED)
    return nearest_of(sources, top, lowest, trace=trace, options=given, memory=memory)


def _run(
    asked: Asked, source: Any, against: Any, grouping: Grouping, keep: str, options: dict[str, Any]
) -> Result | SparkResult:
    from lookalike.kinds.bits.local import CODES_NEED, run
    from lookalike.kinds.bits.source import open_codes
    from lookalike.runtime.local.memory_limit import MemoryLimit, works_on_disk
    from lookalike.runtime.local.work_folder import ResourceLimits

    given = dict(options)
    verdicts = given_verdicts(given)
    cluster = spark_options(given, verdicts)
    progress = given.pop("progress", silent)
    columns: dict[str, Any] = {name: given.pop(name) for name in ("column", "id", "form") if name in given}
    if cluster is not None:
        from lookalike.kinds.bits.spark.run import run_bits
        from lookalike.runtime.spark.result import SparkResult
        from lookalike.runtime.spark.session import check_options

        check_options(given)
        job = BitsJob(threshold=given.pop("max_bits", 8), **given)
        there = run_bits([source, against], columns, job, wanted(asked, grouping), keep, cluster, Trace(progress))
        return SparkResult(asked, grouping, there)
    place = ResourceLimits.of(given)
    job = BitsJob(threshold=given.pop("max_bits", 8), **given)
    sources = [open_codes(one, **columns) for one in (source, against) if one is not None]
    trace = Trace(progress)
    want = wanted(asked, grouping, verdicts)
    if verdicts is None and works_on_disk(sources, CODES_NEED, place):
        from lookalike.kinds.bits.disk import run_on_disk
        from lookalike.runtime.run_output import Request

        stored = run_on_disk(sources, job, Request(want, None if asked == "pairs" else grouping, keep), trace, place)
        return answer(asked, grouping, job, sources, stored, trace)
    memory = MemoryLimit(place)
    memory.check_input(sources, CODES_NEED)
    with memory.within(job) as limited:
        found = run(sources, limited, want, trace, keep=keep, memory=memory)
        return answer(asked, grouping, limited, sources, found, trace, verdicts=verdicts)
