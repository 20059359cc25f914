"""Runs of words of benchmark items in the documents of a training set."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.hashing import TOKENS
from lookalike.kinds.scrub.kernels.windows import NONE, final, find, power, term


@jit
def gram_hashes(tokens: Any, offsets: Any, length: int, out: Any, items: Any, places: Any) -> int:
    """Write the hash, the item and the first token of every run of `length` tokens; return their number.

    tokens u32; offsets i64[n+1]; out u64, items, places i64, each [number of tokens].
    """
    factor = power(length)
    count = 0
    for d in range(len(offsets) - 1):
        h = np.uint64(0)
        for i in range(offsets[d], offsets[d + 1]):
            h = h * TOKENS + term(tokens[i])
            if i - offsets[d] >= length:
                h -= term(tokens[i - length]) * factor
            if i - offsets[d] >= length - 1:
                out[count] = final(h)
                items[count] = d
                places[count] = i - length + 1
                count += 1
    return count


@jit
def gram_matches(
    tokens: Any, gone: Any, offsets: Any, first: int, length: int, keys: Any, values: Any, item_tokens: Any,
    item_places: Any, out: Any,
) -> int:  # fmt: skip
    """Write the runs of the documents that are also in an item, compared token for token; return their number.

    offsets i64[n+1]: of the documents; first: number of the first; keys, values: table from the hash of a run to its
    number; item_tokens u32; item_places i64: first token in an item of each run; out i64[any, 4]: document, first
    token, last token, number of the run. Runs do not include tokens with gone u8 above 0.
    """
    factor = power(length)
    window = np.empty(length, np.int64)  # the last tokens that stay, as a ring
    count = 0
    for d in range(len(offsets) - 1):
        h = np.uint64(0)
        n = 0
        for i in range(offsets[d], offsets[d + 1]):
            if gone[i] != 0:
                continue
            h = h * TOKENS + term(tokens[i])
            if n >= length:
                h -= term(tokens[window[n % length]]) * factor
            window[n % length] = i
            n += 1
            if n < length:
                continue
            slot = find(keys, final(h))
            if slot == NONE:
                continue
            place = item_places[values[slot]]
            same = True
            for k in range(length):
                if tokens[window[(n + k) % length]] != item_tokens[place + k]:
                    same = False
                    break
            if same:
                if count < len(out):
                    out[count, 0] = first + d
                    out[count, 1] = window[n % length]
                    out[count, 2] = i
                    out[count, 3] = values[slot]
                count += 1
    return count
