"""Contents of items for display, read by row number from any kind of source."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import pyarrow as pa

from lookalike.io.collection import Collection
from lookalike.io.pictures import PictureFolder
from lookalike.io.vectors import Vectors
from lookalike.kinds.baskets.source import Baskets
from lookalike.kinds.bits.source import CodeSource
from lookalike.kinds.faces.source import FacePart
from lookalike.kinds.records.source import RecordTable

Content = dict[str, Any]  # one of: text, items (a list), fields (name to value), numbers (a list), picture (a path)


class Contents(Protocol):
    """The contents of the items of a source. Nothing is read before it is requested."""

    def ids(self) -> pa.ChunkedArray | None: ...  # ids of all rows; None if row numbers are the ids

    def take(self, rows: Iterable[int]) -> dict[int, Content]: ...  # rows that do not exist are omitted


def contents_of(source: Any) -> Contents | None:
    """Return the contents of a source of any known kind, or None for an unknown one.

    >>> from lookalike.io.read import open_collection
    >>> contents_of(open_collection(["a text", "another"])).take([1])
    {1: {'text': 'another'}}
    """
    for kind, make in _KINDS.items():
        if isinstance(source, kind):
            return make(source)
    return None


@dataclass(frozen=True)
class TextContents:
    collection: Collection

    def ids(self) -> pa.ChunkedArray | None:
        return self.collection.ids()

    def take(self, rows: Iterable[int]) -> dict[int, Content]:
        name = "items" if self.collection.is_tokens else "text"
        return {row: {name: value} for row, value in self.collection.picked(rows).items()}


@dataclass(frozen=True)
class CodeContents:
    source: CodeSource

    def ids(self) -> pa.ChunkedArray | None:
        return self.source.collection.ids()

    @cached_property
    def _column(self) -> pa.ChunkedArray:
        collection = self.source.collection
        return pa.chunked_array([batch.column(collection.text_column) for batch in collection.rows()])

    def take(self, rows: Iterable[int]) -> dict[int, Content]:
        return {row: {"text": _code(self._column[row].as_py())} for row in rows if row < len(self._column)}


@dataclass(frozen=True)
class Records:
    table: RecordTable

    @cached_property
    def _whole(self) -> pa.Table:
        return self.table.read([name for name in self.table.columns if name in self.table.usable()])

    def ids(self) -> pa.ChunkedArray | None:
        return None if self.table.id_column is None else self.table.ids(self._whole)

    def take(self, rows: Iterable[int]) -> dict[int, Content]:
        known = [row for row in rows if row < len(self._whole)]
        values = self._whole.take(pa.array(known, pa.int64())).to_pylist()
        return {row: {"fields": record} for row, record in zip(known, values, strict=True)}


@dataclass(frozen=True)
class Numbers:
    vectors: Vectors

    def ids(self) -> pa.ChunkedArray | None:
        chunks = [batch.ids for batch in self.vectors.batches()]
        return None if None in chunks or not chunks else pa.chunked_array(chunks)

    def take(self, rows: Iterable[int]) -> dict[int, Content]:
        if self.vectors.parts and isinstance(self.vectors.parts[0], FacePart):
            return ImageContents(self.vectors.parts[0].folder).take(rows)
        wanted, contents, first = sorted(set(rows)), {}, 0
        for batch in self.vectors.batches():
            here = [row for row in wanted if first <= row < first + len(batch.values)]
            contents.update({row: {"numbers": batch.values[row - first].tolist()} for row in here})
            first += len(batch.values)
        return contents


@dataclass(frozen=True)
class ImageContents:
    folder: PictureFolder

    def ids(self) -> pa.ChunkedArray | None:
        return pa.chunked_array([pa.array(self.folder.ids, pa.string())])

    def take(self, rows: Iterable[int]) -> dict[int, Content]:
        return {row: {"picture": self.folder.files[row]} for row in rows if row < len(self.folder.files)}


@dataclass(frozen=True)
class BasketItems:
    baskets: Baskets

    def ids(self) -> pa.ChunkedArray | None:
        return pa.chunked_array([self.baskets.ids])

    def take(self, rows: Iterable[int]) -> dict[int, Content]:
        names = self.baskets.items
        known = [row for row in rows if row < len(self.baskets)]
        return {
            row: {"items": names.take(pa.array(self.baskets[row].tolist(), pa.int64())).to_pylist()} for row in known
        }


_KINDS: dict[type, Callable[[Any], Contents]] = {
    Collection: TextContents,
    CodeSource: CodeContents,
    RecordTable: Records,
    Vectors: Numbers,
    PictureFolder: ImageContents,
    Baskets: BasketItems,
}


def _code(value: Any) -> str:
    """Format a code for display: text unchanged, numbers and bytes as hexadecimal digits."""
    if isinstance(value, bytes):
        return value.hex()
    return f"{value & 0xFFFFFFFFFFFFFFFF:016x}" if isinstance(value, int) else str(value or "")
