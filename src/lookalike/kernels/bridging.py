"""Runs of equal tokens in two sequences, continued across edits.

A run continues beyond an edit of at most `gap` tokens if that raises the score: each equal token counts +1, each token
of an edit -1, and the run ends at the highest score.
"""

from __future__ import annotations

from typing import Any

from lookalike.kernels._jit import jit

AGAIN = 2  # equal tokens that must follow an edit
START, END, DIAGONAL = 0, 1, 2  # columns of a piece


@jit
def equal_run(x: Any, y: Any, i: int, j: int, step: int) -> int:  # x, y u32[]; step 1 or -1
    """Count the equal tokens from x[i] and y[j], in the direction of `step`."""
    if step > 0:
        u, v = x[i:], y[j:]
        most = min(len(u), len(v))
        n = 0
        while n < most and u[n] == v[n]:
            n += 1
        return n
    n = 0
    while i - n >= 0 and j - n >= 0 and x[i - n] == y[j - n]:
        n += 1
    return n


@jit
def resumes(x: Any, y: Any, i: int, j: int, step: int) -> bool:
    """Return True if AGAIN tokens are equal from x[i] and y[j], in the direction of `step`."""
    for n in range(AGAIN):
        a, b = i + n * step, j + n * step
        if a < 0 or b < 0 or a >= len(x) or b >= len(y) or x[a] != y[b]:
            return False
    return True


@jit
def edit(x: Any, y: Any, i: int, j: int, step: int, gap: int) -> Any:
    """Find the smallest edit after which x and y agree again; (tokens of x, tokens of y), or (-1, -1) if none.

    A replacement is tried before an insertion of the same size.
    """
    for size in range(1, gap + 1):
        for less in range(size + 1):
            if resumes(x, y, i + size * step, j + (size - less) * step, step):
                return size, size - less
            if less and resumes(x, y, i + (size - less) * step, j + size * step, step):
                return size - less, size
    return -1, -1


@jit
def bridge(x: Any, y: Any, i: int, j: int, step: int, gap: int, pieces: Any) -> Any:
    """Extend a run that ended before x[i], y[j] across edits; returns (tokens of x, tokens of y, pieces) to add.

    pieces i64[p, 3], out: start, end and diagonal of each run on the way; entries beyond the returned number are void.
    """
    score = best = 0
    took_x = took_y = taken = n = 0
    at_x = at_y = 0
    while n < len(pieces) and score >= best - 2 * gap:
        a, b = edit(x, y, i + at_x * step, j + at_y * step, step, gap)
        if a < 0:
            break
        at_x += a
        at_y += b
        here = i + at_x * step
        length = equal_run(x, y, here, j + at_y * step, step)
        pieces[n, START] = here if step > 0 else here - length + 1
        pieces[n, END] = pieces[n, START] + length
        pieces[n, DIAGONAL] = here - (j + at_y * step)
        n += 1
        at_x += length
        at_y += length
        score += length - max(a, b)
        if score > best:
            best, took_x, took_y, taken = score, at_x, at_y, n
    return took_x, took_y, taken
