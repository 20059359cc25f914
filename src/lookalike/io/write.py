"""Write tables to files, batch by batch, in the format of the extension."""

from __future__ import annotations

import gzip
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv
import pyarrow.parquet as pq

from lookalike.errors import OutputError, UsageError
from lookalike.io.atomic import check_output, one_column_only, replacing
from lookalike.io.canonical import canonical, canonical_type, converted, for_parquet, parquet_type, retyped
from lookalike.io.exact_text import NotWritable, exact_text, has_exact_text
from lookalike.io.json_rows import json_lines, json_text
from lookalike.io.paths import KNOWN, compression_of, kind_of
from lookalike.io.reader import nbytes_of
from lookalike.io.safe_cells import safe_cells, without_formulas
from lookalike.io.texts import is_text

# Large enough for good compression, small enough to be held in memory.
ROW_GROUP_BYTES = 32 << 20

Batches = Iterable[pa.RecordBatch]
Write = Callable[[pa.RecordBatch], None]


def write_table(
    data: pa.Table | pa.RecordBatch | Batches,
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    where: Callable[[int], str] = "row {}".format,
) -> None:
    """Write a table, or a stream of batches with one schema, in the format of the extension.

    The file appears only when it is complete and on disk; after a failure nothing is left.
    Raises OutputError for a value that would not read back unchanged. where: describes row numbers for messages.
    """
    path = Path(path)
    if not path.suffix:
        raise UsageError(f"{path} has no extension. Known: {KNOWN}.")
    check_output(path, force=force)
    with replacing(path, force=force) as draft:
        if isinstance(data, pa.Table):
            draft.nbytes = nbytes_of(data)
        schema, batches = _with_schema(data)
        kind = str(kind_of(path))
        retype, convert = _STORED.get(kind, (canonical_type, canonical))
        with _open(draft.path, path) as file, _FORMATS[kind](file, retyped(schema, retype), path) as write:
            row = 0
            for batch in batches:
                if not isinstance(data, pa.Table):
                    draft.nbytes += nbytes_of(batch)
                try:
                    write(converted(batch, convert))
                except NotWritable as error:
                    raise OutputError(
                        f"{path}: column {error.column!r} of {where(row + error.row)} {error.reason}. {_instead(kind)}"
                    ) from error
                row += len(batch)


def _instead(kind: str) -> str:
    return "Use .parquet or .arrow." if kind != "text lines" else "Use .jsonl, .parquet or .arrow."


# Conversions of types and columns to what a format can hold; text formats use canonical types.
_STORED: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "Parquet": (parquet_type, for_parquet),
    "Arrow": (lambda dtype: dtype, lambda column: column),
}


def write_bytes(pieces: Iterable[bytes], path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write bytes that already are in the format of the extension, compressed as the extension says, atomically."""
    path = Path(path)
    check_output(path, force=force)
    with replacing(path, force=force) as draft, _open(draft.path, path) as file:
        for piece in pieces:
            draft.nbytes += len(piece)
            file.write(piece)


def _with_schema(data: pa.Table | pa.RecordBatch | Batches) -> tuple[pa.Schema, Batches]:
    if isinstance(data, pa.RecordBatch):
        return data.schema, [data]
    if isinstance(data, pa.Table):
        return data.schema, data.to_batches(max_chunksize=1 << 16)
    if isinstance(data, pa.RecordBatchReader):
        return data.schema, data
    batches = iter(data)
    first = next(batches, None)
    return (pa.schema([]), []) if first is None else (first.schema, chain([first], batches))


@contextmanager
def _open(temporary: Path, path: Path) -> Iterator[Any]:
    if compression_of(path) == "gzip":
        # Arrow has only the slowest level. Without name and time, the same rows give the same file.
        with open(temporary, "wb") as raw, gzip.GzipFile("", "wb", 6, raw, 0) as file:
            yield file
    else:
        with pa.output_stream(pa.OSFile(os.fsencode(temporary), "wb"), compression=compression_of(path)) as file:
            yield file


@contextmanager
def _parquet(file: Any, schema: pa.Schema, path: Path) -> Iterator[Write]:
    waiting: list[pa.RecordBatch] = []

    def write(batch: pa.RecordBatch) -> None:
        waiting.append(batch)
        if sum(nbytes_of(one) for one in waiting) >= ROW_GROUP_BYTES:
            writer.write_table(pa.Table.from_batches(waiting, schema))
            waiting.clear()

    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        yield write
        writer.write_table(pa.Table.from_batches(waiting, schema))


@contextmanager
def _arrow(file: Any, schema: pa.Schema, path: Path) -> Iterator[Write]:
    # Uncompressed, so that readers can memory-map the file.
    with pa.ipc.new_file(file, schema) as writer:
        yield writer.write_batch


@contextmanager
def _delimited(file: Any, schema: pa.Schema, path: Path) -> Iterator[Write]:
    names = without_formulas(pa.array(schema.names, pa.string())).to_pylist() if safe_cells.get() else schema.names
    types = [_flat(pa.nulls(0, field.type), field.name).type for field in schema]
    flat = pa.schema(list(zip(names, types, strict=True)))
    options = pv.WriteOptions(delimiter="\t" if kind_of(path) == "TSV" else ",")
    with pv.CSVWriter(file, flat, write_options=options) as writer:

        def write(batch: pa.RecordBatch) -> None:
            columns = flat_columns(batch)
            if safe_cells.get():
                columns = [
                    without_formulas(column).cast(field.type) for column, field in zip(columns, flat, strict=True)
                ]
            writer.write_batch(pa.record_batch(columns, schema=flat))

        yield write


def flat_columns(batch: pa.RecordBatch) -> list[pa.Array]:
    """Return columns as CSV holds them: numbers, booleans and text. Raises NotWritable for other values."""
    columns = [_flat(column, name) for name, column in zip(batch.schema.names, batch.columns, strict=True)]
    if len(columns) == 1:
        name = batch.schema.names[0]
        _refuse_rows(columns[0].is_null(), name, "is null, which is a blank line with one column only")
    return columns


def _flat(column: pa.Array, name: str) -> pa.Array:
    """Convert values for the CSV writer: lists and objects as JSON, dates and similar types as exact text.

    Text is returned in the one type that the writer accepts without validation.
    """
    dtype = column.type
    try:
        if has_exact_text(dtype):
            return exact_text(column, separator=" ")
        if pa.types.is_nested(dtype) or pa.types.is_interval(dtype):
            return json_text(column)
    except NotWritable as error:
        error.column = name
        raise
    if (is_text(dtype) and not pa.types.is_null(dtype)) or pa.types.is_fixed_size_binary(dtype):
        return column.cast(pa.large_binary()).view(pa.large_string())
    return column


def _refuse_rows(wrong: pa.Array, name: str, reason: str) -> None:
    """Raise NotWritable for the first row where `wrong` is true; null counts as false."""
    row = pc.index(wrong, True).as_py()
    if row >= 0:
        raise NotWritable(row, reason, name)


@contextmanager
def _json(file: Any, schema: pa.Schema, path: Path) -> Iterator[Write]:
    repeated = [name for name, count in Counter(schema.names).items() if count > 1]
    if repeated:
        raise OutputError(
            f"{path}: several columns are named {repeated[0]!r}, and a JSON object holds one value under a name. "
            "Use .csv or .parquet, or rename them."
        )
    yield lambda batch: file.write(json_lines(batch))


@contextmanager
def _lines(file: Any, schema: pa.Schema, path: Path) -> Iterator[Write]:
    if len(schema) != 1 or not is_text(schema.field(0).type):
        raise OutputError(one_column_only(path, schema.names))

    def write(batch: pa.RecordBatch) -> None:
        texts = batch.column(0).cast(pa.large_binary())
        name = schema.names[0]
        _refuse_rows(texts.is_null(), name, "is null, which a text file cannot tell from an empty line")
        _refuse_rows(pc.match_substring_regex(texts, r"\n|\r$"), name, "has a line break, but each line is a document")
        file.write(b"".join(text + b"\n" for text in texts.to_pylist()))

    yield write


_FORMATS: dict[str, Callable[[Any, pa.Schema, Path], AbstractContextManager[Write]]] = {
    "Parquet": _parquet,
    "Arrow": _arrow,
    "JSON lines": _json,
    "CSV": _delimited,
    "TSV": _delimited,
    "text lines": _lines,
}
