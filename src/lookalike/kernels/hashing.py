"""64-bit hash mixing. The constants and functions are part of every signature scheme; golden values test them."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit

CHARS = np.uint64(0x9E3779B97F4A7C15)  # base of the polynomial over the code points of a token
TOKENS = np.uint64(0xA0761D6478BD642F)  # base of the polynomial over the tokens of a shingle
M1 = np.uint64(0xD6E8FEB86659FD93)
M2 = np.uint64(0xE7037ED1A0B428DB)
S29, S32 = np.uint64(29), np.uint64(32)


@jit
def mix(x: Any) -> Any:  # u64 -> u64
    """Mix a 64-bit word bijectively; every input bit changes about half of the output bits."""
    x ^= x >> S32
    x *= M1
    x ^= x >> S29
    x *= M2
    x ^= x >> S32
    return x


@jit
def half_mix(x: Any) -> Any:  # u64 -> u64
    """Mix a 64-bit word bijectively at lower cost and quality; sufficient between two polynomial hashes."""
    x ^= x >> S32
    x *= M1
    x ^= x >> S29
    return x


@jit
def mix_all(values: Any, seed: Any, out: Any) -> None:  # values u64[n]; seed u64; out u64[n]
    """out[i] = mix(values[i] ^ mix(seed))."""
    salt = mix(seed)
    for i in range(len(values)):
        out[i] = mix(values[i] ^ salt)
