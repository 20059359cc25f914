"""Removal of very common shingles (boilerplate) from sets."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import Sets
from lookalike.kinds.documents.kernels import common_shingles

ELEMENTS_PER_SCAN = 1 << 24  # elements that are scanned for common ones in one step


def drop_common(
    sets: Sets, max_share: float, room: Callable[[tuple[int, ...], Any], npt.NDArray[Any]] = np.empty
) -> tuple[Sets, int]:
    """Remove the elements that occur in more than `max_share` of the non-empty sets; also return their number.

    Exact: a counting sketch proposes elements, and exact counts decide. Linear in the elements. room: allocates an
    array of a shape and a dtype for the remaining elements.
    """
    limit = int(Fraction(repr(float(max_share))) * int((sets.sizes > 0).sum()))  # 0.29 * 100 is 29, but 28.99 in floats
    if not len(sets.elements):
        return sets, 0
    counts = np.zeros(1 << max(16, min(26, int(2 * len(sets.elements)).bit_length())), np.uint32)
    common_shingles.count(sets.elements, counts)
    proposed = np.empty(0, np.uint64)
    for at in range(0, len(sets.elements), ELEMENTS_PER_SCAN):
        part = sets.elements[at : at + ELEMENTS_PER_SCAN]
        proposed = np.union1d(proposed, part[common_shingles.above(part, counts, limit)])
    exact = np.zeros(len(proposed), np.int64)
    common_shingles.count_exactly(sets.elements, counts, limit, proposed, exact)
    gone = proposed[exact > limit]
    elements, offsets = room(sets.elements.shape, np.uint64), np.zeros_like(sets.offsets)
    total = common_shingles.keep_others(sets.elements, sets.offsets, counts, limit, gone, elements, offsets)
    return Sets(elements[:total], offsets), len(gone)
