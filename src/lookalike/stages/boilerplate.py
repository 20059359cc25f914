"""Very common shingles (boilerplate) out of the sets."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from lookalike.data import Sets
from lookalike.kernels import boilerplate


def drop_common(sets: Sets, max_share: float) -> tuple[Sets, int]:
    """The sets without the elements that more than `max_share` of the non-empty sets hold; and how many those are.

    Exact: a counting sketch proposes, a table of exact counts decides. Linear in the elements.
    """
    limit = int(Fraction(repr(float(max_share))) * int((sets.sizes > 0).sum()))  # 0.29 of 100 is 29, in floats 28.99
    if not len(sets.elements):
        return sets, 0
    counts = np.zeros(1 << max(16, min(28, int(2 * len(sets.elements)).bit_length())), np.uint32)
    boilerplate.count(sets.elements, counts)
    proposed = np.unique(sets.elements[boilerplate.above(sets.elements, counts, limit)])
    exact = np.zeros(len(proposed), np.int64)
    boilerplate.count_exactly(sets.elements, counts, limit, proposed, exact)
    gone = proposed[exact > limit]
    elements, offsets = np.empty_like(sets.elements), np.zeros_like(sets.offsets)
    total = boilerplate.keep_others(sets.elements, sets.offsets, counts, limit, gone, elements, offsets)
    return Sets(elements[:total], offsets), len(gone)
