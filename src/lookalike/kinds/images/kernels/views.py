"""Compare pictures by 64-bit hashes of several views: find pictures with views that differ in few bits and correlate.

The views of a picture are: whole u64[h], hashes of the whole, one per kind of hash; windows u64[w], hashes of its
windows, where window 0 is the whole and the others are `places` windows of each shape (w = 1 without crops); shape, the
number of its shape; and thumbs u8[w * 256], the thumbnail of each window.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.signs import ones

THUMB = 256  # pixels of a thumbnail
FAR, UNLIKE = -1, -2  # the hashes differ in too many bits; the thumbnails differ


@jit
def likeness(one: Any, other: Any) -> float:  # u8[256] both
    """Return the correlation of two thumbnails, -1 to 1; it is independent of brightness and contrast.

    Two flat thumbnails of similar brightness have likeness 1. The sums are integers and therefore exact.
    """
    size = len(one)
    sum_x = sum_y = square_x = square_y = product = np.int64(0)
    for i in range(size):
        x, y = np.int64(one[i]), np.int64(other[i])
        sum_x += x
        sum_y += y
        square_x += x * x
        square_y += y * y
        product += x * y
    a, b = square_x - sum_x * sum_x / size, square_y - sum_y * sum_y / size
    if min(a, b) < size:  # a standard deviation below 1
        return 1.0 if max(a, b) < 4 * size and abs(sum_x - sum_y) < 8 * size else 0.0
    return (product - sum_x * sum_y / size) / math.sqrt(a * b)


@jit
def least_bits(
    whole_x: Any, windows_x: Any, shape_x: int, whole_y: Any, windows_y: Any, shape_y: int, places: int
) -> Any:  # (bits, whether the wholes differ in that many)  # fmt: skip
    """Return the smallest number of bits in which two views differ.

    Compared are the wholes, by the mean of all kinds of hash (rounded up), and a window of one picture with the whole
    of the other, if they have the same shape.
    """
    kinds = len(whole_x)
    total = 0
    for k in range(kinds):
        total += int(ones(whole_x[k] ^ whole_y[k]))
    wholes = (total + kinds - 1) // kinds
    best = wholes
    if len(windows_x) > 1 and wholes > 0:
        for place in range(places):
            best = min(best, int(ones(windows_x[1 + shape_y * places + place] ^ windows_y[0])))
            best = min(best, int(ones(windows_x[0] ^ windows_y[1 + shape_x * places + place])))
    return best, best == wholes


@jit
def match_views(
    whole_x: Any, windows_x: Any, shape_x: int, thumbs_x: Any, whole_y: Any, windows_y: Any, shape_y: int,
    thumbs_y: Any, places: int, cut: int, least: float,
) -> int:  # fmt: skip
    """Return the smallest number of bits in which views of two pictures differ, or FAR or UNLIKE.

    FAR: more than `cut` bits. UNLIKE: no pair of views at that distance has thumbnails with a likeness of at least
    `least`. The result is symmetric.
    """
    best, is_whole = least_bits(whole_x, windows_x, shape_x, whole_y, windows_y, shape_y, places)
    if best > cut:
        return FAR
    if is_whole and likeness(thumbs_x[:THUMB], thumbs_y[:THUMB]) >= least:
        return best
    if len(windows_x) > 1 and (best > 0 or not is_whole):
        for place in range(places):
            a, b = 1 + shape_y * places + place, 1 + shape_x * places + place
            if int(ones(windows_x[a] ^ windows_y[0])) == best:
                if likeness(thumbs_x[a * THUMB : (a + 1) * THUMB], thumbs_y[:THUMB]) >= least:
                    return best
            if int(ones(windows_x[0] ^ windows_y[b])) == best:
                if likeness(thumbs_x[:THUMB], thumbs_y[b * THUMB : (b + 1) * THUMB]) >= least:
                    return best
    return UNLIKE


@jit
def near_views(
    whole: Any,  # u64[n, h]
    windows: Any,  # u64[n, w]
    shapes: Any,  # i64[n]
    thumbs: Any,  # u8[n, w * 256]
    places: int,
    sides: Any,  # u8[n]
    cut: int,  # maximum number of bits in which a pair may differ
    least: float,  # minimum likeness of the thumbnails
    x: int,
    stop: int,
    out_left: Any,  # u32[>= n], out
    out_right: Any,  # u32, out
    out_bits: Any,  # i64, out: the smallest difference
) -> Any:  # (item reached, pairs written, pairs whose thumbnails were compared)
    """Find the matching pairs y < x. Stops before an item whose pairs may not fit into the output."""
    count = compared = 0
    while x < stop:
        if len(out_left) - count < x:
            break
        for y in range(x):
            if sides[x] | sides[y] != 3:
                continue
            bits = match_views(
                whole[x], windows[x], shapes[x], thumbs[x], whole[y], windows[y], shapes[y], thumbs[y], places, cut,
                least,
            )  # fmt: skip
            compared += int(bits != FAR)
            if bits >= 0:
                out_left[count], out_right[count], out_bits[count] = y, x, bits
                count += 1
        x += 1
    return x, count, compared


@jit
def score_views(
    queries: Any,  # u64[q, words]: shape, whole, windows, thumbnails of each
    query: Any,  # i64[c]
    data: Any,  # u64[]: the same for the candidates
    starts: Any,  # i64[c]: start of each candidate
    hashes: int,  # h
    windows: int,  # w
    places: int,
    cut: int,
    least: float,
    out: Any,  # f64[c]: the number of differing bits, negated; -inf if the pictures do not match
) -> None:
    """Compare each candidate with its query, as `near_views` does."""
    first, last = 1 + hashes, 1 + hashes + windows
    size = queries.shape[1]
    for i in range(len(query)):
        x, y = queries[query[i]], data[starts[i] : starts[i] + size]
        bits = match_views(
            x[1:first], x[first:last], np.int64(x[0]), x[last:].view(np.uint8),
            y[1:first], y[first:last], np.int64(y[0]), y[last:].view(np.uint8), places, cut, least,
        )  # fmt: skip
        out[i] = -float(bits) if bits >= 0 else -np.inf
