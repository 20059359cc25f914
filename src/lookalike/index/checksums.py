"""Checksums of the contents of the manifest and of index.json."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from lookalike.core.arrays import I64
from lookalike.kernels import hashing


def row_sum(values: Sequence[Any]) -> int:
    """Return the CRC-32 of a row: its values as JSON, with each blob replaced by its length, then the blobs themselves.

    >>> row_sum([1, "a", None]) == row_sum([1, "a", b""])
    False
    """
    blobs = [value for value in values if isinstance(value, bytes)]
    plain = [{"blob": len(value)} if isinstance(value, bytes) else value for value in values] if blobs else values
    out = zlib.crc32(json.dumps(plain).encode())
    for blob in blobs:
        out = zlib.crc32(blob, out)
    return out


def pairs_sum(left: I64, right: I64) -> int:
    """Return the sum of the hashes of pairs of numbers as a signed 64-bit number, independent of the order of pairs."""
    out = np.empty(len(left), np.uint64)
    hashing.mix_all(np.ascontiguousarray(right).view(np.uint64), np.uint64(0), out)
    hashing.mix_all(np.ascontiguousarray(left).view(np.uint64) ^ out, np.uint64(1), out)
    return int(out.sum(dtype=np.uint64).view(np.int64))


def wrapped(number: int) -> int:
    """Wrap a sum to a signed 64-bit number."""
    return (number + 2**63) % 2**64 - 2**63


class Tally:
    """The running checksum of a table whose rows are read one by one; a row with a known key replaces the old row."""

    def __init__(self) -> None:
        self._rows: dict[Any, int] = {}
        self.total = 0

    def put(self, key: Any, values: Sequence[Any]) -> None:
        new = row_sum(values)
        self.total += new - self._rows.get(key, 0)
        self._rows[key] = new

    def is_same(self, key: Any, values: Sequence[Any]) -> bool:
        """Return whether a row still has the checksum that it had when it was put in."""
        return self._rows.get(key) == row_sum(values)
