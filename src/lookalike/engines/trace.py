"""What a run counts and times on its way; it becomes the receipt."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

Progress = Callable[[str, int, int | None], None]  # stage, done, total (None: not known)


def silent(_stage: str, _done: int, _total: int | None) -> None:
    """The progress of a run that nobody watches."""


@dataclass
class Trace:
    """Counts, seconds per stage and warnings of one run."""

    progress: Progress = silent
    counts: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    _inner: list[float] = field(default_factory=lambda: [0.0])

    @contextmanager
    def stage(self, name: str) -> Iterator[Callable[[int, int | None], None]]:
        """Time a stage, without the stages inside of it; what it yields reports progress within it."""
        begin = time.perf_counter()
        self._inner.append(0.0)
        self.progress(name, 0, None)
        yield lambda done, total: self.progress(name, done, total)
        spent = time.perf_counter() - begin
        self.seconds[name] = round(self.seconds.get(name, 0.0) + spent - self._inner.pop(), 4)
        self._inner[-1] += spent

    def add(self, **counts: int) -> None:
        for name, count in counts.items():
            self.counts[name] = self.counts.get(name, 0) + int(count)
