"""Contents of items, read by row number from any kind of source, and the hash by which an item is known again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from lookalike.io.collection import Collection
from lookalike.io.pictures import PictureFolder
from lookalike.io.vectors import Vectors

Content = dict[str, Any]  # one of: text, items (a list), fields (name to value), numbers (a list), picture (a path)
HASH_BYTES = 16  # length of the hash of a content


class Contents(Protocol):
    """The contents of the items of a source. Nothing is read before it is requested."""

    def ids(self) -> pa.ChunkedArray | None: ...  # ids of all rows; None if row numbers are the ids

    def take(self, rows: Iterable[int]) -> dict[int, Content]: ...  # rows that do not exist are omitted


def contents_of(source: Any) -> Contents | None:
    """Return the contents of a source: those that it offers itself, or None if it has none.

    >>> from lookalike.io.read import open_collection
    >>> contents_of(open_collection(["a text", "another"])).take([1])
    {1: {'text': 'another'}}
    """
    if isinstance(source, Collection):
        return TextContents(source)
    if isinstance(source, Vectors):
        return Numbers(source)
    if isinstance(source, PictureFolder):
        return ImageContents(source)
    offered = getattr(source, "contents", None)
    return None if offered is None else offered()


def content_hash(content: Content, *, id_column: str | None = None) -> str | None:
    """Return the hash of a content, equal for equal contents; None for a picture that cannot be read.

    id_column: the field that holds the id, which is no part of the content.

    >>> content_hash({"text": "a"}) == content_hash({"text": "a"}) != content_hash({"text": "b"})
    True
    """
    if "picture" in content:
        try:
            with open(Path(content["picture"]), "rb") as file:
                return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=HASH_BYTES)).hexdigest()
        except OSError:
            return None
    value = content
    if "fields" in content:
        value = {"fields": {name: one for name, one in content["fields"].items() if name != id_column}}
    elif "items" in content:
        value = {"items": sorted(map(str, content["items"] or ()))}
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=HASH_BYTES).hexdigest()


@dataclass(frozen=True)
class TextContents:
    collection: Collection

    def ids(self) -> pa.ChunkedArray | None:
        return self.collection.ids()

    def take(self, rows: Iterable[int]) -> dict[int, Content]:
        name = "items" if self.collection.is_tokens else "text"
        return {row: {name: value} for row, value in self.collection.picked(rows).items()}


@dataclass(frozen=True)
class Numbers:
    vectors: Vectors

    def ids(self) -> pa.ChunkedArray | None:
        chunks = [batch.ids for batch in self.vectors.batches()]
        return None if None in chunks or not chunks else pa.chunked_array(chunks)

    def take(self, rows: Iterable[int]) -> dict[int, Content]:
        folder = getattr(self.vectors.parts[0], "folder", None) if self.vectors.parts else None
        if isinstance(folder, PictureFolder):
            return ImageContents(folder).take(rows)
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
