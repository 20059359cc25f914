"""Time series from tables, arrays and files of arrays."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import F64
from lookalike.errors import InputError, UsageError, listed
from lookalike.io.addresses import shown
from lookalike.io.array_files import load_series
from lookalike.io.columns import check_column, check_id, choose_id
from lookalike.io.list_columns import is_list_of_numbers, is_number
from lookalike.io.origin import given_paths, origin
from lookalike.io.python_sources import plain_source
from lookalike.io.reader import Reader, select
from lookalike.io.tables import open_table

TIME_COLUMNS = ("time", "timestamp", "date", "datetime", "step", "index", "id")  # not values unless named
ARRAYS = (".npy",)


@dataclass(frozen=True)
class SeriesSet:
    """Named series. values: f64[c, n] each, with c columns of values; NaN where a value is missing."""

    name: str
    names: list[str]
    values: list[F64]
    given: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()

    def describe(self) -> dict[str, Any]:
        """Return the receipt's entry for the series."""
        return {"name": self.name, "origin": origin(self.given, self.files), "rows": len(self.names)}


@dataclass(frozen=True)
class SeriesColumns:
    """Which columns hold the values and the names of series, and whether the values are one motion."""

    value: tuple[str, ...] = ()
    series: str | None = None
    motion: bool = False


def open_series(source: Any, columns: SeriesColumns) -> SeriesSet:
    """Read all series of a source: an array, a list or dict of arrays, paths, or anything that exports Arrow data.

    >>> open_series({"a": [1, 2, 3], "b": [4, 5]}, SeriesColumns()).names
    ['a', 'b']
    """
    source = plain_source(source) if not isinstance(source, np.ndarray | Mapping) else source
    if isinstance(source, str | os.PathLike):
        source = [Path(source)]
    if isinstance(source, list | tuple) and source and isinstance(source[0], os.PathLike):
        return _from_files(source, columns)
    if isinstance(source, Mapping):
        named = [(str(name), one) for name, one in source.items()]
    elif isinstance(source, np.ndarray):
        named = [("series", source)]
    elif isinstance(source, list | tuple):
        whole = bool(source) and not hasattr(source[0], "__len__")
        named = [("series", source)] if whole else [(str(number), one) for number, one in enumerate(source)]
    else:
        found = list(_from_table(open_table(source, name="the table").readers, columns, "the table"))
        return _set("the table", found)
    return _set("the arrays", [one for name, values in named for one in _from_array(values, name, columns)])


def _set(name: str, found: Sequence[tuple[str, F64]], given: Any = (), files: Sequence[Path] = ()) -> SeriesSet:
    return SeriesSet(name, [one for one, _ in found], [values for _, values in found], given_paths(given), tuple(files))


def _from_files(paths: Sequence[Any], columns: SeriesColumns) -> SeriesSet:
    """Read series from files; where there are several, the name of the file comes before that of the series."""
    files = [file for path in paths for file in _expand(Path(path))]
    alone, found = len(files) == 1, []
    if columns.series is not None:
        readers = [reader for file in files for reader in open_table(file, name=str(file)).readers]
        found = list(_from_table(readers, columns, shown(paths[0])))
    else:
        stems = [file.name for file in files]
        for file in files:
            name = file.name if stems.count(file.name) == 1 else str(file)
            if file.suffix.lower() in ARRAYS:
                these = list(_from_array(load_series(file), name, columns))
            else:
                these = list(_from_table(open_table(file, name=name).readers, columns, name))
                if not alone:
                    these = [(name if len(these) == 1 else f"{name}:{one}", values) for one, values in these]
            found += these
    name = shown(paths[0]) + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
    return _set(name, found, paths, files)


def _expand(path: Path) -> list[Path]:
    """Return the files of a folder, or the path itself."""
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.is_file() and file.name[0] not in "._")
    if not files:
        raise InputError(f"the folder {path} has no files; expected tables or .npy files of series.")
    return files


def _from_array(values: Any, name: str, columns: SeriesColumns) -> Iterator[tuple[str, F64]]:
    """Yield the series of an array: one, or one in each column of a matrix, whose rows are the steps."""
    if columns.value or columns.series:
        raise UsageError(f"{name} is an array without columns; leave out `value` and `series`.")
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise UsageError(f"series {name!r} is no array ({error}); expected numbers.") from error
    if array.dtype.kind not in "fiub" or array.ndim not in (1, 2):
        raise InputError(
            f"series {name!r} holds {array.dtype} of shape {array.shape}; expected numbers, as one series or a matrix "
            "with a row for each step."
        )
    array = array.astype(np.float64)
    if array.ndim == 1:
        yield name, array[None, :]
    elif columns.motion:
        yield name, np.ascontiguousarray(array.T)
    else:
        for number in range(array.shape[1]):
            yield f"{name}:{number}", array[:, number][None, :]


def _from_table(readers: Sequence[Reader], columns: SeriesColumns, where: str) -> Iterator[tuple[str, F64]]:
    """Yield the series of a table: each row of a column of lists, or columns of numbers with a row for each step."""
    if not readers:
        raise InputError(f"{where} has no columns; expected columns of numbers, with a row for each step.")
    schema = readers[0].schema
    names = columns.value or tuple(field.name for field in schema if is_list_of_numbers(field.type))
    for reader in readers:
        for name in (*names, *([columns.series] if columns.series else [])):
            check_column(reader.schema, name, reader.name)
    if names and all(is_list_of_numbers(schema.field(name).type) for name in names):
        yield from _lists(readers, names, columns)
        return
    names = columns.value or _number_columns(readers[0], columns.series)
    table = _read(readers, names, columns.series)
    for name in names:
        if not is_number(table.schema.field(name).type):
            dtype = table.schema.field(name).type
            raise InputError(f"column {name!r} in {where} is {dtype}; expected numbers.")
    matrix = np.stack([_floats(table[name]) for name in names])
    if columns.series is None:
        yield from _by_column(matrix, "", where, names, columns)
        return
    check_id(table.schema, columns.series, where)
    codes = table[columns.series].combine_chunks().dictionary_encode()
    if codes.null_count:
        row = pc.index(codes.is_null(), True).as_py()
        raise InputError(f"column {columns.series!r} in {where} names no series in row {row}; expected one in each.")
    number = codes.indices.to_numpy()
    order = np.argsort(number, kind="stable")
    ends = np.searchsorted(number[order], np.arange(len(codes.dictionary) + 1))
    for key, first, end in zip(codes.dictionary.to_pylist(), ends[:-1], ends[1:], strict=True):
        yield from _by_column(matrix[:, order[first:end]], str(key), str(key), names, columns)


def _by_column(
    matrix: F64, prefix: str, whole: str, names: Sequence[str], columns: SeriesColumns
) -> Iterator[tuple[str, F64]]:  # fmt: skip
    """Yield the rows of a matrix as series, or all of them as one motion."""
    if columns.motion or (prefix and len(names) == 1):
        yield whole, np.ascontiguousarray(matrix)
        return
    for row, name in enumerate(names):
        yield (f"{prefix}:{name}" if prefix else name), np.ascontiguousarray(matrix[row : row + 1])


def _number_columns(reader: Reader, series: str | None) -> tuple[str, ...]:
    """Return the columns of numbers, without that of the series and the usual ones of times."""
    settled = reader.settled(reader.schema.names)
    numbers = tuple(
        field.name
        for field in settled
        if is_number(field.type) and field.name != series and field.name.lower() not in TIME_COLUMNS
    )
    if not numbers:
        raise UsageError(
            f"no column of {reader.name} holds values of a series; give `value`. Columns: {listed(settled.names)}."
        )
    return numbers


def _read(readers: Sequence[Reader], names: Sequence[str], series: str | None) -> pa.Table:
    """Read the columns of values with their types, and the names of series as they are written."""
    tables = []
    for reader in readers:
        schema = reader.settled(names)
        if series is not None:
            schema = pa.schema([*schema, *select(reader.schema, [series])])
        wanted = [*names, *([series] if series else [])]
        batches = (batch.select(wanted) for batch in reader.batches(schema))
        tables.append(pa.Table.from_batches(batches, pa.schema([schema.field(name) for name in wanted])))
    return pa.concat_tables(tables, promote_options="permissive")


def _lists(readers: Sequence[Reader], names: Sequence[str], columns: SeriesColumns) -> Iterator[tuple[str, F64]]:
    """Yield a series for each row and each column of lists, or a motion for each row."""
    row = 0
    for reader in readers:
        ids = columns.series or choose_id(reader.schema, None, reader.name)
        wanted = [*names, *([ids] if ids else [])]
        for batch in reader.batches(select(reader.schema, wanted)):
            keys = batch.column(ids).to_pylist() if ids else range(row, row + len(batch))
            lists = [batch.column(name).to_pylist() for name in names]
            for key, *values in zip(keys, *lists, strict=True):
                lengths = {len(one or ()) for one in values}
                if columns.motion and len(lengths) > 1:
                    raise InputError(f"{reader.where(row)}: the columns of a motion have lists of different lengths.")
                arrays = [np.array([np.nan if x is None else x for x in one or ()], np.float64) for one in values]
                whole = np.stack(arrays) if columns.motion or len(arrays) == 1 else None
                if whole is not None:
                    yield str(key), whole
                else:
                    yield from ((f"{key}:{name}", one[None, :]) for name, one in zip(names, arrays, strict=True))
                row += 1


def _floats(column: pa.ChunkedArray) -> F64:
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), np.float64)
