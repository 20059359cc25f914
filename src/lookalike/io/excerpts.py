"""The beginnings of items, for tables that people read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lookalike.errors import InputError
from lookalike.io.contents import Content, contents_of

LISTED_CHARACTERS = 180  # characters of a text that a list shows


def excerpt(content: Content) -> str:
    """Return the beginning of the content of an item as one line.

    >>> excerpt({"fields": {"name": "Ann", "town": None}}), excerpt({"items": ["milk", "tea"]})
    ('Ann', 'milk · tea')
    """
    if "text" in content:
        words = str(content["text"] or "")[: 3 * LISTED_CHARACTERS].split()
        return " ".join(words)[:LISTED_CHARACTERS]
    if "fields" in content:
        return " · ".join(str(value) for value in content["fields"].values() if value not in (None, ""))[
            :LISTED_CHARACTERS
        ]
    if "items" in content:
        return " · ".join(str(item) for item in content["items"][:40])[:LISTED_CHARACTERS]
    if "numbers" in content:
        return ", ".join(f"{value:.4g}" for value in content["numbers"][:8]) + (" …" * (len(content["numbers"]) > 8))
    return ""


def with_excerpts(
    table: pa.Table, sides: Mapping[str, tuple[Any, pa.ChunkedArray]], noun: str, length: int = LISTED_CHARACTERS
) -> pa.Table:
    """Add a column with the beginning of each item to a table of ids, for items that are text, fields or lists.

    sides: for each column of ids, the source of its items and the ids of all its rows. noun: plural noun of the items.
    length: characters of
    the longest excerpt. The table is returned unchanged if items have no text, or if the source has changed.

    >>> from lookalike.io.read import open_collection
    >>> source = open_collection(["a text", "another"])
    >>> with_excerpts(pa.table({"id": [1]}), {"id": (source, pa.chunked_array([[0, 1]]))}, "documents").to_pylist()
    [{'id': 1, 'document': 'another'}]
    """
    wide = table
    for name, (source, ids) in sides.items():
        contents = contents_of(source)
        if contents is None:
            return table
        rows = pc.index_in(table[name].combine_chunks().cast(ids.type), ids).to_pylist()
        try:
            taken = contents.take([row for row in rows if row is not None])
        except InputError:
            return table
        if any("picture" in content or "numbers" in content for content in taken.values()):
            return table
        singular = noun.removesuffix("s")
        for content in taken.values():
            content.get("fields", {}).pop(getattr(source, "id_column", None), None)
        texts = [excerpt(taken[row])[:length] if row in taken else "" for row in rows]
        wide = wide.append_column(f"{name} {singular}" if len(sides) > 1 else singular, pa.array(texts, pa.string()))
    return wide
