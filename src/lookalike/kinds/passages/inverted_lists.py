"""Fingerprints to lists of equal ones, by sorting."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from lookalike.core.arrays import I64, U32, U64
from lookalike.kinds.passages.kernels import inverted_lists
from lookalike.kinds.passages.winnowing import Flags

LIST_PARTS = 256  # lists are made part by part, of one value of the eight highest bits each

Map = Callable[[Callable[[U64], None], Iterable[U64]], Iterable[None]]


@dataclass(frozen=True)
class FingerprintLists:
    """All fingerprints in order of their hash, then of their number.

    order: u32[f], their numbers; place: i64[f], where a fingerprint stands in `order`; fresh: bool[f], True where
    another hash begins. Hashes are told apart by 40 bits: a chance agreement adds a seed that fails at the first look
    at the tokens, and loses nothing.
    """

    order: U32
    place: I64
    fresh: Flags

    def sizes(self) -> I64:
        """How many fingerprints each list has."""
        return np.diff(np.flatnonzero(self.fresh), append=len(self.fresh))


def lists_of(hashes: U64, each: Map = map) -> FingerprintLists:
    """Put equal hashes together; `each` may sort the parts on several threads.

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
