"""An ordered map on threads that does not run ahead."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from lookalike.runtime.local.pool import Pool, usable_cores


def test_results_come_in_the_order_of_the_inputs() -> None:
    """The first task ends only after the second has: the order cannot be that of the ends."""
    second_done = threading.Event()

    def work(item: int) -> int:
        if item == 0:
            assert second_done.wait(60)
        if item == 1:
            second_done.set()
        return item * item

    with Pool(2) as pool:
        assert list(pool.map(work, range(20))) == [i * i for i in range(20)]


@pytest.mark.parametrize("threads", [1, 3])
def test_inputs_are_taken_as_results_are(threads: int) -> None:
    taken = 0

    def inputs() -> Iterator[int]:
        nonlocal taken
        while taken < 100:
            taken += 1
            yield taken

    with Pool(threads) as pool:
        for given, _ in enumerate(pool.map(lambda item: item, inputs()), 1):
            assert taken - given <= 2 * threads
    assert taken == 100


def test_an_error_reaches_the_caller() -> None:
    def work(item: int) -> int:
        raise ValueError(f"no {item}")

    with Pool(2) as pool, pytest.raises(ValueError, match="no 1"):
        list(pool.map(work, [1]))


def test_submit_and_cores() -> None:
    with Pool(1) as pool:
        assert pool.submit(lambda: 7).result() == 7
    assert usable_cores() >= 1
