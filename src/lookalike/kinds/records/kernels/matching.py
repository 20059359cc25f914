"""Kernels of competing pairs: margins over the other pairs of a record, greedy matching and one-to-one assignment."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit


@jit
def score_margins(left: Any, right: Any, score: Any, alive: Any, sides: Any, records: int, out: Any) -> None:
    """out[p] = score[p] minus the best score of another pair of either record (0 if there is none).

    left, right u32[p]; score f32[p], not negative; alive bool[p]: the pairs that compete; sides (bool, bool): whether
    other pairs of the left record compete, and those of the right one; out f32[p].
    """
    best, second = np.zeros(records, np.float32), np.zeros(records, np.float32)
    where = np.full(records, -1, np.int64)
    for p in range(len(left)):
        if not alive[p]:
            continue
        s = score[p]
        for x in (left[p], right[p]):
            if s > best[x] or where[x] < 0:
                second[x] = best[x]
                best[x] = s
                where[x] = p
            elif s > second[x]:
                second[x] = s
    for p in range(len(left)):
        x, y = left[p], right[p]
        a = np.float32(0) if not sides[0] else second[x] if where[x] == p else best[x]
        b = np.float32(0) if not sides[1] else second[y] if where[y] == p else best[y]
        out[p] = score[p] - max(a, b)


@jit
def greedy_matching(order: Any, left: Any, right: Any, alive: Any, sides: Any, taken: Any, keep: Any) -> None:
    """Keep pairs in the given order wherever both records are still unmatched.

    order i64[p]; left, right u32[p]; alive bool[p]: the pairs that may be kept; sides (bool, bool): whether a kept pair
    matches its left record, and its right one; taken bool[records], False; keep bool[p], out.
    """
    for i in range(len(order)):
        p = order[i]
        keep[p] = alive[p] and not taken[left[p]] and not taken[right[p]]
        if keep[p]:
            taken[left[p]], taken[right[p]] = sides


@jit
def settled_margins(
    left: Any, right: Any, score: Any, alive: Any, keep: Any, sides: Any, records: int, out: Any
) -> None:
    """As `score_margins`, for kept pairs: only available competing pairs count.

    A pair that is not kept is available to a record if its other record is unmatched, or kept with a lower score.
    """
    own, rival = np.full(records, -1.0, np.float32), np.zeros(records, np.float32)
    for p in range(len(left)):
        if keep[p]:
            if sides[0]:
                own[left[p]] = score[p]
            if sides[1]:
                own[right[p]] = score[p]
    for p in range(len(left)):
        if alive[p] and not keep[p]:
            s, x, y = score[p], left[p], right[p]
            if sides[0] and s > own[y] and s > rival[x]:
                rival[x] = s
            if sides[1] and s > own[x] and s > rival[y]:
                rival[y] = s
    for p in range(len(left)):
        out[p] = score[p] - max(rival[left[p]], rival[right[p]])


@jit
def best_assignment(
    edges: Any,  # i64[m]: right records: the edges of left record 0, then of 1, ...
    weights: Any,  # f64[m], above 0
    ends: Any,  # i64[lefts]: the end of the edges of each left record
    partner: Any,  # i64[lefts], out: the position in `edges`, -1 for none
    owner: Any,  # i64[rights], -1 before; out: the left record that is matched to it
    rights: int,
) -> None:
    """Find the matching with the highest sum of weights, by shortest augmenting paths with dual prices.

    A left record may stay unmatched, with weight 0. Exact; each record costs a search in the part of the graph around
    it.
    """
    price = np.zeros(rights, np.float64)  # dual price of each right record
    gain = np.zeros(rights, np.float64)
    done = np.zeros(rights, np.int64)
    seen = np.zeros(rights, np.int64)
    via = np.empty(rights, np.int64)
    queue, settled = np.empty(rights, np.int64), np.empty(rights, np.int64)
    for root in range(len(ends)):
        mark = root + 1
        waiting, count = 0, 0
        x, cost = root, 0.0  # cost: the loss on the path to x, relative to leaving it unmatched
        best_end, best_loss, best_at = -1, np.inf, -1  # the cheapest end: an unmatched right record, or a left one
        while True:
            begin = ends[x - 1] if x > 0 else 0
            own = 0.0  # the current utility of x, which it would lose
            if partner[x] >= 0:
                own = weights[partner[x]] - price[edges[partner[x]]]
            if cost + own < best_loss:  # x stays unmatched
                best_loss, best_end, best_at = cost + own, -2, x
            for e in range(begin, ends[x]):
                y = edges[e]
                if done[y] == mark or e == partner[x]:
                    continue
                loss = cost + own - (weights[e] - price[y])
                if seen[y] != mark:
                    seen[y] = mark
                    gain[y] = loss
                    via[y] = e
                    queue[waiting] = y
                    waiting += 1
                elif loss < gain[y]:
                    gain[y] = loss
                    via[y] = e
            pick, at = -1, -1
            for i in range(waiting):
                y = queue[i]
                if pick < 0 or gain[y] < gain[pick]:
                    pick, at = y, i
            if pick < 0 or gain[pick] >= best_loss:
                break
            waiting -= 1
            queue[at] = queue[waiting]
            done[pick] = mark
            settled[count] = pick
            count += 1
            if owner[pick] < 0:
                best_loss, best_end = gain[pick], pick
                break
            x, cost = owner[pick], gain[pick]
        finish_path(root, best_end, best_at, best_loss, edges, ends, settled[:count], gain, via, price, partner, owner)


@jit
def finish_path(
    root: int, best_end: int, best_at: int, best_loss: float, edges: Any, ends: Any, settled: Any, gain: Any, via: Any,
    price: Any, partner: Any, owner: Any,
) -> None:  # fmt: skip
    """Raise the prices of the right records that the search has settled, then augment along the path."""
    for i in range(len(settled)):
        y = settled[i]
        price[y] += max(0.0, best_loss - gain[y])
    if best_end == -2:
        x = best_at
        if x == root:
            return
        y = edges[partner[x]]
        partner[x] = -1
    else:
        y = best_end
    while True:
        e = via[y]
        x = source(e, ends)
        previous = partner[x]
        partner[x] = e
        owner[y] = x
        if x == root:
            return
        y = edges[previous]


@jit
def source(edge: int, ends: Any) -> int:
    """Return the left record of an edge, by binary search."""
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high) // 2
        if ends[middle] <= edge:
            low = middle + 1
        else:
            high = middle
    return low
