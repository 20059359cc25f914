"""Records: rows that mean the same person, product or paper; pairs, groups, and a clean table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

import numpy as np

from lookalike.core.run_options import LocalEngine, SparkEngine
from lookalike.core.trace import Progress, Trace, silent
from lookalike.errors import UsageError
from lookalike.kinds.records.blocking_analysis import KeyCost, key_costs
from lookalike.kinds.records.local import found, load, searched
from lookalike.kinds.records.rules import RecordRules
from lookalike.kinds.records.rules_file import read_settings
from lookalike.kinds.records.source import RecordTable, open_records
from lookalike.kinds.records.spec import WeightsBy
from lookalike.result import Asked, Grouping, Result, answer, wanted
from lookalike.runtime.engine_choice import spark_options
from lookalike.runtime.local.pool import Pool, usable_cores

if TYPE_CHECKING:
    from lookalike.runtime.spark.result import SparkResult


class Options(TypedDict, total=False):
    """What `pairs`, `groups` and `dedup` take beside the source. All are keyword-only."""

    id: str | None  # the column of ids
    fields: Sequence[str] | None  # columns to compare; all but the ids
    settings: Any  # RecordRules, or the path of a TOML file with them
    threshold: float | None  # found from the data
    weights: WeightsBy  # learned; equal; em: Fellegi and Sunter's
    neighbours: int  # candidates that each record proposes
    blocking: str | None  # "exact:name,phone": compare all pairs that share a value there, and no others
    seed: int
    max_pairs: int
    audit: int  # records whose recall is measured
    on_bad_text: Literal["error", "replace", "skip"]  # values that are not UTF-8; "skip" takes them as missing
    threads: int | None
    progress: Progress


class Locally(Options, LocalEngine, total=False):
    """The options of a run on this machine."""


class OnSpark(Options, SparkEngine):
    """The options of a run on Spark."""


@overload
def pairs(source: Any, *, against: Any = ..., one_to_one: bool = ..., **options: Unpack[OnSpark]) -> SparkResult: ...
@overload
def pairs(source: Any, *, against: Any = ..., one_to_one: bool = ..., **options: Unpack[Locally]) -> Result: ...
def pairs(source: Any, *, against: Any = None, one_to_one: bool = False, **options: Any) -> Result | SparkResult:
    """Pairs of records that mean the same, in `source` or between `source` and `against`.

    source: a path, a list of `Path`, an Arrow table, or anything that exports an Arrow stream. The table of pairs has
    left, right, similarity, and what each field adds to it. With `one_to_one` each record has one partner at most, in
    the best assignment overall. Rules, weights and threshold that are not given are guessed and learned from the data;
    `result.job.rules` has them.
    With engine="spark" also a Spark DataFrame, or whatever Spark reads; then DataFrames come back, and rules are
    learned from a sample.

    >>> import lookalike as la, pyarrow as pa
    >>> people = pa.table({"name": ["Ann Lee", "Bob Ray", "Lee, Ann"], "town": ["York", "Leeds", "York"]})
    >>> la.records.pairs(people, threshold=0.6).pairs.select(["left", "right", "similarity"]).to_pylist()
    [{'left': 0, 'right': 2, 'similarity': 1.0}]
    """
    return _run("pairs", source, against, "components", "first", one_to_one, options)


@overload
def groups(source: Any, *, grouping: Grouping = ..., keep: str = ..., **options: Unpack[OnSpark]) -> SparkResult: ...
@overload
def groups(source: Any, *, grouping: Grouping = ..., keep: str = ..., **options: Unpack[Locally]) -> Result: ...
def groups(source: Any, *, grouping: Grouping = "stars", keep: str = "first", **options: Any) -> Result | SparkResult:
    """Groups of records that mean the same: stars, in which every member is itself similar to the representative, which
    `keep` chooses (see `dedup`), or connected components.

    >>> import lookalike as la, pyarrow as pa
    >>> people = pa.table({"name": ["Ann Lee", "Bob Ray", "Lee, Ann"], "town": ["York", "Leeds", "York"]})
    >>> la.records.groups(people, threshold=0.6).groups["id"].to_pylist()
    [0, 2]
    """
    return _run("groups", source, None, grouping, keep, False, options)


@overload
def dedup(source: Any, *, against: Any = ..., keep: str = ..., **options: Unpack[OnSpark]) -> SparkResult: ...
@overload
def dedup(source: Any, *, against: Any = ..., keep: str = ..., **options: Unpack[Locally]) -> Result: ...
def dedup(source: Any, *, against: Any = None, keep: str = "first", **options: Any) -> Result | SparkResult:
    """The table with one row for each that means the same: every removed row is similar to one kept.

    keep: first, last, longest, shortest, max:COLUMN, min:COLUMN, priority:COLUMN=a,b,c. With `against`, removes from
    `source` what is similar to a record there.

    >>> import lookalike as la, pyarrow as pa
    >>> people = pa.table({"name": ["Ann Lee", "Bob Ray", "Lee, Ann"], "town": ["York", "Leeds", "York"]})
    >>> la.records.dedup(people, threshold=0.6).kept["name"].to_pylist()
    ['Ann Lee', 'Bob Ray']
    """
    return _run("dedup", source, against, "stars", keep, False, options)


def preview(source: Any, *, against: Any = None, **options: Unpack[Options]) -> tuple[RecordRules, list[KeyCost]]:
    """What a run would do, without comparing anything: the rules, and for each key how many comparisons it stands for.

    >>> import lookalike as la, pyarrow as pa
    >>> people = pa.table({"name": ["Ann Lee", "Bob Ray", "Lee, Ann"], "town": ["York", "Leeds", "York"]})
    >>> rules, costs = la.records.preview(people)
    >>> [(cost.column, cost.key, cost.pairs, cost.value) for cost in costs if cost.key == "words"]
    [('name', 'words', 2, 'ann'), ('town', 'words', 1, 'york')]
    """
    tables = _open(options, source, against)
    with Pool(options.get("threads") or usable_cores()) as pool:
        loaded, rules = load(tables, _rules(options), options.get("fields"), pool, Trace())
    return rules, key_costs(loaded.fields, loaded.split)


@dataclass(frozen=True)
class Explanation:
    """Why two records have the similarity they have. rows: (field, left value, right value, what it adds; None where a
    value is missing). prior: bits of evidence before any field, by weights of evidence; the rows are bits then.
    score_name: similarity, probability, or score where no probability is supported.
    """

    similarity: float
    threshold: float
    prior: float | None
    score_name: str
    rows: list[tuple[str, str | None, str | None, float | None]]


def explain(source: Any, left: Any, right: Any, *, against: Any = None, **options: Unpack[Options]) -> Explanation:
    """What each field adds to the similarity of the records with these ids, under the rules that a run would learn.

    >>> import lookalike as la, pyarrow as pa
    >>> people = pa.table({"name": ["Ann Lee", "Bob Ray", "Lee, Ann"], "town": ["York", "Leeds", "York"]})
    >>> la.records.explain(people, 0, 2, threshold=0.6).rows[0]
    ('name', 'Ann Lee', 'Lee, Ann', 0.25)
    """
    tables = _open(options, source, against)
    made = searched(
        tables, job_options(options), Trace(options.get("progress", silent)), rules=_rules(options),
        fields=options.get("fields"), also=(left, right),
    )  # fmt: skip
    a, b = made.loaded.places(left, right)
    rules, similarity = made.job.rules, made.search.score_of(made.score, a, b)
    parts = made.search.contributions(rules, np.array([a]), np.array([b]), np.array([similarity]))
    texts = {field.rule.column: (field.text(a), field.text(b)) for field in made.loaded.fields}
    rows = [(name, *texts.get(name, (None, None)), part[0].as_py()) for name, part in parts.items()]
    return Explanation(similarity, made.job.threshold, rules.prior, rules.score_name, rows)


def _run(
    asked: Asked, source: Any, against: Any, grouping: Grouping, keep: str, one_to_one: bool, given: dict[str, Any]
) -> Result | SparkResult:
    options: Any = dict(given)
    cluster = spark_options(options)
    trace = Trace(options.get("progress", silent))
    job = {**job_options(options), "one_to_one": one_to_one}
    rules, names = _rules(options), options.get("fields")
    if cluster is not None:
        from lookalike.kinds.records.spark.run import run_records
        from lookalike.runtime.spark.result import SparkResult
        from lookalike.runtime.spark.session import check_options

        if job.get("blocking") is not None:
            raise UsageError("blocking by exact values runs on one machine; leave out blocking, or the engine.")
        job.pop("blocking", None)
        check_options(job)
        both, want = [source, against], wanted(asked, grouping)
        return SparkResult(
            asked,
            grouping,
            run_records(
                both,
                options.get("id"),
                rules,
                names,
                job,
                want,
                keep,
                cluster,
                trace,
                on_bad_text=options.get("on_bad_text", "error"),
            ),
        )
    tables = _open(options, source, against)
    made = searched(tables, job, trace, rules=rules, fields=names, keep=keep)
    return answer(asked, grouping, made.job, tables, found(made), trace)


def _open(options: Options, *sources: Any) -> list[RecordTable]:
    on_bad = options.get("on_bad_text", "error")
    return [open_records(one, id=options.get("id"), on_bad_text=on_bad) for one in sources if one is not None]


def job_options(options: Options) -> dict[str, Any]:
    """What a job takes of these options."""
    apart = ("id", "fields", "settings", "on_bad_text", "progress")
    return {name: value for name, value in options.items() if name not in apart}


def _rules(options: Options) -> RecordRules | None:
    settings = options.get("settings")
    if settings is not None and options.get("fields"):
        raise UsageError("fields and settings do not go together: the settings name the fields.")
    return settings if settings is None or isinstance(settings, RecordRules) else read_settings(settings)
