"""Merge the rows of one or more tables: one row per entity, with the origin of every value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core import clusters
from lookalike.core.arrays import I64
from lookalike.core.arrow import as_arrow
from lookalike.core.formatting import count
from lookalike.core.run_options import Grouping
from lookalike.core.trace import Trace
from lookalike.errors import DuplicateIds, InputChanged, InputError, UsageError, listed, nearest
from lookalike.io.canonical import canonical, converted
from lookalike.io.results import write_folder
from lookalike.kinds.records.entities import entity_ids, limited_pairs, number_entities
from lookalike.kinds.records.given_pairs import given_output, one_array
from lookalike.kinds.records.local import common_columns, found, searched
from lookalike.kinds.records.rules import RecordRules
from lookalike.kinds.records.source import RecordTable, open_records
from lookalike.kinds.records.spec import RecordJob
from lookalike.kinds.records.survivorship import Rows, Rule, Survivor, chains_of, dating_columns, survivors, texts_of
from lookalike.runtime.receipt import make_receipt
from lookalike.runtime.run_output import RunOutput

EVERY_SOURCE = "all"  # every source is unique


@dataclass(frozen=True, kw_only=True)
class Merged:
    """The merged table and its companions, as Arrow tables. Each is built when it is first accessed.

    members: entity, source, id of every input row. changes: previous id, entity, number of records, for the records
    whose entity has another id than in the previous run. receipt: what was requested, found and counted.
    """

    job: RecordJob
    members: pa.Table
    changes: pa.Table
    receipt: dict[str, Any]
    rows: Rows
    survivors: Mapping[str, Survivor]
    ids: Sequence[str]

    @cached_property
    def golden(self) -> pa.Table:
        """One row per entity: its id, the number of its records, and the surviving value of every column."""
        names = self.rows.table.column_names
        entity, records = (free_name(name, names) for name in ("entity", "records"))
        counts = np.bincount(self.rows.entity, minlength=len(self.ids))
        columns = {entity: pa.array(self.ids, pa.string()), records: as_arrow(counts.astype(np.int64))}
        return pa.table({**columns, **{name: survivor.values for name, survivor in self.survivors.items()}})

    @cached_property
    def cells(self) -> pa.Table:
        """The origin of every value: entity, column, source, id, value, and whether the value survived.

        One row per value of an input row, without missing ones; sorted by entity, column and input row.
        """
        parts, entity = [], []
        for number, (name, survivor) in enumerate(self.survivors.items()):
            here = np.flatnonzero(survivor.present)
            values = texts_of(self.rows.table.column(name)).take(as_arrow(here))
            members = self.members.take(as_arrow(here))
            named = pa.array(np.full(len(here), number), pa.int32())
            column = pa.DictionaryArray.from_arrays(named, pa.array([*self.survivors], pa.string())).cast(pa.string())
            columns = {name: members[name] for name in ("source", "id")}
            columns |= {"value": values, "survived": pa.array(survivor.kept[here])}
            parts.append(pa.table({"entity": members["entity"], "column": column, **columns}))
            entity.append(self.rows.entity[here])
        whole = pa.concat_tables(parts).combine_chunks()
        return whole.take(as_arrow(np.argsort(np.concatenate(entity), kind="stable")))

    def to_arrow(self) -> pa.Table:
        """Return the merged table."""
        return self.golden

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write golden, members, cells and changes as Parquet files, and receipt.json, into a new folder."""
        tables = {"golden": self.golden, "members": self.members, "cells": self.cells, "changes": self.changes}
        write_folder(tables, self.receipt, Path(folder), force=force)
        return Path(folder)

    def done(self) -> None:
        """Do nothing: a merge has no checkpoints."""

    def __repr__(self) -> str:
        return f"<Merged: {count(len(self.rows.entity), 'records')} of {count(len(self.ids), 'entities')}>"


def free_name(name: str, taken: Sequence[str]) -> str:
    """Return the name, with a number if there is a column of that name.

    >>> free_name("entity", ["entity", "name"])
    'entity_2'
    """
    number, made = 1, name
    while made in taken:
        number += 1
        made = f"{name}_{number}"
    return made


@dataclass(frozen=True)
class Sources:
    """The tables to merge. limited: whether a source has at most one record of an entity."""

    tables: list[RecordTable]
    names: tuple[str, ...]
    limited: tuple[bool, ...]

    @classmethod
    def of(cls, source: Any, unique: str | Sequence[str], options: Mapping[str, Any]) -> Sources:
        """Open one table, or a mapping of source names to tables; check the names of unique sources."""
        linked = isinstance(source, Mapping)
        if linked and not source:
            raise UsageError("no table is given; expected a mapping of names to tables.")
        given = source if linked else {"": source}
        tables = [
            open_records(one, id=options.get("id"), on_bad_text=options.get("on_bad_text", "error"))
            for one in given.values()
        ]
        names = tuple(map(str, given)) if linked else (tables[0].name,)
        chosen = list(names) if unique == EVERY_SOURCE else [unique] if isinstance(unique, str) else list(unique)
        for name in chosen:
            if name not in names or not linked:
                known = f"Sources: {listed(names)}." if linked else "It needs several tables to link."
                raise UsageError(f"no source {name!r} to be unique.{nearest(name, names) if linked else ''} {known}")
        return cls(tables, names, tuple(name in chosen for name in names))


@dataclass(frozen=True)
class MergeSpec:
    """What a merge is asked to do, apart from its search; see `merge`."""

    survive: Mapping[str, Rule]
    previous: Any = None
    pairs: Any = None
    grouping: Grouping = "components"


def merged(
    sources: Sources, spec: MergeSpec, options: dict[str, Any], trace: Trace, *, rules: RecordRules | None,
    fields: Sequence[str] | None,
) -> Merged:  # fmt: skip
    """Find the entities of the sources, and merge the rows of each entity. options: those of a RecordJob."""
    survive = spec.survive
    columns = list(dict.fromkeys(name for table in sources.tables for name in table.columns))
    chains_of(columns, sources.names, survive)  # raises an error for a wrong rule before the search
    if spec.pairs is not None:
        job, output = given_output(sources.tables, spec.pairs, options, trace)
        aligned: dict[str, str] = {}
    else:
        if rules is None and fields is None and (dates := dating_columns(survive)):
            # When a row was updated does not tell which entity it refers to.
            fields = [name for name in common_columns(sources.tables) if name not in dates]
        both_limited = len(sources.tables) == 2 and all(sources.limited)
        search = searched(
            sources.tables, {**options, "one_to_one": both_limited}, trace, rules=rules, fields=fields,
            limited=None if both_limited or len(sources.tables) == 1 else sources.limited,
        )  # fmt: skip
        job, output = search.job, found(search)
        aligned = {name: own for name, own in search.loaded.aligned.items() if own not in survive}
    source = np.repeat(np.arange(len(sources.names)), [len(ids) for ids in output.ids])
    with trace.stage("merge"):
        entity = _entities(output, source, sources.limited, spec.grouping)
        rows = Rows(_whole_table(sources, output.ids, aligned), entity, source, sources.names)
        chosen = survivors(rows, {**{t.id_column: "first" for t in sources.tables if t.id_column}, **survive})
        texts = one_array([ids.cast(pa.string()) for ids in output.ids])
        keys = _keys(sources, source, texts)
        before = _previous(spec.previous, sources, keys)
        named, changes = entity_ids(entity, keys, before)
        trace.add(entities=len(named), merged=int((np.bincount(entity) > 1).sum()) if len(entity) else 0)
    members = pa.table(
        {
            "entity": pa.array(named, pa.string()).take(as_arrow(entity)),
            "source": pa.array(sources.names, pa.string()).take(as_arrow(source)), "id": texts,
        }
    )  # fmt: skip
    receipt = make_receipt("merge", sources.tables, job, output, trace)
    receipt["survivorship"] = {name: rule if not callable(rule) else "function" for name, rule in survive.items()}
    receipt["sources"] = [
        {"name": name, "unique": one} for name, one in zip(sources.names, sources.limited, strict=True)
    ]
    return Merged(job=job, members=members, changes=changes, receipt=receipt, rows=rows, survivors=chosen, ids=named)


def _entities(output: RunOutput, source: I64, limited: Sequence[bool], grouping: Grouping) -> I64:
    """Number the entity of each record."""
    pairs = output.pairs
    if pairs is None:
        raise UsageError("the pairs were too many to merge; take a higher threshold or a larger max_pairs.")
    first = source[output.classes.firsts]
    kept = limited_pairs(pairs, first, limited, len(output.classes))
    groups = clusters.MAKERS[grouping](kept, output.order)
    return number_entities(clusters.of_items(groups, output.classes, len(source), output.own).representative)


def _whole_table(sources: Sources, ids: Sequence[pa.ChunkedArray], aligned: Mapping[str, str]) -> pa.Table:
    """Read all columns of all sources, one under the other, in plain types; columns of different types become text.

    aligned: columns of the first source that have another name in the second; their values are put into one column.
    """
    tables = [
        pa.Table.from_batches([converted(batch, canonical) for batch in table.rows()]) for table in sources.tables
    ]
    for source, table, own in zip(sources.tables, tables, ids, strict=True):
        if table.num_rows != len(own):
            raise InputChanged(source.name)
    if aligned:
        shown = {own: name for name, own in aligned.items()}
        tables[1] = tables[1].rename_columns([shown.get(name, name) for name in tables[1].column_names])
    types: dict[str, set[pa.DataType]] = {}
    for table in tables:
        for field in table.schema:
            types.setdefault(field.name, set()).add(field.type)
    mixed = {name for name, kinds in types.items() if len(kinds - {pa.null()}) > 1}
    for number, table in enumerate(tables):
        for name in mixed.intersection(table.column_names):
            table = table.set_column(table.column_names.index(name), name, texts_of(table.column(name)))
        tables[number] = table
    return pa.concat_tables(tables, promote_options="permissive").combine_chunks()


def _keys(sources: Sources, source: I64, ids: pa.Array) -> list[str]:
    """Return what identifies each record across runs: its id, and its source where there are several."""
    if len(sources.names) == 1:
        return list(ids.to_pylist())
    return [f"{sources.names[place]}\x1f{one}" for place, one in zip(source.tolist(), ids.to_pylist(), strict=True)]


def _previous(previous: Any, sources: Sources, keys: Sequence[str]) -> list[str | None]:
    """Return the entity of each record in the previous run, from its table of members."""
    if previous is None:
        return [None] * len(keys)
    for table in sources.tables:
        if table.id_column is None:
            raise UsageError(
                f"{table.name} has no column of ids, so its rows cannot be recognised in the previous run; name one "
                "with id."
            )
    members = open_records(previous, id="none")
    several = len(sources.names) > 1
    wanted = ["entity", "id", *(["source"] if several else [])]
    columns = members.read(wanted)
    ids = columns["id"].to_pylist()
    given = [f"{a}\x1f{b}" for a, b in zip(columns["source"].to_pylist(), ids, strict=True)] if several else ids
    before = dict(zip(given, columns["entity"].to_pylist(), strict=True))
    if len(before) < len(given):
        raise DuplicateIds(f"{members.name} names a record more than once; expected each record of a run once.")
    if pc.any(pc.is_null(columns["entity"])).as_py():
        raise InputError(f"{members.name} has a record without an entity; expected the members of a previous run.")
    return [before.get(key) for key in keys]
