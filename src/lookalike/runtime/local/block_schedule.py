"""The order in which pairs of blocks on disk are joined, so that each block is read as rarely as possible."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

Joined = tuple[int, int]
Block = TypeVar("Block")
NO_FURTHER_USE = 1 << 62


def ordered(pairs: Sequence[Joined], capacity: int) -> list[Joined]:
    """Order pairs of blocks for a memory that holds `capacity` blocks, at least 2.

    Groups of `capacity` - 1 blocks stay while all their partners pass by, forwards and backwards in turn, so that the
    last partner of a group is the first of the next.

    >>> ordered([(0, 0), (0, 1), (0, 2), (1, 2), (2, 2)], 2)
    [(0, 0), (0, 1), (0, 2), (1, 2), (2, 2)]
    """
    stay = max(1, capacity - 1)

    def place(pair: Joined) -> tuple[int, int, int]:
        group = pair[0] // stay
        return group, pair[1] if group % 2 == 0 else -pair[1], pair[0]

    return sorted(pairs, key=place)


class BlockCache(Generic[Block]):
    """Holds `capacity` blocks for a known order of joins; the block that is needed last, or never again, is dropped.

    >>> cache = BlockCache([(0, 1), (0, 2), (1, 2)], 2, load=str)
    >>> list(cache.joins()), cache.loads
    ([((0, 1), '0', '1'), ((0, 2), '0', '2'), ((1, 2), '1', '2')], 4)
    """

    def __init__(self, order: Sequence[Joined], capacity: int, load: Callable[[int], Block]) -> None:
        self._order, self._capacity, self._load = list(order), max(2, capacity), load
        self._held: dict[int, Block] = {}
        self._uses: dict[int, list[int]] = {}
        for step, pair in enumerate(self._order):
            for block in set(pair):
                self._uses.setdefault(block, []).append(step)
        self.loads = 0

    def joins(self, start: int = 0) -> Iterator[tuple[Joined, Block, Block]]:
        """Yield each pair from step `start` on, with its two blocks."""
        for step in range(start, len(self._order)):
            one, other = self._order[step]
            for block in dict.fromkeys((one, other)):
                if block not in self._held:
                    self._make_room(step, keep={one, other})
                    self._held[block] = self._load(block)
                    self.loads += 1
            yield (one, other), self._held[one], self._held[other]

    def _make_room(self, step: int, keep: set[int]) -> None:
        def next_use(block: int) -> int:
            uses = self._uses[block]
            at = bisect.bisect_right(uses, step)
            return uses[at] if at < len(uses) else NO_FURTHER_USE

        for block in [block for block in self._held if block not in keep and next_use(block) == NO_FURTHER_USE]:
            del self._held[block]
        while len(self._held) >= self._capacity:
            del self._held[max((block for block in self._held if block not in keep), key=next_use)]
