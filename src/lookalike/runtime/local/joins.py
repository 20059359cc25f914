"""Common parts of all joins: score candidates block by block, collect the pairs, and limit their number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from lookalike.core.arrays import F64, I64, U32
from lookalike.core.candidates import Candidates, Items
from lookalike.core.measures import Bar
from lookalike.core.trace import DOUBLINGS, Trace
from lookalike.core.verification import estimated, verified
from lookalike.errors import PairLimitReached
from lookalike.runtime.local.work_folder import Arrays, Workspace

Scored = tuple[I64, I64, F64]
Block = tuple[U32, U32, F64]
Pieces = Callable[[I64], Iterator[tuple[Block, int]]]  # argument: array in which buckets are counted by size
Report = Callable[[int, int | None], None]
ITEMS_PER_TASK = 1 << 13  # items whose candidates are searched by one task


SETS_ADVICE = "Raise the threshold, drop boilerplate with `max_share`, or raise `max_pairs`."


def collect_blocks(pieces: Iterable[tuple[Block, int]], limit: int, *, advice: str = SETS_ADVICE) -> tuple[Block, int]:
    """Return all verified pairs of the blocks and the number of candidates; TooManyPairs above `limit` pairs."""
    found: list[Block] = []
    total = candidates = 0
    for piece, proposed in pieces:
        candidates += proposed
        if len(piece[0]):
            found.append(piece)
            total += len(piece[0])
            check_count(total, limit, advice)
    return joined(found), candidates


def scored(pieces: Iterable[tuple[Block, int]], trace: Trace, limit: int, *, advice: str = SETS_ADVICE) -> Scored:
    """Return all verified pairs of the blocks, and add the number of candidates to the trace."""
    (left, right, similarity), candidates = collect_blocks(pieces, limit, advice=advice)
    trace.add(candidates=candidates)
    return left.astype(np.int64), right.astype(np.int64), similarity


def collect(units: Iterable[tuple[str, Pieces]], space: Workspace, trace: Trace, limit: int) -> Scored:
    """Return all verified pairs of a join; each unit is a checkpoint of the run and is computed once."""
    found: list[Block] = []
    total = 0
    for name, pieces in units:

        def make(pieces: Pieces = pieces, allowed: int = limit - total) -> tuple[Arrays, dict[str, int]]:
            sizes = np.zeros(DOUBLINGS, np.int64)
            (left, right, similarity), candidates = collect_blocks(pieces(sizes), allowed)
            made: Arrays = {"left": left, "right": right, "similarity": similarity, "buckets": sizes}
            return made, {"candidates": candidates}

        arrays, counts = space.part(name, make)
        trace.add(**counts)
        trace.buckets += arrays["buckets"]
        found.append((arrays["left"], arrays["right"], arrays["similarity"]))
        total += len(arrays["left"])
        check_count(total, limit)
    left, right, similarity = joined(found)
    return left.astype(np.int64), right.astype(np.int64), similarity


def joined(blocks: Sequence[Block]) -> Block:
    if not blocks:
        return np.empty(0, np.uint32), np.empty(0, np.uint32), np.empty(0, np.float64)
    if len(blocks) == 1:
        return blocks[0]
    left, right, similarity = (np.concatenate(column) for column in zip(*blocks, strict=True))
    return left, right, similarity


def check_count(total: int, limit: int, advice: str = SETS_ADVICE) -> None:
    if total > limit:
        raise PairLimitReached(
            f"more than {limit:,} pairs (`max_pairs`) are within the threshold, and the search has not ended. {advice}"
        )


def score_block(
    items: Items, pieces: Iterator[Candidates], bar: Bar, limit: int, values: U32 | None = None
) -> tuple[Block, int]:
    """Score the candidates of a block, batch by batch: exactly, or by signatures if their `values` are given.

    Returns the pairs and the number of candidates. Stops early once there are more than `limit` pairs.
    """
    scored, count, found = [], 0, 0
    for candidates in pieces:
        count += len(candidates)
        scored.append(verified(items, candidates, bar) if values is None else estimated(values, candidates))
        found += len(scored[-1][0])
        if found > limit:
            break
    left, right, similarity = (np.concatenate(column) for column in zip(*scored, strict=True))
    return (left, right, similarity), count
