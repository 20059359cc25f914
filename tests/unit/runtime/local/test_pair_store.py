"""Pairs on disk come back sorted and once, in any order and number of runs in which they were added."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from lookalike.runtime.local import pair_store
from lookalike.runtime.local.memory_budget import MemoryBudget
from lookalike.runtime.local.pair_store import PairStore
from lookalike.runtime.local.work_folder import CheckpointFolder, Workspace


def space(folder: Path) -> Workspace:
    return Workspace(MemoryBudget(1 << 62), folder, run=CheckpointFolder(folder / "run-1", {}))


def close(used: Workspace) -> None:
    assert used.run is not None
    used.run.close()


def everything(store: PairStore, most: int | None = None) -> list[tuple[int, float]]:
    pieces = list(store.pieces(most=most))
    ends = [int(piece.keys[-1]) for piece in pieces]
    assert ends == sorted(set(ends))
    return [(int(key), float(score)) for piece in pieces for key, score in zip(*piece, strict=True)]


@pytest.mark.parametrize("spread", [5, 5_000, 1 << 63])
def test_pairs_come_back_sorted_and_once(tmp_path: Path, spread: int) -> None:
    draw = np.random.default_rng(spread % 7)
    store = PairStore(space(tmp_path), "pairs", most=1)
    known = {}
    for _ in range(9):
        keys = draw.integers(0, spread, 700, dtype=np.uint64)
        store.add(keys, keys.astype(np.float64))
        known |= {int(key): float(key) for key in keys}
    assert everything(store) == sorted(known.items())
    assert everything(store, most=200) == sorted(known.items())
    edges = [0, spread // 3, spread // 2, 1 << 64]
    assert len(known) <= store.counts_between(edges).sum() == len(store) <= 6_300
    low, high = edges[1], edges[2]
    some = [int(key) for piece in store.pieces(low, high, most=50) for key in piece.keys]
    assert some == [key for key in sorted(known) if low <= key < high]


@pytest.mark.parametrize("spread", [5, 5_000])
def test_pairs_without_scores_and_whole_items(tmp_path: Path, spread: int) -> None:
    draw = np.random.default_rng(3)
    store = PairStore(space(tmp_path), "pairs", most=1, scored=False, passing=True)
    known: set[int] = set()
    for _ in range(9):
        keys = pair_store.keys_of(draw.integers(0, spread, 700), draw.integers(0, 50, 700))
        known |= set(keys.tolist())
        store.add(keys)
    pieces = list(store.pieces(most=200, whole=True))
    assert [key for piece in pieces for key in piece.keys.tolist()] == sorted(known)
    assert len(pieces) > 4
    lefts = [set(piece.left.tolist()) for piece in pieces]
    assert not any(one & other for one, other in itertools.pairwise(lefts))
    assert 8 * len(known) <= store.nbytes == 8 * len(store) <= 8 * 6_300
    assert list(tmp_path.rglob("*pairs*")) == []


def test_pieces_are_bounded(tmp_path: Path) -> None:
    store = PairStore(space(tmp_path), "pairs", most=1 << 12)
    draw = np.random.default_rng(1)
    for _ in range(20):
        store.add(draw.integers(0, 1 << 63, 1 << 11, dtype=np.uint64), np.zeros(1 << 11))
    assert max(len(piece.keys) for piece in store.pieces(most=4_000)) <= 6_000


def test_a_store_goes_on_after_its_last_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_store, "STEP_COMMIT_SECONDS", 0.0)
    used = space(tmp_path)
    store = PairStore(used, "pairs", most=1, about={"a": 1})
    for step in range(3):
        store.add(np.arange(1100, dtype=np.uint64) + np.uint64(step), np.zeros(1100))
        store.count(candidates=10)
        store.step()
    monkeypatch.setattr(pair_store, "STEP_COMMIT_SECONDS", 1e9)
    store.add(np.arange(9_000, 11_000, dtype=np.uint64), np.zeros(2000))  # written, but never committed
    store.step()
    close(used)
    used = space(tmp_path)
    again = PairStore(used, "pairs", most=1, about={"a": 1})
    assert (again.steps, again.counts, again.complete) == (3, {"candidates": 30}, False)
    assert [key for key, _ in everything(again)] == list(range(1102))
    close(used)
    assert PairStore(space(tmp_path), "pairs", most=1, about={"a": 2}).steps == 0


def test_a_damaged_store_is_made_again(tmp_path: Path) -> None:
    used = space(tmp_path)
    store = PairStore(used, "pairs", most=1)
    store.add(np.arange(2_000, dtype=np.uint64), np.zeros(2_000))
    store.finish()
    close(used)
    path = tmp_path / "run-1" / "pairs"
    data = bytearray(path.read_bytes())
    data[77] ^= 1
    path.write_bytes(data)
    used = space(tmp_path)
    again = PairStore(used, "pairs", most=1)
    assert (len(again), again.complete) == (0, False)
    assert used.notes == [f"{path} is damaged and is made again."]
