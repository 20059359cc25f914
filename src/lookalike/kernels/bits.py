"""Bit codes: Hamming distances, and multi-index hashing, which joins codes whose keys differ in a few bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.hashing import mix

ONE, TWO, FOUR = np.uint64(1), np.uint64(2), np.uint64(4)
SIX, LOW_SIX = np.uint64(6), np.uint64(63)
PAIRS_OF_BITS, NIBBLES = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
BYTES, SUM = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
LAST_BYTE = np.uint64(56)
LOW_HALF = np.uint64(0xFFFFFFFF)  # the item in a packed word


@jit
def popcount(x: Any) -> Any:  # u64 -> i64
    """Count the one bits; LLVM compiles this pattern to a single instruction."""
    x -= (x >> ONE) & PAIRS_OF_BITS
    x = (x & NIBBLES) + ((x >> TWO) & NIBBLES)
    x = (x + (x >> FOUR)) & BYTES
    return np.int64((x * SUM) >> LAST_BYTE)


@jit
def distance(codes: Any, a: int, others: Any, b: int, most: int) -> int:  # codes, others u64[., words]
    """Return the Hamming distance of codes[a] and others[b], or some number above `most` if it exceeds `most`."""
    count = popcount(codes[a, 0] ^ others[b, 0])
    for w in range(1, codes.shape[1]):
        if count > most:
            return count
        count += popcount(codes[a, w] ^ others[b, w])
    return count


@jit
def keys_of(codes: Any, places: Any, out: Any) -> None:  # codes u64[n, words]; places u64[width]; out u32[n]
    """out[i] = the bits of code i at the given positions; the first position is the lowest bit of the key."""
    for i in range(len(out)):
        key = np.uint64(0)
        for j in range(len(places)):
            key |= ((codes[i, places[j] >> SIX] >> (places[j] & LOW_SIX)) & ONE) << np.uint64(j)
        out[i] = key


@jit
def sort_by_key(keys: Any, codes: Any, starts: Any, items: Any, out: Any) -> None:
    """Sort the codes by key (counting sort): bucket k occupies positions starts[k] to starts[k+1] - 1.

    keys u32[n]; codes u64[n, words]; starts i64[2**width + 1], zeros, out; items u32[n], out; out u64[n, words].
    """
    for i in range(len(keys)):
        starts[keys[i] + 1] += 1
    for k in range(1, len(starts)):
        starts[k] += starts[k - 1]
    for i in range(len(keys)):
        at = starts[keys[i]]
        starts[keys[i]] += 1
        items[at] = i
        for w in range(codes.shape[1]):
            out[at, w] = codes[i, w]
    for k in range(len(starts) - 1, 0, -1):
        starts[k] = starts[k - 1]
    starts[0] = 0


@jit
def met_before(codes: Any, a: int, others: Any, b: int, masks: Any, flips: Any, piece: int) -> bool:
    """Return whether an earlier segment has the pair too.

    codes, others u64[., words]; masks u64[p, words]; flips i64[p]
    """
    for e in range(piece):
        count = 0
        for w in range(codes.shape[1]):
            count += popcount((codes[a, w] ^ others[b, w]) & masks[e, w])
        if count <= flips[e]:
            return True
    return False


@jit
def join_buckets(
    codes: Any,  # u64[n, words], in the order of the buckets
    heads: Any,  # u64[n]: the first word of each code
    items: Any,  # u32[n]: the item number of each code
    starts: Any,  # i64[2**width + 1]
    sides: Any,  # u8[n], by item: 1 left, 2 right, 3 both; a pair is wanted if the bitwise or is 3
    xors: Any,  # i64[x]: bit flips of a key as xor masks, including 0 (no flip)
    masks: Any,  # u64[segments, words]
    flips: Any,  # i64[segments]
    piece: int,
    most: int,  # maximum Hamming distance
    low: int,  # positions low to high-1 are processed
    high: int,
    where: Any,  # i64[3]: bucket, index of the flip and position to resume from; out: where it stopped
    left: Any,  # u32[room], out; room: at least the size of the largest bucket
    right: Any,  # u32[room], out
    apart: Any,  # i64[room], out
) -> Any:  # (pairs written, pairs compared, whether the range is complete)
    """Find pairs within distance `most` whose keys differ by one of the flips and that no earlier segment has."""
    u, f, a = where[0], where[1], where[2]
    found = 0
    looked = 0
    while u < len(starts) - 1 and starts[u] < high:
        begin, end = max(starts[u], low), min(starts[u + 1], high)
        while f < len(xors) and begin < end:
            v = u ^ xors[f]
            first, last = starts[v], starts[v + 1]
            if v >= u and first < last:
                a = max(a, begin)
                while a < end:
                    other = a + 1 if v == u else first
                    if last - other > len(left) - found:
                        where[0], where[1], where[2] = u, f, a
                        return found, looked, False
                    looked += last - other
                    word, part = heads[a], heads[other:last]
                    near = 0
                    for i in range(len(part)):  # branch-free, so that the compiler can vectorise the loop
                        near += popcount(word ^ part[i]) <= most
                    for b in range(other, last if near > 0 else other):
                        if popcount(word ^ heads[b]) > most:
                            continue
                        count = distance(codes, a, codes, b, most)
                        if count > most or sides[items[a]] | sides[items[b]] != 3:
                            continue
                        if not met_before(codes, a, codes, b, masks, flips, piece):
                            left[found] = items[a]
                            right[found] = items[b]
                            apart[found] = count
                            found += 1
                    a += 1
            a = 0
            f += 1
        f = 0
        u += 1
    return found, looked, True


@jit
def join_sorted(
    packed: Any,  # u64[n], sorted: the key, and in the low 32 bits the item
    ends: Any,  # i64[n]: where the bucket of each position ends
    at: int,  # first position to process
    stop: int,  # position to stop before
    codes: Any,  # u64[n, words], in the order of the packed words
    half: int,  # if not 0, only pairs of an item below this number and one from it on
    sides: Any,  # u8[n], by item
    masks: Any,  # u64[segments, words]
    flips: Any,  # i64[segments]
    piece: int,
    most: int,  # maximum Hamming distance
    left: Any,  # u32[>= largest bucket], out
    right: Any,  # u32, out
    apart: Any,  # i64, out
) -> Any:  # (position reached, pairs written, pairs compared)
    """Find pairs within distance `most` in the same bucket that no earlier segment has.

    Stops before a position whose pairs may not fit in the output.
    """
    close = np.empty(len(left), np.int64)
    away = np.empty(len(left), np.int64)
    count = looked = 0
    while at < stop:
        end = ends[at]
        if len(left) - count < end - at:
            break
        x = np.int64(packed[at] & LOW_HALF)
        few = 0
        for b in range(at + 1, end):
            differ = 0
            for w in range(codes.shape[1]):
                differ += popcount(codes[at, w] ^ codes[b, w])
            close[few], away[few] = b, differ
            few += differ <= most
        looked += end - at - 1
        for q in range(few):
            b = close[q]
            y = np.int64(packed[b] & LOW_HALF)
            if half > 0 and (x < half) == (y < half):
                continue
            if sides[x] | sides[y] == 3 and not met_before(codes, at, codes, b, masks, flips, piece):
                left[count], right[count], apart[count] = x, y, away[q]
                count += 1
        at += 1
    return at, count, looked


@jit
def look_up(
    sampled: Any,  # u64[s, words]
    numbers: Any,  # u32[s]: item numbers of the sample
    keys: Any,  # u32[s]
    codes: Any,  # u64[n, words], in the order of the buckets
    items: Any,  # u32[n]
    starts: Any,  # i64[2**width + 1]
    sides: Any,  # u8[n]
    is_sampled: Any,  # bool[n]
    xors: Any,  # i64[x]
    masks: Any,  # u64[segments, words]
    flips: Any,  # i64[segments]
    piece: int,
    most: int,
    where: Any,  # i64[2]: sampled item and index of the flip to resume from; out: where it stopped
    left: Any,  # u32[room], out; room: at least the size of the largest bucket
    right: Any,  # u32[room], out
    apart: Any,  # i64[room], out
) -> Any:  # (pairs written, whether the sample is complete)
    """Find the pairs of the sampled items as `join_buckets` does; a pair of two sampled items is written once."""
    s, f = where[0], where[1]
    found = 0
    while s < len(numbers):
        x = numbers[s]
        while f < len(xors):
            v = np.int64(keys[s]) ^ xors[f]
            if starts[v + 1] - starts[v] > len(left) - found:
                where[0], where[1] = s, f
                return found, False
            for b in range(starts[v], starts[v + 1]):
                count = distance(sampled, s, codes, b, most)
                if count > most:
                    continue
                y = items[b]
                if y == x or (is_sampled[y] and y < x) or sides[x] | sides[y] != 3:
                    continue
                if not met_before(sampled, s, codes, b, masks, flips, piece):
                    left[found] = x
                    right[found] = y
                    apart[found] = count
                    found += 1
            f += 1
        f = 0
        s += 1
    return found, True


@jit
def fingerprints(codes: Any, out: Any) -> None:  # codes u64[n, words]; out u64[n]
    """out[i] = a hash of code i; for codes of one word, the word itself."""
    for i in range(len(out)):
        h = codes[i, 0]
        for w in range(1, codes.shape[1]):
            h = mix(h) ^ codes[i, w]
        out[i] = h
