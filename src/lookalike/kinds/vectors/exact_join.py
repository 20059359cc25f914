"""Exact join of vectors: block-wise matrix products select candidates, which are scored in float64."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from functools import partial

import numpy as np

from lookalike.core.arrays import F32, I64, Pairs
from lookalike.core.trace import Trace
from lookalike.kernels import vectors
from lookalike.kinds.vectors.geometry import VectorSpace
from lookalike.runtime.local.joins import Block, scored
from lookalike.runtime.local.pool import Pool

TILE = 2048  # rows and columns of one matrix product
SCAN_PAIR_BUFFER = 1 << 18  # pairs that a scan may collect before they are scored


def tiled_pairs(space: VectorSpace, pool: Pool, trace: Trace, limit: int, advice: str) -> Pairs:
    """Return all pairs that reach the threshold."""
    with trace.stage("match") as report:

        def pieces() -> Iterator[tuple[Block, int]]:
            blocks = [(at, min(at + TILE, len(space))) for at in range(0, len(space), TILE)]
            for done, (low, high) in enumerate(blocks, 1):
                items = np.arange(low, high)
                for block in against(space, items, space.block(low, high), blocks[:done], pool, once=True):
                    yield block, 0
                report(done * done, len(blocks) ** 2)
            trace.add(candidates=len(space) * (len(space) - 1) // 2)

        return Pairs(*scored(pieces(), trace, limit, advice=advice))


def partners(space: VectorSpace, sample: I64, pool: Pool) -> Pairs:
    """Return all pairs with at least one sampled item; a pair of two sampled items occurs once."""
    blocks = [(at, min(at + TILE, len(space))) for at in range(0, len(space), TILE)]
    found = list(against(space, sample, space.take(sample), blocks, pool, once=False))
    if not found:
        return Pairs(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64))
    left, right, score = (np.concatenate(column) for column in zip(*found, strict=True))
    sampled = np.zeros(len(space), np.bool_)
    sampled[sample] = True
    twice = sampled[left] & sampled[right] & (left > right)
    low, high = np.minimum(left, right), np.maximum(left, right)
    return Pairs(low[~twice].astype(np.int64), high[~twice].astype(np.int64), score[~twice])


def across(space: VectorSpace, split: int, pool: Pool) -> Pairs:
    """Return all pairs between items [0, split) and [split, n), or among all items if `split` is n."""
    whole, found = split == len(space), list[Block]()
    for low in range(0, split, TILE):
        items = np.arange(low, min(low + TILE, split))
        ends = [(at, min(at + TILE, len(space))) for at in range(0 if whole else split, len(space), TILE)]
        blocks = ends[: low // TILE + 1] if whole else ends
        found += against(space, items, space.take(items), blocks, pool, once=whole)
    empty = (np.empty(0, np.uint32), np.empty(0, np.uint32), np.empty(0))
    left, right, score = (np.concatenate(column) for column in zip(empty, *found, strict=True))
    return Pairs(left.astype(np.int64), right.astype(np.int64), score)


def against(
    space: VectorSpace, items: I64, ready: F32, blocks: list[tuple[int, int]], pool: Pool, *, once: bool
) -> Iterator[Block]:
    """Yield the pairs of these items with the items of each block, scored while the next product is computed."""
    bars = space.tile_bars(items)
    waiting: Future[list[Block]] | None = None
    for (low, high), block in zip(blocks, pool.map(lambda span: space.block(*span), blocks), strict=True):
        tile = ready @ block.T
        if waiting is not None:
            yield from waiting.result()
        waiting = pool.submit(partial(_scan, space, tile, items, bars, low, high, once))
    if waiting is not None:
        yield from waiting.result()


def _scan(space: VectorSpace, tile: F32, items: I64, bars: F32, low: int, high: int, once: bool) -> list[Block]:
    found: list[Block] = []
    other = space.tile_bars(slice(low, high))
    sides = space.rows.sides
    at = 0
    while at < len(tile):
        rows, columns = (
            np.empty(max(SCAN_PAIR_BUFFER, high - low), np.uint32),
            np.empty(max(SCAN_PAIR_BUFFER, high - low), np.uint32),
        )
        at, count = vectors.scan_tile(tile, bars, other, int(items[0]), low, once, at, rows, columns)
        left, right = items[rows[:count]].astype(np.uint32), columns[:count] + np.uint32(low)
        wanted = (sides[left] | sides[right] == 3) & (left != right)
        if count:
            found.append(space.scored(left[wanted], right[wanted]))
    return found
