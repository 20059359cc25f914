"""Public API for strings, such as names, titles and words: find pairs within an edit distance, always exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

from lookalike.core.run_options import LocalEngine, SparkEngine, refuse_unknown
from lookalike.core.trace import Progress, Trace, silent
from lookalike.errors import UsageError
from lookalike.io.read import open_collection
from lookalike.kinds.strings.local import Measure, StringsJob, run
from lookalike.result import Asked, Grouping, Result, answer, wanted
from lookalike.runtime.engine_choice import spark_options

if TYPE_CHECKING:
    from lookalike.runtime.spark.result import SparkResult


class Options(TypedDict, total=False):
    """Options of `pairs`, `groups` and `dedup`. All are keyword-only."""

    max_edits: int | None  # default 2, unless min_similarity is given
    min_similarity: float | None  # 1 - distance / longer length (levenshtein), or / sum of lengths (indel)
    measure: Measure  # default "levenshtein"
    text: str | None  # the column of strings
    id: str | None  # the column of ids
    fold_case: bool
    strip_accents: bool
    max_pairs: int
    on_bad_text: Literal["error", "replace", "skip"]
    threads: int | None
    progress: Progress


class Locally(Options, LocalEngine, total=False):
    """Options of a run on this machine."""


class OnSpark(Options, SparkEngine):
    """Options of a run on Spark."""


@overload
def pairs(source: Any, *, against: Any = ..., **options: Unpack[OnSpark]) -> SparkResult: ...
@overload
def pairs(source: Any, *, against: Any = ..., **options: Unpack[Locally]) -> Result: ...
def pairs(source: Any, *, against: Any = None, **options: Any) -> Result | SparkResult:
    """Find all pairs of strings in `source`, or between `source` and `against`, within an edit distance.

    A pair is within `max_edits`, or has at least `min_similarity`. No pair is missed. Letters are Unicode code points;
    an empty string matches nothing.

    measure: levenshtein (insert, delete, substitute) or indel (insert and delete only). With engine="spark", the source
    may also be a Spark DataFrame or anything Spark can read, and the results are DataFrames.

    >>> import lookalike as la
    >>> la.strings.pairs(["kitten", "sitten", "mitten", "cat"], max_edits=1).pairs.to_pylist()[0]
    {'left': 0, 'right': 1, 'distance': 1.0}
    """
    return _run("pairs", source, against, "components", "first", options)


@overload
def groups(source: Any, *, grouping: Grouping = ..., keep: str = ..., **options: Unpack[OnSpark]) -> SparkResult: ...
@overload
def groups(source: Any, *, grouping: Grouping = ..., keep: str = ..., **options: Unpack[Locally]) -> Result: ...
def groups(
    source: Any, *, grouping: Grouping = "components", keep: str = "first", **options: Any
) -> Result | SparkResult:
    """Group near strings: connected components of pairs, or stars around the representative that `keep` chooses.

    >>> import lookalike as la
    >>> la.strings.groups(["Jon Smith", "John Smith", "Ann Lee"], max_edits=1).groups["id"].to_pylist()
    [0, 1]
    """
    return _run("groups", source, None, grouping, keep, options)


@overload
def dedup(source: Any, *, against: Any = ..., keep: str = ..., **options: Unpack[OnSpark]) -> SparkResult: ...
@overload
def dedup(source: Any, *, against: Any = ..., keep: str = ..., **options: Unpack[Locally]) -> Result: ...
def dedup(source: Any, *, against: Any = None, keep: str = "first", **options: Any) -> Result | SparkResult:
    """Remove near-duplicate strings: each removed string is within the threshold of one kept (or of one in `against`).

    >>> import lookalike as la
    >>> la.strings.dedup(["Jon Smith", "John Smith", "Ann Lee"], min_similarity=0.8).removed.to_pylist()
    [{'id': 1, 'kept': 0, 'similarity': 0.9}]
    """
    return _run("dedup", source, against, "stars", keep, options)


def _run(
    asked: Asked, source: Any, against: Any, grouping: Grouping, keep: str, options: dict[str, Any]
) -> Result | SparkResult:
    given = dict(options)
    refuse_unknown(given, Locally, OnSpark)
    cluster = spark_options(given)
    progress = given.pop("progress", silent)
    columns: dict[str, Any] = {name: given.pop(name) for name in ("text", "id", "on_bad_text") if name in given}
    max_edits, min_similarity = given.pop("max_edits", None), given.pop("min_similarity", None)
    if max_edits is not None and min_similarity is not None:
        raise UsageError("max_edits and min_similarity do not go together; give one of them.")
    threshold = next((bound for bound in (max_edits, min_similarity) if bound is not None), 2)
    if cluster is not None:
        from lookalike.kinds.strings.spark.run import run_strings
        from lookalike.runtime.spark.result import SparkResult
        from lookalike.runtime.spark.session import check_options

        check_options(given)
        job = StringsJob(threshold=threshold, by_similarity=min_similarity is not None, **given)
        there = run_strings([source, against], columns, job, wanted(asked, grouping), keep, cluster, Trace(progress))
        return SparkResult(asked, grouping, there)
    job = StringsJob(threshold=threshold, by_similarity=min_similarity is not None, **given)
    collections = [open_collection(one, lines=True, **columns) for one in (source, against) if one is not None]
    if any(collection.is_tokens for collection in collections):
        raise UsageError("the column holds lists of tokens; expected text. Choose another column.")
    trace = Trace(progress)
    found = run(collections, job, wanted(asked, grouping), trace, keep=keep)
    return answer(asked, grouping, job, collections, found, trace)
