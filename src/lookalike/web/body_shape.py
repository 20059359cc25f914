"""Refuse a JSON body by its shape, before it is parsed.

A parser holds the lock of the interpreter until it is done, and every other request waits. What takes it long is not
the length of texts but the number of values, lists and members of objects, and the errors in them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lookalike.errors import BadBody, BatchTooLarge

MOST_VALUES = 1_000_000  # in one body: numbers and texts in all of its lists and objects
MOST_MEMBERS = 50_000  # of all objects of a body
MOST_BODY_FIELDS = 16  # of the body itself
LISTS_BESIDES = 8  # besides one for each item: of the items, of their ids, and the body itself


def check_shape(body: bytes, batch: int) -> None:
    """Raise an error for a body with too many values to be parsed. batch: the most items in one request.

    >>> check_shape(b'{"items": [' + b"[]," * 2000 + b"[]]}", 1000)
    Traceback (most recent call last):
    lookalike.errors.BatchTooLarge: 2,003 lists and objects with 2,001 values came in one request; this server takes ...
    """
    marks = {mark: body.count(mark) for mark in (b",", b"[", b"{", b":")}
    if marks[b","] < MOST_BODY_FIELDS or (
        marks[b","] < MOST_VALUES
        and marks[b"["] + marks[b"{"] <= batch + LISTS_BESIDES
        and marks[b":"] <= MOST_BODY_FIELDS
    ):
        return
    codes = _outside_of_texts(body)
    opening = (codes == ord("[")) | (codes == ord("{"))
    depth = np.cumsum(opening.astype(np.int8) - ((codes == ord("]")) | (codes == ord("}"))), dtype=np.int32)
    commas = codes == ord(",")
    fields = 1 + int((commas & (depth == 1)).sum())
    if fields > MOST_BODY_FIELDS:
        raise BadBody(f"{fields:,} fields are in the body; expected {MOST_BODY_FIELDS} or fewer.")
    lists, values, members = int(opening.sum()), 1 + int(commas.sum()), int((codes == ord(":")).sum())
    if lists > batch + LISTS_BESIDES or values > MOST_VALUES or members > MOST_MEMBERS:
        raise BatchTooLarge(
            f"{lists:,} lists and objects with {values:,} values came in one request; this server takes {batch:,} "
            f"items with {MOST_VALUES:,} values, {MOST_MEMBERS:,} of them in objects. Send several requests."
        )


def _outside_of_texts(body: bytes) -> npt.NDArray[np.uint8]:
    """Return the bytes of a JSON body that are not in texts: u8."""
    if b"\\" in body:
        body = body.replace(b"\\\\", b"__").replace(b'\\"', b"__")
    codes = np.frombuffer(body, np.uint8)
    inside = np.bitwise_xor.accumulate((codes == ord('"')).view(np.uint8))
    outside: npt.NDArray[np.uint8] = codes[inside == 0]
    return outside
