"""Public API for baskets: similar customers by their items, similar products by their customers, and suggestions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from lookalike.core.arrays import ShingleRule
from lookalike.core.nearest_options import lowest_score, nearest_values
from lookalike.core.options import accepts
from lookalike.core.run_options import Against, Grouping, GroupingOption, KeepPolicy, NearestAgainst, Top, silent
from lookalike.core.trace import Trace
from lookalike.errors import UsageError
from lookalike.kinds.baskets.options import BasketNearestOptions, BasketOptions, Neighbours, SuggestTop
from lookalike.result import Asked, Result, answer, given_verdicts, wanted
from lookalike.runtime.engine_choice import spark_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from lookalike.kinds.baskets.formats import BasketRule
    from lookalike.kinds.baskets.source import Baskets
    from lookalike.kinds.baskets.spec import BasketJob
    from lookalike.kinds.baskets.suggestions import Suggestions
    from lookalike.kinds.documents.weights import OwnWeights
    from lookalike.runtime.nearest_result import NearestResult
    from lookalike.runtime.spark.result import SparkResult

READING = ("set", "item", "lines", "separator", "rating", "min_rating", "bag", "dual")


@overload
def pairs(
    source: Any, *, against: Any = ..., engine: Literal["spark"], **options: Unpack[BasketOptions]
) -> SparkResult: ...
@overload
def pairs(
    source: Any, *, against: Any = ..., engine: Literal["local"] = ..., **options: Unpack[BasketOptions]
) -> Result: ...
@accepts(BasketOptions)
def pairs(source: Any, *, against: Against = None, **options: Any) -> Result | SparkResult:
    """Find all pairs of similar baskets in `source`, or between `source` and `against`.

    The result is that of comparing every pair, unless `method` requests one that is not exact. With `dual`, find pairs
    of similar items.

    Parameters
    ----------
    source
        A path (two columns, a column of lists, one basket per line, a sparse .npz), a list or dict of collections,
        Arrow data, or a SciPy sparse matrix. With `engine="spark"`, also a Spark DataFrame or any source that Spark
        reads.

    Returns
    -------
    Result
        The table `pairs` has the columns left, right, similarity. With `engine="spark"` a SparkResult, whose tables
        are DataFrames.

    Examples
    --------
    >>> import lookalike as la
    >>> bought = {"ann": ["milk", "bread", "tea"], "bob": ["milk", "bread"], "cy": ["soap"]}
    >>> la.baskets.pairs(bought, threshold=0.5).pairs.to_pylist()
    [{'left': 'ann', 'right': 'bob', 'similarity': 0.6666666666666666}]
    >>> la.baskets.pairs(bought, threshold=0.9, dual=True).pairs.to_pylist()
    [{'left': 'milk', 'right': 'bread', 'similarity': 1.0}]
    """
    return _run("pairs", source, against, "components", "first", options)


@overload
def groups(
    source: Any,
    *,
    grouping: Grouping = ...,
    keep: str = ...,
    engine: Literal["spark"],
    **options: Unpack[BasketOptions],
) -> SparkResult: ...
@overload
def groups(
    source: Any,
    *,
    grouping: Grouping = ...,
    keep: str = ...,
    engine: Literal["local"] = ...,
    **options: Unpack[BasketOptions],
) -> Result: ...
@accepts(BasketOptions)
def groups(
    source: Any, *, grouping: GroupingOption = "components", keep: KeepPolicy = "first", **options: Any
) -> Result | SparkResult:
    """Group similar baskets (or, with `dual`, items) by their verified pairs.

    With `grouping="cliques"`, every two members are similar, such as mutually similar products.

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
    >>> la.baskets.groups([["milk", "tea"], ["tea", "milk"], ["soap"]]).groups["id"].to_pylist()
    [0, 1]
    """
    return _run("groups", source, None, grouping, keep, options)


@overload
def dedup(
    source: Any, *, against: Any = ..., keep: str = ..., engine: Literal["spark"], **options: Unpack[BasketOptions]
) -> SparkResult: ...
@overload
def dedup(
    source: Any,
    *,
    against: Any = ...,
    keep: str = ...,
    engine: Literal["local"] = ...,
    **options: Unpack[BasketOptions],
) -> Result: ...
@accepts(BasketOptions)
def dedup(source: Any, *, against: Against = None, keep: KeepPolicy = "first", **options: Any) -> Result | SparkResult:
    """Remove baskets that are similar to one that is kept.

    `keep` by a column (max, min, priority) requires an input in which each row is a basket.

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
    >>> la.baskets.dedup([["milk", "tea"], ["tea", "milk", "soap"], ["soap"]], threshold=0.5).removed.to_pylist()
    [{'id': 1, 'kept': 0, 'similarity': 0.6666666666666666}]
    """
    return _run("dedup", source, against, "stars", keep, options)


@accepts(BasketOptions)
def suggest(
    source: Any,
    who: Any,
    *,
    top: SuggestTop = 10,
    neighbours: Neighbours = 20,
    **options: Unpack[BasketOptions],
) -> Suggestions:
    """Suggest at most `top` items that the baskets most similar to that of `who` contain and this one does not.

    Without a threshold, every basket that shares an item is a neighbour. Every basket is compared exactly; the cost is
    linear in the input.

    Parameters
    ----------
    source
        As for `pairs`.
    who
        Id of the basket to suggest items for.

    Returns
    -------
    Suggestions
        The tables `items` (item, score, count, by) and `neighbours`.

    Examples
    --------
    >>> import lookalike as la
    >>> bought = {"ann": ["milk", "bread", "tea"], "bob": ["milk", "bread"], "cy": ["soap", "tea"]}
    >>> la.baskets.suggest(bought, "bob").items.to_pylist()
    [{'item': 'tea', 'score': 1.0, 'count': 1, 'by': ['ann']}]
    """
    from lookalike.kinds.baskets.local import through_groups
    from lookalike.kinds.baskets.suggestions import find, neighbours_of, suggestions
    from lookalike.kinds.documents.spec import refuse_weights

    if top < 1 or neighbours < 1:
        raise UsageError(f"top is {top} and neighbours {neighbours}; expected at least 1 of each.")
    given: dict[str, Any] = {name: value for name, value in options.items() if name != "progress"}
    refuse_weights(given, "`suggest` compares baskets")
    least = options.get("min_shared") or options.get("threshold") or 0.0
    if given.get("threshold") == 0:
        del given["threshold"]
    via, near = given.pop("via_groups", False), given.pop("group_threshold", None)
    (baskets,), job = _read(given, source)
    me = find(baskets, who)
    compared = [baskets]
    if via:
        compared, job = through_groups(compared, job, near, Trace())
    alike = neighbours_of(compared[0], me, job.set_measure(), bag=job.rule.bag, least=least, most=neighbours)
    return suggestions(baskets, me, alike, top)


@accepts(BasketNearestOptions)
def nearest(
    source: Any, *, against: NearestAgainst = None, top: Top = 10, **options: Unpack[BasketNearestOptions]
) -> NearestResult:
    """Find the `top` most similar baskets of each basket of `source`, in `against` or, without it, among the others.

    The result is exact, and equal similarities are ordered by the input. A neighbour shares at least one item. With
    `dual`, find the most similar items.

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
    >>> bought = {"ann": ["milk", "bread", "tea"], "bob": ["milk", "bread"], "cy": ["soap", "tea"]}
    >>> la.baskets.nearest(bought, top=1).nearest["right"].to_pylist()
    ['bob', 'ann', 'ann']
    """
    from lookalike.io.origin import given_paths
    from lookalike.kinds.baskets.local import BASKETS_NEED
    from lookalike.kinds.documents.top_k import nearest_of
    from lookalike.runtime.local.memory_limit import MemoryLimit

    given = nearest_values(BasketNearestOptions, options, top)
    trace, memory = Trace(given.pop("progress")), MemoryLimit.of(given)
    asked = {name: value for name, value in given.items() if name != "top" and value is not None}
    lowest = lowest_score(asked.pop("at_least", None), None, sign=1, what="similarity")
    memory.check_files([*given_paths(source), *given_paths(against)], BASKETS_NEED)
    with trace.stage("open"):
        baskets, job = _read({**asked, "threshold": 1}, source, against)
    memory.look()
    collections = [one.collection() for one in baskets]
    return nearest_of(collections, top, lowest, job, trace, given, noun=job.noun, memory=memory)


def _run(
    asked: Asked, source: Any, against: Any, grouping: Grouping, keep: str, options: dict[str, Any]
) -> Result | SparkResult:
    from lookalike.io.origin import given_paths
    from lookalike.kinds.baskets.local import BASKETS_NEED, item_groups_job, search, through_groups
    from lookalike.runtime.local.memory_limit import MemoryLimit
    from lookalike.runtime.local.work_folder import ResourceLimits

    given = dict(options)
    trace = Trace(given.pop("progress", silent))
    via, near = given.pop("via_groups", False), given.pop("group_threshold", None)
    verdicts = given_verdicts(given)
    cluster = spark_options(given, verdicts)
    if cluster is not None:
        group_items = (lambda job: item_groups_job(job, near)) if via else None
        return _on_spark(asked, [source, against], grouping, keep, cluster, given, trace, group_items)
    place = ResourceLimits.of(given)
    memory = MemoryLimit(place)
    memory.check_files([*given_paths(source), *given_paths(against)], BASKETS_NEED)
    with trace.stage("open"):
        baskets, job = _read(given, source, against, keep)
    memory.look()
    compared = baskets
    if via:
        compared, job = through_groups(baskets, job, near, trace, place)
    found = search(compared, job, wanted(asked, grouping, verdicts), trace, keep=keep, place=place)
    result = answer(asked, grouping, job, baskets, found, trace, verdicts=verdicts)
    result.done()
    return result


def _on_spark(
    asked: Asked, sources: list[Any], grouping: Grouping, keep: str, cluster: dict[str, Any], options: dict[str, Any],
    trace: Trace, group_items: Callable[[BasketJob], BasketJob] | None,
) -> SparkResult:  # fmt: skip
    from lookalike.kinds.baskets.spark.sources import run_baskets
    from lookalike.kinds.documents.spec import refuse_local_methods, refuse_weights
    from lookalike.runtime.spark.result import SparkResult
    from lookalike.runtime.spark.session import check_options

    refuse_weights(options, "a run on Spark compares baskets")
    refuse_local_methods(options)
    check_options(options)
    rule, job = _asked(options)
    there = run_baskets(sources, rule, job, wanted(asked, grouping), keep, cluster, trace, group_items)
    return SparkResult(asked, grouping, there)


def _read(
    options: dict[str, Any], source: Any, against: Any = None, keep: str = "first"
) -> tuple[list[Baskets], BasketJob]:
    """Read the baskets of one or two sources, with one numbering of items; the other options form the job."""
    from lookalike.core.keep_policy import preferred_column
    from lookalike.kinds.baskets.formats import open_baskets
    from lookalike.kinds.baskets.source import aligned

    weights = options.pop("weights", None)
    rule, job = _asked(options)
    column = preferred_column(keep)
    baskets = [open_baskets(source, rule, extra=[column] if column else [])]
    if against is not None:
        baskets = list(aligned(baskets[0], open_baskets(against, rule)))
    if weights is not None:
        job = replace(job, weights=_own_weights(weights, baskets[0], job.rule))
    return baskets, replace(job, of=baskets[0].item_name)


def _own_weights(given: Any, baskets: Baskets, rule: ShingleRule) -> OwnWeights:
    """Convert the user's weights of items to weights of item numbers; items in no basket are left out."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from lookalike.kinds.baskets.source import int64
    from lookalike.kinds.documents.features import shingle
    from lookalike.kinds.documents.weights import named_weights, own_weights

    names, weights = named_weights(given)
    at = pc.index_in(baskets.items.cast(pa.large_string()), value_set=names.cast(pa.large_string()))
    places = np.asarray(at.fill_null(-1), np.int64)
    known = np.flatnonzero(places >= 0)
    lists = pa.LargeListArray.from_arrays(int64(np.arange(len(known) + 1)), int64(known))
    return own_weights(shingle(lists, rule), baskets.items.take(int64(known)), weights[places[known]], given)


def _asked(options: dict[str, Any]) -> tuple[BasketRule, BasketJob]:
    """Split the options into the rule for reading and the job."""
    from lookalike.kinds.baskets.formats import BasketRule
    from lookalike.kinds.baskets.spec import BasketJob, ItemJob

    rule = BasketRule(**{name: options.pop(name) for name in READING if name in options})
    shared = options.pop("min_shared", None)
    if shared is not None:
        options |= {"measure": "overlap", "threshold": shared}
    kind = ItemJob if rule.dual else BasketJob
    return rule, kind(rule=ShingleRule(unit="token", k=1, bag=rule.bag), **options)
