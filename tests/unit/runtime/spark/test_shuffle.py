"""Parts of a shuffle that do not fit memory are grouped on disk."""

from __future__ import annotations

import os

import numpy as np
import pytest

from lookalike.runtime.spark import shuffle

KINDS = {"key": np.uint64, "value": np.int32}


def rows(seed: int) -> shuffle.Columns:
    draw = np.random.default_rng(seed)
    return {"key": draw.integers(0, 50, 400).astype(np.uint64), "value": draw.integers(0, 9, 400).astype(np.int32)}


def word(columns: shuffle.Columns) -> shuffle.U64:
    return shuffle.mixed(columns["key"])


def test_all_rows_of_a_word_are_in_one_file() -> None:
    given = [rows(seed) for seed in range(3)]
    with shuffle.ShuffleSpill(KINDS, word) as spill:
        assert spill.is_empty
        for columns in given:
            spill.add(columns)
        assert not spill.is_empty
        parts = list(spill.parts())
        assert spill._folder is not None
        folder = spill._folder.name
    assert not os.path.exists(folder)
    assert 1 < len(parts) <= shuffle.SPILL_FILES
    keys = [set(part["key"].tolist()) for part in parts]
    assert sum(map(len, keys)) == len(set.union(*keys))
    expected = sorted(pair for columns in given for pair in zip(columns["key"], columns["value"], strict=True))
    assert sorted(pair for part in parts for pair in zip(part["key"], part["value"], strict=True)) == expected


@pytest.mark.parametrize("parts", [7, 70_000])
def test_part_numbers_do_not_wrap(parts: int) -> None:
    draw = np.random.default_rng(1)
    columns = {"key": draw.integers(0, 1 << 60, 500).astype(np.uint64), "value": np.arange(500, dtype=np.int32)}
    batch = shuffle._cut([columns], KINDS, word, parts)
    expected = [int(high) * parts >> 32 for high in word(columns) >> np.uint64(32)]
    assert batch["part"].to_pylist() == sorted(set(expected))
    assert sum(len(value.as_py()) for value in batch["value"]) == 4 * 500
