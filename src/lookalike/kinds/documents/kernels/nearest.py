"""The nearest sets of each set, by inverted lists: rare elements first, with a bound that rises with the k-th best.

Elements are numbered by the length of their inverted lists, so that ascending elements are the rarest first. Once sets
that share none of the elements so far cannot be among the k best, the longer lists are not read: only the sets met so
far are compared, element by element.
"""

from __future__ import annotations

from typing import Any

from lookalike.kernels._jit import jit
from lookalike.kernels.bounds import score
from lookalike.kernels.nearest import place

BOUND_MARGIN = 1.0 + 1e-12  # a bound is compared with a score, and both are rounded


@jit
def shared_from(x: Any, y: Any) -> int:  # x, y i64[.], ascending, without repeats
    """Count the common elements of a short list and a long one."""
    if len(x) == 0 or len(y) == 0:
        return 0
    low, high = 0, len(y)
    while low < high:  # the first element of y that is not below x[0]
        middle = (low + high) // 2
        if y[middle] < x[0]:
            low = middle + 1
        else:
            high = middle
    common, i = 0, 0
    while i < len(x) and low < len(y):
        if x[i] == y[low]:
            common += 1
            i += 1
            low += 1
        elif x[i] < y[low]:
            i += 1
        else:
            low += 1
    return common


@jit
def kth_best(
    measure: int, size: int, met: Any, count: int, overlap: Any, sizes: Any, least: float, items: Any, scores: Any
) -> float:
    """Return a lower bound of the k-th best score, from the overlaps so far; at least `least`.

    met i64[> count]: the sets met; items i64[k], scores f64[k]: scratch.
    """
    used, last = 0, len(items) - 1
    for t in range(count):
        y = met[t]
        near = score(measure, overlap[y], size, sizes[y])
        if used <= last or near > scores[last]:
            used = place(items, scores, used, y, near)
    return max(least, scores[last]) if used > last else least


@jit
def nearest_sets(
    measure: int,  # a code of kernels.bounds
    elements: Any,  # i64[q]: elements of the sets that have inverted lists, ascending in each set
    offsets: Any,  # i64[m+1]
    sizes: Any,  # i64[m]: with elements that no other set has
    their_elements: Any,  # i64[p]: elements of the sets that are searched, ascending in each set
    their_offsets: Any,  # i64[n+1]
    their_sizes: Any,  # i64[n]
    postings: Any,  # i64[p]: concatenated inverted lists, ascending
    list_offsets: Any,  # i64[v+1]
    low: int,  # sets low to high-1 are processed
    high: int,
    itself: bool,  # the sets are searched among themselves
    least: float,  # lowest score of a neighbour
    overlap: Any,  # i64[n], scratch: zeros before and after
    met: Any,  # i64[n], scratch
    items: Any,  # i64[k], scratch
    scores: Any,  # f64[k], scratch
    nearest: Any,  # i64[m, k], out, k >= 1
    score_out: Any,  # f64[m, k], out
    filled: Any,  # i64[m], out
) -> int:  # postings read
    """Find the k nearest sets of each set among those that share an element; ties go to the first in the input."""
    k, read = nearest.shape[1], 0
    for i in range(low, high):
        mine, size = elements[offsets[i] : offsets[i + 1]], sizes[i]
        met_count, checked, seen, stop = 0, 0, 0, 0
        bar = least
        while stop < len(mine):
            e = mine[stop]
            postings_of_e = postings[list_offsets[e] : list_offsets[e + 1]]
            rest = len(mine) - stop
            # a check costs one step for each set met: as much as was read, at most
            if checked + met_count <= seen + len(postings_of_e):
                checked += met_count
                if met_count >= k:
                    bar = kth_best(measure, size, met, met_count, overlap, their_sizes, least, items, scores)
                if score(measure, rest, size, rest) * BOUND_MARGIN < bar:
                    break
            for p in range(len(postings_of_e)):
                y = postings_of_e[p]
                if itself and y == i:
                    continue
                met[met_count] = y
                met_count += overlap[y] == 0
                overlap[y] += 1
            seen += len(postings_of_e)
            stop += 1
        read += seen
        count, rest = 0, len(mine) - stop
        for t in range(met_count):
            y = met[t]
            common = overlap[y]
            overlap[y] = 0
            theirs = their_sizes[y]
            if rest > 0:
                if score(measure, min(common + rest, theirs), size, theirs) * BOUND_MARGIN < bar:
                    continue
                common += shared_from(mine[stop:], their_elements[their_offsets[y] : their_offsets[y + 1]])
            near = score(measure, common, size, theirs)
            if near < least:
                continue
            count = place(nearest[i], score_out[i], count, y, near)
            if count == k:
                bar = max(bar, score_out[i, k - 1])
        filled[i] = count
    return read
