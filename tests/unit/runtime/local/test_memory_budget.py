"""Sizes in words, and mapped files that give their pages back."""

from __future__ import annotations

import tempfile

import numpy as np
import pytest

from lookalike.errors import UsageError
from lookalike.runtime.local.memory_budget import MIN_BUDGET, MemoryBudget, memory_size, resident


@pytest.mark.parametrize(
    ("given", "size"), [("2GB", 2 * 10**9), ("1.5 g", 15 * 10**8), ("900mb", 9 * 10**8), (10**9, 10**9)]
)
def test_sizes(given: int | str, size: int) -> None:
    assert memory_size(given) == size


@pytest.mark.parametrize("given", ["", "much", "-2GB", "1..2GB", "12MB", 0])
def test_sizes_that_cannot_be(given: int | str) -> None:
    with pytest.raises(UsageError, match=r"^memory is .*; expected at least 300 MB, for example 2GB\.$"):
        memory_size(given)


def test_without_a_size_there_is_one() -> None:
    assert memory_size(None) >= MIN_BUDGET


@pytest.mark.skipif(resident() == 0, reason="this system does not tell how much memory a process holds")
def test_pages_are_given_back_and_come_again() -> None:
    count = 4_000_000
    with tempfile.TemporaryFile() as file:
        file.truncate(8 * count)
        keeper = MemoryBudget(1 << 62)
        numbers = keeper.map(file.fileno(), np.int64, (count,), write=True)
        numbers[:] = np.arange(count)
        full = resident()
        keeper.give_back()
        assert full - resident() > 0.9 * 8 * count
        assert np.array_equal(numbers, np.arange(count))


def test_a_keeper_looks_by_itself() -> None:
    with tempfile.TemporaryFile() as file:
        file.truncate(1 << 20)
        keeper = MemoryBudget(1)  # nothing fits
        assert keeper.at_once(2) > 1 << 20, "nothing is mapped: no need to look"
        numbers = keeper.map(file.fileno(), np.uint8, (1 << 20,), write=True)
        assert keeper.at_once(2) == 64
        numbers[:] = 7
        keeper.look()
        assert int(numbers.sum()) == 7 << 20
