"""Winnowed fingerprints of tokens, and the detection of common shingles."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import I64, U32, U64
from lookalike.kinds.passages.kernels import winnowing
from lookalike.kinds.passages.tokens import PositionedTokens

Flags = npt.NDArray[np.bool_]
NOTHING: U64 = np.empty(0, np.uint64)


@dataclass(frozen=True)
class Prints:
    """The fingerprints of n documents. hashes: u64[f]; starts: u32[f], token of the document at which each starts;
    offsets: i64[n+1]; covered: bool[total], tokens in an excluded shingle, or [0] if no shingles are excluded."""

    hashes: U64
    starts: U32
    offsets: I64
    covered: Flags


def fingerprint(tokens: U32, offsets: I64, *, k: int, window: int, barred: U64 = NOTHING) -> Prints:
    """Compute fingerprints by winnowing: the minimum hash of each window of shingles.

    Two documents that share a run of window+k-1 tokens share a fingerprint at the same position of the run, unless all
    its shingles are in `barred` (excluded).

    offsets: starts of the documents in `tokens`, which may contain other documents before and after.

    >>> tokens = np.arange(6, dtype=np.uint32)
    >>> prints = fingerprint(tokens, np.array([0, 6]), k=2, window=2)
    >>> bool(np.all(np.diff(prints.starts) <= 2))
    True
    """
    part, where = tokens[offsets[0] : offsets[-1]], offsets - offsets[0]
    covered = np.zeros(len(part) if len(barred) else 0, np.bool_)
    hashes, starts = np.empty(len(part), np.uint64), np.empty(len(part), np.uint32)
    ends = np.empty(len(where) - 1, np.int64)
    winnowing.winnow(part, where, k, window, barred, _filter(barred), covered, hashes, starts, ends)
    total = int(ends[-1]) if len(ends) else 0
    return Prints(hashes[:total].copy(), starts[:total].copy(), np.concatenate([[0], ends]), covered)


def all_shingles(placed: PositionedTokens, k: int) -> U64:
    """Return the distinct k-shingles of the documents, sorted."""
    found: list[U64] = [NOTHING]
    for document in range(len(placed)):
        out = np.empty(len(placed[document]), np.uint64)
        found.append(out[: winnowing.hashes(placed[document], k, out)])
    return np.unique(np.concatenate(found))


def common_shingles(tokens: U32, offsets: I64, *, k: int, limit: int, once: bool = True) -> tuple[U64, I64]:
    """Return the shingles that occur in more than `limit` documents, sorted, and the number of documents of each.

    Without `once`, all occurrences are counted instead of documents. Exact: a counting sketch proposes shingles, and
    exact counts decide. Linear in the tokens.
    """
    counts = np.zeros(1 << max(16, min(27, int(2 * len(tokens)).bit_length())), np.uint32)
    winnowing.count_shingles(tokens, offsets, k, once, counts, np.zeros_like(counts))
    proposed = NOTHING
    if (room := winnowing.common_shingles(tokens, offsets, k, counts, limit, NOTHING)) > 0:
        proposed = np.empty(room, np.uint64)
        winnowing.common_shingles(tokens, offsets, k, counts, limit, proposed)
        proposed = np.unique(proposed)
    exact = np.zeros(len(proposed), np.int64)
    winnowing.count_exactly(tokens, offsets, k, once, proposed, _filter(proposed), exact)
    return proposed[exact > limit], exact[exact > limit]


def most_documents(share: float, documents: int) -> int:
    """Return the maximum number of documents of a shingle that is not too common.

    Computed with fractions: 0.29 * 100 is 29, but 28.99 in floats.
    """
    return int(Fraction(repr(float(share))) * documents)


def _filter(hashes: U64) -> Flags:
    marks = np.zeros(1 << 16, np.bool_)
    winnowing.make_filter(hashes, marks)
    return marks
