"""Hash user-supplied tokens, and access the buffers of Arrow string arrays."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import I64, U64
from lookalike.core.arrow import as_numpy, filled
from lookalike.errors import UsageError
from lookalike.kernels import hashing, tokens


def token_hashes(values: pa.Array) -> U64:
    """Compute a 64-bit hash per user-supplied token: of the bytes of a string, or of the value of an integer."""
    out = np.empty(len(values), np.uint64)
    if pa.types.is_integer(values.type):
        hashing.mix_all(as_numpy(filled(values.cast(pa.int64()), 0)).view(np.uint64), np.uint64(1), out)
    else:
        data, offsets = strings(values.cast(pa.large_string()))
        tokens.hash_strings(data, offsets, out)
    return out


def strings(texts: pa.Array) -> tuple[np.ndarray[tuple[int], np.dtype[np.uint8]], I64]:
    """Return the UTF-8 bytes and the offsets of a large_string array, without copying the text."""
    _, offsets, data = texts.buffers()
    window = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1].copy()
    if texts.null_count:
        raise UsageError("texts hold nulls; readers turn them into empty strings first.")
    return np.frombuffer(data or b"", np.uint8), window
