"""Choose the columns with the text and the ids: those that the user names, or the usual names."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import F64
from lookalike.errors import ID_ADVICE, ColumnNotFound, InputError, UsageError, listed
from lookalike.io.names import name_in_input, named_alike
from lookalike.io.texts import is_text, kind_of_text

USUAL_TEXT = ("text", "content", "body", "document")
ROW_NUMBERS = "none"  # the user's value for row numbers as ids, even if there is a column 'id'


def choose_id(schema: pa.Schema, wanted: str | None, where: str) -> str | None:
    """Return the requested column, else 'id' if it exists, else None: rows are identified by their number.

    "none" requests row numbers even if there is a column 'id'.

    >>> choose_id(pa.schema([("id", pa.int64())]), None, "a.csv")
    'id'
    """
    if wanted == ROW_NUMBERS:
        return None
    if wanted is None:
        wanted = "id" if "id" in schema.names or named_alike(schema, "id") else None
    if wanted is not None:
        check_id(schema, wanted, where)
    return wanted


def choose_text(
    schema: pa.Schema,
    wanted: str | None,
    where: str,
    *,
    besides: str | None = None,
    only_numbers: Callable[[str], bool] = lambda column: False,
) -> str:
    """Return the requested column, else one with a usual name, else the only text column other than `besides`.

    besides: the id column. If it is not called "id", it may also be the text column: texts that are their own ids.
    Between it and one other column, `only_numbers` decides: a column of numbers is not the text.

    >>> choose_text(pa.schema([("Body", pa.string()), ("url", pa.string())]), None, "a.csv")
    'Body'
    """
    if wanted is not None:
        check_text(schema, wanted, where)
        return wanted
    # The index of a pandas frame is stored as an extra column and is never the text.
    fields = [f for f in schema if kind_of_text(f.type) and not f.name.startswith("__index_level_")]
    for usual in USUAL_TEXT:
        if chosen := next((name for f in fields if (name := name_in_input(f)).lower() == usual), None):
            check_text(schema, chosen, where)
            return chosen
    able: list[str] = [f.name for f in fields if f.name != besides]
    if besides not in (None, "id") and any(f.name == besides for f in fields):
        if not able:
            return str(besides)  # texts that are their own ids
        if len(able) == 1 and is_text(schema.field(able[0]).type) and not only_numbers(str(besides)):
            able = [str(besides)] if only_numbers(able[0]) else [str(besides), *able]
    if len(able) == 1:
        return able[0]
    problem = f"{len(able)} columns could be the text" if able else "no column holds text"
    raise UsageError(f"{problem} in {where}; give `text=COL`. Columns: {listed(schema.names)}.")


def as_numbers(column: pa.ChunkedArray, what: str) -> F64:
    """Convert a column to numbers; NaN where it is missing or an empty text.

    >>> as_numbers(pa.chunked_array([["4", "3.5", "", None]]), "column 'stars'").tolist()
    [4.0, 3.5, nan, nan]
    """
    try:
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            column = pc.if_else(pc.equal(column, pa.scalar("", column.type)), pa.scalar(None, column.type), column)
        return np.asarray(column.cast(pa.float64()).fill_null(float("nan")).to_numpy(), np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(f"{what} is not all numbers: {reason}.") from error


def check_text(schema: pa.Schema, name: str, where: str) -> None:
    """Raise an error for a text column that is missing, ambiguous or of another type."""
    check_column(schema, name, where)
    dtype = schema.field(name).type
    if kind_of_text(dtype) is None:
        raise InputError(
            f"column {name!r} in {where} is {dtype}; expected text (string or binary) or a list of strings or integers."
        )


def check_id(schema: pa.Schema, name: str, where: str) -> None:
    """Raise an error for an id column that is missing, ambiguous or of another type."""
    check_column(schema, name, where)
    dtype = schema.field(name).type
    if not (is_text(dtype) or pa.types.is_integer(dtype)):
        raise InputError(f"column {name!r} in {where} is {dtype}; ids are strings or integers. {ID_ADVICE}")


def check_column(schema: pa.Schema, name: str, where: str) -> None:
    """Raise an error for a column that is missing or ambiguous."""
    if schema.get_field_index(name) >= 0:
        return
    if alike := named_alike(schema, name):
        what = f"{len(alike)} columns are named {name!r}" if name else f"{len(alike)} columns have no name"
        if len(alike) == 1:
            what = "a column has no name"
        raise InputError(f"{what} in {where}; choose one by its position: {listed(map(repr, alike))}.")
    raise ColumnNotFound(name, where, schema.names)
