"""Match the items of benchmarks with documents, by the runs of words that they share.

Work is bounded by what is found: a document is compared with an item only if they share a run of `min_tokens`, which
is a match, or one of the rarest shingles of the item. Any document with enough shingles of the item has one of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np

from lookalike.core.arrays import F64, I64, U64
from lookalike.errors import TooManyPairs
from lookalike.kinds.scrub.kernels import grams as kernel
from lookalike.kinds.scrub.tokens import U8, ScrubTokens
from lookalike.kinds.scrub.windows import hash_table
from lookalike.runtime.local.memory_budget import MemoryBudget
from lookalike.runtime.local.memory_needs import check_memory
from lookalike.runtime.local.pool import Pool

NEAR_WORDS = 5  # words of the shingles by which near copies of items are found; shorter items are not searched
DOCUMENTS_PER_TASK = 1 << 12
ROWS_AT_A_TIME = 1 << 20  # of an expansion from runs to items
MOST_MATCHES = 2_000_000
MATCH_BYTES = 700  # bytes of memory of a match until it is in the table


@dataclass(frozen=True)
class BenchmarkItems:
    """The texts of all items: one entry for each text column of each row of each benchmark."""

    names: list[str]
    fields: list[str]
    ids: list[Any]
    texts: list[str]
    tokens: Any
    offsets: I64

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True)
class Lists:
    """Lists of numbers: list k is values[starts[k]:starts[k + 1]]."""

    values: I64
    starts: I64

    @classmethod
    def of(cls, keys: I64, values: I64, count: int) -> Lists:
        """Collect the values of each key from 0 to count - 1. keys: ascending."""
        return cls(values, np.searchsorted(keys, np.arange(count + 1)))

    def lengths(self, numbers: I64) -> I64:
        lengths: I64 = self.starts[numbers + 1] - self.starts[numbers]
        return lengths

    def expand(self, numbers: I64) -> tuple[I64, I64]:
        """Return (index into `numbers`, value) for every value of these lists."""
        counts = self.lengths(numbers)
        row = np.repeat(np.arange(len(numbers)), counts)
        within = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        return row, self.values[self.starts[numbers][row] + within]


@dataclass(frozen=True)
class GramIndex:
    """The runs of a length of all items that are long enough.

    keys, values: table from hash to number; places: first token of each run; owners: items of each run; contents: runs
    of each item.
    """

    length: int
    keys: U64
    values: I64
    places: I64
    owners: Lists
    contents: Lists

    @classmethod
    def of(cls, items: BenchmarkItems, length: int) -> GramIndex:
        room = len(items.tokens)
        hashes, owners, places = np.empty(room, np.uint64), np.empty(room, np.int64), np.empty(room, np.int64)
        n = kernel.gram_hashes(items.tokens, items.offsets, length, hashes, owners, places)
        searched = np.flatnonzero(np.diff(items.offsets)[owners[:n]] >= NEAR_WORDS)
        known, first, number = np.unique(hashes[searched], return_index=True, return_inverse=True)
        pairs = unique_pairs(number.reshape(-1), owners[searched])
        keys, values = hash_table(known, np.arange(len(known)))
        mine = pairs[np.lexsort((pairs[:, 0], pairs[:, 1]))]
        return cls(
            length, keys, values, places[searched[first]], Lists.of(pairs[:, 0], pairs[:, 1].copy(), len(known)),
            Lists.of(mine[:, 1], mine[:, 0].copy(), len(items)),
        )  # fmt: skip

    def rarest(self, near: float) -> Lists:
        """Return the items of each run of which the run is one of the rarest.

        An item with the share `near` of its runs in a document has one of these there: they are one more than may be
        missing.
        """
        item = np.repeat(np.arange(len(self.contents.starts) - 1), np.diff(self.contents.starts))
        run = self.contents.values
        order = np.lexsort((run, self.owners.lengths(run), item))
        rank = np.arange(len(item)) - self.contents.starts[item]
        sizes = np.diff(self.contents.starts)
        kept = order[rank < (sizes - least_shared(sizes, near) + 1)[item]]
        kept = kept[np.argsort(run[kept], kind="stable")]
        return Lists.of(run[kept], item[kept], len(self.places))


def unique_pairs(left: I64, right: I64) -> I64:
    """Return the different pairs of these numbers, ascending.

    >>> unique_pairs(np.array([2, 1, 2]), np.array([0, 5, 0])).tolist()
    [[1, 5], [2, 0]]
    """
    width = int(right.max(initial=0)) + 1
    return np.stack(np.divmod(np.unique(left * width + right), width), 1)


def least_shared(sizes: I64, near: float) -> I64:
    """Return the smallest number c with c / size >= near, for each size.

    >>> least_shared(np.array([5, 10, 0]), 0.8).tolist()
    [4, 8, 0]
    """
    least = np.ceil(near * sizes).astype(np.int64)
    whole = np.maximum(sizes, 1)
    least -= (least - 1) / whole >= near
    least += least / whole < near
    few: I64 = np.minimum(least, sizes)
    return few


@dataclass(frozen=True)
class ItemMatch:
    """An item in a document. longest: words of the longest shared run; share: of the item's shingles that are in the
    document; windows: (first token, last token) of what they share."""

    item: int
    document: int
    longest: int
    share: float
    windows: list[tuple[int, int]]


@dataclass
class MatchCount:
    """Count matches over all threads; raises TooManyPairs, before they are made, if there are too many."""

    keeper: MemoryBudget
    so_far: int = 0
    lock: Lock = field(default_factory=Lock)

    def add(self, matches: int) -> None:
        with self.lock:
            self.so_far += matches
            found = self.so_far
        if found > MOST_MATCHES:
            raise TooManyPairs(
                f"more than {MOST_MATCHES:,} matches of items and documents: many of both share text, such as a footer "
                "or a prompt. Take it out of the benchmarks, or raise `min_tokens` and `near`."
            )
        check_memory(self.keeper, MATCH_BYTES * found, lambda: f"a table of {found:,} matches or more")


@dataclass(frozen=True)
class ItemSearch:
    """The search for items in documents. runs: of `min_tokens` words; shingles: of NEAR_WORDS; rare: as in `rarest`."""

    items: BenchmarkItems
    runs: GramIndex
    shingles: GramIndex
    rare: Lists
    near: float
    keeper: MemoryBudget

    @classmethod
    def of(cls, items: BenchmarkItems, min_tokens: int, near: float, keeper: MemoryBudget) -> ItemSearch:
        shingles = GramIndex.of(items, NEAR_WORDS)
        return cls(items, GramIndex.of(items, min_tokens), shingles, shingles.rarest(near), near, keeper)

    def matches(self, read: ScrubTokens, gone: U8, pool: Pool) -> list[ItemMatch]:
        """Return the matches among the tokens that stay, by document."""
        count = MatchCount(self.keeper)

        def look(first: int) -> list[ItemMatch]:
            where = read.offsets[first : first + DOCUMENTS_PER_TASK + 1]
            long = self._hits(read, gone, where, first, self.runs)
            short = self._hits(read, gone, where, first, self.shingles)
            edges = np.arange(first, first + len(where))
            found = self._few(long, edges), self._few(short, edges)
            most = np.zeros(len(edges), np.int64)  # items that share one run with each document
            np.maximum.at(most, found[0].row_document, self.runs.owners.lengths(long[:, 3]))
            count.add(int(most.sum()))
            cost = np.bincount(found[0].row_document, self.runs.owners.lengths(long[:, 3]), len(edges)).astype(np.int64)
            cost += np.bincount(found[1].row_document, self.rare.lengths(short[:, 3]), len(edges)).astype(np.int64)
            out: list[ItemMatch] = []
            for low, high in parts(cost[:-1]):
                out += self._part(found[0].between(low, high), found[1].between(low, high), count)
            return out

        return [match for part in pool.map(look, range(0, len(read), DOCUMENTS_PER_TASK)) for match in part]

    def _few(self, hits: I64, edges: I64) -> Hits:
        return Hits(hits, np.searchsorted(hits[:, 0], edges), int(edges[0]))

    def _part(self, long: I64, short: I64, count: MatchCount) -> list[ItemMatch]:
        """Return the matches of a few documents, from their runs and shingles (as `gram_matches` writes them)."""
        whole = longest_runs(long, self.runs)
        row, item = self.rare.expand(short[:, 3])
        pairs = unique_pairs(np.append(whole.pairs[:, 0], short[row, 0]), np.append(whole.pairs[:, 1], item))
        shared = SharedShingles.of(pairs, short, self.shingles)
        share: F64 = shared.counts / np.maximum(1, self.shingles.contents.lengths(pairs[:, 1]))
        number = np.full(len(pairs), -1)
        number[whole.places_in(pairs)] = np.arange(len(whole.pairs))
        near = share >= self.near
        count.add(int((near & (number < 0)).sum()))
        out = []
        for k in np.flatnonzero(near | (number >= 0)).tolist():
            document, item_number = pairs[k].tolist()
            length, windows = (0, []) if number[k] < 0 else (int(whole.longest[number[k]]), whole.windows(number[k]))
            if near[k]:
                windows = windows + shared.windows(k)
            out.append(ItemMatch(item_number, document, length, float(share[k]), windows))
        return out

    def _hits(self, read: ScrubTokens, gone: U8, where: I64, first: int, index: GramIndex) -> I64:
        room = np.empty((1 << 12, 4), np.int64)
        given = (
            read.tokens, gone, where, first, index.length, index.keys, index.values, self.items.tokens, index.places
        )  # fmt: skip
        n = kernel.gram_matches(*given, room)
        if n > len(room):
            room = np.empty((n, 4), np.int64)
            kernel.gram_matches(*given, room)
        return room[:n]


@dataclass(frozen=True)
class Hits:
    """Runs in documents. edges i64[documents + 1]: first row of each; first: number of the first document."""

    rows: I64
    edges: I64
    first: int

    @property
    def row_document(self) -> I64:
        numbers: I64 = self.rows[:, 0] - self.first
        return numbers

    def between(self, low: int, high: int) -> I64:
        rows: I64 = self.rows[self.edges[low] : self.edges[high]]
        return rows


def parts(cost: I64) -> Iterator[tuple[int, int]]:
    """Yield ranges of documents with a cost of about ROWS_AT_A_TIME each."""
    part = np.cumsum(cost) // ROWS_AT_A_TIME
    edges = [0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), len(cost)]
    yield from pairwise(edges)


@dataclass(frozen=True)
class LongestRuns:
    """Pairs that share a run.

    pairs i64[p, 2]: document, item, ascending; longest i64[p]: words of the longest shared run; starts i64[p+1]: of
    their windows; edges i64[w, 2]: first and last token of each window.
    """

    pairs: I64
    longest: I64
    starts: I64
    edges: I64

    def windows(self, pair: int) -> list[tuple[int, int]]:
        return [(a, b) for a, b in self.edges[self.starts[pair] : self.starts[pair + 1]].tolist()]

    def places_in(self, pairs: I64) -> I64:
        """Return where these pairs are among others, which are ascending and hold all of them."""
        width = int(max(pairs[:, 1].max(initial=0), self.pairs[:, 1].max(initial=0))) + 1
        places: I64 = np.searchsorted(pairs[:, 0] * width + pairs[:, 1], self.pairs[:, 0] * width + self.pairs[:, 1])
        return places


def longest_runs(hits: I64, runs: GramIndex) -> LongestRuns:
    """Return for each document and item the words of the longest stretch of shared runs, and the tokens of all runs."""
    row, item = runs.owners.expand(hits[:, 3])
    order = np.lexsort((row, item, hits[row, 0]))
    row, item = row[order], item[order]
    document, start, end = hits[row, 0], hits[row, 1], hits[row, 2]
    if not len(row):
        return LongestRuns(np.empty((0, 2), np.int64), row, np.zeros(1, np.int64), np.empty((0, 2), np.int64))
    opens = np.append(True, (np.diff(document) != 0) | (np.diff(item) != 0))  # a pair
    breaks = opens | np.append(True, np.diff(start) != 1)  # a stretch of runs, one token further each
    firsts = np.flatnonzero(breaks)
    stretch = np.diff(np.append(firsts, len(row))) + runs.length - 1
    pair_of = np.cumsum(opens) - 1
    longest = np.zeros(pair_of[-1] + 1, np.int64)
    np.maximum.at(longest, pair_of[firsts], stretch)
    gaps = opens | np.append(True, start[1:] > end[:-1] + 1)
    begins = np.flatnonzero(gaps)
    edges = np.stack([start[begins], end[np.append(begins[1:], len(row)) - 1]], 1)
    pairs = np.stack([document[opens], item[opens]], 1)
    return LongestRuns(pairs, longest, np.searchsorted(pair_of[begins], np.arange(len(pairs) + 1)), edges)


@dataclass(frozen=True)
class SharedShingles:
    """The shingles of items in documents. counts i64[p]: different shingles of the item of pair p in its document.

    order: rows of `hits` by document and shingle, of which those from low[s] to high[s] - 1 hold shingle s of the
    pairs; starts i64[p+1]: of the shingles of each pair.
    """

    hits: I64
    order: I64
    counts: I64
    starts: I64
    low: I64
    high: I64

    @classmethod
    def of(cls, pairs: I64, hits: I64, shingles: GramIndex) -> SharedShingles:
        width = len(shingles.places) + 1
        keys = hits[:, 0] * width + hits[:, 3]
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        row, wanted = shingles.contents.expand(pairs[:, 1])
        sought = pairs[row, 0] * width + wanted
        low, high = np.searchsorted(keys, sought), np.searchsorted(keys, sought, "right")
        starts = np.searchsorted(row, np.arange(len(pairs) + 1))
        counts = np.bincount(row[low < high], minlength=len(pairs))
        return cls(hits, order, counts, starts, low, high)

    def windows(self, pair: int) -> list[tuple[int, int]]:
        """Return the stretches of tokens of the document that shingles of the item cover."""
        low, high = (edges[self.starts[pair] : self.starts[pair + 1]] for edges in (self.low, self.high))
        counts = high - low
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        rows = self.order[np.repeat(low, counts) + within]
        rows.sort()
        start, end = self.hits[rows, 1], self.hits[rows, 2]
        gaps = np.flatnonzero(start[1:] > end[:-1] + 1) + 1
        begins = np.append(0, gaps)
        return list(zip(start[begins].tolist(), end[np.append(gaps, len(rows)) - 1].tolist(), strict=True))
