"""Compute items ahead of the consumer on other threads, in order and with bounded memory."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
S = TypeVar("S")

READER_THREADS = min(4, os.cpu_count() or 1)


def ahead(
    items: Generator[T, None, None], *, depth: int = 4, weight: Callable[[T], int] | None = None, most: int = 0
) -> Iterator[T]:
    """Yield the same items, of which a thread computes up to `depth` ahead, starting now.

    Leaving early stops the thread and closes `items`. weight: of an item; no further item is computed while the waiting
    ones weigh `most` or more.

    >>> list(ahead(n * n for n in range(4)))
    [0, 1, 4, 9]
    """
    pool = ThreadPoolExecutor(1, thread_name_prefix="lookalike-ahead")
    end = object()
    scale = _Scale(most)

    def make() -> T | object:
        scale.wait()
        item = next(items, end)
        if weight is not None and item is not end:
            scale.add(weight(item))  # type: ignore[arg-type]  # everything but `end` came from `items`
        return item

    pending: deque[Future[T | object]] = deque(pool.submit(make) for _ in range(depth))
    return _taken(pool, pending, make, items, end, scale, weight)


class _Scale:
    """The total weight of the waiting items, with a way to block until it is less than `most`."""

    def __init__(self, most: int) -> None:
        self._most, self._weight, self._open = most, 0, False
        self._changed = threading.Condition()

    def wait(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._open or not self._weight or self._weight < self._most)

    def add(self, weight: int) -> None:
        with self._changed:
            self._weight += weight
            self._changed.notify_all()

    def stop_waiting(self) -> None:
        with self._changed:
            self._open = True
            self._changed.notify_all()


def _taken(
    pool: ThreadPoolExecutor, pending: deque[Future[T | object]], make: Callable[[], T | object],
    items: Generator[T, None, None], end: object, scale: _Scale, weight: Callable[[T], int] | None,
) -> Iterator[T]:  # fmt: skip
    try:
        while (item := pending.popleft().result()) is not end:
            pending.append(pool.submit(make))
            if weight is not None:
                scale.add(-weight(item))  # type: ignore[arg-type]
            yield item  # type: ignore[misc]
            del item  # otherwise it would be held until the next one is there
    finally:
        scale.stop_waiting()
        pool.shutdown(wait=True, cancel_futures=True)
        items.close()


def in_order(
    function: Callable[[S], T], items: Iterable[S], *, threads: int = READER_THREADS,
    weight: Callable[[S], int] | None = None, most: int = 0,
) -> Generator[T, None, None]:  # fmt: skip
    """Apply a function on threads, like `map`: results are in the order of `items`, and only a few are in progress.

    weight: of an item; the items in progress weigh at most `most` in total, unless a single one weighs more.

    >>> list(in_order(len, ["a", "bc", ""]))
    [1, 2, 0]
    """
    pool = ThreadPoolExecutor(threads, thread_name_prefix="lookalike-read")
    pending: deque[tuple[Future[T], int]] = deque()
    under_way = 0
    try:
        for item in items:
            heavy = weight(item) if weight is not None else 0
            while pending and under_way + heavy > most > 0:
                future, lighter = pending.popleft()
                under_way -= lighter
                yield future.result()
            pending.append((pool.submit(function, item), heavy))
            under_way += heavy
            if len(pending) > threads:
                future, lighter = pending.popleft()
                under_way -= lighter
                yield future.result()
        while pending:
            yield pending.popleft()[0].result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
