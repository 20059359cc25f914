"""Recall audit: the share of the pairs at or above the threshold that were candidates, measured on a sample.

In small tables every sampled record is compared with every other record. In large ones it is compared with the records
that share its words of the highest weights, many more than it has candidates. Pairs that share no words, or only words
that more than one record in a hundred has, are not found in that way; the receipt says what was compared.
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
AUDITED_NEIGHBOURS = 100  # number of records that a sampled record of a large table is compared with
WORD_FREQUENCY_LIMIT = 100  # words in more than one of this many records (and in more than 1000) are ignored
AMONG = f"the {AUDITED_NEIGHBOURS} others that share the heaviest words"


def audit(search: Search, job: RecordJob, pool: Pool, trace: Trace) -> Audit:
    """Measure the share of the sampled records' pairs at or above the threshold that are candidates."""
    n = search.table.records
    with trace.stage("audit"):
        whole = n * min(job.audit, n) <= MAX_AUDITED_PAIRS
        size = min(job.audit, n) if whole else min(job.audit, n, MAX_AUDITED_PAIRS // AUDITED_NEIGHBOURS)
        found = search.pairs(search.plain_scores(job.rules), job.threshold)
        sample = draw(found_partners(found, n), size, job.seed)
        index = None if whole else _index(search)

        def matches(record: int) -> I64:
            others = _others(search, record) if index is None else _wide(search, index, record)
            mine = np.full(len(others), record, np.uint32)
            _, score = search.rate(job.rules, mine, others.astype(np.uint32))
            return others[score >= np.float32(job.threshold)]

        true = list(pool.map(matches, sample.items.tolist()))
        one = np.repeat(sample.items, [len(partners) for partners in true])
        other = np.concatenate([np.empty(0, np.int64), *true])
        both = np.unique(np.minimum(one, other) << 32 | np.maximum(one, other))
        truth = Pairs(both >> 32, both & 0xFFFFFFFF, np.ones(len(both)))
        return measure(truth, found, sample, (), among=None if whole else AMONG)


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
