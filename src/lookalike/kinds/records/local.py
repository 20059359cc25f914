"""The local engine of record linkage: from tables to fields, candidates and scored pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import F32, I64
from lookalike.core.exact_duplicates import Classes
from lookalike.core.keep_policy import preference, preferred_column
from lookalike.core.method_choice import Choice
from lookalike.core.recall_audit import Audit
from lookalike.core.trace import Trace
from lookalike.errors import InputError, UsageError, listed, nearest
from lookalike.kinds.records.audit import audit
from lookalike.kinds.records.codes import columns_of, field_values
from lookalike.kinds.records.column_alignment import aligned_columns, renamed
from lookalike.kinds.records.column_selection import telling_fields
from lookalike.kinds.records.equal_records import equal_records
from lookalike.kinds.records.fields import Field, make_field
from lookalike.kinds.records.no_pairs import advice
from lookalike.kinds.records.rules import FieldRule, RecordRules
from lookalike.kinds.records.schema_inference import infer_fields
from lookalike.kinds.records.search import Compared, Search
from lookalike.kinds.records.source import RecordTable, no_common_column
from lookalike.kinds.records.spec import RecordJob
from lookalike.runtime.local.memory_limit import UNLIMITED, InputNeed, MemoryLimit
from lookalike.runtime.local.pool import Pool, usable_cores
from lookalike.runtime.run_output import RunOutput

KEYS_COMPARED = "records that share keys are compared, those with the heaviest keys first"
ONE_TABLE = "one-to-one is between two tables; give the other one with `against`."


# benchmarks/scale/memory_needs.py measures 745 bytes for each record of five fields, 14 per byte of CSV
RECORDS_NEED = InputNeed("records", row=800, text_byte=15, libraries=70e6)


@dataclass(frozen=True)
class Loaded:
    """One or two tables in memory.

    fields: over the records of both tables; split: the number of records of the first, -1 for one table; lengths i64:
    the size of the fields of each record of the first table in bytes, zeros unless they decide which record is kept;
    extra: other columns of the first table; aligned: columns of the first table that have another name in the second.
    """

    fields: list[Field]
    ids: list[pa.ChunkedArray]
    split: int
    lengths: I64
    extra: dict[str, pa.ChunkedArray]
    aligned: dict[str, str]

    def __len__(self) -> int:
        return sum(len(ids) for ids in self.ids)

    def places(self, left: Any, right: Any) -> tuple[int, int]:
        """Return the numbers of the records with these ids; the second one is in the second table if there are two."""
        other = self.ids[-1]
        return _place(self.ids[0], left), _place(other, right) + (len(self) - len(other))

    def apart(self, limited: Sequence[bool]) -> I64:
        """Return the table of each record if that table has at most one record of an entity, else -1."""
        tables = [number if one else -1 for number, one in enumerate(limited)]
        return np.repeat(np.array(tables, np.int64), [len(ids) for ids in self.ids])


def load(
    tables: Sequence[RecordTable], rules: RecordRules | None, names: Sequence[str] | None, pool: Pool, trace: Trace,
    *, keep: str = "first", joined: bool = False,
) -> tuple[Loaded, RecordRules]:  # fmt: skip
    """Read the tables and make their fields; without rules, infer these from the values of the columns (or `names`).

    joined: treat several tables as one, so that records of one table can match too.
    """
    column = preferred_column(keep)
    with trace.stage("read"):
        aligned = {}
        if len(tables) == 2:
            named = columns_of(rules.fields) if rules else names
            aligned = aligned_columns(tables[0], tables[1], named or None)
            tables = [tables[0], renamed(tables[1], aligned)] if aligned else tables
        if aligned:
            trace.counts["aligned_columns"] = aligned
        wanted = columns_of(rules.fields) if rules else list(names or common_columns(tables))
        read = [_read(table, wanted, column if number == 0 else None) for number, table in enumerate(tables)]
        ids = [table.ids(made) for table, made in zip(tables, read, strict=True)]
        both = pa.concat_tables([made.select(wanted) for made in read])
        trace.add(records=both.num_rows, bytes=both.nbytes)
    split = len(ids[0]) if len(tables) == 2 and not joined else -1
    with trace.stage("fields"):
        inferred = rules is None
        if rules is None:
            guessed = infer_fields(both, wanted)
            if not guessed and both.num_rows:
                raise InputError(
                    f"no column of {tables[0].name} tells its records apart: all are empty or always the same. "
                    f"Columns: {listed(wanted)}."
                )
            made = guessed or tuple(FieldRule(column=name) for name in wanted[:1])
            rules = inferred_rules(made)
        columns = {name: both.column(name) for name in wanted}
        fields = list(pool.map(lambda rule: make_field(field_values(columns, rule), rule), rules.fields))
        if inferred and not names:
            fields, left_out = telling_fields(fields, split)
            if left_out:
                trace.counts["uninformative_columns"] = left_out
                rules = inferred_rules([field.rule for field in fields])
    lengths: I64 = (
        _lengths(both, rules)[: len(ids[0])] if keep in ("longest", "shortest") else np.zeros(len(ids[0]), np.int64)
    )
    extra = {column: read[0].column(column)} if column else {}
    return Loaded(fields, ids, split, lengths, extra, aligned), rules


def inferred_rules(fields: Sequence[FieldRule]) -> RecordRules:
    """Return the rules of these fields. With only one column, its words are those of the whole record."""
    columns = sum(not rule.sources for rule in fields)
    return RecordRules(fields=tuple(fields)) if columns > 1 else RecordRules(fields=tuple(fields), whole=0.0)


Also = Callable[[Loaded], tuple[I64, I64]]  # from the loaded tables to the numbers of records


@dataclass(frozen=True)
class Searched:
    """A finished search. best: record numbers in order of preference for keeping; score f32[p]: of the candidates."""

    loaded: Loaded
    classes: Classes
    best: I64
    search: Search
    job: RecordJob
    score: F32
    audit: Audit | None


def searched(
    tables: Sequence[RecordTable], options: dict[str, Any], trace: Trace, *, rules: RecordRules | None = None,
    fields: Sequence[str] | None = None, keep: str = "first", also: Also | None = None,
    limited: Sequence[bool] | None = None,
) -> Searched:  # fmt: skip
    """Compare the records of one table, or those of two tables with each other.

    options: those of a RecordJob, without the rules, and the `memory` limit; without a threshold, that of the rules is
    used, else one is selected from the data. also: from the loaded tables to records that are compared even if they
    share no key.
    limited: to compare the records of several tables as one, whether each table has at most one record of an entity.
    """
    threshold = options.pop("threshold", None)
    memory: MemoryLimit = options.pop("memory", UNLIMITED)
    asked = RecordJob(
        rules=rules or RecordRules(fields=(FieldRule(column="?"),)),
        threshold=0.5 if threshold is None else threshold,
        **options,
    )  # raises an error for invalid options before anything is read
    if asked.one_to_one and len(tables) < 2:
        raise UsageError(ONE_TABLE)
    with Pool(asked.threads or usable_cores(), memory.look) as pool:
        loaded, rules = load(tables, rules, fields, pool, trace, keep=keep, joined=limited is not None)
        best = preference(keep, loaded.lengths, loaded.extra)
        best = np.concatenate([best, np.arange(len(best), len(loaded))])
        with trace.stage("collapse"):
            # Equal records whose blocking columns are all empty are not candidates.
            collapse = not asked.one_to_one and asked.blocking is None and not any(limited or ())
            classes = equal_records(loaded.fields, best, loaded.split, collapse=collapse)
            trace.add(exact_duplicates=len(classes.members) - len(classes), empty=len(loaded) - len(classes.members))
        compared = Compared(also and also(loaded), None if limited is None else loaded.apart(limited))
        search = Search.of(loaded.fields, classes, loaded.split, pool, trace, asked, compared=compared)
        with trace.stage("match"):
            inferred = rules
            rules, score = search.scores(rules, asked.weights, threshold, asked.one_to_one)
            nothing = advice(search, score, rules, inferred, given=threshold is not None)
            if nothing is not None and len(classes) == len(classes.members) and len(loaded):
                trace.warnings.append(nothing)
            if loaded.split < 0 and asked.blocking is None and not any(rules.sides(across=False)):
                search, score = search.widened(rules, score, trace)
            job = RecordJob(rules=rules, threshold=float(rules.threshold or 0.5), **options)
        checked = audit(search, job, pool, trace) if job.audit and not any(limited or ()) else None
    return Searched(loaded, classes, best, search, job, score, checked)


def found(made: Searched) -> RunOutput:
    """Return the output of a search: the pairs at or above its threshold."""
    rank = np.empty(len(made.best), np.int64)
    rank[made.best] = np.arange(len(made.best))
    loaded, classes = made.loaded, made.classes
    return RunOutput(
        loaded.ids, loaded.split, classes, np.ones(len(classes)), np.argsort(rank[classes.firsts], kind="stable"),
        Choice("keys", {}, _reason(made.job)),
        pairs=made.search.pairs(made.score, made.job.threshold), audit=made.audit,
        details=partial(made.search.contributions, made.job.rules),
    )  # fmt: skip


def _reason(job: RecordJob) -> str:
    if job.blocking_columns is None:
        return KEYS_COMPARED
    return f"every pair of records that share a value of {' or '.join(job.blocking_columns)} is compared"


def common_columns(tables: Sequence[RecordTable]) -> list[str]:
    """Return the columns that all tables have, without the ids."""
    usable = [set(table.usable()) - {table.id_column} for table in tables]
    shared = [name for name in tables[0].usable() if all(name in names for names in usable)]
    if not shared and any(table.columns for table in tables):
        raise no_common_column(tables)
    return shared


def _lengths(table: pa.Table, rules: RecordRules) -> I64:
    """Return the total size of the fields of each record in bytes."""
    names = [rule.column for rule in rules.fields if not rule.sources]
    sizes = [pc.fill_null(pc.binary_length(table.column(name)), 0).to_numpy() for name in names]
    return np.asarray(np.sum(sizes, axis=0, dtype=np.int64))


def _place(ids: pa.ChunkedArray, wanted: Any) -> int:
    text = ids.cast(pa.string())
    place = int(pc.index(text, str(wanted)).as_py())
    if place < 0:
        close = nearest(str(wanted), text.slice(0, 100_000).to_pylist())
        raise InputError(
            f"no record has the id {wanted!r}.{close} Ids are those of the id column, else row numbers from 0."
        )
    return place


def _read(table: RecordTable, wanted: Sequence[str], extra: str | None) -> pa.Table:
    more = [name for name in (table.id_column, extra) if name is not None and name not in wanted]
    return table.read([*wanted, *dict.fromkeys(more)])
