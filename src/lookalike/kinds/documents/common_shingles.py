"""Very common shingles (boilerplate) out of the sets."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import Sets
from lookalike.kinds.documents.kernels import common_shingles

ELEMENTS_PER_SCAN = 1 << 24  # elements that are looked through for common ones


def drop_common(
    sets: Sets, max_share: float, room: Callable[[tuple[int, ...], Any], npt.NDArray[Any]] = np.empty
) -> tuple[Sets, int]:
    """The sets without the elements that more than `max_share` of the non-empty sets hold; and how many those are.

    Exact: a counting sketch proposes, a table of exact counts decides. Linear in the elements. room: gives an array of
    a shape and a dtype for the elements that stay.
    """
    limit = int(Fraction(repr(float(max_share))) * int((sets.sizes > 0).sum()))  # 0.29 of 100 is 29, in floats 28.99
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
