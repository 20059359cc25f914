"""Reader of JSON Lines, parsed in blocks on several threads: by Arrow if possible, else line by line.

Arrow's parser is fast, but refuses what JSON allows (a lone surrogate, a column of numbers and strings) and does not
name the line. So a block that it refuses is parsed again by the standard library.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json as pj

from lookalike.errors import InputChanged, InputError
from lookalike.io.json_array import array_blocks, begins_array
from lookalike.io.json_types import (
    ODD_NUMBER,
    Inferred,
    common_type,
    has_float,
    infer_records,
    is_wide,
    odd_numbers,
    type_of,
    width,
    without_times,
    word,
)
from lookalike.io.names import name_in_input, with_unique_names
from lookalike.io.paths import compression_of
from lookalike.io.plain_text import BOM, Mark, Marks, blocks, line_spans
from lookalike.io.prefetch import in_order
from lookalike.io.reader import (
    TARGET_BYTES,
    UNDER_WAY_BYTES,
    ByteReader,
    RawRows,
    ReadLimit,
    encoding_of,
    reading,
    select,
    without_first,
)
from lookalike.io.unchanged import watched

# Bytes that are read to find the columns and their types.
PEEK_BYTES = 1 << 20
MAX_COLUMNS = 10_000  # maximum columns of a table from JSON Lines
MAX_CELLS = 1 << 22  # maximum rows times columns of a batch
AS_JSON = "Write JSON lines (.jsonl), which keeps rows as they are."


class JsonLines(ByteReader):
    """A file with one JSON object per line (blank lines are skipped), or one array of objects, optionally compressed.

    A column with values of several types is read as text, as the JSON text of each value; `row_schema` refuses it.
    """

    copied_as = "JSON lines"

    def __init__(self, path: Path, name: str, limit: ReadLimit | None = None, encoding: str | None = None) -> None:
        self.name = name
        self._path = path
        self.paths = (path,)
        self.limit = limit
        self._encoding = encoding_of(path, name, encoding, "JSON lines")
        with reading(name, "JSON lines"):
            self._is_array = begins_array(path, self._encoding)
        self._unit = "element" if self._is_array else "line"
        with reading(name, "JSON lines"):
            line, block = next(self._whole_lines(PEEK_BYTES), (1, b""))
        self.schema = with_unique_names(self._infer((line, block)).schema())
        self._seekable = compression_of(path) is None and self._encoding is None and not self._is_array
        self._marks = Marks()

    def batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        return self.batches_from(schema, 0)

    def batches_from(self, schema: pa.Schema, start: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows from `start` on; seeks to its block if that was read before and the file is not compressed."""
        row, line, offset = self._marks.before(start)
        keys = pa.schema([field.with_name(name_in_input(field)) for field in schema])  # a key may be empty

        def parse(block: tuple[int, bytes]) -> tuple[pa.Table, int, int]:
            table = self._parse(block, keys).rename_columns(schema.names)
            return table, block[1].count(b"\n"), len(block[1])

        with reading(self.name, "JSON lines"):
            for table, lines, nbytes in in_order(
                parse,
                _cut(self._blocks(line, offset), len(schema)),
                weight=lambda block: len(block[1]),
                most=UNDER_WAY_BYTES,
            ):
                yield from without_first(table.combine_chunks().to_batches(), max(0, start - row))
                row, line, offset = row + table.num_rows, line + lines, offset + nbytes
                if self._seekable:
                    self._marks.add(Mark(row, line, offset))

    def raw_rows(self) -> Iterator[RawRows]:
        with reading(self.name, "JSON lines"):
            for line, block in self._blocks():
                yield _objects(line, block)

    def head(self) -> bytes:
        with reading(self.name, "JSON lines"):
            return BOM if next(self._whole_lines(1 << 10), (1, b""))[1].startswith(BOM) else b""

    def _blocks(self, line: int = 1, offset: int = 0) -> Iterator[tuple[int, bytes]]:
        """Yield (number of the first line, whole lines), and compare the content with that of an earlier reading."""
        if offset:
            yield from self._whole_lines(line=line, offset=offset)
            return
        for block in watched(self, (block for _, block in self._whole_lines())):
            yield line, block
            line += block.count(b"\n")

    def _whole_lines(self, size: int | None = None, line: int = 1, offset: int = 0) -> Iterator[tuple[int, bytes]]:
        """Yield (number of the first line, whole lines); of an array, each element is a line."""
        size = size or TARGET_BYTES
        if self._is_array:
            return array_blocks(self._path, self.name, size=size, limit=self.limit, encoding=self._encoding)
        return blocks(self._path, size=size, line=line, offset=offset, limit=self.limit, encoding=self._encoding)

    def settled(self, names: Sequence[str]) -> pa.Schema:
        """Return the types of these columns. The first call reads the whole file, if names are given."""
        if len(names) > MAX_COLUMNS:
            raise InputError(self._too_wide(len(names)))
        return select(with_unique_names(self._whole.schema()), names) if names else pa.schema([])

    def row_schema(self) -> pa.Schema:
        """Return all columns, including those that first occur late in the file. The first call reads the whole file.

        Raises InputError, naming the line, if a value cannot be stored in its column without a change.
        """
        whole = self._whole
        refused = dict(whole.refused)
        for name, (line, number) in whole.inexact.items():
            if name not in whole.mixed and has_float(whole.types[name]):
                refused.setdefault(name, (line, f"{number}, among numbers with a fraction, would become another one"))
        for name, (line, why) in refused.items():
            what = f"column {name!r}: {why}" if name else why
            raise InputError(f"{self.name} {self._unit} {line}: {what}. {AS_JSON}")
        for name in (name for name in whole.types if name in whole.mixed):
            line, value = self._misfit(name)
            before = f"{self._unit}s"
            raise InputError(
                f"{self.name} {self._unit} {line}: column {name!r} is {word(value)}, unlike the {before} before; a "
                f"table has one type for each column. {AS_JSON}"
            )
        schema = whole.schema()
        if (columns := sum(width(column.type) for column in schema)) > MAX_COLUMNS:
            raise InputError(self._too_wide(columns))
        return with_unique_names(schema)

    def _too_wide(self, columns: int) -> str:
        return (
            f"{self.name} has {columns:,} different keys; a table would need a column for each (at most "
            f"{MAX_COLUMNS:,}). Are ids used as keys? {AS_JSON}"
        )

    def size(self, names: Sequence[str]) -> int:
        return self._path.stat().st_size

    @cached_property
    def _whole(self) -> Inferred:
        whole = Inferred()
        try:
            with reading(self.name, "JSON lines"):
                for inferred in in_order(self._infer_strictly, self._blocks()):
                    whole.add(inferred)
        except InputError:
            if self.damaged is None:
                raise
        return whole

    def _misfit(self, name: str) -> tuple[int, Any]:
        """Return (line, value) of the first value of a column that has no common type with those before."""
        known: pa.DataType | None = pa.null()
        records = (record for numbered in self._blocks() for record in self._records(*numbered))
        for number, record in records:
            dtype = type_of([record.get(name)])
            known = None if dtype is None or known is None else common_type(known, dtype)
            if known is None:
                return number, record[name]
        raise InputChanged(self.name)

    def where(self, row: int) -> str:
        """Return the file and line of a row. Reads the file up to this row."""
        before = 0
        for first, block in self._whole_lines():
            for line, raw in enumerate(block.split(b"\n"), first):
                if raw.strip():
                    if before == row:
                        return f"{self.name} {self._unit} {line}"
                    before += 1
        return super().where(row)

    def _infer(self, numbered: tuple[int, bytes]) -> Inferred:
        line, block = numbered
        if not is_wide(block):
            try:
                schema = _read(_without_mark(line, block), None, "infer").schema
                return Inferred({column.name: without_times(column.type) for column in schema})
            except (pa.ArrowInvalid, UnicodeDecodeError):  # the latter if a key is not UTF-8
                pass
        repeated: list[tuple[int, str]] = []
        inferred = infer_records(self._records(line, block, repeated))
        if repeated:
            number, key = repeated[0]
            inferred.refused.setdefault("", (number, f"the key {key!r} is repeated in an object"))
        return inferred

    def _infer_strictly(self, numbered: tuple[int, bytes]) -> Inferred:
        """Infer the columns, and also find numbers beyond Arrow's types, which its parser does not report."""
        inferred = self._infer(numbered)
        line, block = numbered
        if ODD_NUMBER.search(block):
            for number, raw in enumerate(block.split(b"\n"), line):
                if ODD_NUMBER.search(raw):
                    for _, record in self._records(number, raw):
                        inexact, beyond = odd_numbers(record)
                        for name, what in inexact.items():
                            inferred.inexact.setdefault(name, (number, what))
                        for name, what in beyond.items():
                            inferred.refused.setdefault(name, (number, f"{what} is beyond the numbers of 64 bits"))
        return inferred

    def _parse(self, numbered: tuple[int, bytes], schema: pa.Schema) -> pa.Table:
        line, block = numbered
        objects = _objects(line, block)
        if not len(objects):
            return schema.empty_table()
        try:
            table = _read(_without_mark(line, block), schema, "ignore")
            if len(objects) == table.num_rows and objects.lines_begin_with_braces():
                return table
        except pa.ArrowInvalid:
            pass
        records = list(self._records(*numbered))
        return pa.table([self._column(records, column) for column in schema], schema=schema)

    def _records(
        self, line: int, block: bytes, repeated: list[tuple[int, str]] | None = None
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the objects with their line numbers. repeated: receives (line, key) of keys that are repeated."""
        for number, raw in enumerate(_without_mark(line, block).split(b"\n"), line):
            if not raw.strip():
                continue
            try:
                # Bytes that are not UTF-8 become lone surrogates here, and `_to_bytes` restores them.
                hook = None if repeated is None else _noting(repeated, number)
                record = json.loads(raw.decode("utf-8", "surrogateescape"), strict=False, object_pairs_hook=hook)
            except ValueError as error:
                reason: object = error
                if isinstance(error, json.JSONDecodeError):
                    reason = f"{error.msg.removesuffix(' at')} at column {error.colno}"
                raise InputError(f"{self.name} {self._unit} {number}: not valid JSON ({reason}).") from error
            except RecursionError as error:
                raise InputError(f"{self.name} {self._unit} {number}: nested too deeply.") from error
            if not isinstance(record, dict):
                raise InputError(f"{self.name} {self._unit} {number}: expected a JSON object, found {word(record)}.")
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
                        f"{self.name} {self._unit} {number}: column {field.name!r} is {word(value)}; "
                        f"expected {field.type} as in the {self._unit}s before."
                    ) from None
            raise


def _read(block: bytes, schema: pa.Schema | None, unexpected: str) -> pa.Table:
    if not block.lstrip().startswith(b"{"):  # the parser of Arrow 26 ends the process for `null` in the first place
        raise pa.ArrowInvalid("the first row is no object")
    return pj.read_json(
        pa.BufferReader(block),
        read_options=pj.ReadOptions(use_threads=False, block_size=len(block) + 1),
        parse_options=pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior=unexpected),
    )


class _Objects(RawRows):
    """The non-blank lines of a block."""

    def lines_begin_with_braces(self) -> bool:
        """Return whether every line begins an object; if there are as many objects as lines, each line then holds one.

        (An object that continues on the next line continues with another character.)
        """
        first = np.frombuffer(self.data, np.uint8)[self.starts]
        odd = np.flatnonzero(first != ord("{"))
        return all(self.data[self.starts[i] : self.ends[i]].lstrip().startswith(b"{") for i in odd)


def _objects(line: int, block: bytes) -> _Objects:
    starts, ends = line_spans(block)
    starts[:1] += len(block) - len(_without_mark(line, block))
    given = np.frombuffer(block + b"\n", np.uint8)
    odd = np.flatnonzero(given[starts] != ord("{"))
    blank = [i for i in odd.tolist() if not block[starts[i] : ends[i]].strip()]
    return _Objects(block, np.delete(starts, blank), np.delete(ends, blank))


def _cut(numbered: Iterable[tuple[int, bytes]], columns: int) -> Iterator[tuple[int, bytes]]:
    """Split blocks so that each has at most MAX_CELLS rows times columns."""
    most = max(1, MAX_CELLS // max(1, columns))
    for line, block in numbered:
        if block.count(b"\n") <= most:
            yield line, block
            continue
        _, ends = line_spans(block)
        cuts = [0, *ends[most - 1 : -1 : most].tolist(), len(block)]
        for number, (start, end) in enumerate(pairwise(cuts)):
            yield line + number * most, block[start:end]


def _without_mark(line: int, block: bytes) -> bytes:
    """Remove the byte order mark at the beginning of a file."""
    return block.removeprefix(BOM) if line == 1 else block


def _noting(repeated: list[tuple[int, str]], line: int) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    """Return an `object_pairs_hook` that records keys which an object has twice."""

    def hook(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        record = dict(pairs)
        if len(record) < len(pairs):
            keys = [key for key, _ in pairs]
            repeated.append((line, next(key for key in keys if keys.count(key) > 1)))
        return record

    return hook


def _fits(value: Any, dtype: pa.DataType) -> bool:
    try:
        pa.array([value], dtype)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return False
    return True


def _to_bytes(value: Any) -> bytes | None:
    """Encode a string as UTF-8, other values as JSON; lone surrogates are preserved, to be found as bad text later."""
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _clean(value: Any) -> Any:
    """Replace lone surrogates, which Arrow refuses, by U+FFFD, at any depth of lists and objects."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return value
