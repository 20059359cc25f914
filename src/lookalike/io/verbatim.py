"""Copy rows byte for byte if input and output have the same format."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from lookalike.errors import InputChanged, UsageError
from lookalike.io.delimited import Delimited
from lookalike.io.paths import kind_of
from lookalike.io.reader import RawRows, Reader
from lookalike.io.safe_cells import safe_cells

BREAKS = (b"\n", b"\r")


def can_copy(readers: Sequence[Reader], path: str | os.PathLike[str]) -> bool:
    """Return whether rows of these files can be copied to this one unchanged.

    The format must be the same, and for CSV files also the delimiter and the column names.
    """
    kind = kind_of(path)
    if safe_cells.get() and kind in ("CSV", "TSV"):
        return False
    if kind is None or not readers or any(reader.copied_as != kind for reader in readers):
        return False
    tables = [reader for reader in readers if isinstance(reader, Delimited)]
    return len({(table.delimiter, *table.schema.names) for table in tables}) <= 1


def check_added_columns(readers: Sequence[Reader], path: str | os.PathLike[str], option: str) -> None:
    """Raise UsageError where rows are copied to this output unchanged, so that they cannot get further columns."""
    if can_copy(readers, path) or kind_of(path) == "text lines":
        raise UsageError(
            f"`{option}` adds columns, and {os.fspath(path)} gets the bytes of the input unchanged. Write Parquet or "
            "Arrow (.parquet, .arrow), or another format than that of the input."
        )


def copied_rows(readers: Sequence[Reader], stays: npt.NDArray[np.bool_], *, repair: bool = False) -> Iterator[bytes]:
    """Yield the bytes of the rows that stay (bool[rows of all readers]), preceded by the head of the first file.

    A last row without a line break gets one only if another row follows. Blank lines are not rows and are omitted.
    repair: replace bytes that are not UTF-8 by U+FFFD. Raises InputChanged if the number of rows differs from `stays`.
    """
    at = 0
    before = readers[0].head()
    if before:
        yield before
    is_ended = not before or before.endswith(BREAKS) or readers[0].copied_as not in ("CSV", "TSV")
    line_break = b"\r\n" if before.endswith(b"\r\n") else b"\n"
    for reader in readers:
        left = reader.rows if reader.damaged and reader.rows is not None else None
        for rows in reader.raw_rows():
            count = len(rows) if left is None else min(left, len(rows))
            kept = stays[at : at + count]
            if len(kept) < count:
                raise InputChanged(reader.name)
            if count and rows.data[: rows.ends[0]].endswith(b"\r\n"):
                line_break = b"\r\n"
            data = _taken(rows, np.flatnonzero(kept))
            if data:
                yield (b"" if is_ended else line_break) + (_repaired(data) if repair else data)
                is_ended = data.endswith(BREAKS)
            at += count
            if left is not None:
                left -= count
                if not left:
                    break
    if at != len(stays):
        raise InputChanged(readers[-1].name)


def whole_blocks(reader: Reader) -> Iterator[RawRows]:
    """Yield the rows in blocks that together hold every byte of the file, also its head and what is between rows."""
    if not isinstance(reader, Delimited):
        yield from reader.raw_rows()
        return
    head, tail, is_first = reader.beginning(), b"", True
    for rows in reader.raw_rows():
        data, end = rows.data, int(rows.ends[-1])
        if is_first and not (data.startswith(head) and rows.starts[0] >= len(head)):
            yield RawRows(head + data[:end], rows.starts + len(head), rows.ends + len(head))
        else:
            yield RawRows(data[:end], rows.starts, rows.ends)
        is_first, tail = False, data[end:]  # the tail begins the next block
    nothing = np.empty(0, np.int64)
    yield RawRows(head if is_first else tail, nothing, nothing)


def _taken(rows: RawRows, wanted: npt.NDArray[np.int64]) -> bytes:
    """Return the bytes of these rows; adjacent rows are copied together."""
    starts, ends = rows.starts[wanted], rows.ends[wanted]
    new = np.ones(len(wanted), np.bool_)
    new[1:] = starts[1:] != ends[:-1]
    last = np.append(np.flatnonzero(new)[1:] - 1, len(wanted) - 1) if len(wanted) else wanted
    data = memoryview(rows.data)
    return b"".join(data[start:end] for start, end in zip(starts[new].tolist(), ends[last].tolist(), strict=True))


def _repaired(data: bytes) -> bytes:
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace").encode()
    return data
