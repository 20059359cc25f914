"""The local engine for shared passages: tokens, fingerprints, pairs of documents, and the passages of each pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pyarrow as pa

from lookalike.core import formatting
from lookalike.core.arrays import F64, I64, U64
from lookalike.core.trace import Trace
from lookalike.errors import TooManyPairs
from lookalike.io.collection import Collection
from lookalike.kinds.passages.inverted_lists import FingerprintLists, lists_of
from lookalike.kinds.passages.kernels import passages as kernel
from lookalike.kinds.passages.reading import authors_of, read_places, tokens_recipe
from lookalike.kinds.passages.spec import PassageJob
from lookalike.kinds.passages.tokens import PositionedTokens
from lookalike.kinds.passages.winnowing import (
    NOTHING,
    Flags,
    Prints,
    all_shingles,
    common_shingles,
    fingerprint,
    most_documents,
)
from lookalike.runtime.local.memory_budget import MemoryBudget, memory_size
from lookalike.runtime.local.memory_needs import PER_DOCUMENT, PER_TOKEN, check_memory
from lookalike.runtime.local.pool import Pool, usable_cores
from lookalike.runtime.local.work_folder import ResourceLimits, Workspace, crc_of
from lookalike.runtime.local.workspace import open_workspace

PASSAGE_MEMORY_PER_TEXT_BYTE = 5.0  # bytes of memory for each byte of text
TOKENS_PER_TASK = 1 << 19  # tokens that one task winnows
MOST_SEEDS = 50_000_000  # maximum pairs of equal fingerprints to extend, or SEEDS_PER_PRINT per fingerprint if more
SEEDS_PER_PRINT = 20
PASSAGE_BUFFER = 1 << 12  # passages that one call of the kernel can return, unless a document has more
BOILERPLATE_WARNING_COUNT = 20  # minimum occurrences of a passage for the boilerplate warning
WEIGHED, LISTED_PASSAGES = 500, 5  # stretches of boilerplate to rank, and to list in the receipt


@dataclass(frozen=True)
class Stretch:
    """A stretch of boilerplate: the character range of one occurrence, its tokens, and the number of occurrences."""

    document: int
    start: int
    end: int
    tokens: int
    count: int


@dataclass(frozen=True)
class Shared:
    """The shared passages by document number; documents of the references come after those of the source.

    rows i64[r, 8]: left, right, left_start, left_end, right_start, right_end (tokens), equal tokens, longest unbroken
    run of equal tokens; sorted by left, right and left_start. sums i64[p, 6]: left, right, tokens of the left document
    in passages, tokens of the right document in passages, longest unbroken run, number of passages.
    counted i64[n]: tokens of each document that count. split: number of documents of the source; -1 without references.
    boilerplate: the heaviest stretches that were excluded because they would give too many pairs or were too common.
    widespread: the most frequent counted text, if it is frequent enough to look like boilerplate.
    space: the workspace that holds the arrays.
    """

    placed: PositionedTokens
    ids: list[pa.ChunkedArray]
    split: int
    rows: I64
    sums: I64
    counted: I64
    boilerplate: list[Stretch] = field(default_factory=list)
    widespread: Stretch | None = None
    space: Workspace = field(default_factory=lambda: Workspace(MemoryBudget(1 << 62)))


def run(
    collections: Sequence[Collection], job: PassageJob, trace: Trace, *,
    author: str | None = None, template: Collection | None = None, place: ResourceLimits | None = None,
) -> Shared:  # fmt: skip
    """Find the passages that documents share within one collection, or between the first and the second."""
    place = place or ResourceLimits(memory_size(None))
    recipe, names = tokens_recipe(job), authors_of(collections, author)
    asked = {name: value for name, value in job.as_dict().items() if name != "threads"}
    asked = {"wants": "passages", "compared": job.words(), "job": asked}
    space = open_workspace(collections, names, recipe, asked, place, growth=PASSAGE_MEMORY_PER_TEXT_BYTE)
    with space, Pool(job.threads or usable_cores(), space.keeper.look) as pool:
        read = read_places(collections, job, pool, trace, space, author=author)
        placed, split = read.placed, read.split if len(collections) == 2 else -1
        needed = PER_TOKEN * len(placed.tokens) + PER_DOCUMENT * len(placed)
        check_memory(space.keeper, needed, lambda: f"looking for passages in {len(placed.tokens):,} tokens")
        barred = NOTHING
        if template is not None:
            alone = Workspace(space.keeper)
            barred = all_shingles(read_places([template], job, pool, Trace(trace.progress), alone).placed, job.k)
            trace.add(template_shingles=len(barred))
        if job.max_share is not None:
            with trace.stage("common"):
                limit = most_documents(job.max_share, int((placed.sizes > 0).sum()))
                common, counts = common_shingles(placed.tokens, placed.offsets, k=job.k, limit=limit)
                trace.add(common_shingles=len(common))
        else:
            common, counts = NOTHING, np.empty(0, np.int64)
        prints, lists = _index(placed, job, np.union1d(barred, common), pool, trace)
        seeds = _seeds(lists)
        if seeds > (most := max(MOST_SEEDS, SEEDS_PER_PRINT * len(prints.hashes))):
            with trace.stage("common"):
                limit = _bearable(lists, most)
                common, counts = common_shingles(placed.tokens, placed.offsets, k=job.k, limit=limit, once=False)
                trace.add(boilerplate_shingles=len(common))
            prints, lists = _index(placed, job, np.union1d(barred, common), pool, trace)
            trace.warnings.append(
                f"boilerplate would have made {seeds:,} places to look at; what occurs more than {limit:,} times was "
                "left out (see boilerplate in the receipt). Use `template` or `max_share` to say what does not count."
            )
        found = partial(_find, placed, prints, lists, read.rivals(split), job, pool, trace)
        name = (
            f"passages-{crc_of(barred):08x}"  # named by the template's shingles, because a template may be any source
        )
        rows = space.part(name, lambda: ({"rows": found()}, {}))[0]["rows"]
        with trace.stage("sum up"):
            sums = sums_of(rows, placed.offsets, prints.covered)
            trace.add(pairs=len(sums), passages=len(rows))
        hidden = np.add.reduceat(np.append(prints.covered, False), placed.offsets[:-1]) if len(prints.covered) else 0
        counted = placed.sizes - np.where(placed.sizes > 0, hidden, 0)
        stretches = stretches_of(placed, job.k, common, counts)
        return Shared(
            placed, read.ids, split, rows, sums, counted, stretches, _widespread(placed, prints, lists, job.k), space
        )


def in_characters(shared: Shared) -> dict[str, I64]:
    """Compute the table columns of each passage: its character ranges in both texts and its equal tokens."""
    rows, placed = shared.rows, shared.placed
    columns = {}
    for name, document, token, where, step in (
        ("left_start", 0, 2, placed.starts, 0),
        ("left_end", 0, 3, placed.ends, 1),
        ("right_start", 1, 4, placed.starts, 0),
        ("right_end", 1, 5, placed.ends, 1),
    ):
        at = placed.offsets[rows[:, document]] + rows[:, token] - step
        columns[name] = where[at].astype(np.int64)
    return {**columns, "tokens": rows[:, 6]}


def summed(shared: Shared) -> dict[str, I64 | F64]:
    """Compute the table columns of each pair of documents that shares passages."""
    sums, counted = shared.sums, shared.counted
    return {
        "shared_tokens": np.minimum(sums[:, 2], sums[:, 3]),
        "left_in_right": sums[:, 2] / np.maximum(1, counted[sums[:, 0]]),
        "right_in_left": sums[:, 3] / np.maximum(1, counted[sums[:, 1]]),
        "longest": sums[:, 4],
        "passages": sums[:, 5],
    }


def sums_of(rows: I64, offsets: I64, covered: Flags) -> I64:
    """Aggregate the passages to one row per pair of documents (see Shared.sums)."""
    sums = np.empty((len(rows), 6), np.int64)
    by_right = np.lexsort((rows[:, 4], rows[:, 1], rows[:, 0]))
    count = kernel.sum_up(rows, np.arange(len(rows)), by_right, offsets, covered, sums)
    return sums[:count]


def _index(
    placed: PositionedTokens, job: PassageJob, barred: U64, pool: Pool, trace: Trace
) -> tuple[Prints, FingerprintLists]:
    """Compute the fingerprints of all documents and their inverted lists."""
    with trace.stage("index"):
        make = partial(_winnowed, placed, job, barred)
        pieces = [*pool.map(make, spans_of(placed.offsets, TOKENS_PER_TASK))]
        offsets = np.concatenate([[0], np.cumsum([n for piece in pieces for n in np.diff(piece.offsets)])])
        columns = ([getattr(piece, name) for piece in pieces] for name in ("hashes", "starts", "covered"))
        hashes, starts, covered = (np.concatenate(column) for column in columns)
        prints = Prints(hashes, starts, offsets.astype(np.int64), covered)
        trace.counts["fingerprints"] = len(hashes)
        return prints, lists_of(hashes, pool.map)


def _winnowed(placed: PositionedTokens, job: PassageJob, barred: U64, span: tuple[int, int]) -> Prints:
    return fingerprint(placed.tokens, placed.offsets[span[0] : span[1] + 1], k=job.k, window=job.window, barred=barred)


def spans_of(offsets: I64, size: int) -> Iterator[tuple[int, int]]:
    """Yield spans (first, end) of documents with about `size` tokens each; at least one span."""
    first, n = 0, len(offsets) - 1
    while first < n or n == 0:
        end = min(n, max(first + 1, int(np.searchsorted(offsets, offsets[first] + size, "right")) - 1))
        yield first, end
        if end == n:
            return
        first = end


def _seeds(lists: FingerprintLists) -> int:
    sizes = lists.sizes()
    return int((sizes * (sizes - 1)).sum()) // 2


def _bearable(lists: FingerprintLists, most: int) -> int:
    """Return the maximum list length such that all lists up to it give at most `most` seeds."""
    sizes = np.sort(lists.sizes())
    total = np.cumsum(sizes * (sizes - 1) // 2)
    return max(1, int(sizes[max(0, int(np.searchsorted(total, most, "right")) - 1)]))


def _find(
    placed: PositionedTokens,
    prints: Prints,
    lists: FingerprintLists,
    rivals: I64,
    job: PassageJob,
    pool: Pool,
    trace: Trace,
) -> I64:
    owners = np.repeat(np.arange(len(placed), dtype=np.uint32), np.diff(prints.offsets))[lists.order]
    starts = prints.starts[lists.order]

    def look(span: tuple[int, int]) -> tuple[I64, int]:
        at, end = span
        size, pieces, unbridged = PASSAGE_BUFFER, [np.empty((0, 8), np.int64)], 0
        while at < end:
            out = np.empty((size, 8), np.int64)
            reached, count, cut = kernel.find_passages(
                at, end, placed.tokens, placed.offsets, prints.covered, prints.offsets, lists.place, lists.fresh,
                owners, starts, rivals, job.k, job.gap, job.min_tokens, out,
            )  # fmt: skip
            pieces.append(out[:count].copy())
            unbridged += cut
            size *= 1 if reached > at else 4
            at = reached
        found = np.concatenate(pieces)
        return found[np.lexsort((found[:, 4], found[:, 2], found[:, 1], found[:, 0]))], unbridged

    found: list[I64] = []
    unbridged = 0
    with trace.stage("match") as report:
        spans = [*spans_of(placed.offsets, max(1 << 14, len(placed.tokens) // 256))]
        for (_, end), (piece, cut) in zip(spans, pool.map(look, spans), strict=True):
            found.append(piece)
            unbridged += cut
            if sum(map(len, found)) > job.max_pairs:
                raise TooManyPairs(
                    f"more than {job.max_pairs:,} passages (`max_pairs`) are shared, and the search has not ended. "
                    "Raise `min_tokens`, leave boilerplate out with `template` or `max_share`, or raise `max_pairs`."
                )
            report(end, len(placed))
    if unbridged:
        trace.warnings.append(
            f"in {formatting.count(unbridged, 'pairs')} whose text repeats itself very much, not every edit was looked "
            "at; their passages may be reported in several parts."
        )
    return np.concatenate(found)


def _widespread(placed: PositionedTokens, prints: Prints, lists: FingerprintLists, k: int) -> Stretch | None:
    """Return the most frequent fingerprint, if it occurs at least BOILERPLATE_WARNING_COUNT times and at least once per
    20 documents."""
    sizes = lists.sizes()
    if not len(sizes) or sizes.max() < max(BOILERPLATE_WARNING_COUNT, len(placed) / 20):
        return None
    number = int(lists.order[np.flatnonzero(lists.fresh)[sizes.argmax()]])
    document = int(np.searchsorted(prints.offsets, number, "right")) - 1
    first = int(placed.offsets[document]) + int(prints.starts[number])
    return Stretch(document, int(placed.starts[first]), int(placed.ends[first + k - 1]), k, int(sizes.max()))


def stretches_of(placed: PositionedTokens, k: int, common: U64, counts: I64) -> list[Stretch]:
    """Return the heaviest stretches of common shingles, by tokens times occurrences.

    Only the WEIGHED longest stretches are ranked, because there may be very many.
    """
    if not len(common):
        return []
    covered = fingerprint(placed.tokens, placed.offsets, k=k, window=1, barred=common).covered
    inner = placed.offsets[1:-1][np.diff(placed.offsets)[:-1] > 0]  # stretches end at document boundaries
    edges = np.union1d(np.flatnonzero(np.diff(covered, prepend=False, append=False)), inner)
    starts, ends = edges[:-1], edges[1:]
    starts, ends = starts[covered[starts]], ends[covered[starts]]
    found: dict[int, Stretch] = {}
    for at in np.argsort(starts - ends, kind="stable")[:WEIGHED]:
        start, end = int(starts[at]), int(ends[at])
        alone = PositionedTokens(placed.tokens[start:end], placed.starts, placed.ends, np.array([0, end - start]))
        hashes = all_shingles(alone, k)
        if not len(hashes) or int(hashes[0]) in found:
            continue
        document = int(np.searchsorted(placed.offsets, start, "right")) - 1
        # Common shingles may be adjacent: shingles across their boundary are covered, but not common themselves.
        often = int(counts[np.isin(common, hashes)].max())
        first, last = int(placed.starts[start]), int(placed.ends[end - 1])
        found[int(hashes[0])] = Stretch(document, first, last, end - start, often)
    return sorted(found.values(), key=lambda one: -one.tokens * one.count)[:LISTED_PASSAGES]
