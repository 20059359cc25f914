"""Groups formed directly from buckets, for data with too many pairs to store, such as thousands of near-copies.

Both kernels give the same groups as components and stars on all verified pairs, but skip pairs that cannot change them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.bounds import required, score
from lookalike.kernels.buckets import agreement, met_before
from lookalike.kernels.graph import find
from lookalike.kernels.shingles import table_size
from lookalike.kernels.verify import fill, overlap_at_least

ZERO = np.uint64(0)


@jit
def union_bucket(
    packed: Any,  # u64[n], sorted
    low: int,  # positions of `packed` to process: packed[low:high]
    high: int,
    lists: int,  # number of lists of the bucket at position low - 1; 0 at the beginning
    following: Any,  # i64[n], scratch: linked lists of the members of each component seen in this bucket
    heads: Any,  # i64[n], scratch
    tails: Any,  # i64[n], scratch
    bits: int,
    band: int,
    keys: Any,  # u64[n, bands]
    values: Any,  # u32[n, k]
    cut: int,
    elements: Any,  # u64[nnz]
    starts: Any,  # i64[n]
    sizes: Any,  # i64[n]
    whole: Any,  # u64[table_size(largest size)], zeros
    measure: int,
    num: int,
    den: int,
    parent: Any,  # i64[n], union-find, in and out
) -> tuple[int, int]:
    """Union the matching items of each bucket; an item is compared with members of a component until one matches.

    Returns (number of pairs scored, `lists` for the next positions).
    """
    shift = np.uint64(bits)
    mask = (np.uint64(1) << shift) - np.uint64(1)
    checked = 0
    for a in range(low, high):
        x = np.int64(packed[a] & mask)
        if a > 0 and packed[a] >> shift != packed[a - 1] >> shift:
            lists = 0
        table = whole[: table_size(sizes[x])]
        filled = False
        home = -1
        c = 0
        while c < lists:
            same = find(parent, heads[c]) == find(parent, x)
            y = heads[c]
            while not same and y >= 0:
                need = required(measure, sizes[x], sizes[y], num, den)
                if (
                    need <= min(sizes[x], sizes[y])
                    and not met_before(keys, x, y, band, shift)
                    and agreement(values, x, y) >= cut
                ):
                    if not filled:
                        fill(elements, starts[x], starts[x] + sizes[x], table)
                        filled = True
                    checked += 1
                    same = overlap_at_least(elements, starts[y], starts[y] + sizes[y], table, max(need, 1)) >= 0
                y = following[y]
            if same:
                ra, rb = find(parent, heads[c]), find(parent, x)
                parent[max(ra, rb)] = min(ra, rb)
                if home < 0:
                    home = c
                else:  # two lists have become one component
                    following[tails[home]] = heads[c]
                    tails[home] = tails[c]
                    lists -= 1
                    heads[c], tails[c] = heads[lists], tails[lists]
                    continue
            c += 1
        if filled:
            table[:] = ZERO
        following[x] = -1
        if home < 0:
            heads[lists], tails[lists] = x, x
            lists += 1
        else:
            following[tails[home]] = x
            tails[home] = x
    return checked, lists


@jit
def settle(parent: Any) -> None:  # parent i64[n]
    """parent[i] = the root of i."""
    for i in range(len(parent)):
        parent[i] = find(parent, i)


@jit
def bucket_starts(packed: Any, bits: int, out: Any) -> None:  # packed u64[n], sorted; out u32[n]
    """out[item] = the position at which the item's bucket starts."""
    shift = np.uint64(bits)
    mask = (np.uint64(1) << shift) - np.uint64(1)
    start = 0
    for a in range(len(packed)):
        if packed[a] >> shift != packed[start] >> shift:
            start = a
        out[packed[a] & mask] = start


@jit
def greedy_clusters(
    low: int,  # items to process: low to high - 1, after all items below `low`
    high: int,
    first: Any,  # u32[bands, n]: start of the bucket of each item; items are numbered by preference
    kept_in: Any,  # u32[bands, n], scratch: representatives in each bucket, from its start
    kept_count: Any,  # u32[bands, n], zeros at the beginning: number of representatives in each bucket
    keys: Any,
    bits: int,
    values: Any,
    cut: int,
    elements: Any,
    starts: Any,
    sizes: Any,
    whole: Any,  # u64[table_size(largest size)], zeros
    measure: int,
    num: int,
    den: int,
    kept: Any,  # i64[n], out
    similarity: Any,  # f64[n], out
) -> int:
    """Form stars in order of preference; an item is compared only with the representatives in its buckets.

    kept[x] is the representative of x (x itself if it is kept). Returns the number of pairs scored.
    """
    shift = np.uint64(bits)
    checked = 0
    for x in range(low, high):
        table = whole[: table_size(sizes[x])]
        filled = False
        best, most = np.int64(x), -1.0
        for band in range(len(first)):
            at = first[band, x]
            for q in range(kept_count[band, at]):
                y = np.int64(kept_in[band, at + q])
                need = required(measure, sizes[x], sizes[y], num, den)
                if (
                    need > min(sizes[x], sizes[y])
                    or met_before(keys, x, y, band, shift)
                    or agreement(values, x, y) < cut
                ):
                    continue
                if not filled:
                    fill(elements, starts[x], starts[x] + sizes[x], table)
                    filled = True
                checked += 1
                c = overlap_at_least(elements, starts[y], starts[y] + sizes[y], table, max(need, 1))
                if c >= 0:
                    s = score(measure, c, sizes[x], sizes[y])
                    if s > most or (s == most and y < best):
                        best, most = y, s
        if filled:
            table[:] = ZERO
        kept[x] = best
        similarity[x] = 1.0 if best == x else most
        if best == x:
            for band in range(len(first)):
                at = first[band, x]
                kept_in[band, at + kept_count[band, at]] = x
                kept_count[band, at] += 1
    return checked
