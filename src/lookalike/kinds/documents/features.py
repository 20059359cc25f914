"""Conversion of texts or token lists to sets of hashed shingles."""

from __future__ import annotations

import threading

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import I64, U64, Sets, ShingleRule
from lookalike.core.token_hashes import strings, token_hashes
from lookalike.errors import UsageError
from lookalike.kernels import shingles, tokens, unicode

SCRATCH_TOKENS = 1 << 21  # largest scratch array, in tokens, that a thread keeps


def shingle(texts: pa.Array, rule: ShingleRule) -> Sets:
    """Compute the set of shingles of each text (large_string) or token list (large_list of large_string or int64).

    Null and empty texts give empty sets. The cost is linear in the text; runs without the GIL.

    >>> import pyarrow as pa
    >>> shingle(pa.array(["a rose is a rose is a rose"], pa.large_string()), ShingleRule(k=3)).sizes.tolist()
    [3]
    """
    if isinstance(texts.type, pa.LargeListType):
        return _shingle_lists(texts, rule)
    if rule.unit == "token":
        raise UsageError(
            "unit 'token' needs a column of lists; this one holds text. Units for text: word, char, byte, line."
        )
    if rule.normalize != "none":
        texts = pc.utf8_normalize(texts, form=rule.normalize)
    return _shingle(*_tokens(texts, rule), rule)


def _tokens(texts: pa.Array, rule: ShingleRule) -> tuple[U64, I64]:
    """Return the hashed tokens of all texts, and their offsets i64[n+1]."""
    data, offsets = strings(texts)
    if rule.unit == "byte":
        return data[offsets[0] : offsets[-1]].astype(np.uint64) + np.uint64(1), offsets - offsets[0]
    total, n = int(offsets[-1] - offsets[0]), len(texts)
    room = total // 2 + n + 1 if rule.unit == "word" else total + total // 2 + n + 1
    out, out_offsets = _scratch(room), np.empty(n + 1, np.int64)
    folding = unicode.tables(rule.fold_case, rule.strip_accents)
    if rule.unit == "word":
        tokens.all_words(data, offsets, folding, out, out_offsets)
    elif rule.unit == "line":
        tokens.all_lines(data, offsets, rule.squeeze_space, folding, out, out_offsets)
    else:
        tokens.all_characters(data, offsets, rule.squeeze_space, rule.ignore_punctuation, folding, out, out_offsets)
    return out, out_offsets


_own = threading.local()


def _scratch(room: int) -> U64:
    """Return a scratch array of the calling thread, reused between batches because new memory must be zeroed."""
    kept: U64 | None = getattr(_own, "memory", None)
    if kept is None or len(kept) < room:
        kept = np.empty(room, np.uint64)
        if room <= SCRATCH_TOKENS:
            _own.memory = kept
    return kept


def _shingle(hashes: U64, offsets: I64, rule: ShingleRule) -> Sets:
    make = shingles.shingle_bags if rule.bag else shingles.shingle_sets
    n = len(offsets) - 1
    out, ends = np.empty(int(offsets[-1]), np.uint64), np.empty(n, np.int64)
    make(hashes, offsets, rule.k, rule.hash_bits == 32, out, ends)
    where = np.zeros(n + 1, np.int64)
    where[1:] = ends
    return Sets(out[: where[-1]], where)


def _shingle_lists(lists: pa.Array, rule: ShingleRule) -> Sets:
    offsets = np.frombuffer(lists.buffers()[1], np.int64)[lists.offset : lists.offset + len(lists) + 1].copy()
    values = lists.values[offsets[0] : offsets[-1]]
    return _shingle(token_hashes(values), offsets - offsets[0], rule)
