"""Files and tables to items of an index, with their ids."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lookalike.errors import UsageError
from lookalike.index.items import Batch
from lookalike.index.kinds import IndexKind
from lookalike.io.read import open_collection


def read(
    kind: IndexKind, source: Any, *, column: str | None = None, id: str | None = None, lines: bool = False,  # noqa: A002
) -> Iterator[Batch]:  # fmt: skip
    """The items of a source (paths, a table), batch by batch. column: of the texts, codes or vectors. lines: read text
    files line by line, where items are documents; each is one otherwise."""
    if kind.name == "documents":
        return read_texts(source, column, id, lines=lines)
    if lines:
        raise UsageError(f"lines (--lines) goes with documents; this index is of {kind.name}.")
    return kind.read(source, column, id)


def read_texts(
    source: Any, column: str | None, id: str | None, *, tokens: bool = False, lines: bool = True,  # noqa: A002
) -> Iterator[Batch]:  # fmt: skip
    """The texts or token lists of a source, batch by batch, with their ids."""
    collection = open_collection(source, text=column, id=id, lines=lines)
    if collection.readers and collection.is_tokens != tokens:
        held, wanted = ("token lists", "texts") if collection.is_tokens else ("texts", "token lists")
        raise UsageError(
            f"column {collection.text_column!r} of {collection.name} holds {held}; this index is of {wanted}. "
            "Choose another column with --column."
        )
    for batch in collection.texts():
        yield batch.texts, batch.ids
