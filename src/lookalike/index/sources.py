"""Read items and ids for an index from files and tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lookalike.errors import UsageError
from lookalike.index.items import Batch
from lookalike.index.kinds import IndexKind
from lookalike.io.read import open_collection

FILES_OF_TEXT = ("documents", "passages")  # kinds for which a text file is one item


def read(
    kind: IndexKind, source: Any, *, column: str | None = None, id: str | None = None, lines: bool = False,  # noqa: A002
) -> Iterator[Batch]:  # fmt: skip
    """Yield the items and ids of a source (paths, a table) in batches.

    column: the column of texts, codes or vectors; id: the column of ids. lines: for documents, read text files line by
    line; otherwise each file is one document.
    """
    if not lines:
        return kind.read(source, column, id)
    if kind.name not in FILES_OF_TEXT:
        raise UsageError(f"`lines` goes with documents and passages; this index is of {kind.name}.")
    return read_texts(source, column, id)


def read_texts(
    source: Any, column: str | None, id: str | None, *, tokens: bool = False, lines: bool = True,  # noqa: A002
) -> Iterator[Batch]:  # fmt: skip
    """Yield the texts (or token lists) and ids of a source in batches."""
    collection = open_collection(source, text=column, id=id, lines=lines)
    if collection.readers and collection.is_tokens != tokens:
        held, wanted = ("token lists", "texts") if collection.is_tokens else ("texts", "token lists")
        raise UsageError(
            f"column {collection.text_column!r} of {collection.name} holds {held}; this index is of {wanted}. "
            "Choose another column with `column`."
        )
    for batch in collection.texts():
        yield batch.texts, batch.ids
