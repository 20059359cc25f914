"""Survivorship: which value of each column represents an entity that several rows refer to.

A rule orders the rows of an entity; the first row that has a value gives it. Rules are chained: ties of the first one
are decided by the second, and so on, and at last by the order of the rows. A missing or blank value never survives if
another row has one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import I64
from lookalike.core.arrow import as_arrow
from lookalike.errors import ColumnNotFound, UsageError, nearest
from lookalike.kinds.records.dates import standard_date
from lookalike.kinds.records.source import as_text, is_plain

PLAIN_RULES = ("most_frequent", "longest", "shortest", "first", "last", "fullest", "max", "min", "all")
COLUMN_RULES = ("newest", "oldest", "priority", "with")
EVERY_COLUMN = "*"  # the name under which the settings give the rule of all other columns
DEFAULT_CHAIN = ("most_frequent", "longest")
SEPARATOR = " | "  # between the values that the rule `all` joins

Mask = npt.NDArray[np.bool_]
Order = npt.NDArray[Any]  # one number per row; the lowest comes first
Rule = str | Sequence[str] | Callable[[list[Any]], Any]
Chain = tuple[str, ...] | Callable[[list[Any]], Any]


@dataclass(frozen=True)
class Rows:
    """The rows of all sources, each with the number of its entity.

    table: all columns; entity i64[n]: numbered from 0, without gaps; source i64[n]: index into `names`.
    """

    table: pa.Table
    entity: I64
    source: I64
    names: tuple[str, ...]

    @property
    def entities(self) -> int:
        return int(self.entity.max(initial=-1)) + 1


@dataclass(frozen=True)
class Survivor:
    """The surviving values of one column.

    values: one per entity; row i64[entities]: the row of each value, -1 without one; kept bool[n]: whether the value of
    a row survives, as it or as an equal one; present bool[n]: whether a row has a value.
    """

    values: pa.Array | pa.ChunkedArray
    row: I64
    kept: Mask
    present: Mask


def parse_chain(rule: Rule, columns: Sequence[str], names: Sequence[str]) -> Chain:
    """Check a survivorship rule, or a chain of rules, and return it.

    >>> parse_chain(["newest:updated", "longest"], ["name", "updated"], ["people"])
    ('newest:updated', 'longest')
    """
    if callable(rule):
        return rule
    chain = (rule,) if isinstance(rule, str) else tuple(rule)
    for one in chain:
        word, colon, rest = one.partition(":")
        if not (word in COLUMN_RULES and rest) and not (word in PLAIN_RULES and not colon):
            close = nearest(word, [*PLAIN_RULES, *COLUMN_RULES])
            raise UsageError(
                f"the survivorship rule {one!r} is unknown.{close} Choices: {', '.join(PLAIN_RULES)}, newest:COLUMN, "
                "oldest:COLUMN, with:COLUMN, priority:SOURCE,SOURCE, priority:COLUMN=a,b."
            )
        if word in ("all", "with") and len(chain) > 1:
            raise UsageError(f"the survivorship rule {one!r} cannot be combined with others.")
        column = rest.partition("=")[0] if word != "priority" or "=" in rest else None
        if colon and column is not None and column not in columns:
            raise ColumnNotFound(column, f"the input, for the survivorship rule {one!r}", columns)
        if word == "priority" and column is None:
            for source in rest.split(","):
                if source not in names:
                    raise UsageError(
                        f"the survivorship rule {one!r} names the source {source!r}.{nearest(source, names)} "
                        f"Sources: {', '.join(names)}."
                    )
    return chain


def dating_columns(rules: Mapping[str, Rule]) -> set[str]:
    """Return the columns that order the rows of an entity by time.

    >>> dating_columns({"phone": ["newest:updated", "longest"]})
    {'updated'}
    """
    chains = [(rule,) if isinstance(rule, str) else tuple(rule) for rule in rules.values() if not callable(rule)]
    parted = [one.partition(":") for chain in chains for one in chain]
    return {column for word, _, column in parted if word in ("newest", "oldest")}


def chains_of(columns: Sequence[str], names: Sequence[str], rules: Mapping[str, Rule]) -> dict[str, Chain]:
    """Check the rules, and return the chain of every column."""
    for name in rules:
        if name != EVERY_COLUMN and name not in columns:
            raise ColumnNotFound(name, "the input, for a survivorship rule", columns)
    every = rules.get(EVERY_COLUMN, DEFAULT_CHAIN)
    return {name: parse_chain(rules.get(name, every), columns, names) for name in columns}


def survivors(rows: Rows, rules: Mapping[str, Rule]) -> dict[str, Survivor]:
    """Select the surviving value of every column. rules: by column; `*` is the rule of all other columns."""
    columns = rows.table.column_names
    chains = chains_of(columns, rows.names, rules)
    out: dict[str, Survivor] = {}
    for name in columns:
        _survive(rows, name, chains, out, ())
    return {name: out[name] for name in columns}


def _survive(
    rows: Rows, name: str, chains: Mapping[str, Chain], out: dict[str, Survivor], waiting: tuple[str, ...]
) -> Survivor:
    """Compute the survivor of a column, after that of the column that it goes with."""
    if name in out:
        return out[name]
    if name in waiting:
        raise UsageError(f"the survivorship rules of {' and '.join(map(repr, waiting))} refer to one another.")
    column, chain = rows.table.column(name), chains[name]
    texts = texts_of(column)
    present = _present(texts)
    if callable(chain):
        row = _by_function(column, rows, present, chain, name)
    elif chain[0].startswith("with:"):
        other = _survive(rows, chain[0].partition(":")[2], chains, out, (*waiting, name))
        row = np.where((other.row >= 0) & present[other.row], other.row, -1)
    else:
        keys = [_key(rule, column, texts, rows) for rule in chain if rule != "all"]
        row = _best(rows, keys, present)
    values = column.take(pa.array(row, pa.int64(), mask=row < 0))
    codes = _codes(texts)
    kept = present & (row[rows.entity] >= 0) & (codes == codes[row[rows.entity]])
    if chain == ("all",):
        values, kept = _joined(texts, codes, rows, present, values), present
    out[name] = Survivor(values, row, kept, present)
    return out[name]


def _best(rows: Rows, keys: Sequence[Order], present: Mask) -> I64:
    """Return the first row of each entity by these keys, among those with a value (-1 for none)."""
    order = np.lexsort((*reversed(keys), ~present, rows.entity))  # stable: the order of the rows decides ties
    first = order[np.flatnonzero(np.diff(rows.entity[order], prepend=-1))]
    return np.where(present[first], first, -1)


def _key(rule: str, column: pa.ChunkedArray, texts: pa.ChunkedArray, rows: Rows) -> Order:
    """Return the order of the rows under a rule, one number per row; the lowest comes first."""
    word, _, rest = rule.partition(":")
    if word == "most_frequent":
        codes = _codes(texts)
        both = rows.entity * (int(codes.max(initial=0)) + 1) + codes
        _, place, counts = np.unique(both, return_inverse=True, return_counts=True)
        return np.asarray(-counts[place])
    if word in ("longest", "shortest"):
        size = pc.fill_null(pc.utf8_length(texts), 0).to_numpy().astype(np.int64)
        return np.asarray(-size if word == "longest" else size)
    if word in ("newest", "oldest"):
        return _ranks(_dates(rows.table.column(rest)), falling=word == "newest")
    if word in ("max", "min"):
        return _ranks(_ordered(column, texts), falling=word == "max")
    if word == "priority":
        return _priority(rest, rows)
    if word == "fullest":
        filled = [_present(texts_of(rows.table.column(name))) for name in rows.table.column_names]
        return np.asarray(-np.sum(filled, axis=0))
    return np.arange(len(rows.entity)) * (-1 if word == "last" else 1)


def _priority(wanted: str, rows: Rows) -> Order:
    """Return the place of each row's source, or of its value in a column, among the wanted ones; others come last."""
    column, equals, listed = wanted.partition("=")
    if equals:
        places = pc.index_in(texts_of(rows.table.column(column)), pa.array(listed.split(","), pa.large_string()))
        return np.asarray(pc.fill_null(places, len(listed)).to_numpy())
    chosen = wanted.split(",")
    places = np.array([chosen.index(name) if name in chosen else len(chosen) for name in rows.names])
    return np.asarray(places[rows.source])


def _ranks(values: pa.ChunkedArray, *, falling: bool) -> Order:
    """Return the rank of each value; equal values have equal ranks, and missing ones come last.

    Values of types without an order, such as lists, are ranked as text.
    """
    try:
        rank = pc.rank(values, sort_keys="descending" if falling else "ascending", tiebreaker="min")
    except pa.ArrowNotImplementedError:
        rank = pc.rank(texts_of(values), sort_keys="descending" if falling else "ascending", tiebreaker="min")
    return np.asarray(rank.to_numpy(), np.int64)


def _dates(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values that are ordered by time: dates written in text are normalised first."""
    if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
        return column
    encoded = column.cast(pa.large_string()).combine_chunks().dictionary_encode()
    texts = [f"{standard_date(text)} {text}" if text.strip() else None for text in encoded.dictionary.to_pylist()]
    return pa.chunked_array([pa.array(texts, pa.large_string()).take(encoded.indices)])


def _ordered(column: pa.ChunkedArray, texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the values as numbers if all texts are numbers, else unchanged."""
    if column.type != texts.type and not pa.types.is_string(column.type):
        return column
    try:
        return pc.if_else(pc.equal(pc.utf8_trim_whitespace(texts), ""), None, texts).cast(pa.float64())
    except pa.ArrowInvalid:
        return texts


def _by_function(
    column: pa.ChunkedArray, rows: Rows, present: Mask, choose: Callable[[list[Any]], Any], name: str
) -> I64:
    """Let a function choose among the values of each entity; returns the row of the chosen value."""
    out = np.full(rows.entities, -1, np.int64)
    members: dict[int, list[int]] = {}
    for row in np.flatnonzero(present).tolist():
        members.setdefault(int(rows.entity[row]), []).append(row)
    values = column.to_pylist()
    for entity, places in members.items():
        given = [values[row] for row in places]
        chosen = choose(given) if len(given) > 1 else given[0]
        if chosen not in given:
            raise UsageError(f"the survivorship function of {name!r} returned {chosen!r}; expected one of {given!r}.")
        out[entity] = places[given.index(chosen)]
    return out


def _joined(
    texts: pa.ChunkedArray, codes: I64, rows: Rows, present: Mask, values: pa.ChunkedArray
) -> pa.Array | pa.ChunkedArray:
    """Return the distinct values of each entity as one text."""
    order = np.flatnonzero(present)[np.argsort(rows.entity[present], kind="stable")]
    both = np.unique(np.stack([rows.entity[order], codes[order]]), axis=1)[0]
    several = np.bincount(both, minlength=rows.entities) > 1
    single = texts_of(values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])).to_pylist()
    listed: dict[int, dict[str, None]] = {}
    wanted = order[several[rows.entity[order]]]
    for row, text in zip(wanted.tolist(), texts.take(as_arrow(wanted)).to_pylist(), strict=True):
        listed.setdefault(int(rows.entity[row]), {})[text] = None
    for entity, several_texts in listed.items():
        single[entity] = SEPARATOR.join(several_texts)
    return pa.array(single, pa.large_string())


def texts_of(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the values of a column as text, one chunk."""
    if is_plain(column.type):
        return pa.chunked_array([as_text(column.combine_chunks())])
    return pa.chunked_array([pa.array([None if v is None else str(v) for v in column.to_pylist()], pa.large_string())])


def _present(texts: pa.ChunkedArray) -> Mask:
    """Return which values are neither missing nor blank."""
    blank = pc.equal(pc.utf8_trim_whitespace(texts), "")
    return ~np.asarray(pc.fill_null(blank, True).to_numpy(), np.bool_)


def _codes(texts: pa.ChunkedArray) -> I64:
    """Return a number for each value, equal for equal ones; missing values share another one."""
    return np.asarray(pc.fill_null(texts.combine_chunks().dictionary_encode().indices, -1).to_numpy(), np.int64) + 1
