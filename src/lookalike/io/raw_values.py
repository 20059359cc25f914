"""Locate the value of a column inside a row of JSON Lines, CSV or text, and map positions in it to bytes of the row."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

ESCAPES = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\."  # a surrogate pair is one
)
BLANKS = re.compile(r"[ \t\n\r]*")
QUOTE_MARK = b'"'
EMPTY_FIELD = b'""'  # an empty CSV field without quotes would be null


@dataclass(frozen=True)
class RawValue:
    """A value inside the bytes of a row: row[start:end], without quotes around it.

    quoted: whether quotes stand around it; escapes: "json", "csv" or "" for none.
    """

    start: int
    end: int
    quoted: bool
    escapes: str

    def positions(self, row: bytes, wanted: Sequence[int]) -> list[int]:
        """Return the positions in `row` of byte positions of the decoded value, which ascend."""
        body = row[self.start : self.end]
        mark = b"\\" if self.escapes == "json" else QUOTE_MARK if self.escapes == "csv" else b""
        if not mark or mark not in body:
            return [self.start + position for position in wanted]
        atoms = _json_atoms(body) if self.escapes == "json" else _csv_atoms(body)
        return [self.start + position for position in _mapped(atoms, wanted, len(body))]


def _mapped(atoms: Iterator[tuple[int, int, int]], wanted: Sequence[int], length: int) -> list[int]:
    """Map positions of decoded text to the raw text. atoms: (raw start, raw end, decoded bytes) of each escape."""
    out: list[int] = []
    raw = decoded = 0
    for start, end, nbytes in atoms:
        while len(out) < len(wanted) and wanted[len(out)] <= decoded + start - raw:
            out.append(raw + wanted[len(out)] - decoded)
        raw, decoded = end, decoded + start - raw + nbytes
    while len(out) < len(wanted):
        out.append(min(length, raw + wanted[len(out)] - decoded))
    return out


def _json_atoms(body: bytes) -> Iterator[tuple[int, int, int]]:
    for match in ESCAPES.finditer(body):
        text = json.loads(b'"' + match[0] + b'"')
        yield match.start(), match.end(), len(text.encode("utf-8", "surrogatepass"))


def _csv_atoms(body: bytes) -> Iterator[tuple[int, int, int]]:
    """Two quotes are one; a single one ends the quoted part of the field, and what follows is literal."""
    at = 0
    while (at := body.find(QUOTE_MARK, at)) >= 0:
        if body[at + 1 : at + 2] != QUOTE_MARK:
            yield at, at + 1, 0
            return
        yield at, at + 2, 1
        at += 2


def json_value(row: bytes, key: str) -> RawValue | None:
    """Return the string under a key of the JSON object in a row; None if there is none, or no string.

    >>> value = json_value(b'{"id": 1, "text": "a\\\\nb"}', "text")
    >>> value.start, value.end, value.positions(b'{"id": 1, "text": "a\\\\nb"}', [1, 2, 3])
    (19, 23, [20, 22, 23])
    """
    text = row.decode("utf-8", "surrogateescape")
    decoder = json.JSONDecoder(strict=False)
    at = text.index("{") + 1
    found: tuple[int, int] | None = None
    while True:
        at = _after_blanks(text, at)
        if text[at] != '"':
            break
        name, at = _string(text, at)
        at = _after_blanks(text, _after_blanks(text, at) + 1)
        if text[at] == '"':
            begin = at + 1
            _, at = _string(text, at)
            found = (begin, at - 1) if name == key else found
        else:
            _, at = decoder.raw_decode(text, at)
            found = None if name == key else found
        at = _after_blanks(text, at)
        if text[at] != ",":
            break
        at += 1
    if found is None:
        return None
    if not row.isascii():
        found = (_nbytes(text[: found[0]]), _nbytes(text[: found[1]]))
    return RawValue(*found, quoted=True, escapes="json")


def _string(text: str, at: int) -> tuple[str, int]:
    value: Any = json.decoder.scanstring(text, at + 1, False)  # type: ignore[attr-defined]
    return value[0], value[1]


def _after_blanks(text: str, at: int) -> int:
    match = BLANKS.match(text, at)
    return at if match is None else match.end()


def _nbytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


def csv_value(row: bytes, delimiter: bytes, number: int) -> RawValue:
    r'''Return the field with this number in a record of CSV, which may end with a line break.

    >>> csv_value(b'1,"say ""hi""",x\n', b",", 1)
    RawValue(start=3, end=13, quoted=True, escapes='csv')
    '''
    at = 0
    for field in range(number + 1):
        start = at
        quoted = row[at : at + 1] == QUOTE_MARK
        if quoted:
            at += 1
            while (at := row.find(QUOTE_MARK, at)) >= 0 and row[at + 1 : at + 2] == QUOTE_MARK:
                at += 2
            closing = len(row) if at < 0 else at
            at = closing + 1
        end = _field_end(row, at, delimiter)
        if field == number:
            if not quoted:
                return RawValue(start, end, quoted=False, escapes="")
            return RawValue(start + 1, closing if end <= closing + 1 else end, quoted=True, escapes="csv")
        at = end + 1
    raise AssertionError("a loop over at least one field returns")


def _field_end(row: bytes, at: int, delimiter: bytes) -> int:
    ends = [end for mark in (delimiter, b"\n", b"\r") if (end := row.find(mark, at)) >= 0]
    return min(ends, default=len(row))


def line_value(row: bytes) -> RawValue:
    """Return the text of a line without its line break."""
    end = len(row)
    if row.endswith(b"\n"):
        end -= 2 if row.endswith(b"\r\n") else 1
    return RawValue(0, end, quoted=False, escapes="")
