"""Record linkage and deduplication: find rows that refer to the same person, product or paper."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import I64
from lookalike.core.options import accepts
from lookalike.core.run_options import Against, Grouping, GroupingOption, KeepPolicy, MemoryLimitOption, silent
from lookalike.core.trace import Trace
from lookalike.errors import UsageError
from lookalike.kinds.records.field_evidence import FieldEvidence
from lookalike.kinds.records.options import (
    GivenPairs,
    OneToOne,
    Previous,
    RecordOptions,
    RecordRunOptions,
    Survive,
    Unique,
)
from lookalike.result import Asked, Result, answer, given_verdicts, wanted
from lookalike.runtime.engine_choice import spark_options

if TYPE_CHECKING:
    from lookalike.kinds.records.blocking_analysis import KeyCosts
    from lookalike.kinds.records.merge import Merged
    from lookalike.kinds.records.rules import RecordRules
    from lookalike.kinds.records.source import RecordTable
    from lookalike.runtime.spark.result import SparkResult


@overload
def pairs(
    source: Any,
    *,
    against: Any = ...,
    one_to_one: bool = ...,
    engine: Literal["spark"],
    **options: Unpack[RecordOptions],
) -> SparkResult: ...
@overload
def pairs(
    source: Any,
    *,
    against: Any = ...,
    one_to_one: bool = ...,
    engine: Literal["local"] = ...,
    **options: Unpack[RecordOptions],
) -> Result: ...
@accepts(RecordOptions)
def pairs(
    source: Any, *, against: Against = None, one_to_one: OneToOne = False, **options: Any
) -> Result | SparkResult:
    """Find pairs of records that refer to the same entity, in `source` or between `source` and `against`.

    With `one_to_one`, each record has at most one partner, in the assignment with the highest sum of scores. Rules,
    weights and a threshold that are not given are inferred from the data; `result.job.rules` has them. On Spark, the
    rules are learned from a sample.

    Parameters
    ----------
    source
        A path, a list of `Path`, an Arrow table, or anything that exports an Arrow stream. With `engine="spark"`,
        also a Spark DataFrame or any source that Spark reads.

    Returns
    -------
    Result
        The table `pairs` has the columns left, right, similarity, and the contribution of each field. With
        `engine="spark"` a SparkResult, whose tables are DataFrames.

    Examples
    --------
    >>> import lookalike as la, pyarrow as pa
    >>> people = pa.table({"name": ["Ann Lee", "Bob Ray", "Lee, Ann"], "town": ["York", "Leeds", "York"]})
    >>> la.records.pairs(people, threshold=0.6).pairs.select(["left", "right", "similarity"]).to_pylist()
    [{'left': 0, 'right': 2, 'similarity': 1.0}]
    """
    return _run("pairs", source, against, "components", "first", one_to_one, options)


@overload
def groups(
    source: Any, *, grouping: Grouping = ..., keep: str = ..., pairs: Any = ..., engine: Literal["spark"],
    **options: Unpack[RecordOptions],
) -> SparkResult: ...  # fmt: skip
@overload
def groups(
    source: Any, *, grouping: Grouping = ..., keep: str = ..., pairs: Any = ..., engine: Literal["local"] = ...,
    **options: Unpack[RecordOptions],
) -> Result: ...  # fmt: skip
@accepts(RecordOptions)
def groups(
    source: Any, *, grouping: GroupingOption = "stars", keep: KeepPolicy = "first", pairs: GivenPairs = None,
    **options: Any,
) -> Result | SparkResult:  # fmt: skip
    """Group the records that refer to the same entity.

    Groups are stars, in which every member is a pair with the representative that `keep` selects (see `dedup`), or
    connected components.

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
    >>> import lookalike as la, pyarrow as pa
    >>> people = pa.table({"name": ["Ann Lee", "Bob Ray", "Lee, Ann"], "town": ["York", "Leeds", "York"]})
    >>> la.records.groups(people, threshold=0.6).groups["id"].to_pylist()
    [0, 2]
    >>> la.records.groups(people, pairs=pa.table({"left": [0], "right": [1]})).groups["id"].to_pylist()
    [0, 1]
    """
    if pairs is not None:
        return _grouped(source, pairs, grouping, keep, options)
    return _run("groups", source, None, grouping, keep, False, options)


@overload
def dedup(
    source: Any, *, against: Any = ..., keep: str = ..., engine: Literal["spark"], **options: Unpack[RecordOptions]
) -> SparkResult: ...
@overload
def dedup(
    source: Any,
    *,
    against: Any = ...,
    keep: str = ...,
    engine: Literal["local"] = ...,
    **options: Unpack[RecordOptions],
) -> Result: ...
@accepts(RecordOptions)
def dedup(source: Any, *, against: Against = None, keep: KeepPolicy = "first", **options: Any) -> Result | SparkResult:
    """Remove duplicate rows from a table: every removed row is similar to a row that is kept.

    With `against`, rows of `source` that are similar to a record of `against` are removed.

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
    >>> import lookalike as la, pyarrow as pa
    >>> people = pa.table({"name": ["Ann Lee", "Bob Ray", "Lee, Ann"], "town": ["York", "Leeds", "York"]})
    >>> la.records.dedup(people, threshold=0.6).kept["name"].to_pylist()
    ['Ann Lee', 'Bob Ray']
    """
    return _run("dedup", source, against, "stars", keep, False, options)


@accepts(RecordRunOptions)
def preview(
    source: Any, *, against: Against = None, **options: Unpack[RecordRunOptions]
) -> tuple[RecordRules, KeyCosts]:
    """Infer the rules and count the comparisons of each blocking key, without comparing anything.

    Parameters
    ----------
    source
        As for `pairs`.

    Returns
    -------
    tuple[RecordRules, KeyCosts]
        The rules, and the cost of each key; `unreached` of the second is the ids of the records that share no block
        with
        another record.

    Examples
    --------
    >>> import lookalike as la, pyarrow as pa
    >>> people = pa.table({"name": ["Ann Lee", "Bob Ray", "Lee, Ann"], "town": ["York", "Leeds", "York"]})
    >>> rules, costs = la.records.preview(people)
    >>> [(cost.column, cost.key, cost.pairs, cost.value) for cost in costs if cost.key == "words"]
    [('name', 'words', 2, 'ann'), ('town', 'words', 1, 'york')]
    """
    from lookalike.kinds.records.blocking_analysis import KeyCosts, key_costs, unreached_records
    from lookalike.kinds.records.local import load
    from lookalike.runtime.local.pool import Pool, usable_cores

    tables = _open(options, source, against)
    with Pool(options.get("threads") or usable_cores()) as pool:
        loaded, rules = load(tables, _rules(options), options.get("fields"), pool, Trace())
    costs = KeyCosts(key_costs(loaded.fields, loaded.split))
    costs.aligned = loaded.aligned
    ids = [one for part in loaded.ids for one in part.to_pylist()]
    costs.unreached = [ids[record] for record in unreached_records(loaded.fields, loaded.split)]
    return rules, costs


@dataclass(frozen=True)
class Explanation:
    """The contributions of the fields to the similarity of two records.

    rows: (field, left value, right value, contribution; None where a value is missing). prior: log2 of the prior odds
    in the Fellegi-Sunter model, in which contributions are match weights in bits; else None. score_name: similarity,
    probability, or score where the data does not support a probability. evidence: comparison level, m, u and match
    weight of each field in the Fellegi-Sunter model.
    """

    similarity: float
    threshold: float
    prior: float | None
    score_name: str
    rows: list[tuple[str, str | None, str | None, float | None]]
    evidence: list[FieldEvidence] = field(default_factory=list)


@accepts(RecordRunOptions)
def explain(
    source: Any, left: Any, right: Any, *, against: Against = None, **options: Unpack[RecordRunOptions]
) -> Explanation:
    """Explain the similarity of two records by field, under the rules that a run would learn.

    Parameters
    ----------
    source
        As for `pairs`.
    left, right
        Ids of the two records.

    Returns
    -------
    Explanation
        The values, and what each field adds to the similarity.

    Examples
    --------
    >>> import lookalike as la, pyarrow as pa
    >>> people = pa.table({"name": ["Ann Lee", "Bob Ray", "Lee, Ann"], "town": ["York", "Leeds", "York"]})
    >>> la.records.explain(people, 0, 2, threshold=0.6).rows[0]
    ('name', 'Ann Lee', 'Lee, Ann', 0.25)
    """
    from lookalike.kinds.records.local import searched

    tables = _open(options, source, against)
    made = searched(
        tables, job_options(options), Trace(options.get("progress", silent)), rules=_rules(options),
        fields=options.get("fields"), also=lambda loaded: _one_pair(loaded.places(left, right)),
    )  # fmt: skip
    a, b = made.loaded.places(left, right)
    rules, similarity = made.job.rules, float(made.search.scores_of(made.score, *_one_pair((a, b)))[0])
    parts = made.search.contributions(rules, np.array([a]), np.array([b]), np.array([similarity]))
    texts = {field.rule.column: (field.text(a), field.text(b)) for field in made.loaded.fields}
    rows = [(name, *texts.get(name, (None, None)), part[0].as_py()) for name, part in parts.items()]
    from lookalike.kinds.records.waterfall import waterfall

    evidence = waterfall(made.search, rules, *_one_pair((a, b)))
    return Explanation(similarity, made.job.threshold, rules.prior, rules.score_name, rows, evidence)


@accepts(RecordRunOptions)
def score(source: Any, pairs: Any, *, against: Against = None, **options: Unpack[RecordRunOptions]) -> pa.Table:
    """Score pairs of records that come from elsewhere, under the rules that a run would learn.

    Parameters
    ----------
    source
        As for `pairs`.
    pairs
        A path or an Arrow table with the columns left and right, else its first two columns.

    Returns
    -------
    pa.Table
        The columns left, right, similarity, whether they match, and the contribution of each field, in the order of
        `pairs`.

    Examples
    --------
    >>> import lookalike as la, pyarrow as pa
    >>> people = pa.table({"name": ["Ann Lee", "Bob Ray", "Lee, Ann"], "town": ["York", "Leeds", "York"]})
    >>> scored = la.records.score(people, pa.table({"left": [0, 0], "right": [2, 1]}), threshold=0.6)
    >>> scored.select(["left", "right", "similarity", "match"]).to_pylist()[0]
    {'left': '0', 'right': '2', 'similarity': 1.0, 'match': True}
    """
    from lookalike.evaluation.ground_truth import read_pairs
    from lookalike.kinds.records.given_pairs import places, scored_table
    from lookalike.kinds.records.local import searched

    listed = read_pairs(pairs)
    made = searched(
        _open(options, source, against), {**job_options(options), "audit": 0},
        Trace(options.get("progress", silent)), rules=_rules(options), fields=options.get("fields"),
        also=lambda loaded: places(loaded.ids, listed),
    )  # fmt: skip
    return scored_table(made, *places(made.loaded.ids, listed))


@accepts(RecordRunOptions)
def merge(
    source: Any, *, unique: Unique = (), survive: Survive = None, previous: Previous = None, pairs: GivenPairs = None,
    grouping: GroupingOption = "components", memory: MemoryLimitOption = None, **options: Unpack[RecordRunOptions],
) -> Merged:  # fmt: skip
    """Merge the rows that refer to the same entity: one row per entity, and the origin of every value.

    Survivorship rules are most_frequent, longest, shortest, first, last, fullest, max, min, all, newest:COLUMN,
    oldest:COLUMN, with:COLUMN, priority:SOURCE,SOURCE, a list of rules of which each decides the ties of the one
    before, or a function from the values to one of them. Components do not depend on the order of the rows.

    Parameters
    ----------
    source
        One table, or a mapping of source names to tables, which are linked.

    Returns
    -------
    Merged
        The tables `golden` (one row per entity), `cells` (the origin of each value), `members` and `changes`.

    Examples
    --------
    >>> import lookalike as la, pyarrow as pa
    >>> shop = pa.table({"id": ["s1", "s2"], "name": ["Ann Lee", "Bob Ray"], "town": ["York", None]})
    >>> club = pa.table({"id": ["c1", "c2"], "name": ["Lee, Ann M", "Bob Ray"], "town": ["York", "Leeds"]})
    >>> merged = la.records.merge({"shop": shop, "club": club}, pairs=pa.table({"l": ["s1", "s2"], "r": ["c1", "c2"]}))
    >>> merged.golden.select(["id", "records", "name", "town"]).to_pylist()[0]
    {'id': 's1', 'records': 2, 'name': 'Lee, Ann M', 'town': 'York'}
    >>> merged.golden["town"].to_pylist()
    ['York', 'Leeds']
    """
    from lookalike.kinds.records.local import RECORDS_NEED
    from lookalike.kinds.records.merge import MergeSpec, Sources, merged
    from lookalike.kinds.records.rules import RecordRules
    from lookalike.kinds.records.rules_file import read_survivorship
    from lookalike.runtime.local.memory_limit import MemoryLimit

    limit = MemoryLimit.of({"memory": memory})
    sources = Sources.of(source, unique, options)
    limit.check_input(sources.tables, RECORDS_NEED)
    settings = options.get("settings")
    saved = {} if settings is None or isinstance(settings, RecordRules) else read_survivorship(settings)
    spec = MergeSpec({**saved, **(survive or {})}, previous, pairs, grouping)
    made = merged(
        sources, spec, {**job_options(options), "memory": limit}, Trace(options.get("progress", silent)),
        rules=_rules(options), fields=options.get("fields"),
    )  # fmt: skip
    limit.look()
    return made


def _grouped(source: Any, pairs: Any, grouping: Grouping, keep: str, options: Any) -> Result:
    """Group given pairs."""
    from lookalike.kinds.records.given_pairs import given_output

    verdicts = given_verdicts(options)
    if spark_options(options) is not None:
        raise UsageError("pairs that are given are grouped on one machine; leave out the engine.")
    tables, trace = _open(options, source), Trace(options.get("progress", silent))
    job, output = given_output(tables, pairs, job_options(options), trace, keep=keep)
    return answer("groups", grouping, job, tables, output, trace, verdicts=verdicts)


def _one_pair(records: tuple[int, int]) -> tuple[I64, I64]:
    return np.array(records[:1]), np.array(records[1:])


def _run(
    asked: Asked, source: Any, against: Any, grouping: Grouping, keep: str, one_to_one: bool, given: dict[str, Any]
) -> Result | SparkResult:
    from lookalike.kinds.records.local import RECORDS_NEED, found, searched
    from lookalike.runtime.local.memory_limit import MemoryLimit

    options: Any = dict(given)
    verdicts = given_verdicts(options)
    cluster = spark_options(options, verdicts)
    trace = Trace(options.get("progress", silent))
    job = {**job_options(options), "one_to_one": one_to_one}
    rules, names = _rules(options), options.get("fields")
    if cluster is not None:
        from lookalike.kinds.records.spark.run import RecordReading, run_records
        from lookalike.runtime.spark.result import SparkResult
        from lookalike.runtime.spark.session import check_options

        if job.get("blocking") is not None:
            raise UsageError("blocking by exact values runs on one machine; leave out blocking, or the engine.")
        job.pop("blocking", None)
        check_options(job)
        reading = RecordReading(options.get("id"), names, options.get("on_bad_text", "error"))
        want = wanted(asked, grouping)
        run = run_records([source, against], reading, rules, job, want, keep, cluster, trace)
        return SparkResult(asked, grouping, run)
    memory = job["memory"] = MemoryLimit.of(job)
    tables = _open(options, source, against)
    memory.check_input(tables, RECORDS_NEED)
    made = searched(tables, job, trace, rules=rules, fields=names, keep=keep)
    memory.look()
    return answer(asked, grouping, made.job, tables, found(made), trace, verdicts=verdicts)


def _open(options: RecordRunOptions, *sources: Any) -> list[RecordTable]:
    from lookalike.kinds.records.source import open_records

    on_bad = options.get("on_bad_text", "error")
    return [open_records(one, id=options.get("id"), on_bad_text=on_bad) for one in sources if one is not None]


def job_options(options: RecordRunOptions) -> dict[str, Any]:
    """Return those of the options that belong to a RecordJob."""
    apart = ("id", "fields", "settings", "on_bad_text", "progress")
    return {name: value for name, value in options.items() if name not in apart}


def _rules(options: RecordRunOptions) -> RecordRules | None:
    from lookalike.kinds.records.rules import RecordRules
    from lookalike.kinds.records.rules_file import read_settings

    settings = options.get("settings")
    if settings is not None and options.get("fields"):
        raise UsageError("fields and settings do not go together: the settings name the fields.")
    return settings if settings is None or isinstance(settings, RecordRules) else read_settings(settings)
