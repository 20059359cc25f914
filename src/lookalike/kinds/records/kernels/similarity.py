"""Kernels of comparisons: similarity of values by matched words, weighted by rarity, and by edit distance of codes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lookalike.kernels._jit import jit
from lookalike.kernels.bits import popcount

MAX_EDIT_LETTERS = 64  # maximum length for the edit distance; longer words are either equal or not
MAX_WORDS = 1024  # maximum number of words of a value to compare
INITIAL = 0.9  # similarity of an initial and a word that begins with it


class Words(NamedTuple):
    """The words of the distinct values of a field.

    letters u16; starts i64[w], sizes i32[w]: the position of each word in `letters`; masks u64[w]: its letters as bits;
    ids u32[w]: equal for equal words; weights f32[ids]: the weight of each word; offsets i64[values + 1]: the words of
    each value.
    """

    letters: npt.NDArray[np.uint16]
    starts: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int32]
    masks: npt.NDArray[np.uint64]
    ids: npt.NDArray[np.uint32]
    weights: npt.NDArray[np.float32]
    offsets: npt.NDArray[np.int64]


@jit
def differ_much(a: Any, b: Any, most: int) -> bool:  # u64, u64
    """Return whether two masks differ in more than `most` bits."""
    x = a ^ b
    for _ in range(most):
        if x == np.uint64(0):
            return False
        x &= x - np.uint64(1)
    return x != np.uint64(0)


@jit
def edits(a: Any, b: Any, most: int, rows: Any) -> int:  # a u16[m], b u16[n]; rows i64[3, MAX_EDIT_LETTERS + 2]
    """Return the edit distance with transpositions of adjacent letters; most + 1 where it is above `most`.

    The common prefix and suffix are skipped. Only the band of the table near the diagonal is computed: elsewhere the
    distance is above `most`.
    """
    m, n = len(a), len(b)
    if abs(m - n) > most or m > MAX_EDIT_LETTERS or n > MAX_EDIT_LETTERS:
        return most + 1
    begin = 0
    while begin < min(m, n) and a[begin] == b[begin]:
        begin += 1
    while m > begin and n > begin and a[m - 1] == b[n - 1]:
        m -= 1
        n -= 1
    a, b = a[begin:m], b[begin:n]
    m, n = m - begin, n - begin
    if m == 0 or n == 0:
        return m + n
    before, last, here = rows[0], rows[1], rows[2]
    beyond = most + 1
    for j in range(min(n, most + 1) + 1):
        last[j] = j
    for i in range(1, m + 1):
        low, high = max(1, i - most), min(n, i + most)
        here[low - 1] = i if low == 1 else beyond
        least = here[low - 1]
        for j in range(low, high + 1):
            cost = last[j - 1] + (0 if a[i - 1] == b[j - 1] else 1)
            if j < i + most:
                cost = min(cost, last[j] + 1)
            cost = min(cost, here[j - 1] + 1)
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                cost = min(cost, before[j - 2] + 1)
            here[j] = cost
            least = min(least, cost)
        if least > most:
            return beyond
        before, last, here = last, here, before
    return min(last[n], beyond)


@jit
def allowed(size: int) -> int:
    """Return the maximum edit distance of two similar words, given the length of the longer one."""
    return 0 if size < 3 else 1 if size < 6 else 2 if size < 10 else 3


@jit
def has_digit(word: Any) -> bool:  # u16[m]
    for i in range(len(word)):
        if 48 <= word[i] <= 57:
            return True
    return False


@jit
def word_likeness(a: Any, b: Any, mask_a: Any, mask_b: Any, rows: Any) -> float:
    """Return the similarity of two unequal words: 1 minus the edits per letter, 0 above the `allowed` distance.

    An initial has the similarity `INITIAL` to a word that begins with it. Words with digits have the similarity 0: 350
    is not a misspelling of 360. a u16[m], b u16[n]; masks u64; rows as in `edits`.
    """
    m, n = len(a), len(b)
    if min(m, n) == 1:
        return INITIAL if a[0] == b[0] and not has_digit(a) and not has_digit(b) else 0.0
    longer = max(m, n)
    most = allowed(longer)
    if most == 0 or abs(m - n) > most or differ_much(mask_a, mask_b, 2 * most) or has_digit(a) or has_digit(b):
        return 0.0
    d = edits(a, b, most, rows)
    return 0.0 if d > most else 1.0 - d / longer


@jit
def word(words: Any, w: int) -> Any:  # -> u16[m]
    return words.letters[words.starts[w] : words.starts[w] + words.sizes[w]]


@jit
def same_joined(words: Any, one: int, first: int, second: int) -> bool:
    """Return whether a word is the concatenation of two others."""
    cut = words.sizes[first]
    if words.sizes[one] != cut + words.sizes[second]:
        return False
    whole, left, right = word(words, one), word(words, first), word(words, second)
    for c in range(len(whole)):
        if whole[c] != (left[c] if c < cut else right[c - cut]):
            return False
    return True


@jit
def match_joined(words: Any, a0: int, na: int, mine: Any, b0: int, nb: int, used: Any) -> Any:
    """Match two adjacent unmatched words of one value with an unmatched word of the other that is their concatenation.

    Returns the matched weight on the side of the adjacent words, and on the other side. mine bool[>= na], used
    bool[>= nb]: the words that are matched, updated.
    """
    here, there = 0.0, 0.0
    sizes = words.sizes
    for i in range(na - 1):
        if mine[i] or mine[i + 1]:
            continue
        both = sizes[a0 + i] + sizes[a0 + i + 1]
        for j in range(nb):
            if not used[j] and sizes[b0 + j] == both and same_joined(words, b0 + j, a0 + i, a0 + i + 1):
                used[j] = mine[i] = mine[i + 1] = True
                here += words.weights[words.ids[a0 + i]] + words.weights[words.ids[a0 + i + 1]]
                there += words.weights[words.ids[b0 + j]]
                break
    return here, there


@jit
def closest_word(words: Any, one: int, b0: int, nb: int, used: Any, rows: Any) -> Any:
    """Return the similarity and the place of the unmatched word of a value that is most similar to a word.

    The first of equally similar ones; (0, -1) if none is similar. b0, nb: the words of the value; used bool[>= nb];
    rows as in `edits`. Lengths and letters exclude most words before they are compared.
    """
    best, at = 0.0, -1
    sizes, masks, letters, starts = words.sizes, words.masks, words.letters, words.starts
    m, mask = sizes[one], masks[one]
    a = letters[starts[one] : starts[one] + m]
    if has_digit(a):
        return best, at
    for j in range(nb):
        if used[j]:
            continue
        n = sizes[b0 + j]
        if m > 1 and n > 1:
            most = allowed(max(m, n))
            if most == 0 or abs(m - n) > most or popcount(mask ^ masks[b0 + j]) > 2 * most:
                continue
        elif letters[starts[one]] != letters[starts[b0 + j]]:
            continue
        b = letters[starts[b0 + j] : starts[b0 + j] + n]
        s = word_likeness(a, b, mask, masks[b0 + j], rows)
        if s > best:
            best, at = s, j
    return best, at


@jit
def value_likeness(words: Any, u: int, v: int, mine: Any, used: Any, rows: Any) -> float:
    """Return the cosine similarity of the weighted words of two values.

    Equal words are matched first, then words that are equal when adjacent words are joined, then words with few edits.
    Of two words that differ by edits, the weight of the more common one counts for both, because a misspelling turns a
    common word into a rare one. mine, used bool[MAX_WORDS], rows as in `edits`: scratch.
    """
    a0, b0 = words.offsets[u], words.offsets[v]
    na, nb = min(words.offsets[u + 1] - a0, MAX_WORDS), min(words.offsets[v + 1] - b0, MAX_WORDS)
    ids, weights = words.ids, words.weights
    if na == 1 and nb == 1 and ids[a0] != ids[b0] and min(weights[ids[a0]], weights[ids[b0]]) > 0.0:
        return word_likeness(word(words, a0), word(words, b0), words.masks[a0], words.masks[b0], rows)
    all_a, all_b, shared = 0.0, 0.0, 0.0
    for j in range(nb):
        used[j] = False
        all_b += weights[ids[b0 + j]]
    left_over = 0
    for i in range(na):
        w = ids[a0 + i]
        all_a += weights[w]
        mine[i] = False
        for j in range(nb):
            if not used[j] and ids[b0 + j] == w:
                used[j] = mine[i] = True
                shared += weights[w]
                break
        left_over += 0 if mine[i] else 1
    if left_over > 0:
        x, y = match_joined(words, a0, na, mine, b0, nb, used)
        shared += np.sqrt(x * y)
        x, y = match_joined(words, b0, nb, used, a0, na, mine)
        shared += np.sqrt(x * y)
        for i in range(na):
            if mine[i]:
                continue
            best, at = closest_word(words, a0 + i, b0, nb, used, rows)
            if at >= 0:
                used[at] = mine[i] = True
                one, other = weights[ids[a0 + i]], weights[ids[b0 + at]]
                common = min(one, other)
                all_a -= one - common
                all_b -= other - common
                shared += best * common
    both = np.sqrt(all_a * all_b)
    return min(1.0, shared / both) if both > 0.0 else 1.0 if u == v else 0.0


@jit
def compare_words(words: Any, left: Any, right: Any, out: Any) -> None:
    """out[p] = the similarity of values left[p] and right[p], NaN where one is missing (-1): i32[p], i32[p], f32[p]."""
    rows = np.empty((3, MAX_EDIT_LETTERS + 2), np.int64)
    mine, used = np.empty(MAX_WORDS, np.bool_), np.empty(MAX_WORDS, np.bool_)
    for p in range(len(left)):
        u, v = left[p], right[p]
        if u < 0 or v < 0:
            out[p] = np.nan
        elif u == v:
            out[p] = 1.0
        else:
            out[p] = value_likeness(words, u, v, mine, used, rows)


@jit
def compare_codes(letters: Any, offsets: Any, left: Any, right: Any, out: Any) -> None:
    """As `compare_words`, for codes: 1 - edits / (1 + allowed edits). letters u16; offsets i64[values + 1]."""
    rows = np.empty((3, MAX_EDIT_LETTERS + 2), np.int64)
    for p in range(len(left)):
        u, v = left[p], right[p]
        if u < 0 or v < 0:
            out[p] = np.nan
        elif u == v:
            out[p] = 1.0
        else:
            a, b = letters[offsets[u] : offsets[u + 1]], letters[offsets[v] : offsets[v + 1]]
            most = allowed(max(len(a), len(b)))
            out[p] = 0.0 if most == 0 else 1.0 - edits(a, b, most, rows) / (most + 1)


@jit
def compare_codes_shared(words: Any, left: Any, right: Any, out: Any) -> None:
    """out[p] = the weight of the words that both values have, over that of the value with less; NaN for a missing one.

    Values have few words, each once. left, right i32[p], -1 for a missing value; out f32[p].
    """
    for p in range(len(left)):
        u, v = left[p], right[p]
        if u < 0 or v < 0:
            out[p] = np.nan
            continue
        one, other, shared = 0.0, 0.0, 0.0
        for i in range(words.offsets[u], words.offsets[u + 1]):
            one += words.weights[words.ids[i]]
        for j in range(words.offsets[v], words.offsets[v + 1]):
            w = words.weights[words.ids[j]]
            other += w
            for i in range(words.offsets[u], words.offsets[u + 1]):
                if words.ids[i] == words.ids[j]:
                    shared += w
                    break
        least = min(one, other)
        out[p] = shared / least if least > 0.0 else np.float32(u == v)


@jit
def compare_sets(words: Any, offsets: Any, weights: Any, left: Any, right: Any, out: Any) -> None:
    """out[p] = the cosine similarity of the weighted words of records left[p] and right[p]; 0 where one has no weight.

    words u32[t], sorted in each record; offsets i64[n+1]; weights f32[words]; left, right u32[p]; out f32[p].
    """
    for p in range(len(left)):
        i, end_i = offsets[left[p]], offsets[left[p] + 1]
        j, end_j = offsets[right[p]], offsets[right[p] + 1]
        shared, one, other = 0.0, 0.0, 0.0
        while i < end_i and j < end_j:
            a, b = words[i], words[j]
            if a == b:
                w = weights[a]
                shared += w
                one += w
                other += w
                i += 1
                j += 1
            elif a < b:
                one += weights[a]
                i += 1
            else:
                other += weights[b]
                j += 1
        while i < end_i:
            one += weights[words[i]]
            i += 1
        while j < end_j:
            other += weights[words[j]]
            j += 1
        out[p] = shared / np.sqrt(one * other) if one * other > 0.0 else 0.0


@jit
def spread_words(values: Any, ids: Any, word_offsets: Any, at: Any, out: Any) -> None:
    """Copy the words of each record's value to the position of the record.

    values i32[n], -1 for none; ids u32[w]; word_offsets i64[v+1]; at i64[n]: the next position of each record,
    advanced; out u32[t].
    """
    for i in range(len(values)):
        v = values[i]
        if v >= 0:
            for w in range(word_offsets[v], word_offsets[v + 1]):
                out[at[i]] = ids[w]
                at[i] += 1


@jit
def sort_words(words: Any, offsets: Any, out: Any) -> None:  # words u32[t], changed in place; offsets, out i64[n+1]
    """Sort the words of each record and remove duplicates. out: the new offsets."""
    out[0] = to = 0
    for i in range(len(offsets) - 1):
        part = words[offsets[i] : offsets[i + 1]]
        if len(part) > 64:
            part.sort()
        for a in range(1, len(part)):  # most records have few words, for which insertion sort is fastest
            w = part[a]
            b = a
            while b > 0 and part[b - 1] > w:
                part[b] = part[b - 1]
                b -= 1
            part[b] = w
        begin = to
        for a in range(len(part)):
            if to == begin or words[to - 1] != part[a]:
                words[to] = part[a]
                to += 1
        out[i + 1] = to
