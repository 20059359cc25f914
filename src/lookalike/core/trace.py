"""Counts, timings and warnings that a run collects for its receipt."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lookalike.core.arrays import I64
from lookalike.core.run_options import Progress as Progress
from lookalike.core.run_options import silent as silent

DOUBLINGS = 32  # number of bins for bucket sizes: 1, 2 to 3, 4 to 7, ...


@dataclass
class Trace:
    """Counts, seconds per stage and warnings of a run. buckets i64[d]: buckets with 2^d to 2^(d+1) - 1 items."""

    progress: Progress = silent
    counts: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    buckets: I64 = field(default_factory=lambda: np.zeros(DOUBLINGS, np.int64))
    _inner: list[float] = field(default_factory=lambda: [0.0])

    @contextmanager
    def stage(self, name: str) -> Iterator[Callable[[int, int | None], None]]:
        """Measure the time of a stage, excluding nested stages; yields a function that reports its progress.

        When the stage ends, it is reported as complete.
        """
        begin = time.perf_counter()
        self._inner.append(0.0)
        reached = 0

        def report(done: int, total: int | None) -> None:
            nonlocal reached
            reached = done
            self.progress(name, done, total)

        report(0, None)
        yield report
        self.progress(name, max(reached, 1), max(reached, 1))
        spent = time.perf_counter() - begin
        self.seconds[name] = round(self.seconds.get(name, 0.0) + spent - self._inner.pop(), 4)
        self._inner[-1] += spent

    def add_buckets(self, sizes: I64) -> None:
        """Add buckets of the given sizes to the histogram; sizes of 0 are ignored."""
        doublings = np.minimum(np.log2(sizes[sizes > 0]).astype(np.int64), DOUBLINGS - 1)
        self.buckets += np.bincount(doublings, minlength=DOUBLINGS)

    def add(self, **counts: int) -> None:
        for name, count in counts.items():
            self.counts[name] = self.counts.get(name, 0) + int(count)
