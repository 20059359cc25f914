"""Inverted lists of fingerprints, by sorting."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from lookalike.core.arrays import I64, U32, U64
from lookalike.kinds.passages.kernels import inverted_lists
from lookalike.kinds.passages.winnowing import Flags

LIST_PARTS = 256  # parts that are sorted separately, one for each value of the eight highest bits

Map = Callable[[Callable[[U64], None], Iterable[U64]], Iterable[None]]


@dataclass(frozen=True)
class FingerprintLists:
    """All fingerprints, sorted by hash and then by number.

    order: u32[f], numbers of the fingerprints in this order; place: i64[f], position of each fingerprint in `order`;
    fresh: bool[f], True at the first entry of each list. Hashes are compared by 40 bits: a chance agreement only adds a
    seed that fails when the tokens are compared.
    """

    order: U32
    place: I64
    fresh: Flags

    def sizes(self) -> I64:
        """Return the number of fingerprints of each list."""
        return np.diff(np.flatnonzero(self.fresh), append=len(self.fresh))


def lists_of(hashes: U64, each: Map = map) -> FingerprintLists:
    """Group equal hashes into lists; `each` is a map function that may sort the parts on several threads.

    >>> made = lists_of(np.array([7, 5, 7], np.uint64) << np.uint64(40))
    >>> made.order.tolist(), made.fresh.tolist()
    ([1, 0, 2], [True, True, False])
    """
    packed, ends = np.empty(len(hashes), np.uint64), np.zeros(LIST_PARTS, np.int64)
    inverted_lists.pack(hashes, ends, packed)
    starts = np.concatenate([[0], ends[:-1]])
    for _ in each(_sort, [packed[a:b] for a, b in zip(starts, ends, strict=True)]):
        pass
    lists = FingerprintLists(
        np.empty(len(hashes), np.uint32), np.empty(len(hashes), np.int64), np.empty(len(hashes), np.bool_)
    )
    inverted_lists.unpack(packed, starts, lists.order, lists.place, lists.fresh)
    return lists


def _sort(part: U64) -> None:
    part.sort()
