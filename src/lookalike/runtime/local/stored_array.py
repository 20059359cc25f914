"""Rows of numbers that stay in files and are read by position, so that they never count as memory of the process."""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import I64
from lookalike.runtime.local.gathered import read_exactly

READ_THROUGH_BYTES = 1 << 15  # gap between two rows that is read rather than skipped: a skip costs a system call
MOST_AT_ONCE = 1 << 21  # bytes that are read at once for some of their rows


@dataclass(frozen=True)
class StoredPart:
    """Rows in one file. offset: of the first row, in bytes; lead: numbers at the start of each row to leave out."""

    path: Path
    rows: int
    dtype: Any
    offset: int = 0
    lead: int = 0


class StoredArray:
    """A matrix in one or several files, which may have different types; rows are returned as `dtype`.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "a").write_bytes(np.arange(6, dtype=np.int8).tobytes())
    >>> StoredArray([StoredPart(folder / "a", 3, np.int8)], 2, np.float32).gather(np.array([0, 2])).tolist()
    [[0.0, 1.0], [4.0, 5.0]]
    """

    def __init__(self, parts: Sequence[StoredPart], width: int, dtype: Any) -> None:
        self.parts, self.width, self.dtype = list(parts), width, np.dtype(dtype)
        self.ends: I64 = np.cumsum([0, *(part.rows for part in parts)])
        self._files: list[int] = []
        for part in parts:
            self._files.append(os.open(part.path, os.O_RDONLY))
            weakref.finalize(self, os.close, self._files[-1])

    def __len__(self) -> int:
        return int(self.ends[-1])

    @property
    def row_bytes(self) -> int:
        """Bytes of a row in memory."""
        return int(self.width * self.dtype.itemsize)

    def read(self, low: int, high: int) -> npt.NDArray[Any]:
        """Return the rows from `low` to `high` - 1."""
        out = np.empty((high - low, self.width), self.dtype)
        for number, part in enumerate(self.parts):
            begin, end = int(self.ends[number]), int(self.ends[number + 1])
            first, last = max(low, begin), min(high, end)
            if first < last:
                out[first - low : last - low] = self._rows(number, part, first - begin, last - begin)
        return out

    def _rows(self, number: int, part: StoredPart, first: int, last: int) -> npt.NDArray[Any]:
        raw = np.empty((last - first, part.lead + self.width), part.dtype)
        nbytes = raw.shape[1] * raw.itemsize
        read_exactly(self._files[number], raw.reshape(-1).view(np.uint8).data, part.offset + first * nbytes)
        with np.errstate(over="ignore"):
            return raw[:, part.lead :].astype(self.dtype, copy=False)

    def gather(self, numbers: I64) -> npt.NDArray[Any]:
        """Return the rows with these numbers, in ascending order. Rows that are close together are read together."""
        out = np.empty((len(numbers), self.width), self.dtype)
        gap = max(1, READ_THROUGH_BYTES // max(1, self.row_bytes))
        apart = np.diff(numbers, append=len(self) + 2 * gap) > gap
        window = max(1, MOST_AT_ONCE // max(1, self.row_bytes))
        apart[:-1] |= np.diff(numbers // window) > 0
        ends = np.flatnonzero(apart) + 1
        for begin, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=False):
            low, high = int(numbers[begin]), int(numbers[end - 1]) + 1
            out[begin:end] = self.read(low, high)[numbers[begin:end] - low]
        return out
