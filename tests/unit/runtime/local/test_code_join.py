"""Codes on disk: the same pairs as comparing all of them, for parts of any size; and the order in which blocks are read."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from lookalike.core.trace import Trace
from lookalike.runtime.local import code_join
from lookalike.runtime.local.block_schedule import BlockCache, ordered
from lookalike.runtime.local.code_join import CodeJoin, KeySegment
from lookalike.runtime.local.distinct_rows import DistinctRows, RowMask, find_copies
from lookalike.runtime.local.memory_budget import MemoryBudget
from lookalike.runtime.local.pair_store import PairStore
from lookalike.runtime.local.pool import Pool
from lookalike.runtime.local.stored_array import StoredArray, StoredPart
from lookalike.runtime.local.work_folder import Workspace


def stored(folder: Path, words: np.ndarray) -> StoredArray:
    half = len(words) // 3
    for name, part in (("a", words[:half]), ("b", words[half:])):
        (folder / name).write_bytes(part.tobytes())
    parts = [StoredPart(folder / "a", half, np.uint64), StoredPart(folder / "b", len(words) - half, np.uint64)]
    return StoredArray(parts, words.shape[1], np.uint64)


def near_codes(count: int, words: int, *, skewed: bool) -> np.ndarray:
    """Codes of which half are near others; skewed: most bits are the same in nearly all of them."""
    draw = np.random.default_rng(words)
    codes = draw.integers(0, 1 << 63, (count, words)).astype(np.uint64)
    if skewed:
        codes[: count * 9 // 10] &= np.uint64(0b1111)
    codes[count // 2 :] = codes[: count - count // 2]
    for _ in range(3):
        codes[np.arange(count // 2, count), 0] ^= np.uint64(1) << draw.integers(0, 63, count - count // 2, np.uint64)
    return codes


@pytest.mark.parametrize(("words", "flips", "skewed"), [(1, 1, False), (1, 2, True), (2, 0, False), (1, 0, True)])
@pytest.mark.parametrize("cross", [False, True])
def test_the_pairs_are_those_of_all_comparisons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: int, flips: int, skewed: bool, cross: bool
) -> None:
    monkeypatch.setattr(CodeJoin, "chunk_rows", 60)
    monkeypatch.setattr(code_join, "READ_CODES", 90)
    monkeypatch.setattr(code_join, "CODE_TASK_PAIRS", 1)
    codes = near_codes(400, words, skewed=skewed)
    sides = (1 + (np.arange(400) % 3)).astype(np.uint8) if cross else None
    segments = [KeySegment(np.arange(at, at + 16, dtype=np.uint64), flips) for at in (0, 16, 40)]
    space = Workspace(MemoryBudget(1 << 30), tmp_path)
    store = PairStore(space, "pairs", most=1)
    with Pool(2) as pool:
        rows = DistinctRows(stored(tmp_path, codes), RowMask(np.ones(400, np.bool_)))
        CodeJoin(rows, sides, segments, 9, pool, space, Trace(), 1 << 20).run(store, lambda *_: None, lambda _: None)
    masks = [segment.mask(words) for segment in segments]

    def apart(a: int, b: int, mask: np.ndarray) -> int:
        return int(np.bitwise_count((codes[a] ^ codes[b]) & mask).sum())

    every = np.full(words, ~np.uint64(0))
    expected = {
        (a << 32 | b): -apart(a, b, every)
        for a, b in combinations(range(400), 2)
        if apart(a, b, every) <= 9
        and any(apart(a, b, mask) <= flips for mask in masks)
        and (sides is None or sides[a] | sides[b] == 3)
    }
    assert len(expected) > 100
    assert {int(k): s for piece in store.pieces() for k, s in zip(*piece, strict=True)} == expected
    assert len(store) == len(expected), "each pair is found once"


@pytest.mark.parametrize("capacity", [2, 3, 5])
def test_blocks_are_loaded_rarely(capacity: int) -> None:
    """A group of blocks stays while the others pass by: a block is read about n / (capacity - 1) times, not n times."""
    blocks, held = 12, 0
    pairs = [(a, b) for a in range(blocks) for b in range(a, blocks)]

    def load(block: int) -> int:
        return block

    cache = BlockCache(ordered(pairs, capacity), capacity, load)
    seen = []
    for pair, one, other in cache.joins():
        assert (one, other) == pair
        held = max(held, len(cache._held))
        seen.append(pair)
    assert sorted(seen) == pairs
    assert held <= capacity
    groups = -(-blocks // (capacity - 1))
    assert cache.loads <= blocks * (groups + 1) / 2 + blocks


def test_only_first_rows_take_part_and_copies_are_confirmed() -> None:
    values = np.array([5, 7, 5, 9, 7, 5, 11], np.uint64)
    good = np.array([1, 1, 1, 1, 1, 1, 0], np.bool_)
    prints = values % np.uint64(2)  # all alike: only the comparison tells them apart
    space = Workspace(MemoryBudget(1 << 30))
    copies = find_copies(lambda low, high: prints[low:high], good, lambda a, b: values[a] == values[b], space, room=48)
    assert (copies.rows.tolist(), copies.firsts.tolist()) == ([2, 5], [0, 0])
    mask = copies.mask(good)
    assert mask.rows_of(np.arange(len(mask))).tolist() == [0, 1, 3, 4]
    assert copies.sides(mask, 2) is not None
    assert copies.sides(mask, 2).tolist() == [3, 1, 2, 2]  # type: ignore[union-attr]
