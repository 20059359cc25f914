"""Match the local features of pictures by their codes: by Hamming distance, and by keys that codes share."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.signs import ones

KEY_BITS = 24  # bits of a code that make one key


@jit
def match_codes(
    left: Any,  # u64[n, w]: codes of the features of one picture
    right: Any,  # u64[m, w]: codes of the features of the other
    max_bits: int,  # maximum number of bits in which matching codes differ
    margin: int,  # number of bits by which the best match must be nearer than the second best
    best_right: Any,  # i64[n], out: the feature of the other picture that matches, or -1
) -> int:  # the number of matches
    """Find mutual nearest neighbours whose second nearest neighbour is clearly farther away."""
    n, m, words = len(left), len(right), left.shape[1]
    far = np.int64(64 * words + 1)
    nearest_left = np.full(m, -1, np.int64)
    distance_left = np.full(m, far, np.int64)
    for i in range(n):
        best, second, choice = far, far, np.int64(-1)
        for j in range(m):
            bits = np.int64(0)
            for w in range(words):
                bits += np.int64(ones(left[i, w] ^ right[j, w]))
            if bits < best:
                best, second, choice = bits, best, np.int64(j)
            elif bits < second:
                second = bits
            if bits < distance_left[j]:
                distance_left[j], nearest_left[j] = bits, i
        best_right[i] = choice if best <= max_bits and second - best >= margin else -1
    matches = 0
    for i in range(n):
        if best_right[i] >= 0 and nearest_left[best_right[i]] != i:
            best_right[i] = -1
        matches += int(best_right[i] >= 0)
    return matches


@jit
def sort_by_key(
    codes: Any,  # u64[m, w]
    owners: Any,  # u32[m]: the picture of each code, ascending
    number: int,  # which key of the codes
    dropped: int,  # low bits of a key that do not count for its bucket
    starts: Any,  # u32[buckets + 1], out: zeros at first; where each bucket begins
    out_keys: Any,  # u32[m], out: keys by bucket, then by owner
    out_owners: Any,  # u32[m], out: their owners
    out_slots: Any,  # u32[m], out: the position of each code
) -> None:
    """Sort codes by the bucket of one of their keys."""
    low = number * KEY_BITS
    word, shift = low // 64, np.uint64(low % 64)
    rest, size = np.uint64(64 - low % 64), np.uint64(64 - KEY_BITS)
    for i in range(len(codes)):
        key = codes[i, word] << shift
        if low % 64 + KEY_BITS > 64:
            key |= codes[i, word + 1] >> rest
        out_slots[i] = key >> size
        starts[(out_slots[i] >> dropped) + 1] += 1
    for bucket in range(1, len(starts)):
        starts[bucket] += starts[bucket - 1]
    for i in range(len(codes)):
        key = out_slots[i]
        slot = starts[key >> dropped]
        starts[key >> dropped] = slot + 1
        out_keys[slot], out_owners[slot], out_slots[i] = key, owners[i], slot
    for bucket in range(len(starts) - 1, 0, -1):
        starts[bucket] = starts[bucket - 1]
    starts[0] = 0


@jit
def shared_keys(
    ends: Any,  # i64[n + 1]: where the codes of each picture begin
    keys: Any,  # u32[k, m]: of `sort_by_key`, for each key of a code
    owners: Any,  # u32[k, m]
    slots: Any,  # u32[k, m]
    starts: Any,  # u32[k, buckets + 1]
    dropped: int,
    neighbors: int,  # following codes of the same key that a code is paired with: bounds the work of frequent keys
    votes: int,  # number of shared keys that makes a pair
    one: int,
    stop: int,
    out_left: Any,  # u32[>= n], out
    out_right: Any,  # u32, out
) -> Any:  # (picture reached, pairs written)
    """Find the pairs of pictures whose codes share at least `votes` keys. Stops before pairs that may not fit."""
    n, written = len(ends) - 1, 0
    counts, seen = np.zeros(n, np.uint16), np.empty(n, np.uint32)
    while one < stop and len(out_left) - written >= n:
        met = 0
        for code in range(ends[one], ends[one + 1]):
            for number in range(len(keys)):
                slot = np.int64(slots[number, code])
                key = keys[number, slot]
                end = np.int64(starts[number, (key >> dropped) + 1])
                paired = 1
                for other in range(slot + 1, end):
                    if keys[number, other] != key:
                        continue
                    if paired == neighbors:
                        break
                    paired += 1
                    owner = owners[number, other]
                    if owner != one:
                        if counts[owner] == 0:
                            seen[met] = owner
                            met += 1
                        counts[owner] += 1
        for i in range(met):
            if counts[seen[i]] >= votes:
                out_left[written], out_right[written] = one, seen[i]
                written += 1
            counts[seen[i]] = 0
        one += 1
    return one, written
