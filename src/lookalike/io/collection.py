"""A collection of documents: opened once, and streamed any number of times."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrow import as_arrow
from lookalike.errors import ID_ADVICE, BadText, DuplicateIds, InputChanged, InputError, UsageError
from lookalike.io.batch import TextBatch, resized
from lookalike.io.canonical import canonical, canonical_type, without_dictionary
from lookalike.io.columns import check_column
from lookalike.io.files import form_of
from lookalike.io.origin import origin
from lookalike.io.prefetch import ahead
from lookalike.io.reader import TARGET_BYTES, UNDER_WAY_BYTES, Reader, nbytes_of, reading, select, with_encoding_advice
from lookalike.io.texts import OnBadText, Where, as_ids, as_texts, kind_of_text, repaired
from lookalike.io.unchanged import crc_of_file

OnBadFile = Literal["error", "skip"]
FAR_AHEAD_ROWS = 1 << 14  # gap between two requested rows above which the input is reopened
BEGUN = 8  # batches of a few MB to read ahead after `begin`
ROWS_AHEAD = 2  # batches of whole rows to read ahead: in text formats these are blocks of many MB


@dataclass(frozen=True, kw_only=True)
class Collection:
    """Documents that can be read more than once, always in the same order, with bounded memory.

    id_column: None for row numbers. nbytes: approximate size of the text, or of the files. rows_hint: row count, or
    None if it is only known after reading. readers: the sources of the rows, without empty ones. given: the paths that
    the user named, if any.
    """

    name: str
    text_column: str
    id_column: str | None
    columns: tuple[str, ...]
    nbytes: int
    rows_hint: int | None
    on_bad_text: OnBadText
    readers: tuple[Reader, ...]
    on_bad_file: OnBadFile = "error"
    given: tuple[str, ...] = ()
    left_out: list[str] = field(default_factory=list, compare=False)
    _begun: list[Iterator[TextBatch]] = field(default_factory=list, repr=False, compare=False)
    _stamps: list[dict[str, Any]] = field(default_factory=list, repr=False, compare=False)

    @property
    def is_tokens(self) -> bool:
        """True if the documents are lists of tokens rather than texts."""
        kinds = {kind_of_text(reader.schema.field(self.text_column).type) for reader in self.readers}
        return bool(kinds) and "text" not in kinds

    @property
    def lines(self) -> bool | None:
        """True if each line of text files is a document, False if each file is one; None for rows of tables."""
        return self.readers[0].lines if self.readers else None

    @property
    def warnings(self) -> list[str]:
        """Warnings for the user about the way the files are read."""
        return [warning for reader in self.readers for warning in reader.warnings]

    def describe(self) -> dict[str, Any]:
        """Return the receipt's entry for the collection."""
        paths = (path for reader in self.readers for path in reader.paths)
        html = next((reader.html for reader in self.readers if reader.html), None)
        return {
            "name": self.name, "text": self.text_column, "id": self.id_column, "lines": self.lines,
            "origin": origin(self.given, paths),
        } | ({} if html is None else {"html": html})  # fmt: skip

    def part(self, number: int) -> Collection:
        """Return the documents of one reader as a collection."""
        return replace(self, readers=(self.readers[number],), _begun=[], _stamps=[])

    @property
    def has_files(self) -> bool:
        """Whether all documents are in files, so that another process can read them again."""
        return bool(self.readers) and all(reader.paths for reader in self.readers)

    def named_files(self) -> dict[str, Path] | None:
        """Return the file of each id, if each document is a file; otherwise None."""
        files: dict[str, Path] = {}
        for reader in self.readers:
            named = reader.named_files()
            if named is None:
                return None
            files |= named
        return files

    def stamp(self) -> list[dict[str, Any]] | None:
        """Return the paths, sizes, modification times and checksums of the files, to detect changes of the input.

        The files are read once for the checksums. None if there are no files.
        """
        if not self.has_files:
            return None
        if not self._stamps:
            form = form_of(self.given).described()  # the same bytes are another text
            self._stamps.extend(stamp_of(path) | form for reader in self.readers for path in reader.paths)
        return list(self._stamps)

    def state(self) -> dict[str, Any]:
        """Return what is known from reading so far: the rows, damage and content checksums of each file."""
        damaged = [reader.damaged for reader in self.readers]  # before the rows, which are set first
        rows = [reader.rows for reader in self.readers]
        content = [reader.content() for reader in self.readers]
        return {"files": list(zip(rows, damaged, content, strict=True)), "left_out": list(self.left_out)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the state of an earlier reading of the same input."""
        for reader, (rows, damaged, content) in zip(self.readers, state.get("files", ()), strict=False):
            reader.rows, reader.damaged = rows, damaged
            reader.expect(content)
        self.left_out[:] = state.get("left_out", self.left_out)

    def begin(self) -> None:
        """Start to read in the background what `texts()` will return."""
        self._begun.append(
            ahead(resized(self._texts((), 0)), depth=BEGUN, weight=_text_bytes, most=BEGUN * TARGET_BYTES)
        )

    def texts(self, extra: Sequence[str] = (), *, start: int = 0) -> Iterator[TextBatch]:
        """Yield batches of a few MB from row `start` on, read ahead by a thread.

        Only the text, the ids and the `extra` columns are read.
        An extra column has one type in all batches; for CSV and JSON lines an additional pass determines it.
        """
        for reader in self.readers:
            for name in extra:
                check_column(reader.schema, name, reader.name)
        if self._begun and not extra and not start:
            return self._begun.pop()
        return ahead(resized(self._texts(tuple(extra), start)), weight=_text_bytes, most=UNDER_WAY_BYTES)

    def picked(self, rows: Iterable[int]) -> dict[int, Any]:
        """Return the texts (or token lists) of these rows, by row number; rows beyond the end are omitted.

        Row groups and files in between are skipped if the format allows it; nothing is read ahead.
        """
        wanted = sorted(set(rows))
        by_row: dict[int, Any] = {}
        while wanted:
            batches = self._texts((), wanted[0])
            for batch in batches:
                end = batch.first_row + len(batch)
                here = [row for row in wanted if row < end]
                texts = batch.texts.take(as_arrow(np.array(here, np.int64) - batch.first_row))
                by_row.update(zip(here, texts.to_pylist(), strict=True))
                wanted = wanted[len(here) :]
                if not wanted or wanted[0] > end + FAR_AHEAD_ROWS:
                    break
            else:
                break
            batches.close()
        return by_row

    def ids(self) -> pa.ChunkedArray | None:
        """Return the ids of all rows, or None if rows are identified by number. Only the id column is read."""
        if self.id_column is None:
            return None
        chunks = [
            as_ids(batch.column(self.id_column), where=reader.where)
            for reader in self.readers
            for batch in self._good(reader, select(reader.schema, [self.id_column]), 0)
        ]
        return pa.chunked_array(chunks) if chunks else pa.chunked_array([], pa.string())

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Yield all columns of the input, in the same order, in one schema; at least one batch.

        Values are unchanged, except that on_bad_text="replace" repairs the text as in `texts`.
        """
        return ahead(self._rows(), depth=ROWS_AHEAD, weight=nbytes_of, most=UNDER_WAY_BYTES)

    def check_ids(self, ids: pa.Array | pa.ChunkedArray) -> None:
        """Raise DuplicateIds unless the ids are unique."""
        check_ids(ids, name=self.name)

    def _texts(self, extra: tuple[str, ...], start: int) -> Generator[TextBatch, None, None]:
        needed = [name for name in (self.text_column, self.id_column) if name is not None]
        types = common_schema(self.readers, [reader.settled(extra) for reader in self.readers])
        others = [field for field in types if field.name not in needed]
        first_row = 0
        for reader in self.readers:
            row = min(max(0, start - first_row), reader.rows if reader.rows is not None else start)
            if reader.rows is None or row < reader.rows:
                schema = pa.schema([*select(reader.schema, needed), *others])
                for batch in self._good(reader, schema, row):
                    yield replace(
                        self._normal(reader, batch, _shifted(reader.where, row)),
                        extra={name: cast_exactly(batch.column(name), types.field(name), reader) for name in extra},
                        first_row=first_row + row,
                    )
                    row += len(batch)
                reader.rows = row
            first_row += row

    def _good(self, reader: Reader, schema: pa.Schema, start: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a file from `start` on; if bad files are skipped, up to the first unreadable row."""
        row = start
        end = reader.rows if reader.damaged else None
        batches = reader.batches_from(schema, start)
        while end is None or row < end:
            try:
                batch = next(batches, None)
            except InputError as error:
                if self.on_bad_file == "error" or isinstance(error, InputChanged):
                    raise
                self._leave_out(reader, row, str(error))
                return
            if batch is None:
                return
            batch = batch if end is None else batch.slice(0, end - row)
            row += len(batch)
            yield batch

    def _leave_out(self, reader: Reader, row: int, why: str) -> None:
        if reader.damaged is not None and reader.rows is not None:
            raise InputError(f"{why} It could be read when this run began: has the file changed?")
        reader.rows, reader.damaged = row, why
        self.left_out.append(f"{reader.name} from row {row:,} on: {why}")

    def _normal(self, reader: Reader, batch: pa.RecordBatch, where: Where) -> TextBatch:
        try:
            texts, nulls, bad = as_texts(batch.column(self.text_column), on_bad_text=self.on_bad_text, where=where)
        except BadText as error:
            raise with_encoding_advice(error, reader) from error
        ids = None if self.id_column is None else as_ids(batch.column(self.id_column), where=where)
        return TextBatch(texts=texts, ids=ids, extra={}, null_texts=nulls, bad_texts=bad, first_row=0)

    def _rows(self) -> Generator[pa.RecordBatch, None, None]:
        repair = self.text_column if self.on_bad_text == "replace" else None
        for batch in rows_of(self.readers, lambda reader, schema: self._good(reader, schema, 0), self.text_column):
            if repair in batch.schema.names:
                place = batch.schema.get_field_index(repair)
                batch = batch.set_column(place, batch.schema.field(place), repaired(batch.column(place)))
            yield batch


def _text_bytes(batch: TextBatch) -> int:
    return int(batch.texts.nbytes)


def stamp_of(path: Path) -> dict[str, Any]:
    """Return the path, size, modification time and checksum of a file."""
    with reading(str(path), "a file"):
        known = path.stat()
        return {
            "path": str(path.absolute()), "size": known.st_size, "changed": known.st_mtime_ns, "crc": crc_of_file(path)
        }  # fmt: skip


def check_ids(
    ids: pa.Array | pa.ChunkedArray, *, name: str = "the input", of: str = "rows", option: str = "id"
) -> None:
    """Raise DuplicateIds unless the ids are unique. of: what they identify; option: the parameter that names the ids.

    >>> check_ids(pa.array(["a", "b", "a"]), name="a.csv")
    Traceback (most recent call last):
    lookalike.errors.DuplicateIds: the id 'a' occurs 2 times in a.csv; ids must tell the rows apart. Use `id` ...
    """
    if _all_differ(ids):
        return
    counts = pc.value_counts(ids)
    often = counts.field("counts")
    most = counts[pc.index(often, pc.max(often)).as_py()].as_py()
    advice = ID_ADVICE if option == "id" else f"Use `{option}` to name another column."
    raise DuplicateIds(
        f"the id {most['values']!r} occurs {most['counts']} times in {name}; ids must tell the {of} apart. {advice}"
    )


def _all_differ(ids: pa.Array | pa.ChunkedArray) -> bool:
    """Return whether all ids differ. Integers are sorted, which takes a tenth of the memory of counting values."""
    if pa.types.is_int64(ids.type) and not ids.null_count:
        chunks = ids.chunks if isinstance(ids, pa.ChunkedArray) else [ids]
        numbers = np.concatenate([np.empty(0, np.int64), *(np.from_dlpack(chunk) for chunk in chunks)])
        numbers.sort()
        return not bool(np.any(numbers[1:] == numbers[:-1]))
    differ = pc.count_distinct(ids, mode="all").as_py() == len(ids)
    pa.default_memory_pool().release_unused()
    return bool(differ)


def rows_of(
    readers: Sequence[Reader],
    read: Callable[[Reader, pa.Schema], Iterable[pa.RecordBatch]],
    column: str | None = None,
) -> Generator[pa.RecordBatch, None, None]:
    """Yield all columns of all files in one schema, in the types of the input; at least one batch.

    read: returns the batches of a reader in a schema. column: the only column if there are no files.
    """
    schemas = [reader.row_schema() for reader in readers]
    if len(schemas) > 1:  # each file has its own dictionaries
        schemas = [_without_dictionaries(schema) for schema in schemas]
    whole = common_schema(readers, schemas) if schemas else pa.schema([(column, pa.string())] if column else [])
    empty = True
    for reader, schema in zip(readers, schemas, strict=True):
        names = schema.names
        places = [schema.get_field_index(field.name) for field in whole]
        for batch in read(reader, reader.row_schema()):
            missing = pa.nulls(len(batch))
            columns = [batch.column(names[place]) if place >= 0 else missing for place in places]
            cast = [cast_exactly(c, f, reader) for c, f in zip(columns, whole, strict=True)]
            yield pa.record_batch(cast, schema=whole)
            empty = False
    if empty:
        nothing = [_no_values(field.type) for field in whole]
        fields = [field.with_type(values.type) for field, values in zip(whole, nothing, strict=True)]
        yield pa.record_batch(nothing, schema=pa.schema(fields, whole.metadata))


def _no_values(dtype: pa.DataType) -> pa.Array:
    """Return an empty column, in the canonical type if Arrow cannot create this type (lists of encoded runs)."""
    try:
        values = pa.array([], dtype)
    except pa.ArrowNotImplementedError:  # unions
        values = pa.nulls(0, dtype)
    try:
        values.validate()
    except pa.ArrowInvalid:
        return pa.array([], canonical_type(dtype))
    return values


def _without_dictionaries(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field.with_type(without_dictionary(field.type)) for field in schema])


def common_schema(readers: Sequence[Reader], schemas: Sequence[pa.Schema]) -> pa.Schema:
    """Return all columns of all files, each with a type that holds the values of every file."""
    whole = schemas[0] if schemas else pa.schema([])
    for reader, schema in zip(readers[1:], schemas[1:], strict=True):
        for column in schema:
            index = whole.get_field_index(column.name)
            if index < 0:
                whole = whole.append(column)
            elif not column.type.equals(whole.field(index).type):
                before = whole.field(index)
                whole = whole.set(index, before.with_type(_common_type(column, before, reader)))
    return whole


def _common_type(field: pa.Field, other: pa.Field, reader: Reader) -> pa.DataType:
    try:
        both = [pa.schema([pa.field("", canonical_type(one.type))]) for one in (other, field)]
        return pa.unify_schemas(both, promote_options="permissive").field(0).type
    except pa.ArrowException as error:
        raise InputError(
            f"column {field.name!r} is {field.type} in {reader.name} and {other.type} in the files before it; "
            "expected one type."
        ) from error


def cast_exactly(column: pa.Array, field: pa.Field, reader: Reader) -> pa.Array:
    """Cast a column to the type of a field; raise InputError if a value would change."""
    if column.type.equals(field.type):
        return column
    try:
        return canonical(column).cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(
            f"{reader.name}: column {field.name!r} is {column.type} here and {field.type} with the other files, which "
            f"cannot hold every value ({reason}). Give all files one type, or run once for each."
        ) from error


def _shifted(where: Where, by: int) -> Where:
    return lambda row: where(row + by)


def check_one_form(tokens: Set[bool]) -> None:
    """Raise UsageError unless all collections hold texts, or all hold lists of tokens."""
    if len(tokens) > 1:
        raise UsageError("one collection holds texts and the other token lists; give both the same kind of column.")


def check_texts(tokens: Iterable[bool]) -> None:
    """Raise UsageError if a collection holds lists of tokens."""
    if any(tokens):
        raise UsageError("the column holds lists of tokens; expected text. Choose another column.")
