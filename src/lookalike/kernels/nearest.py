"""The nearest items so far: sorted by score, highest first; of equal scores, the item that comes first."""

from __future__ import annotations

from typing import Any

from lookalike.kernels._jit import jit


@jit
def place(items: Any, scores: Any, count: int, item: int, score: float) -> int:
    """Insert an item among the nearest ones, drop the last one if there is no room, and return their number.

    items i64[k], scores f64[k]: sorted, `count` places are in use; k >= 1.
    """
    at = count
    while at > 0 and (scores[at - 1] < score or (scores[at - 1] == score and items[at - 1] > item)):
        at -= 1
    if at == len(items):
        return count
    for slot in range(min(count, len(items) - 1), at, -1):
        items[slot] = items[slot - 1]
        scores[slot] = scores[slot - 1]
    items[at] = item
    scores[at] = score
    return min(count + 1, len(items))
