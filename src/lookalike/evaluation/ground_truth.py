"""Read results and ground truth: tables of pairs of ids, or of ids and their groups."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import DISTANCE, F64, I64, SIMILARITY, Scale
from lookalike.errors import InputError, listed
from lookalike.io.columns import as_numbers
from lookalike.io.results import RECEIPT
from lookalike.io.tables import OpenTable, as_ids, open_table

SIMILARITIES = (SIMILARITY, Scale("cosine"), Scale("agreement"), Scale("shared_tokens"))
DISTANCE_SCALES = (DISTANCE, Scale("angle", -1), Scale("bits", -1))
NO_IDS = pa.chunked_array([], pa.int64())


@dataclass(frozen=True, kw_only=True)
class Listed:
    """The content of one table. ids: two columns (pairs) or one (groups); notes: remarks for the user, one line each.

    similarity: f64[rows] of pairs, higher is nearer (distances are negated), NaN if missing. scale: the column of the
    score, and its sign. group: i64[rows] of groups, -1 if missing.
    """

    name: str
    ids: tuple[pa.ChunkedArray, ...]
    similarity: F64 | None = None
    scale: Scale = SIMILARITY
    group: I64 | None = None
    notes: tuple[str, ...] = ()


def read_answer(source: Any) -> list[Listed]:
    """Read the pairs (left, right, and a score) or groups (id, group) of a table; of a result folder both, pairs first.

    >>> [answer] = read_answer(pa.table({"id": ["a", "b", "c"], "group": [0, 0, None]}))
    >>> answer.group.tolist(), answer.notes
    ([0, 0, -1], ("the answer: 1 id without a 'group' is alone.",))
    """
    if _is_result(source):
        return [_answer(open_table(file, name="")) for file in _tables(Path(source))]
    return [_answer(open_table(source, name="the answer"))]


def read_truth(source: Any, *, id_column: str | None = None, group_column: str | None = None) -> Listed:
    """Read true pairs (columns left and right, else the first two) or true groups (id and group, or named columns).

    >>> read_truth(pa.table({"doc": ["a"], "copy": ["b"]})).notes
    ("the truth: its first two columns, 'doc' and 'copy', are taken as the pairs.",)
    """
    named = id_column is not None or group_column is not None
    if _is_result(source):
        source = next(file for file in sorted(_tables(Path(source)), reverse=not named))
    table = open_table(source, name="the truth")
    columns = table.columns
    if named or {"id", "group"} <= set(columns):
        return _groups(table, id_column or "id", group_column or "group")
    if not columns or {"left", "right"} <= set(columns):
        return _pairs(table, "left", "right")
    if "id" in columns or "group" in columns or len(columns) < 2:
        raise InputError(
            f"{table.name} has neither the columns left and right nor id and group. Rename its columns, or give "
            f"`truth_id` and `truth_group`. Columns: {listed(columns)}."
        )
    first, second = columns[:2]
    note = f"{table.name}: its first two columns, {first!r} and {second!r}, are taken as the pairs."
    return _pairs(table, first, second, note)


def read_pairs(source: Any, *, named: bool = False) -> Listed:
    """Read pairs (columns left and right, else the first two) with their similarity, if there is one.

    named: whether the columns must have the names left and right.

    >>> [ids.to_pylist() for ids in read_pairs(pa.table({"a": ["x"], "b": ["y"]})).ids]
    [['x'], ['y']]
    """
    if _is_result(source):
        source = Path(source) / "pairs.parquet"
    table = open_table(source, name="the pairs")
    if not table.columns or {"left", "right"} <= set(table.columns):
        return _pairs(table, "left", "right")
    if named:
        raise InputError(
            f"{table.name} has not both columns left and right; rename two of its columns. Columns: "
            f"{listed(table.columns)}."
        )
    if len(table.columns) < 2:
        raise InputError(f"{table.name} has one column; expected pairs: left, right. Columns: {listed(table.columns)}.")
    return _pairs(table, *table.columns[:2])


def _answer(table: OpenTable) -> Listed:
    columns = table.columns
    if not columns or {"left", "right"} <= set(columns):
        return _pairs(table, "left", "right")
    if {"id", "group"} <= set(columns):
        return _groups(table, "id", "group")
    raise InputError(
        f"{table.name} lists neither pairs (left, right, similarity or distance) nor groups (id, group). "
        f"Columns: {listed(columns)}."
    )


def compared_two_tables(source: Any) -> bool:
    """Return whether two tables were compared, by the receipt of a result; False if it has no receipt."""
    return len(receipt_of(source).get("inputs", ())) == 2


def states_probabilities(source: Any) -> bool:
    """Return whether similarities are match probabilities, by the receipt of a result; False if it has no receipt."""
    return str(receipt_of(source).get("compared", "")).startswith("probability ")


def receipt_of(source: Any) -> dict[str, Any]:
    """Return the receipt of a result; an empty dict if it has none."""
    receipt = getattr(source, "receipt", None)
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        file = path / RECEIPT if path.is_dir() else path.with_name(f"{path.name}.{RECEIPT}")
        try:
            receipt = json.loads(file.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
    return receipt if isinstance(receipt, dict) else {}


def _is_result(source: Any) -> bool:
    return isinstance(source, str | os.PathLike) and (Path(source) / RECEIPT).is_file()


def _tables(folder: Path) -> list[Path]:
    found = [file for file in (folder / "pairs.parquet", folder / "groups.parquet") if file.is_file()]
    if not found:
        raise InputError(
            f"{folder} is a result without pairs and groups; run lookalike pairs or groups for one with them."
        )
    return found


def score_scale(columns: Sequence[str]) -> Scale | None:
    """Return the scale of the score that a table with these columns has, or None."""
    return next((scale for scale in SIMILARITIES + DISTANCE_SCALES if scale.column in columns), None)


def _pairs(table: OpenTable, left: str, right: str, *notes: str) -> Listed:
    if not table.columns:  # an empty JSON Lines file
        return Listed(name=table.name, ids=(NO_IDS, NO_IDS), similarity=np.empty(0))
    scale = score_scale(table.columns)
    rows = table.read([left, right] if scale is None else [left, right, scale.column])
    ids = tuple(as_ids(rows.column(name), what=f"column {name!r} in {table.name}") for name in (left, right))
    if scale is None:
        return Listed(name=table.name, ids=ids, similarity=np.full(rows.num_rows, np.nan), notes=notes)
    similarity = scale.sign * as_numbers(rows.column(scale.column), f"column {scale.column!r} in {table.name}")
    return Listed(name=table.name, ids=ids, similarity=similarity, scale=scale, notes=notes)


def _groups(table: OpenTable, id_column: str, group_column: str) -> Listed:
    rows = table.read([id_column, group_column])
    ids = as_ids(rows.column(id_column), what=f"column {id_column!r} in {table.name}")
    column = rows.column(group_column)
    try:
        encoded = column.dictionary_encode() if not pa.types.is_dictionary(column.type) else column.unify_dictionaries()
    except pa.ArrowNotImplementedError as error:
        raise InputError(
            f"column {group_column!r} in {table.name} is {column.type}; expected one plain value for each id."
        ) from error
    codes = [chunk.indices.cast(pa.int64()).fill_null(-1).to_numpy() for chunk in encoded.chunks]
    group = np.concatenate([np.empty(0, np.int64), *codes])
    alone = int(np.count_nonzero(group < 0))
    words = "id without a {!r} is" if alone == 1 else "ids without a {!r} are"
    notes = (f"{table.name}: {alone:,} {words.format(group_column)} alone.",) if alone else ()
    return Listed(name=table.name, ids=(ids,), group=group, notes=notes)
