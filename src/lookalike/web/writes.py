"""The queue of writes: changes that arrive during a transaction are committed together in the next one."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from lookalike.index.group_commit import Addition, Change, Outcome, commit
from lookalike.web.admission import Refused

if TYPE_CHECKING:
    from lookalike.index.index import Index

ITEMS_TOGETHER = 1024  # most items of a transaction of several requests; a larger request has its own


class Waiting:
    """A change in the queue. begun: set when its commit begins."""

    def __init__(self, change: Change) -> None:
        self.change = change
        self.items = len(change.items) if isinstance(change, Addition) else 1
        self.begun, self.outcome = asyncio.Event(), asyncio.get_running_loop().create_future()


class Writes:
    """The writes of one service, which a single thread commits."""

    def __init__(self, index: Index, seconds: float) -> None:
        self._index, self._seconds = index, seconds
        self._queue: deque[Waiting] = deque()
        self._task: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="lookalike-writer")

    def close(self) -> None:
        """Wait for the running commit; queued commits are cancelled."""
        self._thread.shutdown(cancel_futures=True)

    async def write(self, change: Change) -> Any:
        """Commit a change and return its result, or raise its error.

        A change waits in the queue at most `seconds`; once its commit has begun, it is completed and answered.
        """
        waiting = Waiting(change)
        self._queue.append(waiting)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())
        try:
            async with asyncio.timeout(self._seconds):
                await waiting.begun.wait()
        except TimeoutError:
            self._queue.remove(waiting)
            message = f"other writes took longer than {self._seconds:g} s; nothing was written. Try again."
            raise Refused(503, "WritersWait", message, {"Retry-After": "1"}) from None
        outcome = await asyncio.shield(waiting.outcome)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def _run(self) -> None:
        """Commit batches of changes until the queue is empty."""
        loop = asyncio.get_running_loop()
        try:
            while self._queue:
                batch = self._next()
                try:
                    outcomes: Sequence[Outcome] = await loop.run_in_executor(
                        self._thread, commit, self._index, [waiting.change for waiting in batch]
                    )
                except Exception as error:
                    outcomes = [error] * len(batch)
                for waiting, outcome in zip(batch, outcomes, strict=True):
                    waiting.outcome.set_result(outcome)
        finally:
            self._task = None

    def _next(self) -> list[Waiting]:
        """Remove from the front of the queue the changes that fit into one transaction."""
        batch = [self._queue.popleft()]
        items = batch[0].items
        while self._queue and items + self._queue[0].items <= ITEMS_TOGETHER:
            batch.append(self._queue.popleft())
            items += batch[-1].items
        for waiting in batch:
            waiting.begun.set()
        return batch
