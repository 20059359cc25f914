"""Read columns of bit codes: hexadecimal or 0/1 text, integers, or bytes, all of one length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
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
from lookalike.kinds.bits.formats import FORMS, ONE_LENGTH, Form, looks_binary, parse
from lookalike.runtime.local.checkpoints import FeatureChunk
from lookalike.runtime.local.text_pass import ID

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

    @property
    def has_files(self) -> bool:
        """Whether the codes are in files, so that another process can read them again."""
        return self.collection.has_files

    def about(self, extra: Sequence[str]) -> dict[str, Any]:
        """Return everything that the stored codes depend on."""
        column, id_column = self.collection.text_column, self.collection.id_column
        return {
            "holds": "codes", "noun": "codes", "name": self.name, "options": {"form": self.form},
            "columns": [column, id_column, *extra], "files": self.collection.stamp(),
        }  # fmt: skip

    def settled_form(self) -> Form:
        """Return the form of the codes: in text of 0 and 1 only, the whole column decides."""
        if self.form != "auto":
            return self.form
        column, found = self.collection.text_column, False
        for batch, _ in self._batches([column], 0):
            dtype = batch.column(0).type
            if not is_text(dtype) or pa.types.is_binary(dtype) or pa.types.is_large_binary(dtype):
                return "auto"
            if not looks_binary(batch.column(0)):
                return "hex"
            found = found or batch.column(0).null_count < len(batch)
        return "binary" if found else "auto"

    def stored_pieces(self, extra: Sequence[str], start: int, width: list[int]) -> Iterator[FeatureChunk]:
        """Yield the codes from row `start` on, with a mask of the non-null rows, the ids and the extra columns.

        width: holds the number of bits of a code, once it is known.
        """
        column, id_column = self.collection.text_column, self.collection.id_column
        form, owed = self.settled_form(), 0 if width else start
        for batch, where in self._batches([column, *([id_column] if id_column else []), *extra], start):
            values = batch.column(column)
            present = np.asarray(values.is_valid().to_numpy(zero_copy_only=False), np.bool_)
            bits = parse(values, form=form, where=where)
            if present.any():
                if not width:
                    width.append(bits.width)
                if bits.width != width[0]:
                    raise InputError(
                        f"{where(int(np.flatnonzero(present)[0]))}: the code has {bits.width} bits where the first has "
                        f"{width[0]}; {ONE_LENGTH}"
                    )
            owed += 0 if width else len(values)  # nulls before the first code: their zeros are written with it
            words = bits.words
            if width and not present.any():
                words = np.zeros((len(values), -(-width[0] // 64)), np.uint64)
            if width and owed:
                words, owed = np.concatenate([np.zeros((owed, words.shape[1]), np.uint64), words]), 0
            if not width:
                words = words[:0]
            ids = pa.nulls(len(values)) if id_column is None else as_ids(batch.column(id_column), where=where)
            columns = {ID: ids} | {name: batch.column(name) for name in extra}
            yield FeatureChunk(
                {"words": words.reshape(-1), "present": present.view(np.uint8)}, pa.record_batch(columns),
                {"codes": len(values), "null_texts": int((~present).sum())},
            )  # fmt: skip

    def _batches(self, names: Sequence[str], start: int) -> Iterator[tuple[pa.RecordBatch, Where]]:
        """Yield the columns of all files from row `start` on, in one schema; also what describes the place of a row."""
        readers = self.collection.readers
        for reader in readers:
            for name in names:
                check_column(reader.schema, name, reader.name)
        schemas = [select(reader.schema, names) for reader in readers]
        own = (self.collection.text_column, self.collection.id_column)
        if extra := [name for name in names if name not in own]:  # in their settled types
            settled = [reader.settled(extra) for reader in readers]
            schemas = [
                pa.schema([(one if name in own else other).field(name) for name in names])
                for one, other in zip(schemas, settled, strict=True)
            ]
        whole = common_schema(readers, schemas)
        before = 0
        for reader, schema in zip(readers, schemas, strict=True):
            row = max(0, start - before) if reader.rows is None else min(max(0, start - before), reader.rows)
            for batch in reader.batches_from(schema, row):
                first = row
                yield batch.select(names).cast(whole), partial(_where, reader, first)
                row += len(batch)
            reader.rows = row
            before += row

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


def _where(reader: Reader, first: int, row: int) -> str:
    return reader.where(first + row)


def open_codes(
    source: Any,
    *,
    column: str | None = None,
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
    code_column, id_column = column or "code", id
    if readers:
        id_column = choose_id(readers[0].schema, id, readers[0].name)
        code_column = choose_code(readers[0].schema, column, readers[0].name, besides=id_column)
    for reader in readers[1:]:
        check_column(reader.schema, code_column, reader.name)
    collection = Collection(
        name=name, text_column=code_column, id_column=id_column,
        columns=tuple(dict.fromkeys(c for reader in readers for c in reader.schema.names)) or (code_column,),
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
    raise UsageError(f"{found} in {where}; give `column=COL`. Columns: {listed(schema.names)}.")


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
