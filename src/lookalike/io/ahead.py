"""Work done ahead of the consumer, on other threads, with the order kept and the memory bounded."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
S = TypeVar("S")

THREADS = min(4, os.cpu_count() or 1)


def ahead(items: Generator[T, None, None], *, depth: int = 4) -> Iterator[T]:
    """The same items; up to `depth` of them are made on a thread, from now on, while the consumer does other things.

    Leaving early stops the thread and closes `items`.

    >>> list(ahead(n * n for n in range(4)))
    [0, 1, 4, 9]
    """
    pool = ThreadPoolExecutor(1, thread_name_prefix="lookalike-ahead")
    end = object()
    pending: deque[Future[T | object]] = deque(pool.submit(next, items, end) for _ in range(depth))
    return _taken(pool, pending, items, end)


def _taken(
    pool: ThreadPoolExecutor, pending: deque[Future[T | object]], items: Generator[T, None, None], end: object
) -> Iterator[T]:
    try:
        while (item := pending.popleft().result()) is not end:
            pending.append(pool.submit(next, items, end))
            yield item  # type: ignore[misc]  # everything but `end` came from `items`
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        items.close()


def in_order(function: Callable[[S], T], items: Iterable[S], *, threads: int = THREADS) -> Generator[T, None, None]:
    """`map` on threads: results in the order of `items`, at most a few of them under way.

    >>> list(in_order(len, ["a", "bc", ""]))
    [1, 2, 0]
    """
    pool = ThreadPoolExecutor(threads, thread_name_prefix="lookalike-read")
    pending: deque[Future[T]] = deque()
    try:
        for item in items:
            pending.append(pool.submit(function, item))
            if len(pending) > threads:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
