"""Kernels that reduce windows of a picture to a square of averages."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit


@jit
def sums_before(pixels: Any, out: Any) -> None:  # pixels u8[h, w]; out f64[h+1, w+1], zeros
    """Set out[y, x] to the sum of all pixels above row y and left of column x."""
    for y in range(pixels.shape[0]):
        row = 0.0
        for x in range(pixels.shape[1]):
            row += pixels[y, x]
            out[y + 1, x + 1] = out[y, x + 1] + row


@jit
def at_point(sums: Any, x: float, y: float) -> float:  # sums f64[h+1, w+1]
    """Return the sum of all pixels left of and above a point, which may lie between pixels."""
    column, row = min(int(x), sums.shape[1] - 2), min(int(y), sums.shape[0] - 2)
    a, b = x - column, y - row
    upper = sums[row, column] * (1.0 - a) + sums[row, column + 1] * a
    lower = sums[row + 1, column] * (1.0 - a) + sums[row + 1, column + 1] * a
    return upper * (1.0 - b) + lower * b


@jit
def cut_windows(sums: Any, boxes: Any, out: Any) -> None:
    """Reduce each window to side * side averages of equal areas.

    sums f64[h+1, w+1]; boxes f64[k, 4]: left, top, right, bottom; out f64[k, side, side].
    """
    side = out.shape[1]
    corners = np.empty((side + 1, side + 1), np.float64)
    for k in range(len(boxes)):
        left, top, right, bottom = boxes[k, 0], boxes[k, 1], boxes[k, 2], boxes[k, 3]
        wide, high = (right - left) / side, (bottom - top) / side
        for i in range(side + 1):
            for j in range(side + 1):
                corners[i, j] = at_point(sums, left + j * wide, top + i * high)
        for i in range(side):
            for j in range(side):
                inside = corners[i + 1, j + 1] - corners[i, j + 1] - corners[i + 1, j] + corners[i, j]
                out[k, i, j] = inside / (wide * high)
