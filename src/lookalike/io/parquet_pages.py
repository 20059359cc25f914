"""Read the sizes of the pages of a Parquet column from their headers, without reading the values.

A page is decoded as a whole, so it is the smallest unit that can be read. Arrow does not report the sizes of pages: a
text of 50 MB takes a page of 50 MB, but a row group of many short texts has many small pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

import pyarrow.parquet as pq

HEADER_BYTES = 1 << 13  # bytes to read for a header at first; statistics may make it longer
MOST_HEADER_BYTES = 1 << 20
DICTIONARY = 2  # page type
# Fields of PageHeader and of the headers of each page type, by their numbers in parquet.thrift.
TYPE, NBYTES, STORED_BYTES, DATA, DICTIONARY_DATA, DATA_V2 = 1, 2, 3, 5, 7, 8
COUNT = 1


@dataclass(frozen=True)
class Page:
    """A page. nbytes: uncompressed size; count: number of values; is_dictionary: holds values that others refer to."""

    nbytes: int
    count: int
    is_dictionary: bool


def pages(file: IO[bytes], column: pq.ColumnChunkMetaData) -> Iterator[Page]:
    """Yield the pages of a column chunk in order. Ends early at a damaged header; reading the data will report it."""
    at = column.dictionary_page_offset or column.data_page_offset
    end = at + column.total_compressed_size
    while at < end:
        header = _header(file, at)
        if header is None:
            return
        fields, length = header
        about = fields.get(DATA) or fields.get(DICTIONARY_DATA) or fields.get(DATA_V2) or {}
        try:
            yield Page(int(fields[NBYTES]), int(about.get(COUNT, 0)), fields[TYPE] == DICTIONARY)
            at += length + max(0, int(fields[STORED_BYTES]))
        except (KeyError, TypeError):
            return


def _header(file: IO[bytes], at: int) -> tuple[dict[int, Any], int] | None:
    """Return (the fields of a page header, its length); None if there is no valid header."""
    size = HEADER_BYTES
    while size <= MOST_HEADER_BYTES:
        file.seek(at)
        data = file.read(size)
        try:
            return _struct(data, 0)
        except IndexError:
            size *= 8
        except ValueError:
            return None
    return None


def _struct(data: bytes, at: int) -> tuple[dict[int, Any], int]:
    """Parse a struct in Thrift's compact protocol: return (fields by number, position of the next byte)."""
    fields: dict[int, Any] = {}
    number = 0
    while data[at]:
        step, kind = data[at] >> 4, data[at] & 15
        at += 1
        if step:
            number += step
        else:
            number, at = _integer(data, at)
        fields[number], at = _value(kind, data, at)
    return fields, at + 1


def _value(kind: int, data: bytes, at: int) -> tuple[Any, int]:
    match kind:
        case 1 | 2:  # true and false, without further bytes
            return kind == 1, at
        case 3:
            return data[at], at + 1
        case 4 | 5 | 6:
            return _integer(data, at)
        case 7:
            return None, at + 8
        case 8:
            length, at = varint(data, at)
            return None, at + length
        case 12:
            return _struct(data, at)
    raise ValueError(f"a page header holds no values of type {kind}")


def _integer(data: bytes, at: int) -> tuple[int, int]:
    number, at = varint(data, at)
    return number >> 1 ^ -(number & 1), at


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Decode a variable-length integer: return (number, position of the next byte).

    >>> varint(bytes([0xAC, 0x02]), 0)
    (300, 2)
    """
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at
