"""Kernels of blocking: blocks of equal keys, and for each record those with the highest total weight of shared keys."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.hashing import CHARS, mix


@jit
def pack_keys(
    values: Any, keys: Any, key_offsets: Any, bits: int, out: Any
) -> int:  # values i32[n], -1 for none; keys u64; key_offsets i64[v + 1]; out u64; returns how many
    """Write the keys of each record's value: the high bits of the key, and the record number in the low `bits`."""
    high = ~((np.uint64(1) << np.uint64(bits)) - np.uint64(1))
    at = 0
    for i in range(len(values)):
        v = values[i]
        if v < 0:
            continue
        for k in range(key_offsets[v], key_offsets[v + 1]):
            out[at] = (keys[k] & high) | np.uint64(i)
            at += 1
    return at


@jit
def find_buckets(
    packed: Any,  # u64[t], sorted
    bits: int,
    split: int,  # the first record of the second table; -1 for one table
    begins: Any,  # i64[at least the number of blocks], out
    sizes: Any,  # i64, out: distinct records in each
) -> int:
    """Find the blocks with at least two distinct records (of two tables: one of each). Returns how many."""
    shift = np.uint64(bits)
    mask = (np.uint64(1) << shift) - np.uint64(1)
    found = 0
    start = 0
    while start < len(packed):
        key = packed[start] >> shift
        stop = start + 1
        count = 1
        while stop < len(packed) and packed[stop] >> shift == key:
            count += 1 if packed[stop] != packed[stop - 1] else 0
            stop += 1
        lowest, highest = np.int64(packed[start] & mask), np.int64(packed[stop - 1] & mask)
        if count > 1 and (split < 0 or (lowest < split <= highest)):
            begins[found] = start
            sizes[found] = count
            found += 1
        start = stop
    return found


@jit
def count_keys(packed: Any, bits: int, begins: Any, wanted: Any, ends: Any) -> int:
    """ends[i + 1] += the number of wanted blocks that contain record i. Returns the total.

    packed u64[t]; begins i64[b]; wanted bool[b]; ends i64[n + 1], zeros.
    """
    shift = np.uint64(bits)
    mask = (np.uint64(1) << shift) - np.uint64(1)
    total = 0
    for b in range(len(begins)):
        if not wanted[b]:
            continue
        at = begins[b]
        key = packed[at] >> shift
        while at < len(packed) and packed[at] >> shift == key:
            if at == begins[b] or packed[at] != packed[at - 1]:
                ends[np.int64(packed[at] & mask) + 1] += 1
                total += 1
            at += 1
    return total


@jit
def list_keys(
    packed: Any, bits: int, begins: Any, wanted: Any, places: Any, keys: Any, postings: Any, ends: Any
) -> int:
    """List the wanted blocks of each record (keys) and the records of each wanted block (postings). Returns how many.

    packed, begins, wanted as in `count_keys`; places i64[n]: the position of the next key of each record, advanced;
    keys u32[t'], out; postings u32[t'], out; ends i64[b'], out: the end of each block in `postings`.
    """
    shift = np.uint64(bits)
    mask = (np.uint64(1) << shift) - np.uint64(1)
    number = 0
    written = 0
    for b in range(len(begins)):
        if not wanted[b]:
            continue
        at = begins[b]
        key = packed[at] >> shift
        while at < len(packed) and packed[at] >> shift == key:
            if at == begins[b] or packed[at] != packed[at - 1]:
                record = np.int64(packed[at] & mask)
                keys[places[record]] = number
                places[record] += 1
                postings[written] = record
                written += 1
            at += 1
        ends[number] = written
        number += 1
    return number


@jit
def cross(low: Any, high: Any) -> Any:
    """Return the key of the intersection of two blocks, given the lower key and the higher one."""
    return mix((low + np.uint64(1)) * CHARS + high)


@jit
def cross_all(low: Any, high: Any, out: Any) -> None:  # low, high u64[n]; out u64[n]
    """out[i] = the key of the intersection of the blocks low[i] and high[i]."""
    for i in range(len(out)):
        out[i] = cross(low[i], high[i])


@jit
def cross_keys(
    keys: Any,  # u32[t]: oversized blocks of each record
    offsets: Any,  # i64[n + 1]
    sizes: Any,  # i64[b]: sizes of the oversized blocks
    names: Any,  # u64[b]: their keys
    most: int,  # maximum number of oversized blocks of a record to intersect: the smallest
    bits: int,
    out: Any,  # u64[n * most * (most - 1) / 2], out
) -> int:
    """Write the keys of the intersections of two oversized blocks of each record. Returns how many were written."""
    high = ~((np.uint64(1) << np.uint64(bits)) - np.uint64(1))
    at = 0
    chosen = np.empty(most, np.int64)
    for i in range(len(offsets) - 1):
        mine = keys[offsets[i] : offsets[i + 1]]
        count = 0
        for k in range(len(mine)):  # insert into the smallest `most`, by size and then by number
            key = np.int64(mine[k])
            place = min(count, most)
            while place > 0 and (sizes[key], key) < (sizes[chosen[place - 1]], chosen[place - 1]):
                if place < most:
                    chosen[place] = chosen[place - 1]
                place -= 1
            if place < most:
                chosen[place] = key
                count = min(count + 1, most)
        for a in range(count):
            for b in range(a + 1, count):
                low, other = min(chosen[a], chosen[b]), max(chosen[a], chosen[b])
                out[at] = (cross(names[low], names[other]) & high) | np.uint64(i)
                at += 1
    return at


@jit
def sift(heap: Any, items: Any, size: int, weight: float, item: int) -> int:  # heap f32[k], items u32[k] -> size
    """Add an item to a min-heap of the k items with the highest weights. Returns the new size."""
    k = len(heap)
    if size < k:
        i = size
        size += 1
        while i > 0 and heap[(i - 1) // 2] > weight:
            heap[i] = heap[(i - 1) // 2]
            items[i] = items[(i - 1) // 2]
            i = (i - 1) // 2
    else:
        if weight <= heap[0]:
            return size
        i = 0
        while True:
            child = 2 * i + 1
            if child >= k:
                break
            if child + 1 < k and heap[child + 1] < heap[child]:
                child += 1
            if heap[child] >= weight:
                break
            heap[i] = heap[child]
            items[i] = items[child]
            i = child
    heap[i] = weight
    items[i] = item
    return size


@jit
def nearest_by_keys(
    low: int,  # first record to work on
    high: int,  # record to stop before
    keys: Any,  # u32[t]: the keys of each record
    offsets: Any,  # i64[n + 1]
    postings: Any,  # u32[t]: the records of each key
    ends: Any,  # i64[keys]
    weights: Any,  # f32[keys]
    split: int,  # the first record of the second table; -1 for one table
    totals: Any,  # f32[n], zeros before and after: scratch
    touched: Any,  # u32[n], scratch
    k: int,
    least: float,  # minimum total weight of the shared keys
    out: Any,  # u64[(high - low) * k], out: lower record << 32 | higher record
) -> int:  # pairs written
    """Write for each record the pairs with the k others that have the highest total weight of shared keys."""
    heap, items = np.empty(k, np.float32), np.empty(k, np.uint32)
    written = 0
    for x in range(low, high):
        count = 0
        for t in range(offsets[x], offsets[x + 1]):
            key = keys[t]
            w = weights[key]
            bucket = postings[(ends[key - 1] if key > 0 else 0) : ends[key]]
            for i in range(len(bucket)):
                y = bucket[i]
                if totals[y] == 0.0:
                    touched[count] = y
                    count += 1
                totals[y] += w
        size = 0
        for i in range(count):
            y = touched[i]
            if totals[y] >= least and y != x and (split < 0 or (x < split) != (y < split)):
                size = sift(heap, items, size, totals[y], y)
            totals[y] = 0.0
        for i in range(size):
            y = items[i]
            out[written] = np.uint64(min(x, y)) << np.uint64(32) | np.uint64(max(x, y))
            written += 1
    return written


@jit
def transpose(keys: Any, offsets: Any, places: Any, postings: Any) -> None:
    """List the records of each key, given the keys of each record.

    keys u32[t]; offsets i64[n + 1]; places i64[keys]: the start of each key in `postings`, advanced to its end;
    postings u32[t], out.
    """
    for x in range(len(offsets) - 1):
        for t in range(offsets[x], offsets[x + 1]):
            postings[places[keys[t]]] = x
            places[keys[t]] += 1


@jit
def merge_keys(keys: Any, offsets: Any, more: Any, more_offsets: Any, shift: int, out: Any) -> None:
    """Write for each record its keys, followed by those of `more` plus `shift`.

    keys, more u32; offsets, more_offsets i64[n + 1]; out u32[len(keys) + len(more)].
    """
    at = 0
    for x in range(len(offsets) - 1):
        for t in range(offsets[x], offsets[x + 1]):
            out[at] = keys[t]
            at += 1
        for t in range(more_offsets[x], more_offsets[x + 1]):
            out[at] = more[t] + shift
            at += 1


@jit
def friends_of_friends(offsets: Any, friends: Any, most: int, marks: Any, out: Any) -> int:
    """Write the pairs (lower << 32 | higher) of records that are adjacent to a common third record, not to each other.

    offsets i64[n + 1], friends u32[t]: the adjacency lists; most: records with more neighbours connect no others;
    marks u32[n], zeros; out u64. Returns how many pairs were written, at most len(out).
    """
    written = 0
    for x in range(len(offsets) - 1):
        stamp = np.uint32(x + 1)
        for t in range(offsets[x], offsets[x + 1]):
            marks[friends[t]] = stamp
        for t in range(offsets[x], offsets[x + 1]):
            y = friends[t]
            if offsets[y + 1] - offsets[y] > most:
                continue
            for u in range(offsets[y], offsets[y + 1]):
                z = friends[u]
                if z > x and marks[z] != stamp:
                    if written == len(out):
                        return written
                    marks[z] = stamp
                    out[written] = np.uint64(x) << np.uint64(32) | np.uint64(z)
                    written += 1
    return written
