"""Open sources of faces: measurement vectors, or aligned pictures, measured by the mean brightness of blocks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import F32
from lookalike.errors import InputError, UsageError
from lookalike.io.pictures import Picture, PictureFolder, has_pictures, load_picture, open_pictures
from lookalike.io.vectors import VectorBatch, Vectors, open_vectors

BOX = 4  # Pillow's number of the box filter, which averages
DEFAULT_GRID = (24, 28)  # columns and rows of blocks


@dataclass(frozen=True)
class FacePart:
    """Aligned pictures, each cut into a grid of blocks whose mean brightness, 0 to 255, is one measurement."""

    folder: PictureFolder
    grid: tuple[int, int]
    columns: tuple[str, ...] = ("file",)
    _made: list[VectorBatch] = field(default_factory=list, repr=False, compare=False)

    @property
    def files(self) -> Sequence[Path]:
        return self.folder.files

    def batches(self, extra: Sequence[str]) -> Iterator[VectorBatch]:
        for name in extra:
            raise InputError(f"{self.folder.name} is a folder of pictures, so there is no column {name!r} to keep by.")
        if not self._made:
            with ThreadPoolExecutor() as pool:
                rows = list(pool.map(self._measure, self.folder.files, self.folder.ids))
            ids = pa.array(self.folder.ids, pa.string())
            self._made.append(VectorBatch(np.stack(rows), ids, {}, self.folder.name, self.folder.ids))
        yield from self._made

    def rows(self) -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"file": pa.array(self.folder.ids, pa.string())})

    def _measure(self, file: Path, id_: str) -> Any:
        try:
            picture = load_picture(file, id_)
        except (OSError, ValueError):
            return np.full(self.grid[0] * self.grid[1], np.nan, np.float32)
        return measure(picture, self.grid)


def files_of(source: object) -> dict[Any, str]:
    """Return the real path of each picture of opened faces, by id; empty if the items are rows of numbers."""
    parts = source.parts if isinstance(source, Vectors) else ()
    folders = [part.folder for part in parts if isinstance(part, FacePart)]
    return {id_: os.path.realpath(file) for folder in folders for id_, file in folder.named_files().items()}


def measure(picture: Picture, grid: tuple[int, int]) -> F32:
    """Return the mean brightness, 0 to 255, of each block of an aligned picture: f32[columns * rows]."""
    blocks: F32 = np.asarray(picture.image.resize(grid, BOX), np.float32).reshape(-1)
    return blocks


def open_faces(
    source: Any,
    *,
    column: str | None = None,
    id: str | None = None,  # noqa: A002
    grid: str | tuple[int, int] = DEFAULT_GRID,
) -> Vectors:
    """Open measurement vectors (see `open_vectors`), or a folder of aligned pictures as means of a grid of blocks."""
    if isinstance(source, Vectors) or not has_pictures(source):
        return open_vectors(source, column=column, id=id)
    part = FacePart(open_pictures(source), parse_grid(grid))
    return Vectors(
        name=part.folder.name, column=f"{part.grid[0]}x{part.grid[1]} blocks", id_column="file", columns=part.columns,
        parts=(part,), given=part.folder.given,
    )  # fmt: skip


def parse_grid(given: str | tuple[int, int]) -> tuple[int, int]:
    """Parse the number of columns and rows of blocks into which a picture is cut.

    >>> parse_grid("24x28")
    (24, 28)
    """
    try:
        wide, high = (int(part) for part in (given.lower().split("x") if isinstance(given, str) else given))
    except ValueError:
        wide = high = 0
    if not (1 <= wide <= 1000 and 1 <= high <= 1000):
        raise UsageError(f"grid is {given!r}; expected COLUMNSxROWS of blocks, such as 24x28.")
    return wide, high
