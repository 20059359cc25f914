"""A thread pool with an ordered map and a bounded number of pending results."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Pool:
    """A thread pool; kernels release the GIL. Results are in the order of the inputs."""

    def __init__(self, threads: int, after: Callable[[], None] | None = None) -> None:
        """after: called at the end of every task, in its thread."""
        self.threads = threads
        self._after = after
        self._executor = ThreadPoolExecutor(threads)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        # A user who interrupts the run should not have to wait for running tasks.
        self._executor.shutdown(wait=kind is not KeyboardInterrupt, cancel_futures=True)

    def submit(self, function: Callable[[], B]) -> Future[B]:
        return self._executor.submit(self._task, function)

    def rest(self) -> None:
        """Call `after`; for work outside of tasks, between its steps."""
        if self._after is not None:
            self._after()

    def _task(self, function: Callable[..., B], *inputs: object) -> B:
        try:
            return function(*inputs)
        finally:
            self.rest()

    def map(self, function: Callable[[A], B], inputs: Iterable[A]) -> Iterator[B]:
        """Apply a function to all inputs in parallel, in order, at most two inputs per thread ahead of the consumer."""
        waiting: deque[Future[B]] = deque()
        for item in inputs:
            waiting.append(self._executor.submit(self._task, function, item))
            if len(waiting) > 2 * self.threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
