"""Codes of 64 bits in several views of each item: pairs whose nearest views differ in few bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.signs import ones


@jit
def near_views(
    whole: Any,  # u64[n, h]: hashes of the whole, one column per kind of hash
    windows: Any,  # u64[n, 1 + shapes * places]: 0 is the whole; of no columns beyond 0 where crops are not looked for
    shapes: Any,  # i64[n]: the shape of each item
    places: int,
    sides: Any,  # u8[n]
    cut: int,  # bits in which a pair may differ
    x: int,
    stop: int,
    out_left: Any,  # u32[>= n], out
    out_right: Any,  # u32, out
    out_bits: Any,  # i64, out: the least difference
    out_view_left: Any,  # i64, out: the views that differ least
    out_view_right: Any,  # i64, out
) -> Any:  # (item reached, pairs written)
    """Pairs y < x: wholes differ by the mean of all kinds of hash (rounded up); windows of one by the whole of the
    other, where they have the same shape. Stops before an item for which there may be no room."""
    kinds = whole.shape[1]
    crops = windows.shape[1] > 1
    count = 0
    while x < stop:
        if len(out_left) - count < x:
            break
        for y in range(x):
            if sides[x] | sides[y] != 3:
                continue
            total = 0
            for k in range(kinds):
                total += int(ones(whole[x, k] ^ whole[y, k]))
            best, view_x, view_y = (total + kinds - 1) // kinds, 0, 0
            if crops and best > 0:
                for place in range(places):
                    a, b = 1 + shapes[y] * places + place, 1 + shapes[x] * places + place
                    bits = np.int64(ones(windows[x, a] ^ windows[y, 0]))
                    if bits < best:
                        best, view_x, view_y = bits, a, 0
                    bits = np.int64(ones(windows[x, 0] ^ windows[y, b]))
                    if bits < best:
                        best, view_x, view_y = bits, 0, b
            if best <= cut:
                out_left[count], out_right[count], out_bits[count] = y, x, best
                out_view_left[count], out_view_right[count] = view_y, view_x
                count += 1
        x += 1
    return x, count
