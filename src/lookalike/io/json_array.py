"""Read a file that holds one JSON array as lines, each with one element."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import I64
from lookalike.errors import InputError
from lookalike.io.plain_text import BOM
from lookalike.io.reader import ReadLimit, open_stream

WHITESPACE = b" \t\r\n"
STRING_MARK, BACKSLASH, COMMA = b'"'[0], b"\\"[0], b","[0]
OPENING, CLOSING = tuple(b"[{"), tuple(b"]}")
LINE_BREAKS = re.compile(rb"[ \t]*[\r\n][ \t\r\n]*")
START_BYTES = 1 << 12  # of a file that are searched for its first character


def begins_array(path: Path, encoding: str | None) -> bool:
    """Return whether the first character of a file is the bracket of an array."""
    with open_stream(path, encoding) as file:
        start: bytes = file.read(START_BYTES)
    return start.removeprefix(BOM).lstrip(WHITESPACE).startswith(b"[")


def array_blocks(
    path: Path, name: str, *, size: int, limit: ReadLimit | None = None, encoding: str | None = None
) -> Iterator[tuple[int, bytes]]:
    """Yield (number of the first element, elements on a line each, of about `size` bytes) of a file with an array.

    Line breaks within an element become spaces, with the indentation around them. limit: refuses long elements before
    they are read.
    """
    with open_stream(path, encoding) as file:
        waiting: bytes = file.read(max(size, START_BYTES)).removeprefix(BOM).lstrip(WHITESPACE)[1:]
        number, needed, is_open = 1, 0, True
        while is_open:
            piece: bytes = file.read(size)
            waiting += piece
            if piece and len(waiting) < needed:
                continue
            starts, ends, rest, is_open = _elements(waiting)
            elements = [waiting[start:end].strip(WHITESPACE) for start, end in zip(starts, ends, strict=True)]
            if not is_open and elements and not elements[-1]:
                elements.pop()  # an empty array, or a comma before the bracket
            if not all(elements):
                raise InputError(
                    f"{name} element {number + elements.index(b'')}: not valid JSON (nothing before a comma)."
                )
            if elements:
                yield number, b"\n".join(LINE_BREAKS.sub(b" ", element) for element in elements) + b"\n"
                number += len(elements)
            waiting = waiting[rest:]
            needed = 0 if elements else 2 * len(waiting)  # so that a long element is not scanned many times
            if limit is not None and is_open and len(waiting) > limit.nbytes:
                limit.refuse(f"element {number:,} of {name}", len(waiting))
            if not piece and is_open:
                raise InputError(f"{name} element {number}: not valid JSON (the array has no end).")
        while not waiting.strip(WHITESPACE):
            waiting = file.read(size)
            if not waiting:
                return
        raise InputError(f"{name}: not valid JSON (something follows the array).")


def _elements(data: bytes) -> tuple[list[int], list[int], int, bool]:
    """Return the starts and ends of the elements that end in `data`, where the rest begins, and whether it goes on.

    data: begins within the array, at an element.

    >>> _elements(b'{"a": "],"}, [1, 2]] \\n')
    ([0, 12], [11, 19], 20, False)
    >>> _elements(b'1, {"a')
    ([0], [1], 2, True)
    """
    given = np.frombuffer(data, np.uint8)
    escaped = _escaped(given)
    quotes = np.flatnonzero(given == STRING_MARK)
    quotes = quotes[~np.isin(quotes, escaped)]
    kinds = np.zeros(256, np.int8)
    kinds[[*OPENING]], kinds[[*CLOSING]], kinds[COMMA] = 1, -1, 2
    marks = np.flatnonzero(kinds[given])
    marks = marks[np.searchsorted(quotes, marks) % 2 == 0]  # outside of strings
    kind = kinds[given[marks]]
    steps = np.where(kind == 2, 0, kind).astype(np.int64)
    depth = np.cumsum(steps)
    closed = np.flatnonzero(depth < 0)
    upto = int(closed[0]) if len(closed) else len(marks)
    ends = marks[:upto][(kind[:upto] == 2) & (depth[:upto] == 0)].tolist()
    starts = [0, *(end + 1 for end in ends)]
    if len(closed):
        return starts, [*ends, int(marks[upto])], int(marks[upto]) + 1, False
    return starts[:-1], ends, starts[-1], True


def _escaped(given: npt.NDArray[np.uint8]) -> I64:
    """Return the positions of escaped bytes: every second of several backslashes, and what follows an odd number."""
    slashes = np.flatnonzero(given == BACKSLASH)
    if not len(slashes):
        return slashes
    begins = np.ones(len(slashes), np.bool_)
    begins[1:] = slashes[1:] != slashes[:-1] + 1
    first = np.maximum.accumulate(np.where(begins, slashes, 0))
    after: I64 = slashes[(slashes - first) % 2 == 0] + 1
    return after
