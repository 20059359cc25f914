"""Near-duplicate documents: find pairs, form groups, and remove duplicates from a data set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from lookalike.core.arrays import RuleOptions, ShingleRule, Unit
from lookalike.core.nearest_options import lowest_score, nearest_values
from lookalike.core.options import accepts, check_values
from lookalike.core.run_options import (
    Against,
    DropAll,
    Grouping,
    GroupingOption,
    KeepCopies,
    KeepPolicy,
    NearestAgainst,
    SizeColumns,
    Top,
    silent,
    take_exact,
)
from lookalike.core.trace import Trace
from lookalike.errors import UsageError
from lookalike.kinds.documents.options import DocumentDedupOptions, DocumentNearestOptions, DocumentOptions
from lookalike.result import SIZE_COLUMNS, Asked, KeptRows, Result, answer, given_verdicts, wanted
from lookalike.runtime.engine_choice import spark_options

if TYPE_CHECKING:
    from lookalike.io.collection import Collection
    from lookalike.kinds.documents.forecast import Forecast
    from lookalike.kinds.documents.spec import Job
    from lookalike.kinds.documents.weights import OwnWeights
    from lookalike.runtime.nearest_result import NearestResult
    from lookalike.runtime.spark.result import SparkResult

RULE_OPTIONS = RuleOptions.__annotations__.keys() - {"unit", "k"}


@overload
def pairs(
    source: Any, *, against: Any = ..., engine: Literal["spark"], **options: Unpack[DocumentOptions]
) -> SparkResult: ...
@overload
def pairs(
    source: Any, *, against: Any = ..., engine: Literal["local"] = ..., **options: Unpack[DocumentOptions]
) -> Result: ...
@accepts(DocumentOptions)
def pairs(source: Any, *, against: Against = None, **options: Any) -> Result | SparkResult:
    """Find all pairs of similar documents in `source`, or between `source` and `against`, each scored exactly.

    A pair at the threshold is found with probability at least `recall` (with `exact`, always). Pairs below the
    threshold are never reported.

    Parameters
    ----------
    source
        Paths, a list of strings or of token lists, an Arrow table, or anything that exports an Arrow stream. With
        `engine="spark"`, also a Spark DataFrame or any source that Spark reads.

    Returns
    -------
    Result
        The table `pairs` has the columns left, right, similarity. With `engine="spark"` a SparkResult, whose tables
        are DataFrames.

    Examples
    --------
    >>> import lookalike as la
    >>> texts = ["a rose is a rose is a rose", "A rose is a rose, is a rose!", "nothing alike"]
    >>> la.pairs(texts, k=2).pairs.to_pylist()
    [{'left': 0, 'right': 1, 'similarity': 1.0}]
    """
    return _run("pairs", source, against, "components", "first", options)


@overload
def groups(
    source: Any,
    *,
    grouping: Grouping = ...,
    keep: str = ...,
    engine: Literal["spark"],
    **options: Unpack[DocumentOptions],
) -> SparkResult: ...
@overload
def groups(
    source: Any,
    *,
    grouping: Grouping = ...,
    keep: str = ...,
    engine: Literal["local"] = ...,
    **options: Unpack[DocumentOptions],
) -> Result: ...
@accepts(DocumentOptions)
def groups(
    source: Any, *, grouping: GroupingOption = "components", keep: KeepPolicy = "first", **options: Any
) -> Result | SparkResult:
    """Group similar documents by their verified pairs.

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
    >>> la.groups(["one two three", "one two three", "four"], k=2).groups["group"].to_pylist()
    [0, 0]
    """
    return _run("groups", source, None, grouping, keep, options)


@overload
def dedup(
    source: Any, *, against: Any = ..., keep: str = ..., engine: Literal["spark"], **options: Unpack[DocumentOptions]
) -> SparkResult: ...
@overload
def dedup(
    source: Any,
    *,
    against: Any = ...,
    keep: str = ...,
    keep_copies: int = ...,
    drop_all: bool = ...,
    size_columns: bool = ...,
    engine: Literal["local"] = ...,
    **options: Unpack[DocumentOptions],
) -> Result: ...
@accepts(DocumentOptions)
def dedup(
    source: Any, *, against: Against = None, keep: KeepPolicy = "first", keep_copies: KeepCopies = 1,
    drop_all: DropAll = False, size_columns: SizeColumns = False, **options: Any,
) -> Result | SparkResult:  # fmt: skip
    """Remove near-duplicate documents: each removed document reaches the threshold with a document that is kept.

    With `against`, documents of `source` that are similar to a document of `against` are removed.

    Parameters
    ----------
    source
        As for `pairs`.

    Returns
    -------
    Result
        The tables `kept` (rows of the input) and `removed` (id, kept, similarity). With `engine="spark"` a
        SparkResult, whose tables are DataFrames.

    Examples
    --------
    >>> import lookalike as la
    >>> la.dedup(["one two three", "one two three", "four"], k=2).removed.to_pylist()
    [{'id': 1, 'kept': 0, 'similarity': 1.0}]
    """
    copies = _copies(keep_copies, drop_all)
    if (copies != 1 or size_columns) and (against is not None or options.get("engine") == "spark"):
        raise UsageError(
            "keep_copies, drop_all and size_columns are for one collection on one machine; leave them out elsewhere."
        )
    return _run("dedup", source, against, "stars", keep, options, copies, size_columns)


def _copies(keep_copies: int, drop_all: bool) -> int:
    """Return how many documents of a group stay."""
    check_values(DocumentDedupOptions, {"keep_copies": keep_copies, "drop_all": drop_all})
    if drop_all and keep_copies != 1:
        raise UsageError(f"give either drop_all or keep_copies {keep_copies}, not both.")
    return 0 if drop_all else keep_copies


@accepts(DocumentOptions)
def forecast(source: Any, **options: Unpack[DocumentOptions]) -> Forecast:
    """Estimate the method, pairs, candidates, time, memory and disk of `pairs` on this source.

    A source of at most 64 MiB is read completely, a larger one at 32 positions. Counts are exact if everything was read
    and the join is short; otherwise they have an interval.

    Parameters
    ----------
    source
        As for `pairs`, but not a Spark DataFrame.

    Returns
    -------
    Forecast
        Estimates with intervals; printing it shows them as text.

    Examples
    --------
    >>> import lookalike as la
    >>> la.forecast(["a rose is a rose is a rose", "nothing alike"], k=2).documents
    2
    """
    from lookalike.io.read import open_collection
    from lookalike.kinds.documents.forecast import forecast as make_forecast
    from lookalike.kinds.documents.spec import refuse_weights
    from lookalike.runtime.local.work_folder import ResourceLimits

    given = dict(options)
    collection = open_collection(source, **_columns(given, alone=True))
    place = ResourceLimits.of(given)
    given.pop("progress", None)
    given_verdicts(given)  # they do not change the cost
    refuse_weights(given, "a forecast is for searches")
    if given.get("method") == "folding":
        raise UsageError("the cost of method folding cannot be predicted; ask for auto, lsh, exact or dcm, or run it.")
    return make_forecast(collection, _job(given, tokens=collection.is_tokens), place)


@accepts(DocumentNearestOptions)
def nearest(
    source: Any, *, against: NearestAgainst = None, top: Top = 10, **options: Unpack[DocumentNearestOptions]
) -> NearestResult:
    """Find the `top` most similar documents of each document of `source`, in `against` or among the others.

    The result is exact, and equal similarities are ordered by the input. A neighbour shares at least one shingle. A
    document is never its own neighbour, but a copy of it is one.

    Parameters
    ----------
    source
        As for `pairs`.

    Returns
    -------
    NearestResult
        The table `nearest` has the columns left, right, rank, similarity.

    Examples
    --------
    >>> import lookalike as la
    >>> texts = ["a rose is a rose", "is a rose a rose", "a rose", "nothing alike"]
    >>> la.nearest(texts, k=1, top=2).nearest.slice(0, 2).to_pylist()[1]
    {'left': 0, 'right': 2, 'rank': 2, 'similarity': 0.6666666666666666}
    """
    from lookalike.kinds.documents.reading import SETS_NEED
    from lookalike.kinds.documents.top_k import nearest_of
    from lookalike.runtime.local.memory_limit import MemoryLimit

    given = nearest_values(DocumentNearestOptions, options, top)
    trace, memory = Trace(given.pop("progress")), MemoryLimit.of(given)
    asked = {name: value for name, value in given.items() if name != "top" and value is not None}
    lowest = lowest_score(asked.pop("at_least", None), None, sign=1, what="similarity")
    collections, tokens = _opened([source, against], _columns(asked, alone=against is None))
    job = _job({**asked, "threshold": 1}, tokens=tokens)
    memory.check_input(collections, SETS_NEED)
    return nearest_of(collections, top, lowest, job, trace, given, memory=memory)


def _run(
    asked: Asked,
    source: Any,
    against: Any,
    grouping: Grouping,
    keep: str,
    options: dict[str, Any],
    copies: int = 1,
    size_columns: bool = False,
) -> Result | SparkResult:
    from lookalike.kinds.documents.local import run
    from lookalike.runtime.local.memory_needs import MEMORY_PER_TEXT_BYTE, read_limit
    from lookalike.runtime.local.work_folder import ResourceLimits

    job_options = dict(options)
    progress: Any = job_options.pop("progress", silent)
    columns = _columns(job_options, alone=against is None)
    verdicts = given_verdicts(job_options)
    if not job_options.get("verify", True) and asked != "pairs":
        raise UsageError(f"{asked} are made from verified pairs only; verify=False goes with pairs.")
    cluster = spark_options(job_options, verdicts)
    if cluster is not None:
        return _on_spark(asked, [source, against], grouping, keep, columns, cluster, job_options, Trace(progress))
    place = ResourceLimits.of(job_options)
    limit = read_limit(place, MEMORY_PER_TEXT_BYTE[job_options.get("unit") or "word"])
    collections, tokens = _opened([source, against], {**columns, "limit": limit})
    if taken := set(SIZE_COLUMNS) & set(collections[0].columns) if size_columns else ():
        raise UsageError(f"size_columns adds {min(taken)!r}, which the input has; rename that column of the input.")
    job = _job(job_options, tokens=tokens)
    trace = Trace(progress)
    found = run(collections, job, wanted(asked, grouping, verdicts), trace, keep=keep, place=place)
    result = answer(asked, grouping, job, collections, found, trace, verdicts, KeptRows(copies, size_columns))
    if place.beside is None:  # no caller reports that the answer is saved
        result.done()
    return result


def _on_spark(
    asked: Asked, sources: list[Any], grouping: Grouping, keep: str, columns: dict[str, Any], cluster: dict[str, Any],
    options: dict[str, Any], trace: Trace,
) -> SparkResult:  # fmt: skip
    from lookalike.kinds.documents.spark.run import DocumentRun
    from lookalike.kinds.documents.spec import refuse_local_methods, refuse_weights
    from lookalike.runtime.spark.result import SparkResult
    from lookalike.runtime.spark.session import check_options, open_session, tune
    from lookalike.runtime.spark.sources import open_origins

    refuse_weights(options, "a run on Spark compares sets")
    refuse_local_methods(options)
    check_options(options, columns["on_bad_file"])
    session = open_session(**cluster)
    origins = open_origins(session, sources, text=columns["text"], id=columns["id"], lines=columns["lines"])
    tune(session, (origin.frame for origin in origins))
    job = _job(options, tokens=origins[0].is_tokens)
    run = DocumentRun(origins, job, wanted(asked, grouping), keep, columns["on_bad_text"], trace)
    return SparkResult(asked, grouping, run)


def _opened(sources: list[Any], columns: dict[str, Any]) -> tuple[list[Collection], bool]:
    """Open the sources that are given; also return whether they hold lists of tokens."""
    from lookalike.io.collection import check_one_form
    from lookalike.io.read import open_collection

    collections = [open_collection(one, **columns) for one in sources if one is not None]
    filled = [one for one in collections if one.rows_hint != 0]  # an empty list may be of either type
    tokens = {collection.is_tokens for collection in filled or collections}
    check_one_form(tokens)
    return collections, tokens.pop()


def _columns(options: dict[str, Any], *, alone: bool) -> dict[str, Any]:
    """Take the options of `open_collection` out of `options`. alone: no other collection is compared with it."""
    from lookalike.io.read import by_lines

    columns = {name: options.pop(name, None) for name in ("text", "id")}
    columns |= {name: options.pop(name, "error") for name in ("on_bad_text", "on_bad_file")}
    return columns | {"lines": by_lines(options.pop("lines", False), alone=alone)}


def _job(options: dict[str, Any], *, tokens: bool) -> Job:
    from lookalike.kinds.documents.spec import Job

    rule_options = {name: options.pop(name) for name in RULE_OPTIONS if name in options}
    unit: Unit = options.pop("unit", None) or ("token" if tokens else "word")
    if tokens != (unit == "token"):
        kind = "token lists" if tokens else "text"
        raise UsageError(
            f"unit {unit!r} does not fit a column of {kind}; leave the unit out, or choose another column."
        )
    rule = ShingleRule.for_unit(unit, options.pop("k", None), **rule_options)
    take_exact(options)
    shared = options.pop("min_shared", None)
    if shared is not None:
        options |= {"measure": "overlap", "threshold": shared}
    if options.get("weights") is not None:
        options["weights"] = _own_weights(options["weights"], rule)
    return Job(rule=rule, **options)


def _own_weights(given: Any, rule: ShingleRule) -> OwnWeights:
    """Convert the user's weights to weights of shingles."""
    import pyarrow as pa

    from lookalike.kinds.documents.features import shingle
    from lookalike.kinds.documents.weights import named_weights, own_weights

    items, weights = named_weights(given)
    texts = items.cast(pa.large_string())
    if rule.unit == "token":
        texts = pa.LargeListArray.from_arrays(pa.array(range(len(items) + 1), pa.int64()), items)
    return own_weights(shingle(texts, rule), items, weights, given)
