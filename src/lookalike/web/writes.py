"""The queue of writes: changes that arrive during a transaction are committed together in the next one."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from lookalike.errors import IndexBusy, LookalikeError
from lookalike.index import grouping
from lookalike.index.group_commit import Addition, Change, Outcome, Postponed, commit
from lookalike.index.scan import Budget
from lookalike.web.admission import Refused

if TYPE_CHECKING:
    from lookalike.index.index import Index

FIRST_STEP, LARGEST_STEP = 256, grouping.ITEMS_PER_STEP  # items that are put into groups at once
STEP_SECONDS = 0.5  # a step that takes longer makes the next one smaller
ITEMS_TOGETHER = 1024  # most items of a transaction of several requests; a larger request has its own


class Waiting:
    """A change in the queue. deadline: time of the event loop until which it may wait."""

    def __init__(self, change: Change, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self.change, self.deadline = change, loop.time() + seconds
        self.items = len(change.items) if isinstance(change, Addition) else 1
        self.outcome: asyncio.Future[Outcome] = loop.create_future()


class Writes:
    """The writes of one service, which a single thread commits.

    Items are put into groups in steps between the commits, so that a removal or replacement, which needs the groups of
    all items, does not have to wait for many of them, and nobody else has to wait for it. A step has as many items as
    take about STEP_SECONDS: few where each has many candidates.
    """

    def __init__(self, index: Index, seconds: float) -> None:
        self._index, self._seconds = index, seconds
        self._queue: deque[Waiting] = deque()
        self._task: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="lookalike-writer")
        self._step = FIRST_STEP  # as many items may be put into groups together with a removal or replacement
        self._groups_ahead = True  # False once the next step would exceed its limit

    def close(self) -> None:
        """Wait for the running commit; queued commits are cancelled."""
        self._thread.shutdown(cancel_futures=True)

    async def write(self, change: Change) -> Any:
        """Commit a change and return its result, or raise its error.

        A change waits in the queue at most `seconds`; once its commit has begun, it is completed and answered.
        """
        waiting = Waiting(change, self._seconds)
        self._queue.append(waiting)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())
        await asyncio.wait([waiting.outcome], timeout=self._seconds)
        if waiting in self._queue:
            self._queue.remove(waiting)
            message = f"other writes took longer than {self._seconds:g} s; nothing was written. Try again."
            raise Refused(503, "WritersWait", message, {"Retry-After": "1"})
        outcome = await asyncio.shield(waiting.outcome)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def _run(self) -> None:
        """Commit batches of changes until the queue is empty and nearly all items are in groups."""
        loop = asyncio.get_running_loop()
        behind = True
        try:
            while self._queue or behind:
                batch = self._next() if self._queue else []
                most = self._step if self._groups_ahead else None
                try:
                    outcomes: Sequence[Outcome] = await loop.run_in_executor(
                        self._thread, commit, self._index, [waiting.change for waiting in batch], most
                    )
                except Exception as error:
                    outcomes = [error] * len(batch)
                self._answer(batch, outcomes)
                behind = await loop.run_in_executor(self._thread, self._group_some)
        finally:
            self._task = None

    def _answer(self, batch: Sequence[Waiting], outcomes: Sequence[Outcome]) -> None:
        """Set the outcome of each change; postponed ones return to the front of the queue."""
        now = asyncio.get_running_loop().time()
        for waiting, outcome in zip(reversed(batch), reversed(outcomes), strict=True):
            if not isinstance(outcome, Postponed):
                waiting.outcome.set_result(outcome)
            elif now < waiting.deadline:
                self._queue.appendleft(waiting)
            else:
                words = "items are put into groups before one is removed or replaced, which is not done yet; try again."
                waiting.outcome.set_result(IndexBusy(words))

    def _group_some(self) -> bool:
        """Put the next items into groups if there are many; return whether there still are many."""
        store = self._index.store
        try:
            if not self._groups_ahead or not grouping.has_ungrouped(store, self._step):
                return False
            begin = time.monotonic()
            grouping.catch_up(store, self._index.kind, Budget(), self._step)
            seconds = time.monotonic() - begin
            if seconds > STEP_SECONDS:
                self._step = max(1, self._step // 4)
            elif seconds < STEP_SECONDS / 4:
                self._step = min(2 * self._step, LARGEST_STEP)
            return grouping.has_ungrouped(store, self._step)
        except IndexBusy:  # another process writes
            return False
        except LookalikeError:  # too long strings, or a full disk: a removal says so itself
            self._groups_ahead = False
            return False

    def _next(self) -> list[Waiting]:
        """Remove from the front of the queue the changes that fit into one transaction."""
        batch = [self._queue.popleft()]
        items = batch[0].items
        while self._queue and items + self._queue[0].items <= ITEMS_TOGETHER:
            batch.append(self._queue.popleft())
            items += batch[-1].items
        return batch
