"""Files and tables to items of an index, with their ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.data import Bits
from lookalike.errors import UsageError
from lookalike.io.codes import open_codes
from lookalike.io.read import open_collection
from lookalike.io.records import open_records
from lookalike.io.vectors import open_vectors

Batch = tuple[Any, pa.Array | None]  # items; their ids, or None where the rows have none


def read(
    kind: str, source: Any, *, column: str | None = None, id: str | None = None, lines: bool = False,  # noqa: A002
) -> Iterator[Batch]:  # fmt: skip
    """The items of a source (paths, a table), batch by batch. column: of the texts, codes or vectors. lines: read text
    files line by line, where items are documents; each is one otherwise."""
    if kind == "documents":
        return _texts(source, column, id, lines=lines)
    if lines:
        raise UsageError(f"lines (--lines) goes with documents; this index is of {kind}.")
    return READERS[kind](source, column, id)


def _texts(
    source: Any, column: str | None, id: str | None, *, tokens: bool = False, lines: bool = True,  # noqa: A002
) -> Iterator[Batch]:  # fmt: skip
    collection = open_collection(source, text=column, id=id, lines=lines)
    if collection.readers and collection.is_tokens != tokens:
        held, wanted = ("token lists", "texts") if collection.is_tokens else ("texts", "token lists")
        raise UsageError(
            f"column {collection.text_column!r} of {collection.name} holds {held}; this index is of {wanted}. "
            "Choose another column with --column."
        )
    for batch in collection.texts():
        yield batch.texts, batch.ids


def _vectors(source: Any, column: str | None, id: str | None) -> Iterator[Batch]:  # noqa: A002
    for batch in open_vectors(source, column=column, id=id).batches():
        yield batch.values, batch.ids


def _codes(source: Any, column: str | None, id: str | None) -> Iterator[Batch]:  # noqa: A002
    opened = open_codes(source, code=column, id=id)
    made = opened.read()
    rows = np.flatnonzero(made.present)
    if len(rows):
        ids = made.ids.take(pa.array(rows)).combine_chunks() if opened.collection.id_column else None
        yield Bits(made.bits.words[rows], made.bits.width), ids


def _records(source: Any, column: str | None, id: str | None) -> Iterator[Batch]:  # noqa: A002
    if column is not None:
        raise UsageError("records have the columns that the index was created with; leave --column out.")
    table = open_records(source, id=id)
    read = table.read(table.usable())
    ids = table.ids(read).combine_chunks() if table.id_column else None
    yield read, ids


READERS: dict[str, Callable[[Any, str | None, str | None], Iterator[Batch]]] = {
    "sets": partial(_texts, tokens=True),
    "strings": _texts,
    "vectors": _vectors,
    "bits": _codes,
    "records": _records,
}
