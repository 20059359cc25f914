"""Read baskets from two columns, a column of lists, one basket per line, a sparse matrix, or Python collections."""

from __future__ import annotations

import os
from collections.abc import Collection as PythonCollection
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import F64, I64
from lookalike.errors import UsageError
from lookalike.io.collection import Collection, check_ids
from lookalike.io.columns import as_numbers
from lookalike.io.files import form_of
from lookalike.io.origin import given_paths
from lookalike.io.paths import find, kind_of
from lookalike.io.plain_text import TextLines
from lookalike.io.python_sources import plain_source
from lookalike.io.tables import OpenTable, as_ids, numbered, open_table
from lookalike.io.texts import as_texts
from lookalike.kinds.baskets import sparse_matrix
from lookalike.kinds.baskets.columns import BasketColumns, choose_columns
from lookalike.kinds.baskets.ratings import Ratings
from lookalike.kinds.baskets.source import Baskets, by_owner, int64

SEPARATORS = (",", "\t", ";", "|")
EXPECTED_BASKETS = (
    "a path, Arrow data such as a table or a data frame, a sparse matrix, a list of baskets, or a dict of them"
)


@dataclass(frozen=True, kw_only=True)
class BasketRule:
    """The rule by which an input is read as baskets.

    set, item: the columns; item may hold lists, and set may then be omitted. lines: each line of a file is a basket.
    separator: between the items of a line or of a text. rating: the column of ratings; min_rating: items with a lower
    rating are not in a basket. bag: the multiplicity of an item is how often it occurs, or its rating.
    """

    set: str | None = None
    item: str | None = None
    lines: bool = False
    separator: str | None = None
    rating: str | None = None
    min_rating: float | None = None
    bag: bool = False
    dual: bool = False


@dataclass(frozen=True)
class BasketEntries:
    """Unsorted entries of baskets: basket owners[i] contains values[i].

    owners i64[nnz]; values: Arrow, of the same length; ratings f64[nnz], or None; given: the input rows, as in
    `Baskets`; per_row: True if entry i is input row i.
    """

    ids: pa.Array
    owners: I64
    values: Any
    ratings: F64 | None = None
    given: Collection | None = None
    per_row: bool = False
    extra: dict[str, pa.Array] = field(default_factory=dict)


def open_baskets(source: Any, rule: BasketRule, *, extra: Sequence[str] = ()) -> Baskets:
    """Read baskets into memory. extra: further columns to read, if each row is one basket.

    >>> made = open_baskets([["milk", "bread"], ["milk", "eggs"]], BasketRule())
    >>> made.ids.to_pylist(), made.items.to_pylist(), made.numbers.tolist()
    ([0, 1], ['milk', 'bread', 'eggs'], [0, 1, 0, 2])
    """
    made = _open(source, rule, extra)
    if isinstance(source, Baskets):
        return made.dual() if rule.dual else made
    given = given_paths(source)
    files = [file for path in given for file in ((Path(path),) if Path(path).is_file() else find([path]).files)]
    made = replace(made, paths=given, files=tuple(files), read_by=asdict(rule))
    return made.dual() if rule.dual else made


def of_lists(
    name: str, ids: Sequence[Any], lists: Sequence[PythonCollection[Any]], rule: BasketRule | None = None
) -> Baskets:
    """Create baskets from Python collections; the rule matters only for ratings, and there are none."""
    owners = np.repeat(np.arange(len(lists)), [len(items) for items in lists]).astype(np.int64)
    try:
        values, keys = pa.array([item for items in lists for item in items]), pa.array(ids)
    except (pa.ArrowException, TypeError) as error:
        raise UsageError(f"the items of {name} are of several types; expected all strings or all integers.") from error
    if not len(values):
        values = pa.array([], pa.int64())
    made = BasketEntries(keys, owners, values)
    return _assembled(made, rule or BasketRule(), name, "lists", BasketColumns("basket", "items"))


def _open(source: Any, rule: BasketRule, extra: Sequence[str]) -> Baskets:
    if isinstance(source, Baskets):
        return source
    if not isinstance(source, list | tuple) or rule.item is not None:  # other dicts in a list are baskets
        source = plain_source(source)
    if isinstance(source, Mapping):
        return of_lists("the dict", list(source), [_items(value) for value in source.values()], rule)
    if hasattr(source, "tocoo"):
        return _of_matrix(sparse_matrix.of_matrix(source), rule, "the matrix")
    if isinstance(source, str | os.PathLike):
        return _of_paths([source], rule, extra)
    if isinstance(source, list | tuple):
        if source and all(isinstance(item, os.PathLike) for item in source):
            return _of_paths(source, rule, extra)
        return of_lists("the list", range(len(source)), [_items(value) for value in source], rule)
    if hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__"):
        return _of_table(open_table(source, name="the table"), rule, extra)
    raise UsageError(f"cannot read {type(source).__name__}; expected {EXPECTED_BASKETS}.")


def _items(value: Any) -> PythonCollection[Any]:
    if isinstance(value, str | bytes) or not isinstance(value, PythonCollection):
        raise UsageError(
            f"a basket is {type(value).__name__}; expected a list or a set of items. To read files, give pathlib.Path."
        )
    return value


def _of_paths(paths: Sequence[str | os.PathLike[str]], rule: BasketRule, extra: Sequence[str]) -> Baskets:
    name = os.fspath(paths[0]) + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
    if any(os.fspath(path).endswith(".npz") for path in paths):
        if len(paths) > 1:
            raise UsageError(f"{name} holds a sparse matrix; give one at a time.")
        if Path(paths[0]).is_file():
            return _of_matrix(sparse_matrix.read_npz(Path(paths[0])), rule, name)
    if rule.lines or all(kind_of(path) == "text lines" for path in paths):
        check_no_columns(rule, name)
        files = [file for path in paths for file in ((Path(path),) if Path(path).is_file() else find([path]).files)]
        return _of_texts(
            OpenTable(name, tuple(TextLines(file, str(file), form_of(paths).encoding) for file in files)), rule, name
        )
    tables = [open_table(form_of(paths).files([path]), name=name) for path in paths]
    return _of_table(OpenTable(name, tuple(reader for table in tables for reader in table.readers)), rule, extra)


def _of_matrix(matrix: sparse_matrix.MatrixEntries, rule: BasketRule, name: str) -> Baskets:
    if rule.set or rule.item or rule.rating:
        raise UsageError(f"{name} is a sparse matrix, which has no columns with names; leave the columns out.")
    order = np.argsort(matrix.rows, kind="stable")
    made = BasketEntries(
        int64(np.arange(matrix.shape[0])), matrix.rows[order], int64(matrix.columns[order]), matrix.values[order]
    )
    return _assembled(made, rule, name, "a sparse matrix", BasketColumns("row", "column", ""))


def _of_table(table: OpenTable, rule: BasketRule, extra: Sequence[str]) -> Baskets:
    if not table.columns:
        made = BasketEntries(int64(np.empty(0, np.int64)), np.empty(0, np.int64), int64(np.empty(0, np.int64)))
        return _assembled(made, rule, table.name, "no rows", BasketColumns(rule.set or "set", rule.item or "item"))
    schema = table.readers[0].schema
    found = choose_columns(schema, table.name, set=rule.set, item=rule.item, rating=rule.rating,
                           rate=rule.min_rating is not None, split=rule.separator is not None)  # fmt: skip
    given = _given(table, found.item)
    if found.listed or rule.separator is not None:
        return _of_rows(table, rule, found, given, extra)
    if extra:
        raise UsageError(
            f"keep by the column {extra[0]!r} needs one row for each basket; {table.name} has one per item."
        )
    names = [name for name in dict.fromkeys((found.set, found.item, found.rating)) if name]
    rows = table.read(names)
    keys = as_ids(rows[found.set], what=f"column {found.set!r} in {table.name}")
    values = as_ids(rows[found.item], what=f"column {found.item!r} in {table.name}")
    (owners,), ids = numbered([keys])
    owners, ids = _by_appearance(owners, ids)
    ratings = as_numbers(rows[found.rating], f"column {found.rating!r} in {table.name}") if found.rating else None
    made = BasketEntries(ids, owners, values, ratings, given, per_row=True)
    return _assembled(made, rule, table.name, "two columns", found)


def _of_rows(
    table: OpenTable, rule: BasketRule, found: BasketColumns, given: Collection, extra: Sequence[str]
) -> Baskets:
    """Read one basket per row: a list, or a text with separators."""
    check_no_rating(found, table.name)
    names = [*dict.fromkeys([found.item, *([found.set] if found.set else []), *extra])]
    rows = table.read(names)
    column = rows[found.item].combine_chunks() if rows[found.item].num_chunks != 1 else rows[found.item].chunk(0)
    lists, _, _ = as_texts(column, on_bad_text="error", where=lambda row: f"{table.name} row {row}")
    if not found.listed:
        lists = _split(lists, rule.separator or guess_separator(lists))
    if found.set:
        ids = as_ids(rows[found.set], what=f"column {found.set!r} in {table.name}").combine_chunks()
        check_ids(ids, name=table.name, of="baskets", option="set")
    else:
        ids = int64(np.arange(len(lists)))
    made = BasketEntries(ids, _owners(lists), lists.flatten(), given=given,
                   extra={name: rows[name].combine_chunks() for name in extra})  # fmt: skip
    called = BasketColumns(found.set or ("row" if found.item != "row" else "basket"), found.item)
    return _assembled(made, rule, table.name, "a list column" if found.listed else "texts with separators", called)


def _of_texts(table: OpenTable, rule: BasketRule, name: str) -> Baskets:
    """Read one basket per line."""
    texts = table.read(["text"])["text"].combine_chunks()
    texts, _, _ = as_texts(texts, on_bad_text="error", where=lambda row: f"{name} line {row + 1}")
    lists = _split(texts, rule.separator or guess_separator(texts))
    made = BasketEntries(int64(np.arange(len(lists))), _owners(lists), lists.flatten(), given=_given(table, "text"))
    return _assembled(made, rule, name, "one basket a line", BasketColumns("line", "item"))


def _assembled(made: BasketEntries, rule: BasketRule, name: str, form: str, columns: BasketColumns) -> Baskets:
    """Number the items, apply the ratings, and put the entries in the order of the baskets."""
    values = made.values if isinstance(made.values, pa.ChunkedArray) else pa.chunked_array([made.values])
    (numbers,), items = numbered([values])
    numbers, items = _by_appearance(numbers, items)
    ratings = Ratings(rule.min_rating, rule.bag, f"{name}: column {columns.rating!r}" if columns.rating else name)
    times = ratings.times(made.ratings)
    owners = made.owners if times is None else np.repeat(made.owners, times)
    counted = numbers if times is None else np.repeat(numbers, times)
    lists, offsets = by_owner(owners, counted, len(made.ids))
    return Baskets(
        name=name, form=form, set_name=columns.set, item_name=columns.item, ids=made.ids, items=items,
        numbers=lists, offsets=offsets, given=made.given, owners=(made.owners, numbers) if made.per_row else None,
        extra=made.extra,
    )  # fmt: skip


def _given(table: OpenTable, item: str) -> Collection:
    """Return the input rows, to be read again when they are needed."""
    names = dict.fromkeys(name for reader in table.readers for name in reader.schema.names)
    return Collection(
        name=table.name, text_column=item, id_column=None, columns=tuple(names), nbytes=0, rows_hint=None,
        on_bad_text="error", readers=table.readers,
    )  # fmt: skip


def _by_appearance(numbers: I64, names: pa.Array) -> tuple[I64, pa.Array]:
    """Renumber in the order of first appearance."""
    first = np.empty(len(names), np.int64)
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]  # of several assignments, the last one wins
    order = np.argsort(first)
    rank = np.empty(len(names), np.int64)
    rank[order] = np.arange(len(names))
    return rank[numbers], names.take(int64(order))


def _owners(lists: pa.Array) -> I64:
    return np.repeat(np.arange(len(lists)), np.from_dlpack(pc.list_value_length(lists)).astype(np.int64))


def guess_separator(texts: pa.Array) -> str:
    """Return the separator that occurs in most of the first texts, or "" for white space."""
    some = texts.slice(0, 1000)
    counts = {one: pc.sum(pc.match_substring(some, one)).as_py() or 0 for one in SEPARATORS}
    best = max(counts, key=lambda one: counts[one])
    return best if counts[best] else ""


def _split(texts: pa.Array, separator: str) -> pa.Array:
    """Return a large_list of the trimmed items of each text, without empty ones."""
    parts = (
        pc.split_pattern(texts, separator)
        if separator.strip() or separator == "\t"
        else pc.utf8_split_whitespace(texts)
    )
    owners, values = _owners(parts), pc.utf8_trim_whitespace(parts.flatten())
    filled = np.flatnonzero(np.from_dlpack(pc.binary_length(values)))
    _, offsets = by_owner(owners[filled], filled, len(texts))
    return pa.LargeListArray.from_arrays(int64(offsets), values.take(int64(filled)).cast(pa.large_string()))


def check_no_rating(found: BasketColumns, name: str) -> None:
    """Raise UsageError if there is a column of ratings although each row is a whole basket."""
    if found.rating:
        raise UsageError(f"`rating` goes with one rating in a row; in {name} a row is a whole basket.")


def check_no_columns(rule: BasketRule, name: str) -> None:
    """Raise UsageError if columns are named although each line is a basket."""
    if rule.set or rule.item or rule.rating:
        raise UsageError(f"{name} is read as one basket a line, which has no columns; leave the columns out.")
