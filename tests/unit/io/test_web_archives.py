"""Web archives: which records are pages, their text, and archives that are broken."""

from __future__ import annotations

import gzip
import json
from itertools import accumulate
from pathlib import Path

import pytest

import lookalike as la
from lookalike.errors import InputError, UsageError
from lookalike.io.read import open_collection

HEAD = b"HTTP/1.1 %s\r\nContent-Type: %s\r\n\r\n"
PAGE = "<html><head><title>T</title><script>var x</script></head><body><p>Grüße <b>aus</b> Köln</p></body></html>"
TEXT = "the quick brown fox jumps over the lazy dog and runs away"


def record(kind: str, number: int, content: bytes, content_type: str = "application/http; msgtype=response") -> bytes:
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:{number}>\r\nWARC-Target-URI: http://a/{number}\r\n"
        f"WARC-Date: 2024-01-02T03:04:05Z\r\nContent-Type: {content_type}\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content + b"\r\n\r\n"


RECORDS = [
    record("warcinfo", 0, b"software: none\r\n", "application/warc-fields"),
    record("request", 1, b"GET / HTTP/1.1\r\n\r\n"),
    record("response", 2, HEAD % (b"200 OK", b"text/html; charset=ISO-8859-1") + PAGE.encode("latin-1")),
    record("response", 3, HEAD % (b"200 OK", b'text/html; charset="utf-8"') + PAGE.encode()),
    record("response", 4, HEAD % (b"404 Not Found", b"text/html") + PAGE.encode()),
    record("response", 5, HEAD % (b"200 OK", b"image/png") + b"\x89PNG"),
    record("response", 6, HEAD % (b"200 OK", b"text/plain; charset=utf-99") + b"plain"),
    record("response", 7, b"no HTTP at all"),
    record("resource", 8, PAGE.encode("utf-16"), "text/html; charset=utf-16"),
    record("conversion", 9, TEXT.encode(), "text/plain"),
]


@pytest.fixture(autouse=True)
def _in_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz", "whole.warc.gz"])
def test_pages_are_rows_and_other_records_are_not(name: str) -> None:
    plain = b"".join(RECORDS)
    Path(name).write_bytes(
        {"a.warc": plain, "a.warc.gz": b"".join(map(gzip.compress, RECORDS))}.get(name, gzip.compress(plain))
    )
    rows = [row for batch in open_collection(name).rows() for row in batch.to_pylist()]
    assert [row["id"] for row in rows] == [f"<urn:uuid:{number}>" for number in (2, 3, 6, 8, 9)]
    assert [row["text"] for row in rows] == ["Grüße aus Köln", "Grüße aus Köln", "plain", "Grüße aus Köln", TEXT]
    assert rows[0] == {
        "id": "<urn:uuid:2>", "url": "http://a/2", "date": "2024-01-02T03:04:05Z", "text": "Grüße aus Köln"
    }  # fmt: skip


def test_near_copies_among_pages_are_dropped() -> None:
    copies = [
        record("conversion", number, TEXT.encode() + end, "text/plain")
        for number, end in ((1, b""), (2, b"!"), (3, b" x y z w v u t"))
    ]
    Path("c.wet.gz").write_bytes(b"".join(map(gzip.compress, copies)))
    la.dedup("c.wet.gz", threshold=0.9, k=3).write("kept.jsonl")
    kept = [json.loads(line) for line in Path("kept.jsonl").read_text().splitlines()]
    assert [row["url"] for row in kept] == ["http://a/1", "http://a/3"]


@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz", "whole.warc.gz"])
def test_an_archive_that_is_cut_off_is_refused_or_complete(name: str) -> None:
    """A cut between two records looks like a shorter archive."""
    plain = b"".join(RECORDS)
    parts = [gzip.compress(one) for one in RECORDS] if name == "a.warc.gz" else RECORDS
    whole = gzip.compress(plain) if name == "whole.warc.gz" else b"".join(parts)
    ends = [0, *accumulate(map(len, parts))]
    refused = 0
    for cut in range(1, len(whole), 7):
        Path(name).write_bytes(whole[:cut])
        try:
            rows = [row["id"] for batch in open_collection(name).rows() for row in batch.to_pylist()]
        except InputError:
            refused += 1
        else:
            records = next(n for n, end in enumerate(ends) if end >= cut)
            assert name != "whole.warc.gz"
            assert ends[records] - cut <= 4  # the blank lines after the last record
            assert rows == [f"<urn:uuid:{n}>" for n in (2, 3, 6, 8, 9) if n < records]
    assert refused > 90


def test_what_is_no_archive_is_refused_and_none_is_written() -> None:
    Path("a.warc").write_bytes(b"hello world\n" * 99)
    with pytest.raises(InputError, match=r"^a\.warc cannot be read as a web archive: Invalid WARC header"):
        la.pairs("a.warc")
    with pytest.raises(UsageError, match="unknown extension"):
        la.dedup(["a b c", "a b c"], k=1).write("kept.warc")
