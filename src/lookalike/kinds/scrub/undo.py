"""Put back what was cut: the output and the table of removed text give the input's bytes again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lookalike.errors import InputError
from lookalike.io.collection import Collection
from lookalike.io.delimited import Delimited
from lookalike.io.paths import kind_of
from lookalike.io.raw_values import EMPTY_FIELD
from lookalike.io.read import open_collection, open_readers
from lookalike.io.reader import Reader, reading
from lookalike.io.verbatim import whole_blocks
from lookalike.io.write import write_bytes, write_table
from lookalike.kinds.scrub.removed import METADATA_KEY, Content
from lookalike.kinds.scrub.writing import add_values, bytes_of, in_type, locator

NEEDED = ["row", "start_byte", "end_byte", "text", "raw", "dropped_row", "position"]


@dataclass
class Restored:
    """The cuts of one document. cuts: (start, end, text, raw bytes or None) in order; dropped_row: of a document that
    was dropped; position: the byte of the output at which it was."""

    row: int
    cuts: list[tuple[int, int, bytes, bytes | None]] = field(default_factory=list)
    dropped_row: bytes | None = None
    position: int = 0


class RemovedTable:
    """The rows of a table of removed text, by document."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with reading(str(path), "Parquet"), pq.ParquetFile(path) as file:
            metadata = (file.schema_arrow.metadata or {}).get(METADATA_KEY)
            complete = set(NEEDED) <= set(file.schema_arrow.names)
        if metadata is None or not complete:
            raise InputError(
                f"{path} is not a table of removed text; expected the one that scrub wrote for the output."
            )
        try:
            self.about: dict[str, Any] = dict(json.loads(metadata))
            _ = [self.about[name] for name in ("format", "verbatim", "text", "lines", "given", "output", "closed_row")]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"{path} is damaged: its description cannot be read ({error}).") from error
        self._documents = self._read()
        self._next = next(self._documents, None)

    def take(self, row: int) -> Restored | None:
        """Return the cuts of an input row, or None; rows must be asked for in order."""
        if self._next is None or self._next.row != row:
            return None
        document, self._next = self._next, next(self._documents, None)
        return document

    def take_dropped(self, row: int) -> bytes | None:
        """Return the input row with this number if the document was dropped."""
        if self._next is None or self._next.row != row or self._next.dropped_row is None:
            return None
        document = self.take(row)
        return None if document is None else document.dropped_row

    @property
    def next_position(self) -> int:
        """The position of the next document, if it was dropped."""
        return -1 if self._next is None else self._next.position

    @property
    def is_used_up(self) -> bool:
        return self._next is None

    def differs(self, output: str) -> InputError:
        """Return the error for an output to which the table does not belong."""
        return InputError(
            f"{self._path} does not belong to {output}: it was written with another output, "
            "or one of the two was changed."
        )

    def _read(self) -> Iterator[Restored]:
        document: Restored | None = None
        with reading(str(self._path), "Parquet"), pq.ParquetFile(self._path) as file:
            kind = file.schema_arrow.field("text").type
            if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
                raise InputError(f"{self._path}: the removed text is {kind}; expected the table that scrub wrote.")
            for batch in file.iter_batches(columns=NEEDED):
                columns = [batch.column(name).to_pylist() for name in NEEDED]
                for row, start, end, text, raw, dropped_row, position in zip(*columns, strict=True):
                    if document is not None and row != document.row:
                        yield document
                    if document is None or row != document.row:
                        if document is not None and row < document.row:
                            raise self._overlap(row)
                        document = Restored(row)
                    if document.cuts and start < document.cuts[-1][1]:
                        raise self._overlap(row)
                    document.cuts.append((start, end, text.encode(), raw))
                    if dropped_row is not None:
                        document.dropped_row, document.position = dropped_row, position or 0
        if document is not None:
            yield document

    def _overlap(self, row: int) -> InputError:
        return InputError(
            f"{self._path}: ranges of row {row:,} overlap or are out of order; expected the table as scrub wrote it."
        )


def undo_scrub(output: str | Path, removed: str | Path, path: str | Path, *, force: bool = False) -> Path:
    """Write the input of `scrub` again, from its output and its table of removed text.

    JSON Lines, CSV, TSV and text get the bytes of the input; other formats get its values. Checksums in the table
    detect an output that was changed, or that belongs to another table; then nothing is written.

    Parameters
    ----------
    output
        The file that `scrub` wrote.
    removed
        The table that it wrote with it.
    path
        The file to write, in the format of the output.
    force
        Whether to replace a file of this name.

    Returns
    -------
    Path
        The file that was written.

    Examples
    --------
    >>> import lookalike as la, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "in.txt").write_text("a b c d\\nx a b c y\\n")
    >>> result = la.scrub(folder / "in.txt", min_tokens=3)
    >>> _ = result.write(folder / "out.txt", removed=folder / "removed.parquet")
    >>> (folder / "out.txt").read_text()
    'a b c d\\nx y\\n'
    >>> _ = la.undo_scrub(folder / "out.txt", folder / "removed.parquet", folder / "again.txt")
    >>> (folder / "again.txt").read_bytes() == (folder / "in.txt").read_bytes()
    True
    """
    output, path, table = Path(output), Path(path), RemovedTable(Path(removed))
    about = table.about
    if kind_of(output) != about["format"] or kind_of(path) != about["format"]:
        raise InputError(
            f"{removed} was written with an output of the format {about['format']}; {output} and {path} differ."
        )
    if about["verbatim"]:
        write_bytes(_bytes(table, output), path, force=force)
    else:
        collection = open_collection(output, text=about["text"], id="none", lines=about["lines"])
        write_table(_batches(collection, table, output), path, force=force)
    return path


def _bytes(table: RemovedTable, output: Path) -> Iterator[bytes]:
    """Yield the bytes of the input."""
    about, given, found = table.about, Content(), Content()
    row, nbytes = about.get("first_row", 0), 0
    _, readers = (
        open_readers(output, text="lines" if about["lines"] else "table") if output.stat().st_size else ("", [])
    )
    for reader in readers:
        locate = locator(reader, about["text"])
        for rows in whole_blocks(reader):
            pieces: list[bytes] = []
            begin, end = 0, len(rows.data)
            for index in range(len(rows) + 1):
                while table.next_position <= nbytes + end:
                    position = table.next_position - nbytes
                    if (dropped := table.take_dropped(row)) is None:
                        break
                    pieces += [rows.data[begin:position], dropped]
                    begin, row = position, row + 1
                if index == len(rows):
                    break
                document = table.take(row)
                if document is not None:
                    start, after = int(rows.starts[index]), int(rows.ends[index])
                    data = rows.data[start : after - (row == about["closed_row"])]
                    pieces.append(rows.data[begin:start])
                    pieces.append(_restored_row(data, document, locate, reader, table, output))
                    begin = after
                row += 1
            pieces.append(rows.data[begin:])
            found.add(rows.data)
            nbytes += len(rows.data)
            yield given.added(b"".join(pieces))
    while (dropped := table.take_dropped(row)) is not None:
        yield given.added(dropped)
        row += 1
    if not table.is_used_up or found.as_list() != about["output"] or given.as_list() != about["given"]:
        raise table.differs(str(output))


def _restored_row(
    row: bytes, document: Restored, locate: Any, reader: Reader, table: RemovedTable, output: Path
) -> bytes:
    value = locate(row)
    if value is None:
        raise table.differs(str(output))
    inserted = [text if raw is None else raw for _, _, text, raw in document.cuts]
    body = row[value.start : value.end]
    if not body and isinstance(reader, Delimited) and row[value.start - 1 : value.end + 1] == EMPTY_FIELD:
        return row[: value.start - 1] + b"".join(inserted) + row[value.end + 1 :]
    before, positions = 0, []
    for start, end, _, _ in document.cuts:
        positions.append(start - before)
        before += end - start
    edges = [value.start, *value.positions(row, positions), value.end]
    if edges != sorted(edges):
        raise table.differs(str(output))
    out = [row[: value.start]]
    for start, end, text in zip(edges[:-1], edges[1:], [*inserted, b""], strict=True):
        out += [row[start:end], text]
    return b"".join(out) + row[value.end :]


def _batches(collection: Collection, table: RemovedTable, output: Path) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the input."""
    about, given, found = table.about, Content(), Content()
    column, row = about["text"], 0
    schema: pa.Schema | None = None
    for batch in collection.rows():
        schema = batch.schema
        place = schema.names.index(column)
        texts = bytes_of(batch.column(place))
        add_values(found, texts)
        values: list[bytes | None] = []
        parts: list[pa.RecordBatch] = []
        first = 0
        for index, value in enumerate(texts.to_pylist()):
            while (data := table.take_dropped(row)) is not None:
                parts += [_with_texts(batch.slice(first, index - first), place, values), _row_of(data, schema)]
                first, values, row = index, [], row + 1
            document = table.take(row)
            values.append(value if document is None else _restored_text(value or b"", document, table, output))
            row += 1
        parts.append(_with_texts(batch.slice(first), place, values))
        for part in parts:
            add_values(given, bytes_of(part.column(place)))
            yield part
    while schema is not None and (data := table.take_dropped(row)) is not None:
        last = _row_of(data, schema)
        add_values(given, bytes_of(last.column(column)))
        yield last
        row += 1
    if not table.is_used_up or found.as_list() != about["output"] or given.as_list() != about["given"]:
        raise table.differs(str(output))


def _with_texts(batch: pa.RecordBatch, place: int, values: list[bytes | None]) -> pa.RecordBatch:
    column = batch.schema.field(place)
    return batch.set_column(place, column, in_type(values, column.type))


def _row_of(data: bytes, schema: pa.Schema) -> pa.RecordBatch:
    with pa.ipc.open_stream(data) as stream:
        return stream.read_all().cast(schema).combine_chunks().to_batches()[0]


def _restored_text(text: bytes, document: Restored, table: RemovedTable, output: Path) -> bytes:
    out, at, before = [], 0, 0
    for start, end, removed, _ in document.cuts:
        stop = start - before
        if stop > len(text):
            raise table.differs(str(output))
        out += [text[at:stop], removed]
        at, before = stop, before + end - start
    return b"".join([*out, text[at:]])
