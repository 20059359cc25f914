"""Work ahead on threads: order, bounds, errors, leaving early."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator

import pytest

from lookalike.io.prefetch import ahead, in_order


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


def test_no_item_is_made_while_those_that_wait_are_heavy() -> None:
    started: list[int] = []

    def items() -> Generator[int, None, None]:
        for number in range(6):
            started.append(number)
            yield number

    stream = ahead(items(), depth=4, weight=lambda _: 10, most=10)
    for number in range(6):
        assert next(stream) == number
        assert len(started) <= number + 2  # what the consumer has, and one that waits
    assert list(stream) == []


def test_leaving_while_heavy_items_wait_does_not_hang() -> None:
    stream = ahead((number for number in range(6)), depth=4, weight=lambda _: 10, most=10)
    assert next(stream) == 0
    stream.close()  # type: ignore[attr-defined]


def test_heavy_items_are_not_under_way_together() -> None:
    under_way: list[int] = []
    most: list[int] = []

    def work(item: int) -> int:
        under_way.append(item)
        most.append(sum(under_way))
        under_way.remove(item)
        return item

    items = [1, 9, 1, 1, 1, 8, 20, 1]
    assert list(in_order(work, items, threads=4, weight=lambda item: item, most=10)) == items
    assert max(most) <= 20
