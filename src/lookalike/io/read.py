"""Open any source of documents as a Collection."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from lookalike.core.arrays import check_choice
from lookalike.errors import InputError, LookalikeError, UsageError
from lookalike.io.addresses import shown
from lookalike.io.collection import Collection, OnBadFile
from lookalike.io.columnar import ArrowFile, ParquetFile, TableInMemory
from lookalike.io.columns import check_id, check_text, choose_id, choose_text
from lookalike.io.delimited import Delimited
from lookalike.io.files import USUAL_FORM, TextForm, form_of
from lookalike.io.jsonlines import JsonLines
from lookalike.io.nested import with_nested
from lookalike.io.origin import given_paths
from lookalike.io.paths import BINARY, TEXT_FILES, TextReading, find
from lookalike.io.plain_text import TextFiles, TextLines
from lookalike.io.python_sources import plain_source
from lookalike.io.reader import Reader, ReadLimit, select
from lookalike.io.texts import ON_BAD_TEXT, OnBadText, is_text, kind_of_text

FIRST_VALUES = 1000  # of a column, to see whether they are numbers
ON_BAD_FILE = ("error", "skip")
EXPECTED_SOURCES = "a path, a list of paths, texts, token lists or dicts, or Arrow data such as a table or a data frame"


def open_collection(
    source: Any,
    *,
    text: str | None = None,
    id: str | None = None,  # noqa: A002  (the user's word)
    on_bad_text: OnBadText = "error",
    on_bad_file: OnBadFile = "error",
    lines: bool | None = None,
    markup: bool = False,
    limit: ReadLimit | None = None,
) -> Collection:
    """Open documents as a collection.

    source: a path (file, folder, glob), a list of `Path`, a list of texts or of token lists, or anything that exports
    Arrow data (pyarrow, pandas, Polars, DuckDB; a stream is read into memory). A list of `str` is a list of texts.
    Opening reads headers, not data. `text` and `id` name columns, or fields within
    columns of structs, as in "meta.text"; the defaults are the usual names, and row numbers if
    there is no column 'id' (id="none" requests them). Bad text is text that is not UTF-8: it is an error, or repaired
    with U+FFFD ("replace"), or counts as empty ("skip"). A bad file is an error, or its unreadable part is omitted and
    listed ("skip"). lines: read text files line by line (True) or each as one document (False); None reads a text file
    that is the only input line by line, and others as one document each. markup: read HTML files as they are, not the
    text that they show. limit: refuses long records before they are read.

    >>> collection = open_collection(["one text", "another"])
    >>> [batch.texts.to_pylist() for batch in collection.texts()]
    [['one text', 'another']]
    """
    if isinstance(source, Collection):
        return source
    check_choice("on_bad_text", on_bad_text, ON_BAD_TEXT)
    check_choice("on_bad_file", on_bad_file, ON_BAD_FILE)
    left_out: list[str] | None = [] if on_bad_file == "skip" else None
    reading: TextReading = "auto" if lines is None else "lines" if lines else "files"
    name, opened = open_readers(source, left_out, text=reading, markup=markup, limit=limit)
    readers = [reader for reader in opened if reader.schema.names]
    text_column, id_column = text or "text", id
    columns = tuple(dict.fromkeys(c for reader in readers for c in reader.schema.names))
    readers = with_nested(readers, [name for name in (text, id) if name is not None])
    if readers:
        first = readers[0]
        id_column = choose_id(first.schema, id, first.name)
        text_column = choose_text(
            first.schema, text, first.name, besides=id_column, only_numbers=partial(only_numbers, first)
        )
    for reader in readers[1:]:
        check_text(reader.schema, text_column, reader.name)
        _check_alike(first, reader, text_column, kind_of_text)
        if id_column is not None:
            check_id(reader.schema, id_column, reader.name)
            _check_alike(first, reader, id_column, is_text)
    rows = [reader.rows for reader in readers]
    return Collection(
        name=name,
        text_column=text_column,
        id_column=id_column,
        columns=columns or (text_column,),
        nbytes=sum(reader.size([text_column]) for reader in readers),
        rows_hint=None if None in rows else sum(count or 0 for count in rows),
        on_bad_text=on_bad_text,
        readers=tuple(readers),
        on_bad_file=on_bad_file,
        given=given_paths(source),
        left_out=left_out or [],
    )


def only_numbers(reader: Reader, column: str) -> bool:
    """Return whether the first values of a column of texts are numbers, if they can be read."""
    try:
        batch = next(reader.batches(select(reader.schema, [column])), None)
    except LookalikeError:
        return False  # reading the file says what is wrong with it
    if batch is None:
        return False
    values = batch.column(column)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    return not any(letters_in(value) for value in values[:FIRST_VALUES].to_pylist())


def letters_in(value: str | bytes | None) -> bool:
    """Return whether a value is more than a number.

    >>> [letters_in(value) for value in ("12", " -1.5e3", None, "", "12 b", b"x")]
    [False, False, False, False, True, True]
    """
    try:
        float(value or 0)
    except ValueError:
        return True
    return False


def by_lines(lines: bool, *, alone: bool) -> bool | None:
    """Return the `lines` argument of `open_collection`. lines: the user's option; alone: there is no second collection.

    >>> by_lines(True, alone=False), by_lines(False, alone=False), by_lines(False, alone=True)
    (True, False, None)
    """
    return True if lines else None if alone else False


def _check_alike(one: Reader, other: Reader, column: str, aspect: Callable[[pa.DataType], object]) -> None:
    mine, theirs = one.schema.field(column).type, other.schema.field(column).type
    if aspect(mine) != aspect(theirs):
        raise InputError(
            f"column {column!r} is {theirs} in {other.name} and {mine} in {one.name}; expected one kind in all files."
        )


def open_readers(
    source: Any,
    left_out: list[str] | None = None,
    *,
    text: TextReading = "table",
    markup: bool = False,
    limit: ReadLimit | None = None,
) -> tuple[str, list[Reader]]:
    """Return the name of the source, for messages, and its readers. text: how to read text files."""
    source = plain_source(source)
    if isinstance(source, str | os.PathLike):
        return _of_paths([source], left_out, text, limit, markup=markup)
    if isinstance(source, list | tuple):
        if any(isinstance(item, os.PathLike) for item in source):
            return _of_paths(source, left_out, text, limit, markup=markup)
        return "the list", [TableInMemory(pa.table({"text": _of_values(source)}), "the list")]
    return "the table", [TableInMemory(_arrow_table(source), "the table")]


def _of_paths(
    paths: Sequence[str | os.PathLike[str]],
    left_out: list[str] | None,
    text: TextReading,
    limit: ReadLimit | None,
    *,
    markup: bool,
) -> tuple[str, list[Reader]]:
    """Return the readers of all files. Files that cannot be opened go to `left_out`, or raise if that is None."""
    inputs, form = find(paths, text=text), form_of(paths)
    form.check(shown(paths[0]), inputs.kind, BINARY)
    name = shown(paths[0]) + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
    if inputs.kind == TEXT_FILES:
        texts = TextFiles(inputs.files, inputs.ids, name, left_out, form.encoding, markup=markup)
        texts.limit = limit
        return name, [texts]
    readers = []
    for file in inputs.files:
        try:
            readers.append(open_file(inputs.kind, file, limit, form))
            readers[-1].limit = limit
        except InputError as error:
            if left_out is None:
                raise
            left_out.append(f"{file}: {error}")
    return name, readers


def open_file(kind: str, file: Path, limit: ReadLimit | None = None, form: TextForm = USUAL_FORM) -> Reader:
    """Return the reader of a file that is a table, or a text with a document in each line."""
    match kind:
        case "Parquet":
            return ParquetFile(file, str(file))
        case "Arrow":
            return ArrowFile(file, str(file))
        case "JSON lines":
            return JsonLines(file, str(file), limit, form.encoding)
        case "a web archive":
            from lookalike.io.web_archives import WebArchive

            return WebArchive(file, str(file))
        case "text lines":
            return TextLines(file, str(file), form.encoding)
        case _:
            return Delimited(file, str(file), kind=kind, form=form)


def _of_values(values: Sequence[Any]) -> pa.Array:
    """Convert a list of strings or bytes, or of lists of tokens; None is a missing text."""
    if values and all(isinstance(value, str) and _is_path(value) for value in values):
        raise UsageError(
            f"a list of strings is read as texts, but {values[0]!r} is the name of a file. "
            "To read files, give pathlib.Path objects; to compare their names, give pyarrow.array(names)."
        )
    try:
        if any(isinstance(value, list | tuple) for value in values):
            return pa.array(values)
        return pa.array([_utf8(value) for value in values], pa.large_binary()).view(pa.large_string())
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise UsageError(
            f"the list holds {type(values[0]).__name__} and others; expected {EXPECTED_SOURCES}."
        ) from error


def _is_path(value: str) -> bool:
    return len(value) < 4096 and "\0" not in value and "\n" not in value and os.path.exists(value)


def _utf8(value: str | bytes | None) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    # A lone surrogate becomes bytes that are not UTF-8, and is then handled as bad text.
    return str.encode(value, "utf-8", "surrogatepass")


def _arrow_table(source: Any) -> pa.Table:
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if isinstance(source, pa.RecordBatchReader):
        return source.read_all()
    if isinstance(source, pa.Array | pa.ChunkedArray):
        return pa.table({"text": source})
    if hasattr(source, "__arrow_c_stream__"):
        try:
            return pa.RecordBatchReader.from_stream(source).read_all()
        except pa.ArrowInvalid:  # a stream of values, not of rows, such as a Polars series
            return pa.table({"text": pa.chunked_array(source)})
    if hasattr(source, "__arrow_c_array__"):
        array = pa.array(source)
        if pa.types.is_struct(array.type):
            return pa.Table.from_batches([pa.RecordBatch.from_struct_array(array)])
        return pa.table({"text": array})
    raise UsageError(f"cannot read {type(source).__name__}; expected {EXPECTED_SOURCES}.")
