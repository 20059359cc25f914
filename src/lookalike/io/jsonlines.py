"""JSON lines, parsed in blocks on several threads: by Arrow where it can, else line by line.

Arrow's parser is fast but refuses what JSON allows (a lone surrogate, a column of numbers and strings) and does not
name the line. So a block that it refuses is read again by the standard library.
"""

from __future__ import annotations

import json
import threading
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.json as pj

from lookalike.errors import InputError
from lookalike.io.ahead import in_order
from lookalike.io.lines import blocks
from lookalike.io.names import name_in_input, with_unique_names
from lookalike.io.paths import compression_of
from lookalike.io.reader import Reader, reading, select, without_first

# What is read to find the columns and their types.
PEEK_BYTES = 1 << 20
WORDS = {list: "an array", dict: "an object", str: "a string", bool: "a boolean", type(None): "null"}


class JsonLines(Reader):
    """A file with one JSON object a line (perhaps compressed); blank lines do not count.

    A column whose values are not all of one type is text; what is not a string in it becomes its JSON text.
    """

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        self._path = path
        self.paths = (path,)
        with reading(name, "JSON lines"):
            line, block = next(blocks(path, size=PEEK_BYTES), (1, b""))
        if block.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
            raise InputError(
                f"{name} holds a JSON array; expected JSON lines: one object a line, as `jq -c '.[]' {name}` prints."
            )
        self.schema = with_unique_names(_final(self._infer((line, block))))
        self._seekable, self._marking = compression_of(path) is None, threading.Lock()
        self._marks = [(0, 1, 0)]  # row, line and byte at which a block begins, of those that were read

    def batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        return self.batches_from(schema, 0)

    def batches_from(self, schema: pa.Schema, start: int) -> Iterator[pa.RecordBatch]:
        """Begins with the block that holds `start`, where it was read before and the file is not compressed."""
        row, line, offset = self._mark_before(start)
        keys = pa.schema([field.with_name(name_in_input(field)) for field in schema])  # a key may be empty

        def parse(block: tuple[int, bytes]) -> tuple[pa.Table, int, int]:
            table = self._parse(block, keys).rename_columns(schema.names)
            return table, block[1].count(b"\n"), len(block[1])

        with reading(self.name, "JSON lines"):
            for table, lines, nbytes in in_order(parse, blocks(self._path, line=line, offset=offset)):
                yield from without_first(table.combine_chunks().to_batches(), max(0, start - row))
                row, line, offset = row + table.num_rows, line + lines, offset + nbytes
                self._mark(row, line, offset)

    def _mark_before(self, row: int) -> tuple[int, int, int]:
        with self._marking:
            return self._marks[bisect_right(self._marks, row, key=lambda mark: mark[0]) - 1]

    def _mark(self, row: int, line: int, offset: int) -> None:
        with self._marking:
            if self._seekable and row > self._marks[-1][0]:
                self._marks.append((row, line, offset))

    def settled(self, names: Sequence[str]) -> pa.Schema:
        """Reads the whole file the first time, if there are names."""
        return select(self._whole_schema, names) if names else pa.schema([])

    def row_schema(self) -> pa.Schema:
        """Also the columns that come up late. Reads the whole file the first time."""
        return self._whole_schema

    def size(self, names: Sequence[str]) -> int:
        return self._path.stat().st_size

    @cached_property
    def _whole_schema(self) -> pa.Schema:
        whole = pa.schema([])
        try:
            with reading(self.name, "JSON lines"):
                for schema in in_order(self._infer, blocks(self._path)):
                    whole = _merge(whole, schema)
        except InputError:
            if self.damaged is None:
                raise
        return with_unique_names(_final(whole))

    def where(self, row: int) -> str:
        """Reads the file up to this row."""
        before = 0
        for first, block in blocks(self._path):
            for line, raw in enumerate(block.split(b"\n"), first):
                if raw.strip():
                    if before == row:
                        return f"{self.name} line {line}"
                    before += 1
        return super().where(row)

    def _infer(self, numbered: tuple[int, bytes]) -> pa.Schema:
        try:
            return _read(numbered[1], None, "infer").schema
        except pa.ArrowInvalid:
            records = [record for _, record in self._records(*numbered)]
            names = dict.fromkeys(name for record in records for name in record)
            return pa.schema([(name, _type_of([record.get(name) for record in records])) for name in names])

    def _parse(self, numbered: tuple[int, bytes], schema: pa.Schema) -> pa.Table:
        try:
            return _read(numbered[1], schema, "ignore")
        except pa.ArrowInvalid:
            records = list(self._records(*numbered))
            return pa.table([self._column(records, field) for field in schema], schema=schema)

    def _records(self, line: int, block: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
        for number, raw in enumerate(block.removeprefix(b"\xef\xbb\xbf").split(b"\n"), line):
            if not raw.strip():
                continue
            try:
                # Bytes that are no UTF-8 pass here as lone surrogates and come out of `_to_bytes` as they were.
                record = json.loads(raw.decode("utf-8", "surrogateescape"), strict=False)
            except ValueError as error:
                reason: object = error
                if isinstance(error, json.JSONDecodeError):
                    reason = f"{error.msg.removesuffix(' at')} at column {error.colno}"
                raise InputError(f"{self.name} line {number}: not valid JSON ({reason}).") from error
            except RecursionError as error:
                raise InputError(f"{self.name} line {number}: nested too deeply.") from error
            if not isinstance(record, dict):
                raise InputError(f"{self.name} line {number}: expected a JSON object, found {_word(record)}.")
            yield number, record

    def _column(self, records: list[tuple[int, dict[str, Any]]], field: pa.Field) -> pa.Array:
        values = [record.get(field.name) for _, record in records]
        if pa.types.is_string(field.type):
            return pa.array([_to_bytes(value) for value in values], pa.binary()).view(pa.string())
        values = [_clean(value) for value in values]
        try:
            return pa.array(values, field.type)
        except (pa.ArrowException, ValueError, TypeError, OverflowError):
            for (number, _), value in zip(records, values, strict=True):
                if not _fits(value, field.type):
                    raise InputError(
                        f"{self.name} line {number}: column {field.name!r} is {_word(value)}; "
                        f"expected {field.type} as in the lines before."
                    ) from None
            raise


def _read(block: bytes, schema: pa.Schema | None, unexpected: str) -> pa.Table:
    return pj.read_json(
        pa.BufferReader(block),
        read_options=pj.ReadOptions(use_threads=False, block_size=len(block) + 1),
        parse_options=pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior=unexpected),
    )


def _merge(left: pa.Schema, right: pa.Schema) -> pa.Schema:
    """All columns of both, in the order of their first use; a column whose types have nothing in common is text."""
    if left.equals(right):
        return left
    types = {field.name: field.type for field in left}
    for field in right:
        types[field.name] = _common(types[field.name], field.type) if field.name in types else field.type
    return pa.schema(list(types.items()))


def _common(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    both = [pa.schema([("", _without_times(dtype))]) for dtype in (left, right)]
    try:
        return pa.unify_schemas(both, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return pa.string()


def _final(schema: pa.Schema) -> pa.Schema:
    return pa.schema([(field.name, _without_times(field.type, null=pa.string())) for field in schema])


def _without_times(dtype: pa.DataType, null: pa.DataType | None = None) -> pa.DataType:
    """JSON has no times: what Arrow takes for one is a string that must come out again as it went in."""
    if pa.types.is_timestamp(dtype):
        return pa.string()
    if pa.types.is_null(dtype):
        return dtype if null is None else null
    if pa.types.is_list(dtype):
        return pa.list_(_without_times(dtype.value_type, null))
    if pa.types.is_struct(dtype):
        return pa.struct([(field.name, _without_times(field.type, null)) for field in dtype])
    return dtype


def _type_of(values: list[Any]) -> pa.DataType:
    try:
        return pa.array([_clean(value) for value in values]).type
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return pa.string()


def _fits(value: Any, dtype: pa.DataType) -> bool:
    try:
        pa.array([value], dtype)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return False
    return True


def _word(value: Any) -> str:
    return WORDS.get(type(value), "a number")


def _to_bytes(value: Any) -> bytes | None:
    """UTF-8 of a string; lone surrogates stay what they are, to be found as bad text later."""
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _clean(value: Any) -> Any:
    """The value with U+FFFD for lone surrogates inside of lists and objects, which Arrow refuses."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return value
