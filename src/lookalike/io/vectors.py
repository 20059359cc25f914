"""Open vectors: arrays, files of arrays, and tables with a column of lists or with columns of numbers."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.core.arrays import F32
from lookalike.errors import InputError, UsageError
from lookalike.io.addresses import address_of, shown
from lookalike.io.array_files import ARRAY_FILES, as_matrix, load_arrays
from lookalike.io.collection import rows_of
from lookalike.io.columnar import WHOLE_FILE
from lookalike.io.columns import check_column, choose_id
from lookalike.io.list_columns import choose_numbers, numbers_of
from lookalike.io.opening import remote_path
from lookalike.io.origin import given_paths, origin
from lookalike.io.python_sources import plain_source
from lookalike.io.reader import Reader, select
from lookalike.io.tables import open_table
from lookalike.io.texts import as_ids
from lookalike.io.unchanged import crc_of_file, unchanged

ROWS_PER_BATCH = 1 << 12  # rows of an array per Arrow batch


@dataclass(frozen=True)
class VectorBatch:
    """Consecutive vectors. values f32[m, d]: a null row is all NaN; ids: None for row numbers; where: name of input;
    pictures: the names of the measured pictures, of which a row of NaN could not be read."""

    values: F32
    ids: pa.Array | None = None
    extra: Mapping[str, pa.Array] = field(default_factory=dict)
    where: str = ""
    pictures: Sequence[str] = ()


@dataclass(frozen=True)
class StoredMatrix:
    """Rows of numbers in a file. offset: of the first one, in bytes; lead: numbers before each row to leave out."""

    path: Path
    rows: int
    width: int
    dtype: Any
    offset: int = 0
    lead: int = 0


class VectorPart(Protocol):
    """One array or one table of vectors."""

    @property
    def columns(self) -> tuple[str, ...]: ...

    @property
    def files(self) -> Sequence[Path]: ...

    def batches(self, extra: Sequence[str]) -> Iterator[VectorBatch]: ...

    def rows(self) -> Iterator[pa.RecordBatch]: ...


@dataclass(frozen=True)
class ArrayPart:
    """A two-dimensional array in memory, or mapped from a file. names: the ids of its rows, if it has any."""

    name: str
    values: npt.NDArray[Any]
    names: pa.Array | None = None
    columns: tuple[str, ...] = ("vector",)
    files: tuple[Path, ...] = ()

    checksums: dict[str, int] = field(default_factory=dict)

    def stored(self) -> StoredMatrix | None:
        """Return where the rows are in a file; None for arrays in memory and for columns one after another."""
        if not isinstance(self.values, np.memmap) or not self.files:
            return None
        rows, width = self.values.shape
        if self.files[0].suffix.lower() == ".fvecs":
            return StoredMatrix(self.files[0], rows, width, self.values.dtype, 0, 1)
        if not self.values.flags.c_contiguous:
            return None
        return StoredMatrix(self.files[0], rows, width, self.values.dtype, int(self.values.offset))

    def current_checksums(self, names: Sequence[str]) -> dict[str, int]:
        """Return the checksum of the file if the array is mapped from one; arrays in memory do not change."""
        if not isinstance(self.values, np.memmap):
            return dict.fromkeys(names, 0)
        return {name: crc_of_file(file) for name in names for file in self.files}

    def batches(self, extra: Sequence[str]) -> Iterator[VectorBatch]:
        for name in extra:
            raise InputError(f"{self.name} is an array without columns, so there is no column {name!r} to keep by.")
        with unchanged(self, [WHOLE_FILE]):
            pass
        yield VectorBatch(as_matrix(self.values, self.name), self.names, {}, self.name)

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Yield the vectors as fixed-size lists, preceded by the ids if the file has them."""
        width = self.values.shape[1]
        with unchanged(self, [WHOLE_FILE]):
            for at in range(0, max(1, len(self.values)), ROWS_PER_BATCH):
                flat = pa.array(np.ascontiguousarray(self.values[at : at + ROWS_PER_BATCH]).reshape(-1))
                columns = {"vector": pa.FixedSizeListArray.from_arrays(flat, width)}
                if self.names is not None:
                    columns = {"id": self.names.slice(at, ROWS_PER_BATCH), **columns}
                yield pa.record_batch(columns)


@dataclass(frozen=True)
class TablePart:
    """A table with vectors in one column of lists, or in several columns of numbers."""

    reader: Reader
    numbers: tuple[str, ...]
    id_column: str | None

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.reader.schema.names)

    @property
    def files(self) -> Sequence[Path]:
        return self.reader.paths

    @property
    def number_type(self) -> Any:
        """The type of the numbers if float32 would only make them longer, otherwise float32."""
        dtypes = {self.reader.schema.field(name).type for name in self.numbers}
        dtypes = {dtype.value_type if hasattr(dtype, "value_type") else dtype for dtype in dtypes}
        short = {pa.int8(): np.int8, pa.uint8(): np.uint8, pa.float16(): np.float16}
        return short.get(dtypes.pop(), np.float32) if len(dtypes) == 1 else np.float32

    def batches(self, extra: Sequence[str], start: int = 0) -> Iterator[VectorBatch]:
        """Yield the vectors from row `start` on."""
        for name in extra:
            check_column(self.reader.schema, name, self.reader.name)
        ids = [self.id_column] if self.id_column else []
        settled = self.reader.settled([*self.numbers, *extra])
        schema = pa.schema([*settled, *(f for f in select(self.reader.schema, ids) if f.name not in settled.names)])
        first = start
        for batch in self.reader.batches_from(schema, start):
            where = _from_row(self.reader, first)
            yield VectorBatch(
                numbers_of([batch.column(name) for name in self.numbers], where=where),
                as_ids(batch.column(self.id_column), where=where) if self.id_column else None,
                {name: batch.column(name) for name in extra},
                self.reader.name,
            )
            first += len(batch)

    def rows(self) -> Iterator[pa.RecordBatch]:
        return rows_of([self.reader], lambda reader, schema: reader.batches(schema))


@dataclass(frozen=True, kw_only=True)
class Vectors:
    """Vectors that can be read more than once, always in the same order."""

    name: str
    column: str
    id_column: str | None
    columns: tuple[str, ...]
    parts: tuple[VectorPart, ...]
    given: tuple[str, ...] = ()

    @property
    def readers(self) -> tuple[Reader, ...]:
        """The readers of the rows, if all parts are tables."""
        tables = tuple(part.reader for part in self.parts if isinstance(part, TablePart))
        return tables if len(tables) == len(self.parts) else ()

    @property
    def has_files(self) -> bool:
        """Whether all vectors can be read again, part by part, from files."""
        return bool(self.parts) and all(
            part.stored() is not None if isinstance(part, ArrayPart) else bool(part.files) for part in self.parts
        )

    def describe(self) -> dict[str, Any]:
        """Return the receipt's entry for the vectors."""
        files = (file for part in self.parts for file in part.files)
        return {
            "name": self.name, "vectors": self.column, "id": self.id_column, "origin": origin(self.given, files)
        }  # fmt: skip

    def batches(self, extra: Sequence[str] = ()) -> Iterator[VectorBatch]:
        """Yield the vectors as float32, with ids and the `extra` columns."""
        for part in self.parts:
            yield from part.batches(extra)

    def rows(self) -> Generator[pa.RecordBatch, None, None]:
        """Yield all columns of the input, in the same order; at least one batch if the columns are known."""
        tables = [part for part in self.parts if isinstance(part, TablePart)]
        if tables and len(tables) == len(self.parts):
            yield from rows_of([part.reader for part in tables], lambda reader, schema: reader.batches(schema))
            return
        for part in self.parts:
            yield from part.rows()


def open_vectors(source: Any, *, column: str | None = None, id: str | None = None) -> Vectors:  # noqa: A002
    """Open the vectors of an array, of paths (.npy, .npz, .fvecs, tables), or of anything that exports Arrow data.

    column: a column of lists of numbers, or an array in a .npz file. The default is a column with a usual name (vector,
    embedding), then the only column of lists, then all columns of numbers together.

    >>> source = open_vectors(np.eye(2))
    >>> [batch.values.tolist() for batch in source.batches()]
    [[[1.0, 0.0], [0.0, 1.0]]]
    """
    if isinstance(source, Vectors):
        return source
    name, parts = _parts(source, column, id)
    if not parts:
        return Vectors(name=name, column=column or "vector", id_column=id, columns=(column or "vector",), parts=())
    first = parts[0]
    tables = [part for part in parts if isinstance(part, TablePart)]
    return Vectors(
        name=name,
        column=", ".join(tables[0].numbers) if tables else column or "vector",
        id_column=tables[0].id_column if tables else id,
        columns=first.columns,
        parts=tuple(parts),
        given=given_paths(source),
    )


def _parts(source: Any, column: str | None, id: str | None) -> tuple[str, list[VectorPart]]:  # noqa: A002
    source = plain_source(source)
    if isinstance(source, str | os.PathLike):
        source = [Path(source) if (address := address_of(source)) is None else remote_path(address)]
    if isinstance(source, list | tuple) and source and isinstance(source[0], os.PathLike):
        files = [file for item in source for file in _expand(item)]
        name = shown(source[0]) + (f" and {len(source) - 1} more" if len(source) > 1 else "")
        return name, [part for file in files for part in _file_parts(file, column, id)]
    if isinstance(source, np.ndarray | list | tuple):
        return "the array", [ArrayPart("the array", _checked(source))]
    return "the table", _table_parts(source, column, id)


def _expand(item: str | os.PathLike[str]) -> list[Path]:
    """Return the array files of a folder, or the path itself if it has none."""
    path = Path(item)
    if (address := address_of(item)) is not None:
        return [remote_path(address)]
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in ARRAY_FILES)
    return files or [path]


def _file_parts(file: Path, column: str | None, id: str | None) -> list[VectorPart]:  # noqa: A002
    if file.suffix.lower() not in ARRAY_FILES:
        return _table_parts(file, column, id)
    values, names = load_arrays(file, column, id)
    return [ArrayPart(str(file), values, names, ("vector",) if names is None else ("id", "vector"), (file,))]


def _table_parts(source: Any, column: str | None, id: str | None) -> list[VectorPart]:  # noqa: A002
    table = open_table(source, name="the table")
    parts: list[VectorPart] = []
    for reader in table.readers:
        id_column = choose_id(reader.schema, id, reader.name)
        parts.append(TablePart(reader, choose_numbers(reader, column, besides=id_column), id_column))
    return parts


def _checked(source: Any) -> npt.NDArray[Any]:
    """Convert a list of rows, or an array, to a two-dimensional array."""
    if not isinstance(source, np.ndarray):
        lengths = [len(row) if hasattr(row, "__len__") else -1 for row in source]
        if len(set(lengths)) > 1 and -1 not in lengths:
            row = next(i for i, length in enumerate(lengths) if length != lengths[0])
            raise InputError(
                f"the array row {row}: {lengths[row]} numbers, but row 0 has {lengths[0]}; expected rows of one length."
            )
        try:
            source = np.asarray(source)
        except ValueError as error:
            raise UsageError(f"the list is no array ({error}); expected rows of numbers.") from error
    return as_matrix(source, "the array", convert=False)


def _from_row(reader: Reader, first: int) -> Any:
    return lambda row: reader.where(first + row)
