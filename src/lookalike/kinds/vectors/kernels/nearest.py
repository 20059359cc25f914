"""The nearest vectors of each vector: a tile of float32 products selects those that are scored in float64."""

from __future__ import annotations

import math
from typing import Any

from lookalike.kernels._jit import jit
from lookalike.kernels.nearest import place
from lookalike.kernels.vectors import ANGLE, COSINE, score

SMALLEST = 1e-36  # above the error of float32 products that underflow


@jit
def product_needed(code: int, worst: float, base: float, slack: float) -> float:
    """Return the product, plus the shift of the other item, below which the score is certainly lower than `worst`."""
    if code == COSINE:
        return worst - slack
    if code == ANGLE:
        return math.cos(math.radians(min(180.0, -worst))) - slack
    return base - worst * worst / 2.0 - SMALLEST


@jit
def nearest_in_tile(
    code: int,  # ANGLE, COSINE or DISTANCE of kernels.vectors
    values: Any,  # f32[n, d]
    lengths: Any,  # f64[items]
    rows: Any,  # i64[items]: the row of each item in `values`
    copies: Any,  # i64[items]: a number that equal items share; their cosine is 1, without rounding
    tile: Any,  # f32[p, q]: products of items
    first_x: int,  # the item of row 0 of the tile
    first_y: int,  # the item of column 0
    offset: int,  # the item that is number 0 in the collection that is searched
    base: Any,  # f64[p]: for DISTANCE, half of the squared radius minus its error
    shift: Any,  # f64[q]: for DISTANCE, added to the products; else zeros
    slack: float,  # error of a product of directions
    least: float,  # lowest score of a neighbour
    nearest: Any,  # i64[p, k], in and out, k >= 1
    scores: Any,  # f64[p, k], in and out
    filled: Any,  # i64[p], in and out
) -> None:
    """Continue the search for the k nearest items of each row with the columns of a tile."""
    last = nearest.shape[1] - 1
    for i in range(len(tile)):
        count, x = filled[i], first_x + i
        worst = max(least, scores[i, last]) if count > last else least
        need = product_needed(code, worst, base[i], slack)
        row = tile[i]
        for j in range(len(row)):
            if row[j] + shift[j] < need or first_y + j == x:
                continue
            y = first_y + j
            if code == COSINE and copies[x] == copies[y]:
                near = 1.0
            else:
                near = score(code, values[rows[x]], values[rows[y]], lengths[x], lengths[y])
            if near < worst:
                continue
            count = place(nearest[i], scores[i], count, y - offset, near)
            if count > last and scores[i, last] > worst:
                worst = scores[i, last]
                need = product_needed(code, worst, base[i], slack)
        filled[i] = count
