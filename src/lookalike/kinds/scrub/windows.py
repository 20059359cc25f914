"""Find the runs of tokens that occur more than once, within the memory budget."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from lookalike.core.arrays import I64, U64
from lookalike.kinds.scrub.kernels import windows as kernel
from lookalike.kinds.scrub.spec import ScrubJob
from lookalike.kinds.scrub.tokens import U8, ScrubTokens
from lookalike.runtime.local.pool import Pool
from lookalike.runtime.local.work_folder import Workspace

HASHING_SHARE = 4  # 1/4 of the memory budget holds the hashes that are sorted at a time
HASH_BYTES = 16  # bytes of memory of a hash while it is collected
SHORTEST_ANCHORED = 16  # windows with fewer tokens are not filtered by their anchors
TOKENS_PER_STEP = 1 << 20  # tokens of the documents of a task


@dataclass(frozen=True)
class Repeats:
    """Hashes of windows that occur more often than they may, ascending; counts: how often; documents u8[n]: 0 for
    documents that have none of them."""

    hashes: U64
    counts: I64
    documents: U8


@dataclass(frozen=True)
class Selection:
    """Windows that count. anchors, listed: tables of their anchors and hashes, or ALL_HASHES; changed u8[n]: only
    windows across a cut, in documents that are not 0 here."""

    anchors: U64 = field(default_factory=lambda: kernel.ALL_HASHES)
    listed: U64 = field(default_factory=lambda: kernel.ALL_HASHES)
    changed: U8 | None = None


@dataclass(frozen=True)
class Windows:
    """All windows of the tokens that are not gone. length: their tokens; short: tokens of their anchors, `length` if
    they have none; max_times: how often a window may occur."""

    read: ScrubTokens
    gone: U8
    pool: Pool
    space: Workspace
    length: int
    short: int
    max_times: int = 1

    @classmethod
    def of(cls, read: ScrubTokens, gone: U8, job: ScrubJob, pool: Pool, space: Workspace) -> Windows:
        """Return the windows among which a job searches repeats."""
        length = job.length
        short = length if length < SHORTEST_ANCHORED else length - length // 2
        return cls(read, gone, pool, space, length, short, job.max_times)

    def repeated(self) -> Repeats:
        """Return the windows that occur more often than they may."""
        expected = len(self.read.tokens)
        if self.short < self.length:
            values, counts = self.repeated_anchors()
            if not len(values):
                return Repeats(values, counts, np.zeros(len(self.read), np.uint8))
            return self._repeats(min(expected, self.per_anchor * int(counts.sum())), Selection(hash_set(values)))
        return self._repeats(expected, Selection())

    @property
    def per_anchor(self) -> int:
        """Number of tokens for each anchor, on average."""
        return (self.length - self.short + 2) // 2

    def repeated_anchors(self) -> tuple[U64, I64]:
        """Return the anchors that are at two places or more, and at how many."""
        return self._counted(2, len(self.read.tokens) // self.per_anchor, Selection(), give_anchors=True)

    def repeated_across(self, changed: U8) -> Repeats:
        """Return the windows that occur more often than they may, and at least once across a cut.

        changed u8[n]: 0 for documents without a cut.
        """
        anchors = kernel.ALL_HASHES
        nothing = Repeats(np.empty(0, np.uint64), np.empty(0, np.int64), np.zeros(len(self.read), np.uint8))
        if self.short < self.length:
            values, _ = self._counted(1, 0, Selection(changed=changed), give_anchors=True)
            if len(values):
                across = Selection(listed=hash_set(values))
                values, _ = self._counted(2, 2 * len(values), across, give_anchors=True)
            if not len(values):
                return nothing
            anchors = hash_set(values)
        listed, _ = self._counted(1, 0, Selection(anchors, changed=changed))
        if not len(listed):
            return nothing
        return self._repeats(2 * len(listed), Selection(anchors, hash_set(listed)))

    def _repeats(self, expected: int, those: Selection) -> Repeats:
        met = np.zeros(len(self.read), np.uint8)
        hashes, counts = self._counted(self.max_times + 1, expected, those, met=met)
        return Repeats(hashes, counts, met)

    def _counted(
        self, least: int, expected: int, those: Selection, *, give_anchors: bool = False, met: U8 | None = None
    ) -> tuple[U64, I64]:
        """Return the hashes of windows that occur at least `least` times, ascending, and how often.

        expected: number of hashes; they are sorted in parts that fit into the memory budget. give_anchors: count the
        anchors instead, each at its place once. met u8[n]: set to 1 for documents with such a window.
        """
        read, joins = self.read, those.changed is not None
        wanted = np.ones(len(read), np.uint8) if those.changed is None else those.changed
        met = np.zeros(len(read), np.uint8) if met is None else met
        room = max(1 << 16, self.space.budget // (HASHING_SHARE * HASH_BYTES))
        parts = max(1, -(-expected * 5 // (4 * room)))
        found = []
        for part in range(parts):

            def collect(span: tuple[int, int], part: int = part) -> U64:
                first, last = span
                given = (
                    read.tokens, read.flags, self.gone, read.offsets[first : last + 1], wanted[first:last],
                    self.length, self.short, give_anchors, joins, those.anchors, those.listed, part,
                    parts,
                )  # fmt: skip
                tokens = int(read.offsets[last] - read.offsets[first])
                out = np.empty(min(tokens, tokens * expected // max(1, len(read.tokens)) // parts + 1024), np.uint64)
                count = kernel.scan(*given, out, met[first:last])
                if count > len(out):
                    out = np.empty(count, np.uint64)
                    kernel.scan(*given, out, met[first:last])
                return out[:count]

            pieces = list(self.pool.map(collect, steps(read.offsets[1:])))
            hashes = np.concatenate(pieces) if pieces else np.empty(0, np.uint64)
            del pieces
            hashes.sort()
            values, counts = np.empty(len(hashes) // least + 1, np.uint64), np.empty(len(hashes) // least + 1, np.int64)
            count = kernel.repeated(hashes, least, values, counts)
            found.append((values[:count].copy(), counts[:count].copy()))
        return np.concatenate([values for values, _ in found]), np.concatenate([counts for _, counts in found])


def hash_table(hashes: U64, counts: I64) -> tuple[U64, I64]:
    """Return a table with open addressing: hashes, and their counts."""
    room = 1 << max(4, int(2 * len(hashes)).bit_length())
    keys, values = np.zeros(room, np.uint64), np.zeros(room, np.int64)
    kernel.fill_table(hashes, counts, keys, values)
    return keys, values


def hash_set(hashes: U64) -> U64:
    """Return a table with open addressing of hashes without values."""
    return hash_table(hashes, np.zeros(len(hashes), np.int64))[0]


def steps(sizes: I64) -> Iterator[tuple[int, int]]:
    """Yield ranges of documents of about TOKENS_PER_STEP tokens; sizes: cumulative."""
    first = 0
    while first < len(sizes):
        before = int(sizes[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(sizes, before + TOKENS_PER_STEP, "right")))
        yield first, last
        first = last


def pieces_of(sizes: I64, first: int, last: int) -> I64:
    """Return room for the pieces of one step, one for each token; what is not used takes no memory."""
    return np.empty((int(sizes[last - 1] - (sizes[first - 1] if first else 0)), 4), np.int64)
