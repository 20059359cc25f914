"""Read sparse matrices from .npz files, as SciPy writes them, without SciPy."""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lookalike.core.arrays import F64, I64
from lookalike.errors import InputError

FORMATS = {
    "csr": ("indptr", "indices", "data"),
    "csc": ("indptr", "indices", "data"),
    "coo": ("row", "col", "data"),
}


@dataclass(frozen=True)
class MatrixEntries:
    """The stored entries of a matrix, in the order in which they are given. rows, columns i64[nnz]; values f64[nnz]."""

    shape: tuple[int, int]
    rows: I64
    columns: I64
    values: F64


def read_npz(path: Path) -> MatrixEntries:
    """Read the entries of a matrix that `scipy.sparse.save_npz` has written in the format csr, csc or coo."""
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:  # NumPy leaves damaged files open
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, MemoryError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(f"{path} cannot be read as a sparse matrix: {reason}.") from error
    kind = _format(arrays.get("format"))
    needed = FORMATS.get(kind, ())
    if not needed or not {"shape", *needed} <= arrays.keys() or len(arrays["shape"]) != 2:
        found = f"the format {kind!r}" if kind else f"the arrays {', '.join(arrays) or 'none'}"
        raise InputError(
            f"{path} holds {found}; expected a matrix of the format csr, csc or coo. "
            "Write one with scipy.sparse.save_npz(file, matrix.tocsr())."
        )
    if kind == "coo":
        return entries(arrays["shape"], arrays["row"], arrays["col"], arrays["data"], str(path))
    ends = arrays["indptr"].astype(np.int64)
    main = np.repeat(np.arange(len(ends) - 1), np.maximum(np.diff(ends), 0))
    rows, columns = (main, arrays["indices"]) if kind == "csr" else (arrays["indices"], main)
    return entries(arrays["shape"], rows, columns, arrays["data"], str(path))


def of_matrix(matrix: Any) -> MatrixEntries:
    """Return the entries of a SciPy matrix or array in memory."""
    whole = matrix.tocoo()
    return entries(whole.shape, whole.row, whole.col, whole.data, "the matrix")


def entries(shape: Any, rows: Any, columns: Any, values: Any, name: str) -> MatrixEntries:
    """Return the nonzero entries; raise an error if the arrays do not fit one another or the shape."""
    height, width = (int(size) for size in shape)
    if not len(rows) == len(columns) == len(values):
        raise InputError(
            f"{name} holds {len(rows):,} rows, {len(columns):,} columns and {len(values):,} values; "
            "expected as many of each."
        )
    try:
        numbers = np.asarray(values).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} holds values of the type {np.asarray(values).dtype}; expected numbers.") from error
    rows, columns = np.asarray(rows).astype(np.int64), np.asarray(columns).astype(np.int64)
    for places, size, what in ((rows, height, "row"), (columns, width, "column")):
        if len(places) and not (places.min() >= 0 and places.max() < size):
            raise InputError(f"{name} has an entry in {what} {places.max()}, but only {size:,} {what}s.")
    stored = numbers != 0
    return MatrixEntries((height, width), rows[stored], columns[stored], numbers[stored])


def _format(stored: Any) -> str:
    """Return the name of the format, which SciPy writes as bytes."""
    if stored is None:
        return ""
    value = stored.item() if stored.ndim == 0 else ""
    return value.decode("ascii", "replace") if isinstance(value, bytes) else str(value)
