"""Read files of arrays (.npy, .npz and .fvecs), memory-mapped if possible."""

from __future__ import annotations

import tokenize
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.core.arrays import F32
from lookalike.errors import InputError, MissingInput, listed, nearest
from lookalike.io.columnar import refuse_empty
from lookalike.io.columns import ROW_NUMBERS
from lookalike.io.opening import local_copy

ARRAY_FILES = (".npy", ".npz", ".fvecs")


def load_arrays(file: Path, column: str | None, ids: str | None) -> tuple[npt.NDArray[Any], pa.Array | None]:
    """Return the vectors of a file, and the row ids if a .npz file has an array of them."""
    file = _present(file)
    if file.suffix.lower() == ".fvecs":
        return _fvecs(file), None
    with _readable(file):
        if file.suffix.lower() == ".npy":
            return as_matrix(_mapped(file), str(file), convert=False), None
        with np.load(file, allow_pickle=False) as arrays:
            names = list(arrays.files)
            chosen = _pick(names, column, file)
            wanted = ids if ids is not None else next((n for n in ("id", "ids") if n in names and n != chosen), None)
            wanted = None if wanted == ROW_NUMBERS else wanted
            if wanted is not None and wanted not in names:
                raise InputError(f"no array {wanted!r} in {file}.{nearest(wanted, names)} Arrays: {listed(names)}.")
            values = as_matrix(arrays[chosen], str(file), convert=False)
            return values, None if wanted is None else _row_names(arrays[wanted], len(values), wanted, file)


def load_series(file: Path) -> npt.NDArray[Any]:
    """Return the array of a .npy file, of any shape."""
    file = _present(file)
    with _readable(file):
        return _mapped(file)


def _mapped(file: Path) -> npt.NDArray[Any]:
    array: npt.NDArray[Any] = np.load(file, mmap_mode="c", allow_pickle=False)
    return array


def _present(file: Path) -> Path:
    """Return the file, fetched if it is at an address; raise an error if it is missing or empty."""
    file = local_copy(file)
    if not file.exists():
        beside = [path.name for path in file.parent.iterdir()] if file.parent.is_dir() else []
        raise MissingInput(f"no such file: {file}.{nearest(file.name, beside)}")
    refuse_empty(file, str(file), "an array")
    return file


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    """Raise InputError for a file that is damaged or no NumPy file."""
    try:
        yield
    except (
        ValueError,
        OSError,
        EOFError,
        SyntaxError,
        TypeError,
        KeyError,
        MemoryError,
        tokenize.TokenError,
        OverflowError,
        RecursionError,
        zipfile.BadZipFile,
    ) as error:  # fmt: skip  (a damaged header is parsed)
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(f"{file} cannot be read as a NumPy file: {reason[:200]}.") from error


def as_matrix(values: npt.NDArray[Any], name: str, *, convert: bool = True) -> F32 | npt.NDArray[Any]:
    """Return a matrix of real numbers as float32, or in its own dtype unless `convert`; raise InputError for others.

    Values beyond float32 become infinite, and are refused when the rows are checked.
    """
    if values.ndim != 2:
        raise InputError(
            f"{name} has {values.ndim} dimension{'s' * (values.ndim != 1)}, shape {values.shape}; "
            "expected one row per item: two dimensions."
        )
    if values.dtype.kind not in "fiub":
        raise InputError(f"{name} holds {values.dtype}; expected real numbers.")
    if not values.shape[1]:
        raise InputError(f"{name} has rows without any numbers.")
    if not convert or (values.dtype == np.float32 and values.flags.c_contiguous):
        return values
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(values, np.float32)


def _pick(names: list[str], column: str | None, file: Path) -> str:
    if column is not None:
        if column not in names:
            raise InputError(f"no array {column!r} in {file}.{nearest(column, names)} Arrays: {listed(names)}.")
        return column
    usual = [name for name in names if name in ("vector", "vectors", "embedding", "embeddings", "X", "arr_0")]
    others = [name for name in names if name not in ("id", "ids")]
    if usual or len(others) == 1:
        return (usual or others)[0]
    raise InputError(f"{len(names)} arrays could be the vectors in {file}; give `column`. Arrays: {listed(names)}.")


def _row_names(names: npt.NDArray[Any], rows: int, which: str, file: Path) -> pa.Array:
    if names.shape != (rows,) or names.dtype.kind not in "iuU":
        raise InputError(
            f"the array {which!r} in {file} is {names.dtype} of shape {names.shape}; expected {rows:,} strings or "
            "integers, one id for each row."
        )
    return pa.array(names.tolist())


def _fvecs(file: Path) -> npt.NDArray[Any]:
    """Read rows of float32, each preceded by its length as int32."""
    words = np.memmap(file, "<i4", "c") if file.stat().st_size % 4 == 0 else np.zeros(0, np.int32)
    width = int(words[0]) if len(words) else 0
    if width < 1 or len(words) % (width + 1):
        raise InputError(f"{file} cannot be read as fvecs: its size does not fit rows of {width} numbers.")
    table = words.reshape(-1, width + 1)
    other = np.flatnonzero(table[:, 0] != width)
    if len(other):
        row = int(other[0])
        raise InputError(f"{file} row {row}: {table[row, 0]} numbers, but row 0 has {width}; expected one length.")
    return table[:, 1:].view("<f4")
