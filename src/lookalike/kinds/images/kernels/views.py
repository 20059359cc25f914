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
PICTURES_PER_TILE = (
    1024  # pictures that are compared with PICTURES_PER_STRIP others while they are in the nearest cache
)
PICTURES_PER_STRIP = 8
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
) -> Any:  # (bits, view)  # fmt: skip
    """Return the smallest number of bits in which views of two pictures differ, or FAR or UNLIKE, and the view.

    view: 0 for the wholes, 1 + place for a window of x and the whole of y, -1 - place for the whole of x and a window
    of y.

    FAR: more than `cut` bits. UNLIKE: no pair of views at that distance has thumbnails with a likeness of at least
    `least`. The result is symmetric.
    """
    best, is_whole = least_bits(whole_x, windows_x, shape_x, whole_y, windows_y, shape_y, places)
    if best > cut:
        return FAR, 0
    if is_whole and likeness(thumbs_x[:THUMB], thumbs_y[:THUMB]) >= least:
        return best, 0
    if len(windows_x) > 1 and (best > 0 or not is_whole):
        for place in range(places):
            a, b = 1 + shape_y * places + place, 1 + shape_x * places + place
            if int(ones(windows_x[a] ^ windows_y[0])) == best:
                if likeness(thumbs_x[a * THUMB : (a + 1) * THUMB], thumbs_y[:THUMB]) >= least:
                    return best, 1 + place
            if int(ones(windows_x[0] ^ windows_y[b])) == best:
                if likeness(thumbs_x[:THUMB], thumbs_y[b * THUMB : (b + 1) * THUMB]) >= least:
                    return best, -1 - place
    return UNLIKE, 0


@jit
def near_views(
    whole: Any,  # u64[h, n]: pictures are sorted by shape
    windows: Any,  # u64[w, n]
    shapes: Any,  # i64[n]
    ends: Any,  # i64[shapes + 1]: where the pictures of each shape begin
    places: int,
    sides: Any,  # u8[n]
    cut: int,  # maximum number of bits in which a pair may differ
    x: int,
    stop: int,
    out_left: Any,  # u32[>= stop * PICTURES_PER_STRIP], out
    out_right: Any,  # u32, out
) -> Any:  # (item reached, pairs written)
    """Find the pairs y < x of which some view differs in at most `cut` bits; their thumbnails are compared later.

    Stops before items whose pairs may not fit into the output. The innermost loops run over neighbours in memory, so
    that the compiler can count the bits of several numbers at once.
    """
    count = 0
    head, best = windows[0], np.empty(PICTURES_PER_TILE, np.uint64)
    while x < stop:
        last = min(stop, x + PICTURES_PER_STRIP)
        if len(out_left) - count < (last - x) * last:
            break
        for shape in range(len(ends) - 1):
            for low in range(ends[shape], min(ends[shape + 1], last), PICTURES_PER_TILE):
                for one in range(x, last):
                    high = min(low + PICTURES_PER_TILE, ends[shape + 1], one)
                    if high <= low:
                        continue
                    bits = best[: high - low]
                    _bits_of_wholes(whole, one, low, bits)
                    if len(windows) > 1:
                        if shapes[one] == shape:  # windows of the own shape are the whole
                            _lower(bits, head[one], head[low:high])
                        else:
                            for place in range(places):
                                _lower(bits, windows[1 + shape * places + place, one], head[low:high])
                                _lower(bits, head[one], windows[1 + shapes[one] * places + place, low:high])
                    for at in range(len(bits)):
                        if bits[at] <= cut and sides[one] | sides[low + at] == 3:
                            out_left[count], out_right[count] = low + at, one
                            count += 1
        x = last
    return x, count


@jit
def _bits_of_wholes(whole: Any, one: int, low: int, out: Any) -> None:
    """Set out[i] to the mean number of bits, rounded up, in which the pictures `one` and low + i differ as a whole."""
    kinds = len(whole)
    for at in range(len(out)):
        out[at] = 0
    for kind in range(kinds):
        code, others = whole[kind, one], whole[kind, low : low + len(out)]
        for at in range(len(out)):
            out[at] += ones(code ^ others[at])
    if kinds > 1:
        for at in range(len(out)):
            out[at] = (out[at] + np.uint64(kinds - 1)) // np.uint64(kinds)


@jit
def _lower(out: Any, code: Any, others: Any) -> None:
    """Lower out[i] to the number of bits in which `code` and others[i] differ."""
    for at in range(len(out)):
        out[at] = min(out[at], ones(code ^ others[at]))


@jit
def verify_views(
    whole: Any,  # u64[n, h]
    windows: Any,  # u64[n, w]
    shapes: Any,  # i64[n]
    thumbs: Any,  # u8[k, w * 256]: thumbnails of some pictures
    row: Any,  # i64[n]: the row of a picture in `thumbs`
    places: int,
    cut: int,
    least: float,  # minimum likeness of the thumbnails
    left: Any,  # i64[c]
    right: Any,  # i64[c]
    out: Any,  # i64[c, 2], out: the smallest difference, or FAR or UNLIKE, and the view in which it occurs
) -> None:
    """Compare pairs of pictures by their hashes and thumbnails."""
    for i in range(len(left)):
        x, y = right[i], left[i]
        out[i, 0], out[i, 1] = match_views(
            whole[x], windows[x], shapes[x], thumbs[row[x]], whole[y], windows[y], shapes[y], thumbs[row[y]], places,
            cut, least,
        )  # fmt: skip


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
    """Compare each candidate with its query, as `verify_views` does."""
    first, last = 1 + hashes, 1 + hashes + windows
    size = queries.shape[1]
    for i in range(len(query)):
        x, y = queries[query[i]], data[starts[i] : starts[i] + size]
        bits, _ = match_views(
            x[1:first], x[first:last], np.int64(x[0]), x[last:].view(np.uint8),
            y[1:first], y[first:last], np.int64(y[0]), y[last:].view(np.uint8), places, cut, least,
        )  # fmt: skip
        out[i] = -float(bits) if bits >= 0 else -np.inf
