"""Reader of web archives (WARC and WET): each page is a row, with the text of its HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lookalike.errors import InputError
from lookalike.io.html import decoded, require_web, text_of_html
from lookalike.io.reader import TARGET_BYTES, ByteReader, open_stream, reading, without_first
from lookalike.io.unchanged import watched

if TYPE_CHECKING:
    from fastwarc.warc import WarcRecord

HTML_TYPES = ("text/html", "application/xhtml+xml")
TEXT_TYPES = ("text/plain",)
STATUS_FOUND = 200  # the HTTP status of a page that was found
ARCHIVE_COLUMNS = pa.schema(
    [("id", pa.string()), ("url", pa.string()), ("date", pa.string()), ("text", pa.large_string())]
)


class WebArchive(ByteReader):
    """A WARC or WET file, plain or compressed. A row is a page that was found and is HTML or plain text.

    Columns: id (the id of the record), url, date, text. Other records (requests, images, redirects) are left out.
    """

    schema = ARCHIVE_COLUMNS

    def __init__(self, path: Path, name: str) -> None:
        require_web(f"reading web archives ({name})")
        self.name = name
        self._path = path
        self.paths = (path,)

    def batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        last: list[pa.RecordBatch] = []

        def texts() -> Iterator[bytes]:
            for batch in self._read():
                last[:] = [batch]
                yield b"".join(buffer.to_pybytes() for buffer in batch.column("text").buffers() if buffer)

        for _ in watched(self, texts()):
            yield last[0].select([name for name in ARCHIVE_COLUMNS.names if name in schema.names])

    def batches_from(self, schema: pa.Schema, start: int) -> Iterator[pa.RecordBatch]:
        return without_first(self.batches(schema), start)

    def size(self, names: Sequence[str]) -> int:
        return self._path.stat().st_size

    def where(self, row: int) -> str:
        return f"{self.name} page {row + 1}"

    def _read(self) -> Iterator[pa.RecordBatch]:
        rows: list[tuple[str, str, str, bytes]] = []
        nbytes = 0
        for row in self._pages():
            rows.append(row)
            nbytes += len(row[-1])
            if nbytes >= TARGET_BYTES:
                yield _batch(rows)
                rows, nbytes = [], 0
        if rows:
            yield _batch(rows)

    def _pages(self) -> Iterator[tuple[str, str, str, bytes]]:
        from fastwarc.warc import ArchiveIterator

        number = 0
        with reading(self.name, "a web archive"), open_stream(self._path) as stream:
            archive: Any = _Counted(stream)
            for number, record in enumerate(ArchiveIterator(archive, parse_http=False), 1):
                if self.limit is not None:
                    self.limit.check(f"record {number:,} of {self.name}", record.content_length)
                content = record.reader.read()
                if str(len(content)) != record.headers.get("Content-Length"):  # or the headers are cut off, too
                    raise InputError(f"{self.name} ends within record {number:,}: it has been cut off.")
                text = _text_of(record, content)
                if text is not None:
                    headers = record.headers
                    date = headers.get("WARC-Date") or ""
                    yield record.record_id or str(number), headers.get("WARC-Target-URI") or "", date, text
        if not number and self._path.stat().st_size:
            raise InputError(f"{self.name} has no records; expected a web archive.")


class _Counted:
    """A stream that tells its position, which is asked of every stream; a compressed one cannot. It detects cuts."""

    def __init__(self, stream: pa.NativeFile) -> None:
        self._stream = stream
        self._place = 0

    def read(self, nbytes: int = -1) -> bytes:
        data: bytes = self._stream.read(None if nbytes < 0 else nbytes)
        self._place += len(data)
        return data

    def tell(self) -> int:
        return self._place


def _batch(rows: list[tuple[str, str, str, bytes]]) -> pa.RecordBatch:
    *others, texts = (list(column) for column in zip(*rows, strict=True))
    columns = [pa.array(column, pa.string()) for column in others]
    return pa.record_batch(
        [*columns, pa.array(texts, pa.large_binary()).view(pa.large_string())], schema=ARCHIVE_COLUMNS
    )


def _text_of(record: WarcRecord, content: bytes) -> bytes | None:
    """Return the text of a page in UTF-8; None for a record that is no page."""
    from fastwarc.warc import WarcRecordType

    if record.record_type == WarcRecordType.conversion:
        return content
    if record.record_type not in (WarcRecordType.response, WarcRecordType.resource):
        return None
    kind, charset = _type_of(record.headers.get("Content-Type") or "")
    if kind == "application/http":
        record.set_bytes_content(content)
        try:
            record.parse_http(auto_decode="all")
            if record.http_headers.status_code != STATUS_FOUND:
                return None
            content = record.reader.read()
        except (OSError, ValueError):  # headers or an encoding that no browser would read
            return None
        kind, charset = _type_of(record.http_headers.get("Content-Type") or "")
    if kind in HTML_TYPES:
        return text_of_html(content, charset)
    return decoded(content, charset).encode() if kind in TEXT_TYPES else None


def _type_of(content_type: str) -> tuple[str, str | None]:
    """Return the media type and the character set of a Content-Type.

    >>> _type_of("Text/HTML; charset=ISO-8859-1")
    ('text/html', 'ISO-8859-1')
    """
    kind, *parameters = content_type.split(";")
    named: dict[str, Any] = dict(part.strip().lower().split("=", 1) for part in parameters if "=" in part)
    charset = named.get("charset")
    return kind.strip().lower(), charset.strip("\"' ").upper() if charset else None
