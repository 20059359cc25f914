"""Vectors that stay in their files, or in the work folder in the type of their column, and are read block by block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.core.arrays import F32, I64, U64
from lookalike.core.arrow import as_arrow
from lookalike.core.equal_rows import row_prints
from lookalike.errors import InputError
from lookalike.io.collection import stamp_of
from lookalike.io.columnar import WHOLE_FILE
from lookalike.io.vectors import ArrayPart, TablePart, Vectors
from lookalike.kernels import vectors
from lookalike.runtime.local.checkpoints import CheckpointWriter, FeatureChunk
from lookalike.runtime.local.kept_features import KeptInput
from lookalike.runtime.local.numeric_rows import complaint
from lookalike.runtime.local.pool import Pool
from lookalike.runtime.local.stored_array import StoredArray, StoredPart
from lookalike.runtime.local.text_pass import ID

BYTES_AT_ONCE = 1 << 22  # bytes of float32 that are read and checked at a time


class RowsBlock(NamedTuple):
    """Consecutive vectors. first: row in the collection; row: row in the part `name`; in_file: they stay there."""

    values: F32
    ids: pa.Array | None
    extra: Mapping[str, pa.Array]
    first: int
    name: str
    row: int
    in_file: bool


@dataclass
class StoredVectors:
    """One collection. width, rows: length of a vector and rows of each part, as far as they are known from reading."""

    source: Vectors
    extra: Sequence[str]
    nonzero: bool
    on_bad: str
    width: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)

    def about(self) -> dict[str, Any]:
        """Return everything that the stored features depend on."""
        stamps = []
        for part in self.source.parts:
            for path in part.files:
                stamps.append(stamp_of(path))
                if isinstance(part, ArrayPart):  # compared when the kept rows are written
                    part.checksums[WHOLE_FILE] = stamps[-1]["crc"]
        return {
            "holds": "rows", "noun": "vectors", "name": self.source.name,
            "options": {"nonzero": self.nonzero, "on_bad": self.on_bad},
            "columns": [self.source.column, self.source.id_column, *self.extra], "files": stamps,
        }  # fmt: skip

    @property
    def dtype(self) -> Any:
        """The type in which rows of tables are stored."""
        dtypes = {part.number_type for part in self.source.parts if isinstance(part, TablePart)}
        return dtypes.pop() if len(dtypes) == 1 else np.float32

    def kept(self, pool: Pool) -> KeptInput:
        """Return the input for the work folder."""
        nbytes = sum(path.stat().st_size for part in self.source.parts for path in part.files)
        return KeptInput(
            self.source.name, "rows", self.about(), nbytes, lambda start: self._pieces(start, pool),
            self._state, self._restore, noun="vectors",
        )  # fmt: skip

    def _state(self) -> Mapping[str, Any]:
        content = [reader.content() for reader in self.source.readers]
        return {"width": self.width, "rows": self.rows, "content": content}

    def _restore(self, state: Mapping[str, Any]) -> None:
        self.width[:], self.rows[:] = state.get("width", []), state.get("rows", [])
        for reader, content in zip(self.source.readers, state.get("content", ()), strict=False):
            reader.expect(content)

    def _pieces(self, start: int, pool: Pool) -> Iterator[FeatureChunk]:
        """Yield fingerprints, a mask of the valid rows and, for tables, the numbers; then ids and extra columns."""
        has_ids = any(
            (isinstance(part, ArrayPart) and part.names is not None)
            or (isinstance(part, TablePart) and part.id_column is not None)
            for part in self.source.parts
        )
        before = 0
        for number, part in enumerate(self.source.parts):
            known = self.rows[number] if number < len(self.rows) - 1 else None
            if known is not None and before + known <= start:
                before += known
                continue
            first = row = max(0, start - before)
            if number >= len(self.rows):
                self.rows.append(0)

            for chunk in pool.map(partial(self._features, has_ids=has_ids), self._blocks(part, first, before)):
                row += len(chunk)
                self.rows[number] = row
                yield chunk
            before += row

    def _blocks(self, part: Any, start: int, before: int) -> Iterator[RowsBlock]:
        if isinstance(part, TablePart):
            row = start
            for batch in part.batches(self.extra, start):
                self._check_width(batch.values.shape[1], batch.where, len(batch.values))
                yield RowsBlock(batch.values, batch.ids, batch.extra, before + row, batch.where, row, False)
                row += len(batch.values)
            return
        if self.extra:
            next(iter(part.batches(self.extra)))  # raises: an array has no columns
        place = part.stored()
        self._check_width(place.width, part.name, place.rows)
        stored = StoredArray([_part_of(place)], place.width, np.float32)
        step = max(1, BYTES_AT_ONCE // stored.row_bytes)
        for low in range(start, place.rows, step):
            high = min(low + step, place.rows)
            ids = None if part.names is None else part.names.slice(low, high - low)
            yield RowsBlock(stored.read(low, high), ids, {}, before + low, part.name, low, True)

    def _check_width(self, width: int, where: str, rows: int) -> None:
        if not self.width and rows:
            self.width.append(width)
        if rows and width != self.width[0]:
            raise InputError(
                f"vectors of {width} numbers in {where} and of {self.width[0]} before; expected one length."
            )

    def _features(self, block: RowsBlock, *, has_ids: bool) -> FeatureChunk:
        values, good = block.values, np.empty(len(block.values), np.bool_)
        vectors.usable(values, self.nonzero, good)
        if self.on_bad == "error" and not good.all():
            row = int(np.flatnonzero(~good)[0])
            raise InputError(complaint(values[row], f"{block.name} row {block.row + row}"))
        numbers: dict[str, Any] = {"prints": row_prints(values), "good": good.view(np.uint8)}
        stored = values[:0] if block.in_file else np.where(good[:, None], values, np.float32(0))
        numbers["values"] = stored.astype(self.dtype).reshape(-1)
        ids = block.ids
        if ids is None:
            ids = as_arrow(np.arange(block.first, block.first + len(values))) if has_ids else pa.nulls(len(values))
        counts = {"vectors": len(values), "bytes": values.nbytes, "skipped": int((~good).sum())}
        return FeatureChunk(numbers, pa.record_batch({ID: ids, **block.extra}), counts)

    def parts(self, kept: CheckpointWriter) -> list[StoredPart]:
        """Return where the rows of the collection are."""
        out, at = [], 0
        width = self.width[0] if self.width else 1
        path, _ = kept.file("values")
        for part, rows in zip(self.source.parts, self.rows, strict=False):
            if isinstance(part, ArrayPart):
                place = part.stored()
                assert place is not None
                out.append(_part_of(place))
            else:
                out.append(StoredPart(path, rows, self.dtype, at))
                at += rows * width * np.dtype(self.dtype).itemsize
        return out


def _part_of(place: Any) -> StoredPart:
    return StoredPart(place.path, place.rows, place.dtype, place.offset, place.lead)


def prints_of(kept: Sequence[CheckpointWriter]) -> StoredArray:
    """Return the fingerprints of all rows."""
    return StoredArray([one.part("prints", np.uint64, 1) for one in kept], 1, np.uint64)


def good_rows(kept: Sequence[CheckpointWriter]) -> npt.NDArray[np.bool_]:
    """Return which rows are valid."""
    good: npt.NDArray[np.bool_] = np.concatenate(
        [np.fromfile(one.file("good")[0], np.uint8, one.rows) for one in kept]
    ).view(np.bool_)
    return good


def equal_rows(stored: StoredArray, left: I64, right: I64, at_once: int = 1 << 12) -> npt.NDArray[np.bool_]:
    """Return whether rows are equal, a few thousand at a time."""
    out = np.empty(len(left), np.bool_)
    for at in range(0, len(left), at_once):
        rows, back = np.unique(np.concatenate([left[at : at + at_once], right[at : at + at_once]]), return_inverse=True)
        values = stored.gather(rows)
        half = len(back) // 2
        out[at : at + half] = (values[back[:half]] == values[back[half:]]).all(axis=1)
    return out


DTYPES: dict[str, Any] = {"prints": np.uint64, "good": np.uint8, "values": np.uint8}


def prints_between(prints: StoredArray, low: int, high: int) -> U64:
    words: U64 = prints.read(low, high).reshape(-1)
    return words
