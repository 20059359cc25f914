"""Exact joins of sets whose elements have weights: inverted lists of rare elements first, with bounds of the scores.

The common weight of two sets is the sum of the lower of the two weights of each common element; for the cosine, the
sum of their products. Elements are numbered by the number of sets they occur in, the rarest first, and the elements of
a set ascend. Two sets that reach a score share an element in their prefixes: the elements after it, the rest, cannot
reach the score alone. The searched sets are divided into chunks, so that the sums of a chunk stay in the cache.

Sums for bounds are scaled such that sets of the cosine have length 1, and rounded up by ROUNDING_MARGIN; the score of a
pair that may reach the bar is computed from the unrounded weights, in the order of the elements.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.bounds import CONTAINMENT, COSINE, DICE, JACCARD
from lookalike.kernels.hashing import TOKENS, mix
from lookalike.kernels.nearest import place
from lookalike.kernels.prefixes import sort_smallest
from lookalike.kernels.shingles import table_size

ZERO, ONE, HALF = np.uint64(0), np.uint64(1), np.uint64(32)
PLACE_BITS = np.uint64((1 << 32) - 1)
ROUNDING_MARGIN = 1.0 + 1e-6  # above the rounding errors of weights in 32 bits


@jit
def weighted_score(measure: int, common: float, a: float, b: float) -> float:
    """Return the similarity of two sets from their common weight; a, b: their weights or sums of squares."""
    if common <= 0.0:
        return 0.0
    near = common
    if measure == JACCARD:
        near = common / (a + b - common)
    elif measure == CONTAINMENT:
        near = common / min(a, b)
    elif measure == DICE:
        near = 2 * common / (a + b)
    elif measure == COSINE:
        near = common / math.sqrt(a * b)
    return min(1.0, near)


@jit
def bound(measure: int, common: float, a: float, b: float) -> float:
    """Return an upper bound of the score from scaled sums; sets of the cosine have length 1."""
    if measure == COSINE:
        return common
    return weighted_score(measure, min(common, min(a, b)), a, b)


@jit
def count_repeats(elements: Any, starts: Any, sizes: Any, narrow: bool, out: Any, counts: Any, ends: Any) -> None:
    """Undo the numbering of occurrences in bags: write each distinct element with its number of occurrences.

    elements u64[nnz]; starts, sizes i64[n]; out u64[>= sum of sizes]; counts f64, the same; ends i64[n], out.
    """
    most = 0
    for i in range(len(sizes)):
        most = max(most, sizes[i])
    table = np.zeros(table_size(most), np.uint64)
    repeated = np.zeros(len(table), np.bool_)
    at = 0
    for i in range(len(starts)):
        mask = np.uint64(table_size(sizes[i]) - 1)
        part = elements[starts[i] : starts[i] + sizes[i]]
        table[: np.int64(mask) + 1] = ZERO
        repeated[: np.int64(mask) + 1] = False
        for j in range(len(part)):
            slot = part[j] & mask
            while table[slot] != ZERO:
                slot = (slot + ONE) & mask
            table[slot] = part[j]
        begin = at
        for j in range(len(part)):
            number = ONE
            while True:
                x = mix(part[j] + number * TOKENS)
                if narrow:
                    x >>= HALF
                x = x if x != ZERO else ONE
                slot = x & mask
                while table[slot] != ZERO and table[slot] != x:
                    slot = (slot + ONE) & mask
                if table[slot] == ZERO:
                    break
                repeated[slot] = True
                number += ONE
            out[at] = part[j]
            counts[at] = float(number)
            at += 1
        kept = begin
        for j in range(begin, at):
            slot = out[j] & mask
            while table[slot] != out[j]:
                slot = (slot + ONE) & mask
            if not repeated[slot]:
                out[kept] = out[j]
                counts[kept] = counts[j]
                kept += 1
        at = kept
        ends[i] = at


@jit
def fill_slots(vocabulary: Any, keys: Any, slots: Any) -> None:  # vocabulary u64[v]; keys u64[2**m]; slots i64[2**m]
    """Fill an empty hash table: keys[s] is an element, slots[s] its place in the vocabulary."""
    mask = np.uint64(len(keys) - 1)
    for number in range(len(vocabulary)):
        slot = vocabulary[number] & mask
        while keys[slot] != ZERO:
            slot = (slot + ONE) & mask
        keys[slot] = vocabulary[number]
        slots[slot] = number


@jit
def number_elements(
    elements: Any,  # u64[nnz], none is 0
    starts: Any,  # i64[n]
    sizes: Any,  # i64[n]
    times: Any,  # i64[n]: the number of items with this set
    i: int,  # first set to process
    at: int,  # first place of `numbers` to write
    found: int,  # elements in the vocabulary so far
    keys: Any,  # u64[2**m], slots i64[2**m]: hash table of the vocabulary
    slots: Any,
    vocabulary: Any,  # u64[2**(m-1)]
    sets: Any,  # i64[2**(m-1)]: sets that contain an element
    items: Any,  # i64[2**(m-1)]: items that contain it
    numbers: Any,  # i64[sum of sizes], out: the place of each element in the vocabulary
) -> Any:  # (next set, next place, elements in the vocabulary)
    """Number elements in order of appearance, and count in how many sets each occurs, until the table may be full."""
    mask = np.uint64(len(keys) - 1)
    while i < len(starts) and found + sizes[i] <= len(vocabulary):
        for e in range(starts[i], starts[i] + sizes[i]):
            x = elements[e]
            slot = x & mask
            while keys[slot] != ZERO and keys[slot] != x:
                slot = (slot + ONE) & mask
            if keys[slot] == ZERO:
                keys[slot] = x
                slots[slot] = found
                vocabulary[found] = x
                sets[found] = 0
                items[found] = 0
                found += 1
            number = slots[slot]
            sets[number] += 1
            items[number] += times[i]
            numbers[at] = number
            at += 1
        i += 1
    return i, at, found


@jit
def take_vectors(
    measure: int,
    places: Any,  # i64[nnz]: place of each element in the vocabulary, set by set
    counts: Any,  # f64[nnz]: occurrences of each; empty if each occurs once
    sizes: Any,  # i64[n]
    ranks: Any,  # i64[v]: number of each element, the rarest first; -1: in one set only
    weights: Any,  # f64[v]
    numbers: Any,  # i32[nnz], out: ascending in each set
    values: Any,  # f64[nnz], out
    offsets: Any,  # i64[n+1], out
    norms: Any,  # f64[n], out: weight of each set, for the cosine the sum of squares
) -> None:
    """Write the elements of each set that other sets have, too, with their weights."""
    most = 0
    for i in range(len(sizes)):
        most = max(most, sizes[i])
    order = np.empty(most, np.uint64)
    begin, at = 0, 0
    for i in range(len(sizes)):
        norm, shared = 0.0, 0
        for j in range(sizes[i]):
            number = places[begin + j]
            if ranks[number] >= 0:
                order[shared] = (np.uint64(ranks[number]) << HALF) | np.uint64(j)
                shared += 1
            else:
                value = weights[number] * (counts[begin + j] if len(counts) > 0 else 1.0)
                norm += value * value if measure == COSINE else value
        sort_smallest(order, shared, shared)
        offsets[i] = at
        for j in range(shared):
            e = begin + np.int64(order[j] & PLACE_BITS)
            value = weights[places[e]] * (counts[e] if len(counts) > 0 else 1.0)
            norm += value * value if measure == COSINE else value
            numbers[at] = np.int32(order[j] >> HALF)
            values[at] = value
            at += 1
        norms[i] = norm
        begin += sizes[i]
    offsets[len(sizes)] = at


@jit
def common_weight(measure: int, spread: Any, numbers: Any, values: Any) -> float:
    """Return the common weight of two sets, summed in the order of their elements.

    spread f64[v]: the weight of each element in one set, 0 for others; numbers i32, values f64: the other set.
    """
    common = 0.0
    if measure == COSINE:
        for j in range(len(numbers)):
            common += spread[numbers[j]] * values[j]
    else:
        for j in range(len(numbers)):
            common += min(spread[numbers[j]], values[j])
    return common


@jit
def take_rests(measure: int, values: Any, norm: float, rests: Any) -> float:
    """rests[j] = upper bound of the scaled common weight with the elements from j on; returns the factor of the scale.

    values f64[m]; rests f64[> m], out.
    """
    factor = 1.0 / math.sqrt(norm) if measure == COSINE and norm > 0.0 else 1.0
    rest = 0.0
    rests[len(values)] = 0.0
    for j in range(len(values) - 1, -1, -1):
        rest += values[j] * values[j] if measure == COSINE else values[j]
        rests[j] = (math.sqrt(rest) * factor if measure == COSINE else rest) * ROUNDING_MARGIN
    return factor


@jit
def prefix_length(measure: int, rests: Any, count: int, norm: float, least: float) -> int:
    """Return how many elements must be looked up so that no set that reaches `least` is missed. rests f64[> count]."""
    low, high = 0, count  # the first element whose rest is too small
    while low < high:
        middle = (low + high) // 2
        if bound(measure, rests[middle], norm, rests[middle]) < least:
            high = middle
        else:
            low = middle + 1
    return low


@jit
def fill_lists(
    measure: int,
    numbers: Any,  # i32[p]
    values: Any,  # f64[p]
    offsets: Any,  # i64[n+1]
    norms: Any,  # f64[n]
    first: int,  # the searched sets are from this one on
    chunk: int,  # sets in a chunk
    least: float,  # lowest score of interest
    ends: Any,  # i64[chunks, v+1], out: list e of chunk c is at ends[c, e] to ends[c, e+1]
    owners: Any,  # i32[q], out; nothing is written if q is 0: only `ends` is filled
    weights: Any,  # f32[q], out: scaled
    tails: Any,  # f32[q], out: bound of the common weight with the elements after this one
) -> int:  # number of postings
    """Fill the inverted lists with the prefixes of the sets: first call with q=0 to count, then with room for all."""
    most = 0
    for y in range(first, len(norms)):
        most = max(most, offsets[y + 1] - offsets[y])
    rests = np.empty(most + 1, np.float64)
    counting, total = len(owners) == 0, 0
    for y in range(first, len(norms)):
        part, elements = values[offsets[y] : offsets[y + 1]], numbers[offsets[y] : offsets[y + 1]]
        factor = take_rests(measure, part, norms[y], rests)
        c = (y - first) // chunk
        for j in range(prefix_length(measure, rests, len(part), norms[y], least)):
            e = elements[j]
            if counting:
                ends[c, e + 1] += 1
                total += 1
            else:
                q = ends[c, e]
                owners[q] = np.int32(y - first - c * chunk)
                weights[q] = np.float32(part[j] * factor)
                tails[q] = np.float32(rests[j + 1])
                ends[c, e] += 1
    if counting:
        total = 0
        for c in range(ends.shape[0]):
            ends[c, 0] = total
            for e in range(ends.shape[1] - 1):
                total += ends[c, e + 1]
                ends[c, e + 1] = total
    else:  # each start has moved to its end
        for c in range(ends.shape[0]):
            for e in range(ends.shape[1] - 1, 0, -1):
                ends[c, e] = ends[c, e - 1]
            ends[c, 0] = ends[c - 1, ends.shape[1] - 1] if c > 0 else 0
    return total


@jit
def read_list(
    measure: int, value: float, rest: float, owners: Any, weights: Any, tails: Any, sums: Any, met: Any, count: int,
) -> int:  # fmt: skip
    """Add a list to the sums of its sets; returns the number of sets met so far.

    value: scaled weight of the element in the query; rest: bound of the query after it; owners i32, weights f32,
    tails f32[l]: the list; sums f64[chunk, 2]: common weight so far, and bound of what is to come; met i32[chunk + 1].
    """
    for p in range(len(owners)):
        y = owners[p]
        met[count] = y
        count += sums[y, 0] == 0.0
        if measure == COSINE:
            sums[y, 0] += value * weights[p]
            sums[y, 1] = rest * tails[p]
        else:
            sums[y, 0] += min(value, float(weights[p]))
            sums[y, 1] = min(rest, float(tails[p]))
    return count


@jit
def kth_best(
    measure: int, norm: float, met: Any, count: int, sums: Any, norms: Any, own: int, least: float, items: Any,
    scores: Any,
) -> float:  # fmt: skip
    """Return a lower bound of the k-th best score from the sums so far; at least `least`.

    met i32[> count]; norms f64[chunk], scaled; own: the place of the query in the chunk, which does not count; -1 for
    none; items i64[k], scores f64[k]: scratch.
    """
    used, last = 0, len(items) - 1
    for t in range(count):
        y = met[t]
        if y == own:
            continue
        near = bound(measure, sums[y, 0] / ROUNDING_MARGIN, norm, norms[y])
        if used <= last or near > scores[last]:
            used = place(items, scores, used, np.int64(y), near)
    return max(least, scores[last]) if used > last else least


@jit
def nearest_weighted(
    measure: int,
    numbers: Any,  # i32[p]: elements of all sets, ascending in each
    values: Any,  # f64[p]
    offsets: Any,  # i64[n+1]
    norms: Any,  # f64[n]
    scaled: Any,  # f64[n]: norms for bounds: 1 for the cosine
    low: int,  # sets low to high-1 are processed
    high: int,
    first: int,  # the searched sets are from this one on
    itself: bool,  # the sets are searched among themselves
    ends: Any,  # i64[chunks, v+1], and the lists as in `fill_lists`
    owners: Any,
    weights: Any,
    tails: Any,
    least: float,  # lowest score of a neighbour
    chunk: int,
    sums: Any,  # f64[chunk, 2], scratch: zeros before and after
    met: Any,  # i32[chunk + 1], scratch
    spread: Any,  # f64[v], scratch: zeros before and after
    items: Any,  # i64[k], scratch
    scores: Any,  # f64[k], scratch
    nearest: Any,  # i64[m, k], out
    score_out: Any,  # f64[m, k], out
    filled: Any,  # i64[m], out, zeros before
) -> int:  # postings read
    """Find the k nearest sets of each set among those that share an element; ties go to the first in the input."""
    k, read = nearest.shape[1], 0
    all_rests, factors = np.empty(offsets[high] - offsets[low] + high - low, np.float64), np.empty(high - low)
    for i in range(low, high):
        at = offsets[i] - offsets[low] + i - low
        part = all_rests[at : at + offsets[i + 1] - offsets[i] + 1]
        factors[i - low] = take_rests(measure, values[offsets[i] : offsets[i + 1]], norms[i], part)
    for c in range(ends.shape[0]):
        base = first + c * chunk
        last = min(base + chunk, len(norms))
        there = scaled[base:last]
        for i in range(low, high):
            mine, here = numbers[offsets[i] : offsets[i + 1]], values[offsets[i] : offsets[i + 1]]
            factor, rests = factors[i - low], all_rests[offsets[i] - offsets[low] + i - low :]
            bar = max(least, score_out[i, k - 1]) if filled[i] == k else least
            count, checked, seen, own = 0, 0, 0, i - base if itself else -1
            for j in range(len(mine)):
                e = mine[j]
                begin, end = ends[c, e], ends[c, e + 1]
                if filled[i] < k < count and checked + count <= seen + end - begin:
                    checked += count
                    bar = max(bar, kth_best(measure, scaled[i], met, count, sums, there, own, bar, items, scores))
                rest = rests[j]
                if bound(measure, rest, scaled[i], rest) < bar:
                    break
                count = read_list(
                    measure, here[j] * factor, rests[j + 1], owners[begin:end], weights[begin:end], tails[begin:end],
                    sums, met, count,
                )  # fmt: skip
                seen += end - begin
            read += seen
            used = filled[i]
            for j in range(len(mine) if count > 0 else 0):
                spread[mine[j]] = here[j]
            if filled[i] < k < count:  # the sets that look best raise the bar before the others are scored
                bar = max(bar, kth_best(measure, scaled[i], met, count, sums, there, own, bar, items, scores))
                worst = np.inf
                for t in range(k):
                    other = base + items[t]
                    begin, end = offsets[other], offsets[other + 1]
                    common = common_weight(measure, spread, numbers[begin:end], values[begin:end])
                    worst = min(worst, weighted_score(measure, common, norms[i], norms[other]))
                bar = max(bar, worst)
            for t in range(count):
                y = met[t]
                may = bound(measure, (sums[y, 0] + sums[y, 1]) * ROUNDING_MARGIN, scaled[i], there[y])
                sums[y, 0] = 0.0
                other = base + y
                if may < bar or (itself and other == i):
                    continue
                begin, end = offsets[other], offsets[other + 1]
                common = common_weight(measure, spread, numbers[begin:end], values[begin:end])
                near = weighted_score(measure, common, norms[i], norms[other])
                if near < least:
                    continue
                used = place(nearest[i], score_out[i], used, np.int64(other - first), near)
                if used == k:
                    bar = max(bar, score_out[i, k - 1])
            for j in range(len(mine) if count > 0 else 0):
                spread[mine[j]] = 0.0
            filled[i] = used
    return read


@jit
def match_weighted(
    measure: int,
    numbers: Any,  # as in `nearest_weighted`, up to `scaled`
    values: Any,
    offsets: Any,
    norms: Any,
    scaled: Any,
    sides: Any,  # u8[n]: 1 left, 2 right, 3 both; a pair counts if its sides OR to 3
    queries: Any,  # i64[q]: sets
    every: bool,  # a query is compared with all others, not only with those that come before it
    low: int,  # queries low to high-1 are compared with the sets of a chunk
    high: int,
    c: int,  # chunk
    ends: Any,
    owners: Any,
    weights: Any,
    tails: Any,
    least: float,
    chunk: int,
    sums: Any,  # f64[chunk, 2], scratch: zeros before and after
    met: Any,  # i32[chunk + 1], scratch
    spread: Any,  # f64[v], scratch: zeros before and after
    left: Any,  # i64[r], out, r >= chunk
    right: Any,  # i64[r], out
    score_out: Any,  # f64[r], out
) -> Any:  # (next query, pairs written, pairs met)
    """Find the pairs that reach `least`, until there may be no more room for those of another set."""
    most = 0
    for q in range(low, high):
        most = max(most, offsets[queries[q] + 1] - offsets[queries[q]])
    rests = np.empty(most + 1, np.float64)
    base, kept, candidates = c * chunk, 0, 0
    q = low
    while q < high and kept + chunk <= len(left):
        i = queries[q]
        mine, here = numbers[offsets[i] : offsets[i + 1]], values[offsets[i] : offsets[i + 1]]
        factor = take_rests(measure, here, norms[i], rests)
        count = 0
        for j in range(prefix_length(measure, rests, len(mine), scaled[i], least)):
            begin, end = ends[c, mine[j]], ends[c, mine[j] + 1]
            while not every and end > begin and owners[end - 1] + base >= i:
                end -= 1
            count = read_list(
                measure, here[j] * factor, rests[j + 1], owners[begin:end], weights[begin:end], tails[begin:end],
                sums, met, count,
            )  # fmt: skip
        candidates += count
        for j in range(len(mine)):
            spread[mine[j]] = here[j]
        for t in range(count):
            y = met[t]
            other = base + y
            may = bound(measure, (sums[y, 0] + sums[y, 1]) * ROUNDING_MARGIN, scaled[i], scaled[other])
            sums[y, 0] = 0.0
            if may < least or sides[i] | sides[other] != 3 or other == i:
                continue
            begin, end = offsets[other], offsets[other + 1]
            common = common_weight(measure, spread, numbers[begin:end], values[begin:end])
            near = weighted_score(measure, common, norms[i], norms[other])
            if near >= least:
                left[kept] = min(i, other)
                right[kept] = max(i, other)
                score_out[kept] = near
                kept += 1
        for j in range(len(mine)):
            spread[mine[j]] = 0.0
        q += 1
    return q, kept, candidates


@jit
def score_candidates(
    measure: int,
    numbers: Any,  # as in `nearest_weighted`, up to `norms`
    values: Any,
    offsets: Any,
    norms: Any,
    anchors: Any,  # u32[a]
    ends: Any,  # i64[a]: candidates ends[a-1] to ends[a]-1 are compared with anchor a
    partners: Any,  # u32[p]
    spread: Any,  # f64[v], scratch: zeros before and after
    out: Any,  # f64[p], out
) -> None:
    """out[p] = score of a candidate and its anchor."""
    p = 0
    for a in range(len(anchors)):
        x = np.int64(anchors[a])
        mine, here = numbers[offsets[x] : offsets[x + 1]], values[offsets[x] : offsets[x + 1]]
        for j in range(len(mine)):
            spread[mine[j]] = here[j]
        while p < ends[a]:
            y = np.int64(partners[p])
            begin, end = offsets[y], offsets[y + 1]
            common = common_weight(measure, spread, numbers[begin:end], values[begin:end])
            out[p] = weighted_score(measure, common, norms[x], norms[y])
            p += 1
        for j in range(len(mine)):
            spread[mine[j]] = 0.0
