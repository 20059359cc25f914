"""Put the texts of items next to their ids, in tables of pairs, groups and removed rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import I64
from lookalike.core.arrow import as_arrow, as_numpy, filled
from lookalike.errors import UsageError
from lookalike.io.contents import Content, Contents, contents_of
from lookalike.io.texts import string_array

TEXTS_AT_ONCE = 1 << 16  # texts that are read at a time
BEGINNING = 120  # characters of the beginning of a text


def add_texts(table: pa.Table, sources: Mapping[str, Any], *, whole: bool = False) -> pa.Table:
    """Return the table with a column of texts after each of these columns of ids; "id" is followed by "text".

    sources: the source of each column. A basket is the list of its items, a record its values. whole: the whole texts
    instead of their beginnings.

    >>> from lookalike.io.read import open_collection
    >>> add_texts(pa.table({"left": [0], "score": [0.5]}), {"left": open_collection(["one text"])}).to_pylist()
    [{'left': 0, 'left_text': 'one text', 'score': 0.5}]
    """
    for name, source in sources.items():
        contents = contents_of(source)
        if contents is None:
            raise _without_texts(source)
        rows = _rows(table[name], contents)
        wanted = np.unique(rows[rows >= 0])
        parts = [_texts_of(source, contents, wanted[at : at + TEXTS_AT_ONCE], whole=whole)
                 for at in range(0, len(wanted), TEXTS_AT_ONCE)]  # fmt: skip
        place = np.searchsorted(wanted, rows)
        column = pa.chunked_array(parts, pa.large_string()).take(as_arrow(place, rows < 0))
        at = table.column_names.index(name) + 1
        table = table.add_column(at, "text" if name == "id" else f"{name}_text", column)
    return table


def _without_texts(source: Any) -> UsageError:
    return UsageError(f"{source.name} has no texts; `with_text` is for items with texts.")


def _rows(ids: pa.ChunkedArray, contents: Contents) -> I64:
    """Return the row of each id, -1 for none."""
    known = contents.ids()
    if known is not None:
        ids = pc.index_in(ids, value_set=known.cast(ids.type))
    rows: I64 = as_numpy(filled(ids.cast(pa.int64()), -1))
    return rows


def _texts_of(source: Any, contents: Contents, rows: I64, *, whole: bool) -> pa.Array:
    """Return the texts of these rows, null for those that no longer exist."""
    found, id_column = contents.take(rows.tolist()), getattr(source, "id_column", None)
    if any(not content.keys() & {"text", "items", "fields"} for content in found.values()):
        raise _without_texts(source)
    shown = (_text(found[row], id_column, whole) if row in found else None for row in rows.tolist())
    encoded = [None if text is None else text.encode("utf-8", "replace") for text in shown]
    return string_array(encoded, pa.large_string())


def _text(content: Content, id_column: str | None, whole: bool) -> str:
    if "fields" in content:
        values = (value for name, value in content["fields"].items() if name != id_column and value is not None)
        text = " · ".join(map(str, values))
    elif "items" in content:
        text = ", ".join(map(str, content["items"] or ()))
    else:
        text = str(content.get("text") or "")
    return text if whole or len(text) <= BEGINNING else text[:BEGINNING] + "..."
