"""Write the rows without what was cut: in the bytes of the input where the format is the same, else as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.errors import InputChanged, InputError
from lookalike.io.canonical import canonical
from lookalike.io.delimited import Delimited
from lookalike.io.names import name_in_input
from lookalike.io.plain_text import TextFiles
from lookalike.io.raw_values import EMPTY_FIELD, QUOTE_MARK, RawValue, csv_value, json_value, line_value
from lookalike.io.reader import Reader
from lookalike.io.selection import select_rows
from lookalike.io.verbatim import whole_blocks
from lookalike.kinds.scrub.removed import Content, RemovedRows
from lookalike.kinds.scrub.spans import CutBatch, CutDocument

BREAKS = (b"\n", b"\r")
Locate = Callable[[bytes], RawValue | None]


class CutStream:
    """The cuts of all documents, in order, for a consumer that reads rows in batches of other sizes."""

    def __init__(self, batches: Iterator[CutBatch], name: str) -> None:
        self._batches, self._name = batches, name
        self._known = 0
        self._documents: dict[int, CutDocument] = {}

    def of(self, first: int, count: int) -> dict[int, CutDocument]:
        """Return the cuts of the documents from `first` on, by document, and forget them."""
        while self._known < first + count:
            batch = next(self._batches, None)
            if batch is None:
                raise InputChanged(self._name)
            self._known = batch.first_row + batch.rows
            self._documents |= batch.documents
        here = [row for row in self._documents if row < first + count]
        return {row: self._documents.pop(row) for row in here}

    def finish(self) -> None:
        """Read to the end, so that the places of all copies are known."""
        for _ in self._batches:
            pass


@dataclass
class Written:
    """What is known of the input and the output after writing. head: bytes before the first row; rows: written;
    closed_row: the row of a last line that became empty and got a line break, or -1; next_row: row after the last."""

    given: Content = field(default_factory=Content)
    output: Content = field(default_factory=Content)
    rows: int = 0
    head: int = 0
    closed_row: int = -1
    next_row: int = 0

    def note(self, given: bytes, output: bytes) -> bytes:
        """Add bytes of the input and what was written for them, which is returned."""
        self.given.add(given)
        self.output.add(output)
        return output


def locator(reader: Reader, column: str) -> Locate:
    """Return the function that finds the text in a row of this reader."""
    if isinstance(reader, Delimited):
        number, delimiter = reader.schema.get_field_index(column), reader.delimiter.encode()
        return lambda row: csv_value(row, delimiter, number)
    if reader.copied_as == "JSON lines":
        known = reader.schema.get_field_index(column) >= 0  # not if the file begins with blank lines
        key = name_in_input(reader.schema.field(column)) if known else column
        return lambda row: json_value(row, key)
    return line_value


def scrubbed_bytes(
    readers: Sequence[Reader], column: str, stream: CutStream, removed: RemovedRows | None, written: Written
) -> Iterator[bytes]:
    """Yield the bytes of the files without what is cut; everything else, also between rows, is unchanged.

    written.next_row: the number of the first row, and afterwards of the row after the last.
    """
    row = written.next_row
    for number, reader in enumerate(readers):
        locate = locator(reader, column)
        last = b""
        head_known = False
        for rows in whole_blocks(reader):
            head = 0
            if len(rows) and not head_known:
                head, head_known = int(rows.starts[0]), True
                written.head = written.head if number else head
            begin = at = head if number else 0  # one head for all files
            out = []
            for document in stream.of(row, len(rows)).values():
                index = document.row - row
                start, after = int(rows.starts[index]), int(rows.ends[index])
                before = int(rows.ends[index - 1]) if index else head
                out.append(rows.data[begin : before if document.dropped else start])
                raws: list[bytes | None] = [None] * len(document.ranges)
                if not document.dropped:
                    rest, raws = cut_row(rows.data[start:after], document, locate, reader)
                    if not rest:  # an empty last line would be no line
                        rest, written.closed_row = b"\n", document.row
                    out.append(rest)
                if removed is not None:
                    dropped_row = rows.data[before:after] if document.dropped else None
                    removed.add(document, raws, dropped_row, written.output.nbytes + sum(map(len, out)))
                begin = after
                written.rows -= document.dropped
            out.append(rows.data[begin:])
            row, written.rows = row + len(rows), written.rows + len(rows)
            yield written.note(rows.data[at:], b"".join(out))
            last = rows.data[at:] or last
        if number + 1 < len(readers) and last and not last.endswith(BREAKS):
            yield written.note(b"\n", b"\n")
    written.next_row = row


def cut_row(row: bytes, document: CutDocument, locate: Locate, reader: Reader) -> tuple[bytes, list[bytes | None]]:
    """Return the row without the cuts, and the bytes of each cut if they differ from the text."""
    value = locate(row)
    if value is None:
        raise InputError(
            f"{reader.name}: the text of {document.text[:40].decode('utf-8', 'replace')!r}... is no JSON string, so "
            "that its row cannot be kept byte for byte. Write .parquet."
        )
    edges = value.positions(row, [edge for cut in document.ranges for edge in (cut.start, cut.end)])
    spans = list(zip(edges[::2], edges[1::2], strict=True))
    kept = [value.start, *edges, value.end]
    body = b"".join(row[a:b] for a, b in zip(kept[::2], kept[1::2], strict=True))
    raws: list[bytes | None] = [row[a:b] for a, b in spans]
    texts = [document.text[cut.start : cut.end] for cut in document.ranges]
    head, rest = row[: value.start], row[value.end :]
    if not body and isinstance(reader, Delimited):  # the whole field is cut: its quotes are recorded with it
        if value.quoted:
            closing = rest[:1] == QUOTE_MARK
            raws = [row[a - (k == 0) : b + (closing and k == len(spans) - 1)] for k, (a, b) in enumerate(spans)]
            head, rest = head[:-1], rest[closing:]
        body = EMPTY_FIELD
    shown = [None if raw == text else raw for raw, text in zip(raws, texts, strict=True)]
    return head + body + rest, shown


def scrubbed_batches(
    batches: Iterator[pa.RecordBatch], column: str, stream: CutStream, removed: RemovedRows | None, written: Written
) -> Iterator[pa.RecordBatch]:
    """Yield the rows with all their columns, the text without what is cut."""
    row = 0
    for batch in batches:
        cut = stream.of(row, len(batch))
        place = batch.schema.names.index(column)
        texts = batch.column(place)
        given = bytes_of(texts) if cut or removed is not None else None
        if cut and given is not None:
            values = given.to_pylist()
            stays = np.ones(len(batch), np.bool_)
            for document in cut.values():
                index = document.row - row
                values[index] = document.rest
                stays[index] = not document.dropped
                if removed is not None:
                    whole = _serialised(batch.slice(index, 1)) if document.dropped else None
                    removed.add(document, [None] * len(document.ranges), whole)
            batch = batch.set_column(place, batch.schema.field(place), in_type(values, texts.type))
            row += len(batch)
            if not stays.all():
                batch = select_rows(batch, stays)
        else:
            row += len(batch)
        if removed is not None and given is not None:
            add_values(written.given, given)
            add_values(written.output, bytes_of(batch.column(place)))
        written.rows += len(batch)
        yield batch
    stream.finish()


def bytes_of(column: pa.Array) -> pa.Array:
    """Return a column of any type of text as bytes."""
    return canonical(column).cast(pa.large_binary())


def in_type(values: list[bytes | None], dtype: pa.DataType) -> pa.Array:
    """Return texts as a column of any type of text."""
    if isinstance(dtype, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(dtype, in_type(values, dtype.storage_type))
    if pa.types.is_dictionary(dtype):
        encoded = pa.array(values, pa.large_binary()).dictionary_encode()
        dictionary = in_type(encoded.dictionary.to_pylist(), dtype.value_type)
        return pa.DictionaryArray.from_arrays(encoded.indices.cast(dtype.index_type), dictionary, ordered=dtype.ordered)
    if pa.types.is_run_end_encoded(dtype):
        return pc.run_end_encode(in_type(values, dtype.value_type), run_end_type=dtype.run_end_type)
    column = pa.array(values, pa.large_binary())
    return column if dtype == pa.large_binary() else column.cast(pa.large_string()).cast(dtype)


def add_values(content: Content, values: pa.Array) -> None:
    """Add the values and their lengths to a checksum, independent of batches; null counts as empty."""
    content.add(b"".join(b"%d:" % len(value or b"") + (value or b"") for value in values.to_pylist()))


def _serialised(row: pa.RecordBatch) -> bytes:
    sink: Any = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, row.schema) as writer:
        writer.write_batch(row)
    return bytes(sink.getvalue())


def scrubbed_files(reader: TextFiles, stream: CutStream) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of each text file without what is cut; dropped files are left out."""
    row = 0
    for batch in reader.batches(reader.schema):
        cut = stream.of(row, len(batch))
        names, texts = batch.column("id").to_pylist(), batch.column("text").cast(pa.large_binary()).to_pylist()
        for index, (name, text) in enumerate(zip(names, texts, strict=True)):
            document = cut.get(row + index)
            if document is None:
                yield name, text or b""
            elif not document.dropped:
                yield name, document.rest
        row += len(batch)
