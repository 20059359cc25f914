"""Public API for strings, such as names, titles and words: find pairs within an edit distance, always exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from lookalike.core.nearest_options import lowest_score, nearest_values
from lookalike.core.options import accepts
from lookalike.core.run_options import Against, Grouping, GroupingOption, KeepPolicy, NearestAgainst, Top, silent
from lookalike.core.trace import Trace
from lookalike.errors import UsageError
from lookalike.kinds.strings.options import DEFAULT_EDITS, StringNearestOptions, StringOptions
from lookalike.result import Asked, Result, answer, given_verdicts, wanted
from lookalike.runtime.engine_choice import spark_options

if TYPE_CHECKING:
    from lookalike.io.collection import Collection
    from lookalike.runtime.nearest_result import NearestResult
    from lookalike.runtime.spark.result import SparkResult


@overload
def pairs(
    source: Any, *, against: Any = ..., engine: Literal["spark"], **options: Unpack[StringOptions]
) -> SparkResult: ...
@overload
def pairs(
    source: Any, *, against: Any = ..., engine: Literal["local"] = ..., **options: Unpack[StringOptions]
) -> Result: ...
@accepts(StringOptions)
def pairs(source: Any, *, against: Against = None, **options: Any) -> Result | SparkResult:
    """Find all pairs of strings in `source`, or between `source` and `against`, within an edit distance.

    A pair is within `max_edits`, or has at least the similarity `threshold`. No pair is missed. Letters are Unicode
    code points; an empty string matches nothing.

    Parameters
    ----------
    source
        Paths, a list of strings, an Arrow table, or anything that exports an Arrow stream. With `engine="spark"`,
        also a Spark DataFrame or any source that Spark reads.

    Returns
    -------
    Result
        The table `pairs` has the columns left, right, distance (or similarity). With `engine="spark"` a
        SparkResult, whose tables are DataFrames.

    Examples
    --------
    >>> import lookalike as la
    >>> la.strings.pairs(["kitten", "sitten", "mitten", "cat"], max_edits=1).pairs.to_pylist()[0]
    {'left': 0, 'right': 1, 'distance': 1.0}
    """
    return _run("pairs", source, against, "components", "first", options)


@overload
def groups(
    source: Any,
    *,
    grouping: Grouping = ...,
    keep: str = ...,
    engine: Literal["spark"],
    **options: Unpack[StringOptions],
) -> SparkResult: ...
@overload
def groups(
    source: Any,
    *,
    grouping: Grouping = ...,
    keep: str = ...,
    engine: Literal["local"] = ...,
    **options: Unpack[StringOptions],
) -> Result: ...
@accepts(StringOptions)
def groups(
    source: Any, *, grouping: GroupingOption = "components", keep: KeepPolicy = "first", **options: Any
) -> Result | SparkResult:
    """Group near strings by their verified pairs.

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
    >>> la.strings.groups(["Jon Smith", "John Smith", "Ann Lee"], max_edits=1).groups["id"].to_pylist()
    [0, 1]
    """
    return _run("groups", source, None, grouping, keep, options)


@overload
def dedup(
    source: Any, *, against: Any = ..., keep: str = ..., engine: Literal["spark"], **options: Unpack[StringOptions]
) -> SparkResult: ...
@overload
def dedup(
    source: Any,
    *,
    against: Any = ...,
    keep: str = ...,
    engine: Literal["local"] = ...,
    **options: Unpack[StringOptions],
) -> Result: ...
@accepts(StringOptions)
def dedup(source: Any, *, against: Against = None, keep: KeepPolicy = "first", **options: Any) -> Result | SparkResult:
    """Remove near-duplicate strings: each removed string is within the threshold of one kept (or of one in `against`).

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
    >>> import lookalike as la
    >>> la.strings.dedup(["Jon Smith", "John Smith", "Ann Lee"], threshold=0.8).removed.to_pylist()
    [{'id': 1, 'kept': 0, 'similarity': 0.9}]
    """
    return _run("dedup", source, against, "stars", keep, options)


@accepts(StringNearestOptions)
def nearest(
    source: Any, *, against: NearestAgainst = None, top: Top = 10, **options: Unpack[StringNearestOptions]
) -> NearestResult:
    """Find the `top` nearest strings of each string of `source`, in `against` or, without it, among the others.

    The result is exact, and equal scores are ordered by the input. A string is never its own neighbour, but a copy of
    it is one; an empty string has no neighbours and is none.

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
    >>> la.strings.nearest(["kiten"], against=["cat", "mitten", "kitten"], top=1).nearest.to_pylist()
    [{'left': 0, 'right': 2, 'rank': 1, 'distance': 1.0}]
    """
    from lookalike.io.read import open_collection
    from lookalike.kinds.strings.local import STRINGS_NEED
    from lookalike.kinds.strings.top_k import nearest_of
    from lookalike.runtime.local.memory_limit import MemoryLimit

    given = nearest_values(StringNearestOptions, options, top)
    trace, memory, by_similarity = Trace(given.pop("progress")), MemoryLimit.of(given), given["by_similarity"]
    what = "by_similarity" if by_similarity else "edits; `by_similarity` orders by similarity"
    lowest = lowest_score(given["at_least"], given["at_most"], sign=1 if by_similarity else -1, what=what)
    columns: Any = {name: given[name] for name in ("text", "id", "on_bad_text")}
    collections = [open_collection(one, lines=True, **columns) for one in (source, against) if one is not None]
    _refuse_tokens(collections)
    memory.check_input(collections, STRINGS_NEED)
    return nearest_of(collections, top, lowest, options=given, trace=trace, memory=memory)


def _run(
    asked: Asked, source: Any, against: Any, grouping: Grouping, keep: str, options: dict[str, Any]
) -> Result | SparkResult:
    from lookalike.io.read import open_collection
    from lookalike.kinds.strings.local import STRINGS_NEED, run, strings_need
    from lookalike.kinds.strings.spec import StringsJob
    from lookalike.runtime.local.memory_limit import MemoryLimit, works_on_disk
    from lookalike.runtime.local.work_folder import ResourceLimits

    given = dict(options)
    verdicts = given_verdicts(given)
    cluster = spark_options(given, verdicts)
    progress = given.pop("progress", silent)
    columns: dict[str, Any] = {name: given.pop(name) for name in ("text", "id", "on_bad_text") if name in given}
    max_edits, similarity = given.pop("max_edits", None), given.pop("threshold", None)
    if max_edits is not None and similarity is not None:
        raise UsageError("max_edits and threshold do not go together; give one of them.")
    threshold = next((bound for bound in (max_edits, similarity) if bound is not None), DEFAULT_EDITS)
    if cluster is not None:
        from lookalike.kinds.strings.spark.run import run_strings
        from lookalike.runtime.spark.result import SparkResult
        from lookalike.runtime.spark.session import check_options

        check_options(given)
        job = StringsJob(threshold=threshold, by_similarity=similarity is not None, **given)
        there = run_strings([source, against], columns, job, wanted(asked, grouping), keep, cluster, Trace(progress))
        return SparkResult(asked, grouping, there)
    place = ResourceLimits.of(given)
    job = StringsJob(threshold=threshold, by_similarity=similarity is not None, **given)
    collections = [open_collection(one, lines=True, **columns) for one in (source, against) if one is not None]
    _refuse_tokens(collections)
    trace, want = Trace(progress), wanted(asked, grouping, verdicts)
    if verdicts is None and works_on_disk(collections, strings_need(job), place):
        from lookalike.kinds.strings.disk import run_on_disk
        from lookalike.runtime.run_output import Request

        request = Request(want, None if asked == "pairs" else grouping, keep)
        stored = run_on_disk(collections, job, request, trace, place)
        return answer(asked, grouping, job, collections, stored, trace)
    memory = MemoryLimit(place)
    memory.check_input(collections, STRINGS_NEED)
    with memory.within(job) as limited:
        found = run(collections, limited, want, trace, keep=keep, memory=memory)
        return answer(asked, grouping, limited, collections, found, trace, verdicts=verdicts)


def _refuse_tokens(collections: list[Collection]) -> None:
    from lookalike.io.collection import check_texts

    check_texts(collection.is_tokens for collection in collections)
