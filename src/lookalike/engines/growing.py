"""Arrays that grow at the end."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T", bound=np.generic)


class Growing(Generic[T]):
    """A one-dimensional array that takes pieces. `resize` reallocates in place: large blocks are moved by the kernel's
    page tables, not copied, so the peak is the array itself and not twice that."""

    def __init__(self, dtype: type[T]) -> None:
        self._data: npt.NDArray[T] = np.empty(0, dtype)
        self._used = 0

    def append(self, piece: npt.NDArray[Any]) -> None:
        end = self._used + len(piece)
        if end > len(self._data):
            self._data.resize(max(end, min(2 * len(self._data), len(self._data) + (1 << 24))), refcheck=False)
        self._data[self._used : end] = piece
        self._used = end

    def finish(self) -> npt.NDArray[T]:
        """The array of all pieces; nothing can be added afterwards."""
        out, self._data = self._data[: self._used], np.empty(0, self._data.dtype)
        return out
