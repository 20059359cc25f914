"""Put the texts of items next to their ids, in tables of pairs, groups and removed rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from lookalike.errors import UsageError
from lookalike.io.contents import Content, Contents, contents_of
from lookalike.io.texts import string_array

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
        rows = [] if contents is None else _rows(table[name], contents)
        found = {} if contents is None else contents.take(row for row in set(rows) if row is not None)
        if contents is None or any(not content.keys() & {"text", "items", "fields"} for content in found.values()):
            raise UsageError(f"{source.name} has no texts; `with_text` is for items with texts.")
        id_column = getattr(source, "id_column", None)
        texts = {row: _text(content, id_column, whole) for row, content in found.items()}
        shown = [None if row is None else texts.get(row) for row in rows]
        column = string_array(
            [None if text is None else text.encode("utf-8", "replace") for text in shown], pa.large_string()
        )
        place = table.column_names.index(name) + 1
        table = table.add_column(place, "text" if name == "id" else f"{name}_text", column)
    return table


def _rows(ids: pa.ChunkedArray, contents: Contents) -> list[int | None]:
    """Return the row of each id."""
    known = contents.ids()
    if known is None:
        rows: list[int | None] = ids.to_pylist()
        return rows
    row_of = {value: row for row, value in enumerate(known.to_pylist())}
    return [row_of.get(value) for value in ids.to_pylist()]


def _text(content: Content, id_column: str | None, whole: bool) -> str:
    if "fields" in content:
        values = (value for name, value in content["fields"].items() if name != id_column and value is not None)
        text = " · ".join(map(str, values))
    elif "items" in content:
        text = ", ".join(map(str, content["items"] or ()))
    else:
        text = str(content.get("text") or "")
    return text if whole or len(text) <= BEGINNING else text[:BEGINNING] + "..."
