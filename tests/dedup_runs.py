"""`dedup` of a file with one row for each kind of item in its columns, for each kind."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any

import lookalike as la
from lookalike.result import Result

DEDUPS: dict[str, Callable[[str | PathLike[str]], Result]] = {
    "documents": lambda path: la.dedup(path, text="text", k=1, threshold=0.9),
    "strings": lambda path: la.strings.dedup(path, text="text", max_edits=0),
    "bits": lambda path: la.bits.dedup(path, column="code", max_bits=0),
    "vectors": lambda path: la.vectors.dedup(path, column="vector", max_distance=0.1),
    "baskets": lambda path: la.baskets.dedup(path, item="items", threshold=0.9),
    "records": lambda path: la.records.dedup(path, fields=["text"], threshold=0.9),
}


def row_of(text: str, number: int) -> dict[str, Any]:
    """A row for every kind; rows with the same text and number are copies."""
    return {"text": text, "code": f"{number:02x}", "vector": [1.0, float(number)], "items": text.split()}
