"""Passages in other words: words that two documents share in the same order, chained across words that differ.

Each document is a sequence of its informative words, with a weight each: the information, in nats, that the word
occurs by chance within LINK_REACH words. A seed is two such words near each other in both documents. Seeds in the same
order on both sides give chains; a chain gains the weight of each shared word and loses SKIP for each word between that
only one side has. Seeds in opposite orders give the chains that the same texts have by chance.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.hashing import mix
from lookalike.kinds.passages.kernels.alignment import grown
from lookalike.kinds.passages.kernels.passages import may_meet

FOLLOWING = 5  # informative words after a word with which it forms seeds
LINK_REACH = 8  # informative words between two shared words of a chain, at most
SKIP = 0.2  # nats for each word in between
LEAST_CHAIN = 8.0  # nats of a chain that can be part of a passage
JOIN = 6.0  # nats for each further chain of a passage
CHAINS_APART = 30  # informative words between two chains of a passage, on either side
LEAST_SCORE = 18.0  # nats of a passage; less is a common phrase
LEAST_WORD = 1.5  # nats of a word that follows another one wherever that one is
LOOK_BACK = 64  # shared words before one that are tried, for text that repeats itself
CHAIN_WORDS = 3  # fewest shared words of a chain
LEFT_TEXT, RIGHT_TEXT, LEFT_FIRST, LEFT_LAST, RIGHT_FIRST, RIGHT_LAST, SHARED, CHAINS, SCORE, BY_CHANCE = range(
    10
)  # columns
UPPER_HALF = np.uint64(32)


@jit
def rate_words(
    words: Any,  # u32[total]: number of each word in the vocabulary
    order: Any,  # i64[total]: places sorted by word, then by place
    offsets: Any,  # i64[n+1]
    frequency: Any,  # f64[vocabulary]: share of each word in the collection
    heaviest: float,
    out: Any,  # f32[total], out
) -> None:
    """Compute the weight of each word: -log of its chance to occur within LINK_REACH words on either side.

    The first occurrence in a document counts as in the collection, further ones as often as they are in the document.
    """
    at, n = 0, len(order)
    while at < n:
        word = words[order[at]]
        d = np.searchsorted(offsets, order[at], "right") - 1
        end = at
        while end < n and words[order[end]] == word and order[end] < offsets[d + 1]:
            end += 1
        share = max(frequency[word], (end - at - 1) / (offsets[d + 1] - offsets[d]))
        weight = min(heaviest, max(0.0, -np.log(min(1.0, share * 2 * LINK_REACH))))
        for i in range(at, end):
            out[order[i]] = weight
        at = end


@jit
def word_pairs(words: Any, offsets: Any, hashes: Any, firsts: Any, seconds: Any, ends: Any) -> int:
    """Form the seeds: each word with the FOLLOWING next ones of its document, with one hash for both orders.

    words u32[c]: the informative words; offsets i64[n+1]; hashes u64[FOLLOWING * c], firsts, seconds u32[.], out;
    ends i64[n], out: number of seeds after each document. Returns their number.
    """
    n = 0
    for d in range(len(offsets) - 1):
        for i in range(offsets[d], offsets[d + 1]):
            for j in range(i + 1, min(i + FOLLOWING + 1, offsets[d + 1])):
                a, b = np.uint64(words[i]), np.uint64(words[j])
                if a == b:
                    continue
                hashes[n] = mix((min(a, b) << UPPER_HALF) | max(a, b))
                firsts[n], seconds[n] = i, j
                n += 1
        ends[d] = n
    return n


@jit
def best_chains(
    shared: Any,  # i64[m]: (left << 32) | right of each pair of equal words, sorted
    given: Any,  # f64[m]: information of the word after another word that both documents have near it
    left: Any,  # f32[.]: weights of the left document
    right: Any,  # f32[.]: weights of the right document
    mirror: int,  # if above 0, right is this minus the place in the right document
    taken_left: Any,  # bool[>= len(left)], False before and after
    taken_right: Any,  # bool[>= len(right)], False before and after
    out: Any,  # f64[r, 10]
    n: int,
) -> Any:  # (out, n)
    """Append the chains of one pair of documents, best first; each word is in at most one chain."""
    m = len(shared)
    score, before = np.empty(m), np.empty(m, np.int64)
    for i in range(m):
        a, b = shared[i] >> 32, shared[i] & 0xFFFFFFFF
        place = mirror - b if mirror else b
        weight = min(left[a], right[place])
        after = min(weight, given[i])
        best, link = weight, -1
        for p in range(i - 1, max(-1, i - 1 - LOOK_BACK), -1):
            over, across = a - (shared[p] >> 32), b - (shared[p] & 0xFFFFFFFF)
            if over > LINK_REACH:
                break
            if over > 0 and 0 < across <= LINK_REACH:
                value = score[p] - SKIP * (over + across - 2) + after
                if value > best:
                    best, link = value, p
        score[i] = best
        before[i] = link
    begin = n
    for i in np.argsort(-score, kind="mergesort"):
        if score[i] < LEAST_CHAIN:
            break
        at, words, reached = i, 0, i
        while at >= 0:
            a, b = shared[at] >> 32, shared[at] & 0xFFFFFFFF
            if taken_left[a] or taken_right[b]:
                break
            reached, at, words = at, before[at], words + 1
        value = score[i] - (score[at] if at >= 0 else 0.0)
        if words < CHAIN_WORDS or value < LEAST_CHAIN:
            continue
        stop, at = at, i
        while at != stop:
            taken_left[shared[at] >> 32] = taken_right[shared[at] & 0xFFFFFFFF] = True
            at = before[at]
        out = grown(out, n)
        out[n, LEFT_FIRST], out[n, LEFT_LAST] = shared[reached] >> 32, shared[i] >> 32
        out[n, RIGHT_FIRST], out[n, RIGHT_LAST] = shared[reached] & 0xFFFFFFFF, shared[i] & 0xFFFFFFFF
        if mirror:
            out[n, RIGHT_FIRST], out[n, RIGHT_LAST] = mirror - out[n, RIGHT_LAST], mirror - out[n, RIGHT_FIRST]
        out[n, SHARED], out[n, CHAINS], out[n, SCORE] = words, 1, value
        n += 1
    for i in range(m):
        taken_left[shared[i] >> 32] = taken_right[shared[i] & 0xFFFFFFFF] = False
    return out, join_chains(out, begin, n)


@jit
def join_chains(rows: Any, begin: int, end: int) -> int:  # rows f64[r, 10]
    """Join the chains rows[begin:end] of one pair of documents that are near each other on both sides, in any order.

    Passages below LEAST_SCORE are dropped. Returns the new end.
    """
    part = rows[begin:end].copy()
    part = part[np.argsort(part[:, LEFT_FIRST], kind="mergesort")]
    root = np.arange(len(part))
    for i in range(len(part)):
        for j in range(i + 1, len(part)):
            if part[j, LEFT_FIRST] - part[i, LEFT_LAST] > CHAINS_APART:
                if j - i > LOOK_BACK:
                    break
                continue
            if (
                part[j, RIGHT_FIRST] - part[i, RIGHT_LAST] > CHAINS_APART
                or part[i, RIGHT_FIRST] - part[j, RIGHT_LAST] > CHAINS_APART
            ):
                continue
            a, b = i, j
            while root[a] != a:
                a = root[a]
            while root[b] != b:
                b = root[b]
            root[max(a, b)] = min(a, b)
    for i in range(len(part)):
        a = i
        while root[a] != a:
            a = root[a]
        root[i] = a
        if a != i:
            part[a, LEFT_LAST] = max(part[a, LEFT_LAST], part[i, LEFT_LAST])
            part[a, RIGHT_FIRST] = min(part[a, RIGHT_FIRST], part[i, RIGHT_FIRST])
            part[a, RIGHT_LAST] = max(part[a, RIGHT_LAST], part[i, RIGHT_LAST])
            part[a, SHARED] += part[i, SHARED]
            part[a, CHAINS] += 1
            part[a, SCORE] += part[i, SCORE] - JOIN
    n = begin
    for i in range(len(part)):
        if root[i] == i and part[i, SCORE] >= LEAST_SCORE:
            rows[n] = part[i]
            n += 1
    return n


@jit
def distinct(shared: Any, given: Any, n: int) -> Any:  # shared i64[>= n]; given f64[>= n]
    """Return the distinct pairs of equal words, sorted, each with the least information given for it."""
    order = np.argsort(shared[:n], kind="mergesort")
    pairs, least = np.empty(n, np.int64), np.empty(n)
    m = 0
    for i in order:
        if m > 0 and pairs[m - 1] == shared[i]:
            least[m - 1] = min(least[m - 1], given[i])
        else:
            pairs[m], least[m] = shared[i], given[i]
            m += 1
    return pairs[:m], least[:m]


@jit
def information(both: int, either: int, weight: float) -> float:
    """Return the information of a word after another one, from the other places of both words.

    both: places of the two words near each other; either: places of the first word; weight: of the second word alone.
    """
    others = max(0, both - 2) + np.exp(-weight)
    return max(LEAST_WORD, -np.log(others / (max(0, either - 2) + 1.0)))


@jit
def find_reworded(
    begin: int,
    end: int,  # left documents: begin .. end-1
    words: Any,  # u32[c]: informative words
    weights: Any,  # f32[c]
    offsets: Any,  # i64[n+1]
    seeds: Any,  # i64[n+1]: the seeds of document d are seeds[d] .. seeds[d+1]-1
    place: Any,  # i64[s]: position of a seed in the concatenated, sorted inverted lists
    fresh: Any,  # bool[s]: by position, True at the first entry of a list
    skipped: Any,  # bool[s]: by position, True in lists that are too long
    owners: Any,  # u32[s]: by position, document of the seed
    firsts: Any,  # u32[s]: by position, first word of the seed
    seconds: Any,  # u32[s]: by position, second word
    sizes: Any,  # u32[s]: by position, number of seeds in the list
    counts_of: Any,  # i64[vocabulary]: places of each word
    rivals: Any,  # i64[n, 2]: collection and author of each document, -1 for none
    out: Any,  # f64[r, 10]: room for the passages
) -> int:
    """Find the passages in other words that these documents share with later ones, and those of opposite order.

    Returns the number of passages; `out` is filled if it has room for them.
    """
    n = len(offsets) - 1
    counts = np.zeros(n, np.int64)
    seen = np.empty(n, np.uint32)
    longest = 0
    for d in range(n):
        longest = max(longest, offsets[d + 1] - offsets[d])
    taken_left, taken_right = np.zeros(longest + 1, np.bool_), np.zeros(longest + 1, np.bool_)
    hits = np.empty((1 << 12, 2), np.int64)
    same, opposite = np.empty(1 << 13, np.int64), np.empty(1 << 13, np.int64)
    given, given_opposite = np.empty(1 << 13), np.empty(1 << 13)
    rows, found = np.empty((64, 10)), 0
    for d in range(begin, end):
        many = total = 0
        for i in range(seeds[d], seeds[d + 1]):
            if skipped[place[i]]:
                continue
            t = place[i] + 1
            while t < len(fresh) and not fresh[t]:
                e = owners[t]
                if may_meet(d, e, rivals):
                    if counts[e] == 0:
                        seen[many] = e
                        many += 1
                    counts[e] += 1
                    total += 1
                t += 1
        if total == 0:
            continue
        if total > len(hits):
            hits = np.empty((2 * total, 2), np.int64)
        at = 0
        for p in range(many):  # counts become the offsets of the seeds of each partner
            at, counts[seen[p]] = at + counts[seen[p]], at
        for i in range(seeds[d], seeds[d + 1]):
            if skipped[place[i]]:
                continue
            t = place[i] + 1
            while t < len(fresh) and not fresh[t]:
                e = owners[t]
                if may_meet(d, e, rivals):
                    hits[counts[e], 0], hits[counts[e], 1] = place[i], t
                    counts[e] += 1
                t += 1
        at = 0
        for p in range(many):
            e = np.int64(seen[p])
            stop = counts[e]
            counts[e] = 0
            if stop - at < 2:  # two words are no passage
                at = stop
                continue
            if 2 * (stop - at) > len(same):
                same, opposite = np.empty(4 * (stop - at), np.int64), np.empty(4 * (stop - at), np.int64)
                given, given_opposite = np.empty(4 * (stop - at)), np.empty(4 * (stop - at))
            along = against = 0
            mirror = offsets[e + 1] - offsets[e]
            for h in range(at, stop):
                i, j = hits[h, 0], hits[h, 1]
                u, v = np.int64(firsts[i]), np.int64(seconds[i])
                x, y = np.int64(firsts[j]), np.int64(seconds[j])
                a, b = u - offsets[d], v - offsets[d]
                after = information(sizes[i], counts_of[words[u]], weights[v])
                if words[u] == words[x] and words[v] == words[y]:
                    given[along], given[along + 1] = np.inf, after
                    same[along] = (a << 32) | (x - offsets[e])
                    same[along + 1] = (b << 32) | (y - offsets[e])
                    along += 2
                elif words[u] == words[y] and words[v] == words[x]:
                    given_opposite[against], given_opposite[against + 1] = np.inf, after
                    opposite[against] = (a << 32) | (mirror - (y - offsets[e]))
                    opposite[against + 1] = (b << 32) | (mirror - (x - offsets[e]))
                    against += 2
            at = stop
            mine, theirs = weights[offsets[d] : offsets[d + 1]], weights[offsets[e] : offsets[e + 1]]
            first = found
            if along > 2:
                pairs, least = distinct(same, given, along)
                rows, found = best_chains(pairs, least, mine, theirs, 0, taken_left, taken_right, rows, found)
            middle = found
            if against > 2:
                pairs, least = distinct(opposite, given_opposite, against)
                rows, found = best_chains(pairs, least, mine, theirs, mirror, taken_left, taken_right, rows, found)
            best = 0.0
            for r in range(first, middle):
                best = max(best, rows[r, SCORE])
            opposite_best = 0.0
            for r in range(middle, found):
                opposite_best = max(opposite_best, rows[r, SCORE])
            if opposite_best <= best:  # repeats within a shared passage have the opposite order, too
                found = middle
            for r in range(first, found):
                rows[r, LEFT_TEXT], rows[r, RIGHT_TEXT], rows[r, BY_CHANCE] = d, e, 1.0 if r >= middle else 0.0
    if found <= len(out):
        out[:found] = rows[:found]
    return found
