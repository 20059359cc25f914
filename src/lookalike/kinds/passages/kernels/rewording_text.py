"""From chains of informative words to passages of the text: their places, and the words that both sides have."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.bridging import equal_run
from lookalike.kinds.passages.kernels.rewording import (
    LEFT_FIRST,
    LEFT_LAST,
    LEFT_TEXT,
    RIGHT_FIRST,
    RIGHT_LAST,
    RIGHT_TEXT,
)

MOST_PLACES = 64  # places of a word on the right side that can continue a run


@jit
def equal_words(x: Any, y: Any) -> Any:  # x, y u32[]
    """Return the number of words that both sides have, with repeats, and the length of their longest common run."""
    order = np.argsort(y, kind="mergesort")
    ordered = y[order]
    used = np.zeros(len(y), np.int64)
    run, row = np.zeros(len(y), np.int64), np.full(len(y), -2, np.int64)
    equal = longest = 0
    for i in range(len(x)):
        low = np.searchsorted(ordered, x[i], "left")
        high = np.searchsorted(ordered, x[i], "right")
        if low == high:
            continue
        if used[low] < high - low:
            used[low] += 1
            equal += 1
        for t in range(min(high, low + MOST_PLACES) - 1, low - 1, -1):  # from the last: runs grow from the word before
            j = order[t]
            before = run[j - 1] if j > 0 and row[j - 1] == i - 1 else 0
            run[j], row[j] = before + 1, i
            longest = max(longest, before + 1)
    return equal, longest


@jit
def locate(
    rows: Any,  # f64[r, 10]: see kernels.rewording
    at: Any,  # i64[c]: place of each informative word among all tokens
    word_offsets: Any,  # i64[n+1]: of the documents in `at`
    tokens: Any,  # u32[total]
    offsets: Any,  # i64[n+1]
    hidden: Any,  # bool[total], or [0]: tokens that do not count
    out: Any,  # i64[r, 8], out: see kernels.alignment
) -> None:
    """Compute the tokens of each passage on both sides, with the equal words that continue it at its ends."""
    for r in range(len(rows)):
        d, e = np.int64(rows[r, LEFT_TEXT]), np.int64(rows[r, RIGHT_TEXT])
        x, y = tokens[offsets[d] : offsets[d + 1]], tokens[offsets[e] : offsets[e + 1]]
        a = at[word_offsets[d] + np.int64(rows[r, LEFT_FIRST])] - offsets[d]
        b = at[word_offsets[d] + np.int64(rows[r, LEFT_LAST])] - offsets[d] + 1
        u = at[word_offsets[e] + np.int64(rows[r, RIGHT_FIRST])] - offsets[e]
        v = at[word_offsets[e] + np.int64(rows[r, RIGHT_LAST])] - offsets[e] + 1
        before, after = equal_run(x, y, a - 1, u - 1, -1), equal_run(x, y, b, v, 1)
        while before > 0 and len(hidden) > 0 and hidden[offsets[d] + a - before]:
            before -= 1
        while after > 0 and len(hidden) > 0 and hidden[offsets[d] + b + after - 1]:
            after -= 1
        a, u, b, v = a - before, u - before, b + after, v + after
        equal, longest = equal_words(x[a:b], y[u:v])
        out[r, 0], out[r, 1], out[r, 2], out[r, 3], out[r, 4], out[r, 5] = d, e, a, b, u, v
        out[r, 6], out[r, 7] = equal, longest
