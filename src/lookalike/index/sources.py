"""Files and tables to items of an index, with their ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.data import Bits
from lookalike.engines.images import Feature, view_of
from lookalike.engines.pool import Pool, usable_cores
from lookalike.errors import InputError, UsageError
from lookalike.index.faces import FaceKind
from lookalike.index.images import PICTURES_AT_ONCE, ImageKind, Viewed
from lookalike.index.kinds import Kind
from lookalike.io.codes import open_codes
from lookalike.io.faces import DEFAULT_GRID, open_faces
from lookalike.io.paths import readable
from lookalike.io.pictures import has_pictures, open_pictures
from lookalike.io.read import open_collection
from lookalike.io.records import open_records
from lookalike.io.vectors import open_vectors

Batch = tuple[Any, pa.Array | None]  # items; their ids, or None where the rows have none


def read(
    kind: Kind, source: Any, *, column: str | None = None, id: str | None = None, lines: bool = False,  # noqa: A002
) -> Iterator[Batch]:  # fmt: skip
    """The items of a source (paths, a table), batch by batch. column: of the texts, codes or vectors. lines: read text
    files line by line, where items are documents; each is one otherwise."""
    if kind.name == "documents":
        return _texts(source, column, id, lines=lines)
    if lines:
        raise UsageError(f"lines (--lines) goes with documents; this index is of {kind.name}.")
    if isinstance(kind, ImageKind):
        return _pictures(kind, source, column, id)
    if isinstance(kind, FaceKind):
        return _faces(kind, source, column, id)
    return READERS[kind.name](source, column, id)


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


def _pictures(kind: ImageKind, source: Any, column: str | None, id: str | None) -> Iterator[Batch]:  # noqa: A002
    """Pictures, each known by its file. Files that cannot be read are left out and listed in `folder.broken`."""
    for name, value in (("--column", column), ("--id", id)):
        if value is not None:
            raise UsageError(f"pictures are known by the names of their files; leave {name} out.")
    folder = open_pictures(source)
    folder.broken.clear()
    with Pool(usable_cores()) as pool:
        view = partial(_viewed, kind)
        for low in range(0, len(folder.files), PICTURES_AT_ONCE):
            files, names = folder.files[low : low + PICTURES_AT_ONCE], folder.ids[low : low + PICTURES_AT_ONCE]
            views: list[tuple[Feature | None, str]] = list(pool.map(view, zip(files, names, strict=True)))
            broken = [(name, reason) for name, (_, reason) in zip(names, views, strict=True) if reason]
            folder.broken.extend(broken)
            good = [(file, name, made) for file, name, (made, _) in zip(files, names, views, strict=True) if made]
            if good:
                viewed = Viewed([made for _, _, made in good], [readable(str(file)) for file, _, _ in good])
                yield viewed, pa.array([name for _, name, _ in good], pa.large_string())


def _viewed(kind: ImageKind, named: tuple[Path, str]) -> tuple[Feature | None, str]:
    _, made, reason = view_of(*named, kind.job)
    return made, reason


def _faces(kind: FaceKind, source: Any, column: str | None, id: str | None) -> Iterator[Batch]:  # noqa: A002
    if has_pictures(source) and not kind.grid:
        raise UsageError("pictures came; this index is of rows of numbers. Create one with a grid for pictures.")
    for batch in open_faces(source, column=column, id=id, grid=kind.grid or DEFAULT_GRID).batches():
        bad = np.flatnonzero(~np.isfinite(batch.values).all(axis=1))
        if len(bad):
            row = int(bad[0])
            name = f"row {row}" if batch.ids is None else repr(batch.ids[row].as_py())
            raise InputError(
                f"{batch.where}: {name} is no picture, or has measurements that are missing or not finite; "
                "leave it out."
            )
        yield batch.values, batch.ids


READERS: dict[str, Callable[[Any, str | None, str | None], Iterator[Batch]]] = {
    "sets": partial(_texts, tokens=True),
    "strings": _texts,
    "vectors": _vectors,
    "bits": _codes,
    "records": _records,
}
