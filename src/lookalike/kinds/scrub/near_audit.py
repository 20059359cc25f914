"""Measure the recall of near copies: search those that were not cut, for a sample of documents.

The search for cuts starts from runs of up to 12 equal words, and compares the first places of each. The audit starts
from every run of a few equal words of a sampled document, at all places in the text that stays, with the same rule for
edits. What it finds was missed. Documents that hold near copies are sampled more often than others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lookalike.core.arrays import I64, U64
from lookalike.core.audit_sample import Partners, Sample, draw
from lookalike.core.recall_audit import Audit, share_of
from lookalike.core.trace import Trace
from lookalike.kinds.scrub.kernels import near_audit as kernel
from lookalike.kinds.scrub.kernels.cuts import ORDINARY
from lookalike.kinds.scrub.repeats import CutList
from lookalike.kinds.scrub.spec import ScrubJob
from lookalike.kinds.scrub.tokens import U8, ScrubTokens
from lookalike.kinds.scrub.windows import hash_table, steps
from lookalike.runtime.local.pool import Pool
from lookalike.runtime.local.work_folder import Workspace

AUDIT_SEED = 42
FREE_STARTS = 4_000_000  # places that any audit may compare,
STARTS_PER_TOKEN = 1  # or this many for each token of the text that stays
FEWEST_AUDITED = 20  # documents of a sample that is made smaller to save comparisons
TRIES = 6


@dataclass(frozen=True)
class Text:
    """The text that stays. stays: tokens, document by document in the order of preference; ends i64[n]: of each
    document there; ranks i64[n]: place of each document in the order; gone u8: of all tokens."""

    stays: np.ndarray
    ends: I64
    ranks: I64
    gone: U8

    @classmethod
    def of(cls, read: ScrubTokens, cuts: CutList, order: I64, space: Workspace) -> Text:
        gone = space.array((len(read.tokens),), np.uint8)
        gone[:] = 0
        for first, tokens in cuts.pieces[:, :2].tolist():
            gone[first : first + tokens] = 1
        stays, ends = space.array((len(read.tokens),), read.tokens.dtype), np.empty(len(read), np.int64)
        n = kernel.gather(order, read.tokens, gone, read.offsets, cuts.states, stays, ends)
        ranks = np.empty(len(read), np.int64)
        ranks[order] = np.arange(len(read))
        return cls(stays[:n], ends, ranks, gone)

    def tokens(self, document: int) -> np.ndarray:
        rank = int(self.ranks[document])
        return self.stays[self.ends[rank - 1] if rank else 0 : self.ends[rank]]

    def spans(self) -> list[tuple[int, int]]:
        """Return ranges of documents, in the order, of about the tokens of a task."""
        return list(steps(self.ends))


@dataclass(frozen=True)
class Starts:
    """The runs of the sampled documents. keys u64, values i64: table from a hash to its number g; the documents
    (numbers in the sample) and places of run g are at begins[g] to begins[g + 1] of owners and places."""

    length: int
    keys: U64
    values: I64
    begins: I64
    owners: I64
    places: I64

    @classmethod
    def of(cls, text: Text, documents: I64, length: int) -> Starts:
        hashes, owners, places = [np.empty(0, np.uint64)], [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for number, document in enumerate(documents.tolist()):
            x = text.tokens(document)
            made = np.empty(len(x), np.uint64)
            n = kernel.run_hashes(x, length, made)
            hashes.append(made[:n])
            owners.append(np.full(n, number))
            places.append(np.arange(n))
        every = np.concatenate(hashes)
        order = np.argsort(every, kind="stable")
        distinct, counts = np.unique(every[order], return_counts=True)
        keys, values = hash_table(distinct, np.arange(len(distinct)))
        begins = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return cls(length, keys, values, begins, np.concatenate(owners)[order], np.concatenate(places)[order])

    def comparisons(self, text: Text, pool: Pool) -> int:
        """Return the number of places at which a sampled run meets an equal one."""

        def count(span: tuple[int, int]) -> I64:
            low = int(text.ends[span[0] - 1]) if span[0] else 0
            counts = np.zeros(len(self.keys), np.int64)
            kernel.count_starts(text.stays[low : text.ends[span[1] - 1]], self.length, self.keys, counts)
            return counts

        total = np.zeros(len(self.keys), np.int64)
        for counts in pool.map(count, text.spans()):
            total += counts
        return int((total * np.diff(self.begins)[self.values])[self.keys != 0].sum()) if len(self.owners) else 0


def measure_near_recall(
    read: ScrubTokens, job: ScrubJob, cuts: CutList, order: I64, size: int, pool: Pool, trace: Trace, space: Workspace
) -> Audit:
    """Estimate the share of the near copies that were cut, on about `size` documents."""
    with trace.stage("audit"):
        text = Text.of(read, cuts, order, space)
        near = cuts.near_copies
        sample, starts = _affordable(text, Partners(near, np.arange(len(near))), size, job, pool)
        missed = _missed(read, job, cuts, text, sample, starts, pool).astype(np.float64)
    found = int(near.sum())
    seen = int(near[sample.items].sum())
    share = share_of(
        sample, near[sample.items].astype(np.float64), missed, found, true=seen + int(missed.sum()), found=seen,
        predicted=1.0,
    )  # fmt: skip
    over = f"near copies in documents, against a search from every {starts.length} equal words"
    return Audit(len(sample), share, over=over)


def _affordable(text: Text, near: Partners, size: int, job: ScrubJob, pool: Pool) -> tuple[Sample, Starts]:
    """Draw a sample, or a smaller one if its runs meet too many equal ones."""
    limit = max(FREE_STARTS, STARTS_PER_TOKEN * len(text.stays))
    for attempt in range(TRIES):
        sample = draw(near, size, AUDIT_SEED)
        starts = Starts.of(text, sample.items, job.audit_run)
        total = starts.comparisons(text, pool)
        if total <= limit or size <= FEWEST_AUDITED or attempt == TRIES - 1:
            break
        size = max(FEWEST_AUDITED, int(0.9 * size * limit / total))
    return sample, starts


def _missed(
    read: ScrubTokens, job: ScrubJob, cuts: CutList, text: Text, sample: Sample, starts: Starts, pool: Pool
) -> I64:
    """Return the number of near copies that each sampled document still has."""
    documents = sample.items
    walls_at = np.concatenate([[0], np.cumsum([len(text.tokens(document)) for document in documents.tolist()])])
    walls = np.zeros(int(walls_at[-1]), np.bool_)
    for number, document in enumerate(documents.tolist()):
        if cuts.states[document] == ORDINARY:
            span = slice(*read.offsets[document : document + 2])
            kernel.protected(read.flags[span], text.gone[span], walls[walls_at[number] : walls_at[number + 1]])
    ranks = text.ranks[documents]

    def search(span: tuple[int, int]) -> I64:
        given = (text.stays, text.ends, *span, ranks, walls, walls_at, starts.length, job.gap, job.length)
        table = (starts.keys, starts.values, starts.begins, starts.owners, starts.places)
        out = np.empty((1 << 10, 3), np.int64)
        n = kernel.find_missed(*given, *table, out)
        if n > len(out):
            out = np.empty((n, 3), np.int64)
            kernel.find_missed(*given, *table, out)
        return out[:n]

    rows = np.concatenate([np.empty((0, 3), np.int64), *pool.map(search, text.spans())])
    missed = np.zeros(len(documents), np.int64)
    for number, document in enumerate(documents.tolist()):
        mine = rows[rows[:, 0] == number, 1:]
        whole = int(read.offsets[document + 1] - read.offsets[document])
        cut = whole - len(text.tokens(document))
        copies, tokens = _apart(mine)
        if cuts.states[document] == ORDINARY and cut + tokens <= job.max_loss * whole:
            missed[number] = copies
    return missed


def _apart(ranges: I64) -> tuple[int, int]:
    """Return the number of ranges after those that overlap are joined, and their tokens.

    >>> _apart(np.array([[3, 9], [0, 4], [20, 25]]))
    (2, 14)
    """
    ranges = ranges[np.argsort(ranges[:, 0], kind="stable")]
    count = tokens = end = 0
    for first, last in ranges.tolist():
        if first >= end:
            count += 1
        tokens += max(0, last - max(first, end))
        end = max(end, last)
    return count, tokens
