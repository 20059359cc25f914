"""Work ahead on threads: order, bounds, errors, leaving early."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator

import pytest

from lookalike.io.ahead import ahead, in_order


def test_items_are_made_ahead_but_not_without_bound() -> None:
    made: list[int] = []
    third = threading.Event()

    def items() -> Generator[int, None, None]:
        for number in range(100):
            made.append(number)
            if number == 2:
                third.set()
            yield number

    stream = ahead(items(), depth=3)
    assert next(stream) == 0
    assert third.wait(10)
    assert len(made) <= 5
    assert list(stream) == list(range(1, 100))


def test_an_error_comes_after_the_items_before_it() -> None:
    def items() -> Generator[int, None, None]:
        yield 1
        yield 2
        raise ValueError("broken")

    stream = ahead(items())
    assert [next(stream), next(stream)] == [1, 2]
    with pytest.raises(ValueError, match="broken"):
        next(stream)


def test_leaving_early_closes_the_source_and_ends_the_thread() -> None:
    closed = threading.Event()

    def items() -> Generator[int, None, None]:
        try:
            while True:
                yield 1
        finally:
            closed.set()

    before = threading.active_count()
    stream = ahead(items())
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    assert closed.is_set()
    assert threading.active_count() == before


def test_results_come_in_the_order_of_the_items() -> None:
    first_may_end = threading.Event()

    def work(number: int) -> int:
        if number == 0:
            assert first_may_end.wait(10)
        if number == 1:
            first_may_end.set()
        return number

    assert list(in_order(work, range(20), threads=2)) == list(range(20))


def test_only_a_few_items_are_taken_ahead() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(100):
            taken.append(number)
            yield number

    results = in_order(str, items(), threads=2)
    assert next(results) == "0"
    assert len(taken) == 3
    results.close()
