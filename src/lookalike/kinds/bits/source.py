"""Read columns of bit codes: hexadecimal or 0/1 text, integers, or bytes, all of one length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.core.arrays import Bits, check_choice
from lookalike.errors import InputError, UsageError, listed
from lookalike.io.collection import Collection, check_ids, common_schema
from lookalike.io.columns import check_column, choose_id
from lookalike.io.origin import given_paths
from lookalike.io.read import open_readers
from lookalike.io.reader import Reader, select
from lookalike.io.texts import Where, as_ids, is_text
from lookalike.kinds.bits.formats import FORMS, Form, parse

if TYPE_CHECKING:
    from lookalike.io.contents import Content

USUAL_CODE_COLUMNS = ("code", "hash", "phash", "bits", "fingerprint")


@dataclass(frozen=True)
class CodeColumn:
    """A column of codes in memory: the codes, a mask of the non-null rows, the ids, and the extra columns."""

    bits: Bits
    present: npt.NDArray[np.bool_]
    ids: pa.ChunkedArray
    extra: dict[str, pa.ChunkedArray]


@dataclass(frozen=True, kw_only=True)
class CodeSource:
    """A collection whose column `collection.text_column` holds codes, and the format in which they are written."""

    collection: Collection
    form: Form

    @property
    def name(self) -> str:
        return self.collection.name

    @property
    def columns(self) -> tuple[str, ...]:
        return self.collection.columns

    @property
    def readers(self) -> tuple[Reader, ...]:
        return self.collection.readers

    def rows(self) -> Iterator[pa.RecordBatch]:
        return self.collection.rows()

    def describe(self) -> dict[str, Any]:
        known = self.collection.describe()
        return {
            "name": known["name"],
            "code": known["text"],
            "id": known["id"],
            "form": self.form,
            "origin": known["origin"],
        }

    def contents(self) -> CodeContents:
        """Return the codes for display."""
        return CodeContents(self)

    def read(self, extra: Sequence[str] = ()) -> CodeColumn:
        """Read all codes, and the extra columns, into memory."""
        column, id_column = self.collection.text_column, self.collection.id_column
        table, where = self._whole([column, *([id_column] if id_column else []), *extra])
        codes = pa.concat_arrays([pa.array([], table.column(column).type), *table.column(column).chunks])
        ids = pa.chunked_array(
            [pa.Array.from_buffers(pa.int64(), len(codes), [None, pa.py_buffer(np.arange(len(codes)))])]
        )
        if id_column is not None and len(codes):
            ids = pa.chunked_array([as_ids(chunk, where=where) for chunk in table.column(id_column).chunks])
            check_ids(ids, name=self.name)
        present = np.asarray(codes.is_valid().to_numpy(zero_copy_only=False), np.bool_)
        bits = parse(codes, form=self.form, where=where)
        readers = self.collection.readers  # a CSV file is read a second time to find the type of an extra column
        types = common_schema(readers, [reader.settled(extra) for reader in readers]) if extra else pa.schema([])
        columns = {name: pa.chunked_array([], pa.null()) for name in extra}
        columns |= {one.name: table.column(one.name).cast(one.type) for one in types}
        return CodeColumn(bits, present, ids, columns)

    def _whole(self, names: Sequence[str]) -> tuple[pa.Table, Where]:
        """Read these columns of all files, unconverted; also return a function that describes the location of a row."""
        readers = self.collection.readers
        for reader in readers:
            for name in names:
                check_column(reader.schema, name, reader.name)
        schemas = [select(reader.schema, names) for reader in readers]
        whole = common_schema(readers, schemas) if schemas else pa.schema([(name, pa.string()) for name in names])
        parts = [
            pa.Table.from_batches([batch.select(schema.names) for batch in reader.batches(schema)], schema).cast(whole)
            for reader, schema in zip(readers, schemas, strict=True)
        ]
        firsts = np.cumsum([0, *(len(part) for part in parts)])

        def where(row: int) -> str:
            number = int(np.searchsorted(firsts, row, side="right")) - 1
            return readers[number].where(row - int(firsts[number]))

        return pa.concat_tables(parts) if parts else whole.empty_table(), where


def open_codes(
    source: Any,
    *,
    code: str | None = None,
    id: str | None = None,  # noqa: A002  (the user's word)
    form: Form = "auto",
) -> CodeSource:
    """Open the codes of a path (file, folder, glob), a list, a NumPy array, or Arrow data.

    A NumPy array contains integers (n), booleans (n, bits), or integers (n, words).

    >>> open_codes(["ff00", "ff01"]).read().bits.width
    16
    """
    if isinstance(source, CodeSource):
        return source
    check_choice("form", form, FORMS)
    if isinstance(source, np.ndarray):
        source = _of_array(source)
    elif isinstance(source, list | tuple) and source and all(isinstance(v, int | bytes | None) for v in source):
        source = _of_list(source)
    name, opened = open_readers(source)
    readers = tuple(reader for reader in opened if reader.schema.names)
    column, id_column = code or "code", id
    if readers:
        id_column = choose_id(readers[0].schema, id, readers[0].name)
        column = choose_code(readers[0].schema, code, readers[0].name, besides=id_column)
    for reader in readers[1:]:
        check_column(reader.schema, column, reader.name)
    collection = Collection(
        name=name, text_column=column, id_column=id_column,
        columns=tuple(dict.fromkeys(c for reader in readers for c in reader.schema.names)) or (column,),
        nbytes=0, rows_hint=None, on_bad_text="error", readers=readers, given=given_paths(source),
    )  # fmt: skip
    return CodeSource(collection=collection, form=form)


def choose_code(schema: pa.Schema, wanted: str | None, where: str, *, besides: str | None) -> str:
    """Return the requested column, else one with a usual name, else the only column that can hold codes.

    >>> choose_code(pa.schema([("id", pa.int64()), ("Hash", pa.string())]), None, "a.csv", besides="id")
    'Hash'
    """
    if wanted is not None:
        check_column(schema, wanted, where)
        if not _can_hold(schema.field(wanted).type):
            raise InputError(
                f"column {wanted!r} in {where} is {schema.field(wanted).type}; expected codes: "
                "text, whole numbers, or bytes."
            )
        return wanted
    able: list[str] = [f.name for f in schema if _can_hold(f.type) and not f.name.startswith("__index_level_")]
    for usual in USUAL_CODE_COLUMNS:
        if chosen := next((name for name in able if name.lower() == usual), None):
            return chosen
    able = [name for name in able if name != besides]
    if len(able) == 1:
        return able[0]
    found = f"{len(able)} columns could be the codes" if able else "no column holds codes"
    raise UsageError(f"{found} in {where}; give `code=COL`. Columns: {listed(schema.names)}.")


def _can_hold(dtype: pa.DataType) -> bool:
    return is_text(dtype) or bool(pa.types.is_integer(dtype) or pa.types.is_fixed_size_binary(dtype))


def _of_array(array: npt.NDArray[Any]) -> pa.Array:
    if array.dtype == np.bool_ and array.ndim == 2:
        array = np.packbits(array, axis=1, bitorder="little")
    if array.dtype.kind not in "iu" or array.ndim not in (1, 2):
        raise UsageError(
            f"codes came as an array of {array.dtype} with {array.ndim} dimensions; expected whole numbers (n) or "
            "(n, words), or booleans (n, bits)."
        )
    if array.ndim == 1:
        return pa.array(array)
    rows = np.ascontiguousarray(array)
    size = rows.shape[1] * rows.itemsize
    return pa.Array.from_buffers(pa.binary(size), len(rows), [None, pa.py_buffer(rows)])


def _of_list(values: Sequence[Any]) -> pa.Array:
    try:
        if any(isinstance(value, int) and value >= 1 << 63 for value in values):
            return pa.array(values, pa.uint64())
        return pa.array(values)
    except (pa.ArrowException, OverflowError, TypeError) as error:
        raise UsageError(
            "the list of codes holds numbers of more than 64 bits or several kinds of values; expected whole numbers, "
            "or bytes or hexadecimal text of one length."
        ) from error


@dataclass(frozen=True)
class CodeContents:
    """The codes of a source for display, by row number."""

    source: CodeSource

    def ids(self) -> pa.ChunkedArray | None:
        return self.source.collection.ids()

    @cached_property
    def _column(self) -> pa.ChunkedArray:
        collection = self.source.collection
        return pa.chunked_array([batch.column(collection.text_column) for batch in collection.rows()])

    def take(self, rows: Iterable[int]) -> dict[int, Content]:
        return {row: {"text": _shown(self._column[row].as_py())} for row in rows if row < len(self._column)}


def _shown(value: Any) -> str:
    """Format a code for display: text unchanged, numbers and bytes as hexadecimal digits."""
    if isinstance(value, bytes):
        return value.hex()
    return f"{value & 0xFFFFFFFFFFFFFFFF:016x}" if isinstance(value, int) else str(value or "")
