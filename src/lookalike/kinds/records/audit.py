"""Recall audit: the share of the pairs at or above the threshold that were candidates, measured on a sample.

In small tables, and where a larger sample than the default is asked for, every sampled record is compared with every
other record. In large ones it is compared with the records that share its words of the highest weights, many more than
it has candidates. Pairs that share no words, or only words that more than one record in a hundred has, are not found in
that way; the receipt says what was compared. The default sample costs at most a tenth of the comparisons of the run.
"""

from __future__ import annotations

import numpy as np

from lookalike.core.arrays import I64, Pairs
from lookalike.core.audit_sample import draw, found_partners
from lookalike.core.recall_audit import Audit, measure
from lookalike.core.trace import Trace
from lookalike.kinds.records.blocking import KeyIndex
from lookalike.kinds.records.search import Search
from lookalike.kinds.records.spec import RecordJob
from lookalike.runtime.local.pool import Pool

MAX_AUDITED_PAIRS = 1_000_000  # maximum number of pairs that an audit compares
FREE_AUDITED_PAIRS = 60_000  # number of pairs that any audit may compare,
# or fewer: this divided by the square of the mean length of a record, since words are compared crosswise
FREE_LETTERS = 100_000_000
AUDITED_SHARE = (
    10  # or 1 in 10 of the pairs that the run compared, unless a larger sample than the default is asked for
)
DEFAULT_SAMPLE = RecordJob.audit
AUDITED_NEIGHBOURS = 100  # number of records that a sampled record of a large table is compared with
PAIRS_PER_TASK = 1 << 14  # number of pairs that one task compares
WORD_FREQUENCY_LIMIT = 100  # words in more than one of this many records (and in more than 1000) are ignored
AMONG = f"the {AUDITED_NEIGHBOURS} others that share the heaviest words"


def audit(search: Search, job: RecordJob, pool: Pool, trace: Trace) -> Audit:
    """Measure the share of the sampled records' pairs at or above the threshold that are candidates."""
    n = search.table.records
    with trace.stage("audit"):
        size, whole = sample_size(job.audit, n, len(search.table), _letters(search))
        found = search.pairs(search.plain_scores(job.rules), job.threshold)
        sample = draw(found_partners(found, n), size, job.seed)
        index = None if whole else _index(search)

        def matches(records: I64) -> I64:
            others = [_others(search, one) if index is None else _wide(search, index, one) for one in records.tolist()]
            one = np.repeat(records, [len(some) for some in others])
            other = np.concatenate(others)
            both = np.minimum(one, other) << 32 | np.maximum(one, other)
            reached = search.reaches(job.rules, one.astype(np.uint32), other.astype(np.uint32), job.threshold)
            return np.asarray(both[reached])

        step = max(1, PAIRS_PER_TASK // max(1, n if whole else AUDITED_NEIGHBOURS))
        tasks = [sample.items[at : at + step] for at in range(0, len(sample), step)]
        both = np.unique(np.concatenate([np.empty(0, np.int64), *pool.map(matches, tasks)]))
        truth = Pairs(both >> 32, both & 0xFFFFFFFF, np.ones(len(both)))
        return measure(truth, found, sample, (), among=None if whole else AMONG)


def sample_size(asked: int, records: int, compared: int, letters: float = 0) -> tuple[int, bool]:
    """Return the number of records to sample, and whether they are compared with all others.

    compared: number of pairs that the run compared. letters: mean length of a record.

    >>> sample_size(2000, 100, 500), sample_size(2000, 20_000, 200_000), sample_size(2001, 400, 4_000)
    ((100, True), (600, False), (400, True))
    """
    pairs, free = MAX_AUDITED_PAIRS, min(FREE_AUDITED_PAIRS, int(FREE_LETTERS / max(1.0, letters) ** 2))
    if asked <= DEFAULT_SAMPLE:
        pairs = min(pairs, max(free, compared // AUDITED_SHARE))
    size = min(asked, records)
    return (size, True) if records * size <= pairs else (min(size, max(1, pairs // AUDITED_NEIGHBOURS)), False)


def _letters(search: Search) -> float:
    """Return the mean length of a record, over all fields."""
    lengths = (np.append(np.diff(field.offsets), 0)[field.values] for field in search.fields)
    return float(sum(each.sum() for each in lengths)) / max(1, search.table.records)


def _others(search: Search, record: int) -> I64:
    """Return all records that a record may match: all others, or those of the other table."""
    n, side = search.table.records, search.table.split
    others = np.arange(n) if side < 0 else np.arange(side, n) if record < side else np.arange(side)
    return np.asarray(others[others != record], np.int64)


def _index(search: Search) -> KeyIndex:
    """Index the words of all records, without the most frequent ones."""
    whole = search.whole
    rare = whole.holders <= max(1000, search.table.records // WORD_FREQUENCY_LIMIT)
    kept = rare[whole.words]
    offsets = np.concatenate([[0], np.cumsum(kept)])[whole.offsets]
    return KeyIndex.of_words(whole.words[kept], offsets, np.where(rare, whole.holders, 0))


def _wide(search: Search, index: KeyIndex, record: int) -> I64:
    packed = index.nearest(
        (record, record + 1), search.whole.weights, search.table.split, AUDITED_NEIGHBOURS, 0.0
    ).astype(np.int64)
    low, high = packed >> 32, packed & 0xFFFFFFFF
    return np.asarray(np.where(low == record, high, low), np.int64)
