"""Candidates for edit distances: shared subsequences of short strings, shared segments of long ones.

Strings are numbered by length; the anchor of a pair is the longer one (the later of two as long). Keys are 64-bit
hashes; an index is an array of packed words, the high bits of a key above the number of a string, sorted, with a
directory by the highest bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.bits import popcount
from lookalike.kernels.edits import INDEL, allowed, clear_masks, edits, score, set_masks
from lookalike.kernels.hashing import CHARS, mix
from lookalike.kernels.tokens import code_point

ZERO, ONE, SIXTY_FOUR = np.uint64(0), np.uint64(1), np.uint64(64)
SEGMENT = np.uint64(0x9E3779B97F4A7C15)
WORD, BIT, LOW_SIX = np.uint64(46), np.uint64(40), np.uint64(63)  # of the highest 24 bits of a key, in a bitmap


@jit
def decode(data: Any, offsets: Any, folds: Any, multi: Any, points: Any, ends: Any) -> None:
    """UTF-8 to folded code points.

    data u8[bytes]; offsets i64[n+1]; folds i32[0x110000]; multi i32[m, 3]: as in kernels.unicode; points u32[room for
    3 a character], out; ends i64[n+1], out.
    """
    at = 0
    ends[0] = 0
    for s in range(len(offsets) - 1):
        i = offsets[s]
        while i < offsets[s + 1]:
            point, i = code_point(data, i, offsets[s + 1])
            fold = folds[point]
            if fold >= 0:
                points[at] = fold
                at += 1
                continue
            for j in range(3):
                if multi[-1 - fold, j] == 0:
                    break
                points[at] = multi[-1 - fold, j]
                at += 1
        ends[s + 1] = at


@jit
def fingerprints(points: Any, ends: Any, out: Any) -> None:  # points u32[.]; ends i64[n+1]; out u64[n]
    """out[s] = a hash of string s."""
    for s in range(len(out)):
        h = ZERO
        for i in range(ends[s], ends[s + 1]):
            h = h * CHARS + np.uint64(points[i]) + ONE
        out[s] = mix(h)


@jit
def equal(points: Any, ends: Any, left: Any, right: Any, out: Any) -> None:  # left, right i64[p]; out bool[p]
    """out[i]: whether strings left[i] and right[i] are the same."""
    for i in range(len(out)):
        x = points[ends[left[i]] : ends[left[i] + 1]]
        y = points[ends[right[i]] : ends[right[i] + 1]]
        out[i] = len(x) == len(y)
        for j in range(len(x)):
            if not out[i] or x[j] != y[j]:
                out[i] = False
                break


@jit
def gather(points: Any, ends: Any, order: Any, letter: Any, out: Any, out_ends: Any) -> None:
    """The strings of these numbers, one after the other, with the number of its letter for each code point.

    points u32[.]; ends i64[n+1]; order i64[m]; letter u32[0x110000]; out u32[.], out; out_ends i64[m+1], out.
    """
    at = 0
    out_ends[0] = 0
    for i in range(len(order)):
        part = points[ends[order[i]] : ends[order[i] + 1]]
        for j in range(len(part)):
            out[at + j] = letter[part[j]]
        at += len(part)
        out_ends[i + 1] = at


@jit
def bags(points: Any, ends: Any, out: Any) -> None:  # points u32[.]; ends i64[n+1]; out u64[n]
    """out[s]: a bit for each of 64 kinds of letters, set where string s has an odd number of them. An insertion or
    deletion turns one bit, a letter for another two at most."""
    for s in range(len(out)):
        bag = ZERO
        for i in range(ends[s], ends[s + 1]):
            bag ^= ONE << (mix(np.uint64(points[i])) % SIXTY_FOUR)
        out[s] = bag


@jit
def prefix_hashes(text: Any, heads: Any) -> None:  # text u32[n]; heads u64[> n], out
    """heads[i] = the polynomial hash of the first i letters."""
    heads[0] = ZERO
    for i in range(len(text)):
        heads[i + 1] = heads[i] * CHARS + np.uint64(text[i]) + ONE


@jit
def extended(hash_: Any, heads: Any, powers: Any, begin: int, end: int) -> Any:
    """The hash of a string with hash `hash_`, followed by letters begin to end-1 of another."""
    return hash_ * powers[end - begin] + heads[end] - heads[begin] * powers[end - begin]


@jit
def shortened(text: Any, gone: int, heads: Any, powers: Any, place: Any, before: Any, out: Any) -> int:
    """Keys of all strings that `gone` deletions make of this one; returns how many. Of a run of equal letters the
    first ones go, so that most results come once.

    text u32[n]; heads u64[> n]; powers u64[> n]; place i64[> gone], before u64[> gone], for scratch; out u64, room
    for n over gone.
    """
    n = len(text)
    if gone == 0:
        out[0] = mix(heads[n])
        return 1
    count = 0
    depth = 0
    place[0] = -1
    before[0] = ZERO
    while depth >= 0:
        place[depth] += 1
        at = place[depth]
        if at > n - (gone - depth):
            depth -= 1
            continue
        start = place[depth - 1] + 1 if depth > 0 else 0
        if at > start and text[at] == text[at - 1]:
            continue
        hash_ = extended(before[depth], heads, powers, start, at)
        if depth + 1 == gone:
            out[count] = mix(extended(hash_, heads, powers, at + 1, n))
            count += 1
        else:
            depth += 1
            place[depth] = at
            before[depth] = hash_
    return count


@jit
def index_shortened(
    points: Any,  # u32[.]
    ends: Any,  # i64[n+1]
    low: int,  # strings low to high-1
    high: int,
    gone: Any,  # i64[lengths]: deletions of a string of each length, at most
    powers: Any,  # u64[lengths]
    bits: int,  # of the number of a string in a packed word
    out: Any,  # u64[room], out
) -> int:
    """Packed words of all strings after up to gone[length] deletions; returns how many."""
    keep = ~((ONE << np.uint64(bits)) - ONE)
    heads, place, before = np.empty(len(powers) + 1, np.uint64), np.empty(64, np.int64), np.empty(64, np.uint64)
    at = 0
    for s in range(low, high):
        text = points[ends[s] : ends[s + 1]]
        prefix_hashes(text, heads)
        for k in range(gone[len(text)] + 1):
            count = shortened(text, k, heads, powers, place, before, out[at:])
            for i in range(at, at + count):
                out[i] = (out[i] & keep) | np.uint64(s)
            at += count
    return at


@jit
def index_segments(
    points: Any, ends: Any, low: int, high: int, pieces: Any, powers: Any, bits: int, out: Any
) -> int:  # pieces i64[lengths]: segments of a string of each length, 0 for none; the others as above
    """Packed words of the segments of strings low to high-1; returns how many."""
    keep = ~((ONE << np.uint64(bits)) - ONE)
    heads = np.empty(len(powers) + 1, np.uint64)
    at = 0
    for s in range(low, high):
        text = points[ends[s] : ends[s + 1]]
        n, cuts = len(text), pieces[len(text)]
        if cuts > 0:
            prefix_hashes(text, heads)
        for k in range(cuts):
            out[at] = (segment_key(heads, powers, k * n // cuts, (k + 1) * n // cuts, n, k) & keep) | np.uint64(s)
            at += 1
    return at


@jit
def segment_key(heads: Any, powers: Any, begin: int, end: int, length: int, number: int) -> Any:
    """The key of letters begin to end-1, as segment `number` of a string of this length."""
    which = mix((np.uint64(length) << np.uint64(32)) | np.uint64(number))
    return mix(extended(which, heads, powers, begin, end) + SEGMENT)


@jit
def shared_only(index: Any, bits: int) -> int:  # index u64[m], sorted; out
    """Move the words whose key is that of a neighbour to the front; returns how many."""
    shift = np.uint64(bits)
    kept = 0
    before = False
    for i in range(len(index)):
        word = index[i]
        after = i + 1 < len(index) and (word ^ index[i + 1]) >> shift == ZERO
        if before or after:
            index[kept] = word
            kept += 1
        before = after
    return kept


@jit
def directory(index: Any, bits: int, out: Any, bitmap: Any) -> None:
    """out[h] = where the words begin whose highest bits are h. Bit k of the bitmap: whether there are words whose
    highest bits are k; it is smaller, and turns most strangers away.

    index u64[m], sorted; out i64[2**bits + 1], zeros; bitmap u64[2**18], zeros.
    """
    shift = np.uint64(64 - bits)
    for i in range(len(index)):
        out[(index[i] >> shift) + ONE] += 1
        bitmap[index[i] >> WORD] |= ONE << ((index[i] >> BIT) & LOW_SIX)
    for h in range(1, len(out)):
        out[h] += out[h - 1]


@jit
def known(bitmap: Any, key: Any) -> bool:  # bitmap u64[2**18]; key u64
    """False where no word of the index has this key."""
    return (bitmap[key >> WORD] >> ((key >> BIT) & LOW_SIX)) & ONE != ZERO


@jit
def consider(
    measure: int, num: int, den: int, x: int, y: int, points: Any, ends: Any, bag: Any, masks: Any, row: Any
) -> int:
    """The distance of string y to the anchor x (whose masks are set), or -1 where they do not match."""
    longer, shorter = points[ends[x] : ends[x + 1]], points[ends[y] : ends[y + 1]]
    most = allowed(measure, num, den, len(longer), len(shorter))
    turned = popcount(bag[x] ^ bag[y])
    if len(longer) - len(shorter) > most or turned > (most if measure & INDEL else 2 * most):
        return -1
    apart = edits(measure, masks, longer, shorter, most, row)
    return apart if apart <= most else -1


@jit
def probe(
    key: Any, gone: int, index: Any, heads: Any, shift: Any, bits: Any, x: int, seen: Any,
    measure: int, num: int, den: int, points: Any, ends: Any, bag: Any, masks: Any, row: Any, sides: Any,
    tally: Any, left: Any, right: Any, scores: Any,
) -> bool:  # fmt: skip
    """Consider every string under this key, once an anchor (seen[y] == x). gone: deletions that led to the key, -1
    for a segment. tally i64[2]: pairs written, pairs measured; False where the room is used up."""
    cell = key >> shift
    for e in range(heads[cell], heads[cell + ONE]):
        word = index[e]
        if (word ^ key) >> bits != ZERO:
            continue
        y = np.int64(word & ((ONE << bits) - ONE))
        if y >= x:
            break
        if seen[y] == x or sides[x] | sides[y] != 3:
            continue
        if gone >= 0:
            longer, shorter = ends[x + 1] - ends[x], ends[y + 1] - ends[y]
            needed = 2 * gone - (longer - shorter) if measure & INDEL else gone
            if needed > allowed(measure, num, den, longer, shorter):
                continue
        seen[y] = x
        tally[1] += 1
        apart = consider(measure, num, den, x, y, points, ends, bag, masks, row)
        if apart >= 0:
            if tally[0] == len(left):
                return False
            left[tally[0]] = y
            right[tally[0]] = x
            scores[tally[0]] = score(measure, apart, ends[x + 1] - ends[x], ends[y + 1] - ends[y])
            tally[0] += 1
    return True


@jit
def join_shortened(
    low: int,  # anchors low to high-1
    high: int,
    gone: Any,  # i64[lengths]: deletions of an anchor of each length, at most
    powers: Any,  # u64[lengths]
    index: Any,  # u64[m], sorted
    cells: Any,  # i64[2**b + 1]: the directory of the index
    bitmap: Any,  # u64[2**18]
    directory_bits: int,
    bits: int,
    seen: Any,  # u32[n]: the anchor that met each string last; none of low to high-1 at first
    measure: int,
    num: int,
    den: int,
    points: Any,  # u32[.]
    ends: Any,  # i64[n+1]
    bag: Any,  # u64[n]
    letters: int,
    sides: Any,  # u8[n]
    variants: Any,  # u64[room for the deletions of one string], for scratch
    tally: Any,  # i64[2], zeros: pairs written, pairs measured; out
    left: Any,  # u32[room], out
    right: Any,  # u32[room], out
    scores: Any,  # f64[room], out
) -> int:  # the anchor reached: where the room was used up it must be done again, and what was written of it dropped
    """Matching pairs of which a string remains in common after few deletions."""
    heads, place, before = np.empty(len(powers) + 1, np.uint64), np.empty(64, np.int64), np.empty(64, np.uint64)
    masks, row = np.zeros(letters, np.uint64), np.empty(len(powers) + 2, np.int64)
    shift, low_bits = np.uint64(64 - directory_bits), np.uint64(bits)
    for x in range(low, high):
        text = points[ends[x] : ends[x + 1]]
        first = tally[0]
        prefix_hashes(text, heads)
        set_masks(masks, text)
        for k in range(gone[len(text)] + 1):
            count = shortened(text, k, heads, powers, place, before, variants)
            for i in range(count):
                if known(bitmap, variants[i]) and not probe(
                    variants[i], k, index, cells, shift, low_bits, x, seen, measure, num, den,
                    points, ends, bag, masks, row, sides, tally, left, right, scores,
                ):  # fmt: skip
                    tally[0] = first
                    return x
        clear_masks(masks, text)
    return high


@jit
def join_segments(
    low: int, high: int, shortest: Any, pieces: Any, starts: Any, powers: Any, index: Any, cells: Any,
    bitmap: Any, directory_bits: int, bits: int, seen: Any, measure: int, num: int, den: int, points: Any, ends: Any,
    bag: Any, letters: int, sides: Any, tally: Any, left: Any, right: Any, scores: Any,
) -> int:  # fmt: skip
    """Matching pairs of which the shorter has a segment in common with the anchor, at about the same place.

    shortest i64[lengths]: of the partners of an anchor of each length; pieces i64[lengths]: segments of a string of
    each length, one more than edits can spoil, 0 where it is too short for that and compared with every anchor; starts
    i64[lengths + 1]: the first string of each length. The others as in `join_shortened`.
    """
    heads = np.empty(len(powers) + 1, np.uint64)
    masks, row = np.zeros(letters, np.uint64), np.empty(len(powers) + 2, np.int64)
    shift, low_bits = np.uint64(64 - directory_bits), np.uint64(bits)
    for x in range(low, high):
        text = points[ends[x] : ends[x + 1]]
        n = len(text)
        first = tally[0]
        room = True
        prefix_hashes(text, heads)
        set_masks(masks, text)
        for m in range(shortest[n], n + 1):
            cuts = pieces[m]
            if cuts == 0:
                for y in range(starts[m], min(starts[m + 1], x)):
                    if sides[x] | sides[y] != 3:
                        continue
                    tally[1] += 1
                    apart = consider(measure, num, den, x, y, points, ends, bag, masks, row)
                    if apart >= 0:
                        if tally[0] == len(left):
                            room = False
                            break
                        left[tally[0]] = y
                        right[tally[0]] = x
                        scores[tally[0]] = score(measure, apart, n, m)
                        tally[0] += 1
            if starts[m] == starts[m + 1]:
                continue
            for k in range(cuts):
                begin, end = k * m // cuts, (k + 1) * m // cuts
                # k edits at most stand before the first segment that is whole, cuts - 1 - k after it (Li, Deng, Wang,
                # Feng 2011): its place is known from either end
                least = max(0, begin - k, begin + n - m - (cuts - 1 - k))
                most = min(n - (end - begin), begin + k, begin + n - m + (cuts - 1 - k))
                for at in range(least, most + 1):
                    key = segment_key(heads, powers, at, at + end - begin, m, k)
                    room = room and (not known(bitmap, key) or probe(
                        key, -1, index, cells, shift, low_bits, x, seen, measure, num, den,
                        points, ends, bag, masks, row, sides, tally, left, right, scores,
                    ))  # fmt: skip
            if not room:
                tally[0] = first
                return x
        clear_masks(masks, text)
    return high
