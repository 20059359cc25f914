"""Cells of CSV and TSV that a spreadsheet does not run as formulas."""

from __future__ import annotations

from contextvars import ContextVar

import pyarrow as pa
import pyarrow.compute as pc

from lookalike.io.texts import is_text

safe_cells: ContextVar[bool] = ContextVar("safe_cells", default=False)  # whether outputs are written like this
BEGINS_FORMULA = r"^[\s]*[=+\-@\t\r\n|%\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]"  # also the full-width forms of = + - @
FORMULA_SIGNS = frozenset("=+-@|%\uff1d\uff0b\uff0d\uff20")
APOSTROPHE = "'"  # makes a cell text in all usual spreadsheets


def without_formulas(column: pa.Array) -> pa.Array:
    """Begin texts that a spreadsheet would run with an apostrophe; other types are returned unchanged.

    >>> without_formulas(pa.array(["=1+1", "a=b", None, " @x"])).to_pylist()
    ["'=1+1", 'a=b', None, "' @x"]
    """
    if not is_text(column.type):
        return column
    texts = column.cast(pa.large_string())
    marked = pc.binary_join_element_wise(
        pa.scalar(APOSTROPHE, pa.large_string()), texts, pa.scalar("", pa.large_string())
    )
    return pc.if_else(pc.match_substring_regex(texts, BEGINS_FORMULA), marked, texts)


def with_safe_cells(table: pa.Table) -> pa.Table:
    """Return a table in which no text is a formula."""
    columns = [without_formulas(column) for column in table.columns]
    return pa.table(columns, names=table.column_names)


def without_apostrophe(cell: str) -> str:
    """Return the text that `without_formulas` wrote as this cell.

    >>> [without_apostrophe(cell) for cell in ("'=1+1", "' @x", "'tis", "=1+1")]
    ['=1+1', ' @x', "'tis", '=1+1']
    """
    text = cell.removeprefix(APOSTROPHE)
    begins_formula = text[:1] in ("\t", "\r", "\n") or text.lstrip()[:1] in FORMULA_SIGNS
    return text if text and text != cell and begins_formula else cell
