"""The table of what was cut: written while the output is written, with all that is needed to undo it."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lookalike.core.arrow import as_arrow
from lookalike.io.atomic import check_output, replacing
from lookalike.io.leftovers import clear_leftovers, hidden_name, in_use, remove
from lookalike.io.reader import nbytes_of
from lookalike.io.texts import string_array
from lookalike.kinds.scrub.spans import CutDocument, KeptPlaces

METADATA_KEY = b"lookalike:scrub"
CUTS_PER_BATCH = 1 << 14
CUT_BYTES_PER_BATCH = 1 << 24
SPOOLED = pa.schema(
    [
        ("row", pa.int64()), ("start", pa.int64()), ("end", pa.int64()), ("start_byte", pa.int64()),
        ("end_byte", pa.int64()), ("piece", pa.int64()), ("text", pa.large_binary()), ("raw", pa.large_binary()),
        ("dropped_row", pa.large_binary()), ("position", pa.int64()),
    ]
)  # fmt: skip


@dataclass
class Content:
    """The size and checksum of bytes that were read or written."""

    nbytes: int = 0
    crc: int = 0

    def add(self, data: bytes | memoryview) -> None:
        self.nbytes += len(data)
        self.crc = zlib.crc32(data, self.crc)

    def added(self, data: bytes) -> bytes:
        """Add the bytes, and return them."""
        self.add(data)
        return data

    def as_list(self) -> list[int]:
        return [self.nbytes, self.crc]


@dataclass
class RemovedRows:
    """Collects the rows of the table in batches. sink: receives each batch."""

    sink: Any
    _rows: list[tuple[Any, ...]] = field(default_factory=list)
    _nbytes: int = 0

    def add(
        self,
        document: CutDocument,
        raws: Sequence[bytes | None],
        dropped_row: bytes | None = None,
        position: int | None = None,
    ) -> None:
        """Add the cuts of a document. raws: bytes of the input for each cut, None where they equal the text;
        dropped_row: the row of a document that is dropped; position: the byte of the output at which it was."""
        cuts, characters = document.ranges, document.character_ranges()
        for number, (cut, place, raw) in enumerate(zip(cuts, characters, raws, strict=True)):
            whole = dropped_row if number == 0 else None
            where = position if number == 0 else None
            text = document.text[cut.start : cut.end]
            self._rows.append((document.row, *place, cut.start, cut.end, cut.piece, text, raw, whole, where))
            self._nbytes += len(text) + 100 + len(raw or b"") + len(whole or b"")
        if len(self._rows) >= CUTS_PER_BATCH or self._nbytes > CUT_BYTES_PER_BATCH:
            self.flush()

    def flush(self) -> None:
        if self._rows:
            columns = zip(*self._rows, strict=True)
            arrays = [_column(values, dtype) for values, dtype in zip(columns, SPOOLED.types, strict=True)]
            self.sink(pa.record_batch(arrays, schema=SPOOLED))
            self._rows, self._nbytes = [], 0


def _column(values: Sequence[Any], dtype: pa.DataType) -> pa.Array:
    """Return a column of SPOOLED without importing pandas, as `pa.array` would."""
    if pa.types.is_large_binary(dtype):
        return string_array(values, dtype)
    missing = np.array([value is None for value in values])
    return as_arrow(np.array([value or 0 for value in values], np.int64), missing if missing.any() else None)


@dataclass(frozen=True)
class RemovedColumns:
    """Completes the rows with what is known only after all texts were read. pieces: of the cuts; owner of a copy by
    its first token: offsets; ids: of the documents."""

    pieces: np.ndarray[Any, np.dtype[np.int64]]
    offsets: np.ndarray[Any, np.dtype[np.int64]]
    ids: pa.ChunkedArray
    kept: KeptPlaces

    def complete(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        numbers = np.from_dlpack(batch.column("piece"))
        pieces = self.pieces[numbers]
        places = self.kept.places(pieces)
        none = pieces[:, 2] < 0
        owner = np.searchsorted(self.offsets, np.maximum(pieces[:, 2], 0), "right") - 1
        kept = self.ids.take(as_arrow(owner, none))
        columns = {
            "id": self.ids.take(batch.column("row")).combine_chunks(),
            **{name: batch.column(name) for name in ("row", "start", "end", "start_byte", "end_byte")},
            "tokens": as_arrow(pieces[:, 1]),
            "kept": kept.combine_chunks(),
            "kept_start": as_arrow(places[:, 2], none),
            "kept_end": as_arrow(places[:, 3], none),
            "kept_start_byte": as_arrow(places[:, 0], none),
            "kept_end_byte": as_arrow(places[:, 1], none),
            "occurrences": as_arrow(pieces[:, 3], pieces[:, 3] == 0),
            "text": _as_text(batch.column("text")),
            "raw": batch.column("raw"),
            "dropped_row": batch.column("dropped_row"),
            "position": batch.column("position"),
        }
        return pa.record_batch(columns)


def _as_text(column: pa.Array) -> pa.Array:
    return column.cast(pa.large_string())


class RemovedFile:
    """Writes the table to a Parquet file; the rows wait in a hidden file until the places of all copies are known."""

    def __init__(self, path: Path, *, force: bool) -> None:
        check_output(path, force=force)
        self._path, self._force = path, force
        rows = path.with_name(path.name + ".rows")
        clear_leftovers(rows)  # of killed processes
        self._spool = hidden_name(rows, "tmp")
        self._closing = ExitStack()

    @contextmanager
    def spooling(self) -> Iterator[RemovedRows]:
        """Yield the collector of the rows; the hidden file is removed at the end of the block."""
        in_use.add(self._spool)
        try:
            with self._closing as stack:
                file = stack.enter_context(pa.OSFile(str(self._spool), "wb"))
                writer = stack.enter_context(pa.ipc.new_file(file, SPOOLED))
                rows = RemovedRows(writer.write_batch)
                stack.callback(rows.flush)
                yield rows
        finally:
            remove(self._spool)
            in_use.discard(self._spool)

    def finish(self, columns: RemovedColumns, about: dict[str, Any]) -> None:
        """Write the table; call this inside the block of `spooling`, after the last row."""
        self._closing.close()
        with replacing(self._path, force=self._force) as draft, pa.memory_map(str(self._spool)) as source:
            rows = pa.ipc.open_file(source)
            schema = columns.complete(nothing_removed()).schema.with_metadata(
                {METADATA_KEY: json.dumps(about).encode()}
            )
            with pq.ParquetWriter(draft.path, schema, compression="zstd") as writer:
                for number in range(rows.num_record_batches):
                    batch = columns.complete(rows.get_batch(number))
                    draft.nbytes += nbytes_of(batch)
                    writer.write_batch(batch)


def nothing_removed() -> pa.RecordBatch:
    return pa.record_batch([pa.array([], field.type) for field in SPOOLED], schema=SPOOLED)
