"""All pairs of 64-bit codes within 8 bits: python benchmarks/bits.py [--size 1000000] [--slow]

Nine codes in ten are random, the others copies of these with 1 to 8 bits turned. The exact answer is lookalike's own,
which the tests compare with a comparison of all pairs; faiss' flat search must give the same (--slow, minutes).
"""

from __future__ import annotations

from functools import partial
from typing import Any

from race import race

MOST = 8


def make(size: int) -> Any:
    """u64[size]."""
    import numpy as np

    draw = np.random.default_rng(42)
    codes = draw.integers(0, 1 << 64, size, dtype=np.uint64)
    copies = size // 10
    turned = codes[draw.integers(0, size - copies, copies)]
    count = draw.integers(1, MOST + 1, copies)
    for step in range(MOST):
        here = count > step
        turned[here] ^= np.uint64(1) << draw.integers(0, 64, int(here.sum()), dtype=np.uint64)
    codes[size - copies :] = turned
    return codes


def lookalike(codes: Any, *, method: Any) -> Any:
    import lookalike as la

    found = la.bits.pairs(codes, max_bits=MOST, method=method).pairs
    return found["left"].to_numpy(), found["right"].to_numpy()


def faiss_flat(codes: Any) -> Any:
    import faiss

    return _searched(faiss.IndexBinaryFlat(64), codes)


def faiss_multi_hash(codes: Any, *, flips: int) -> Any:
    """Four hashes of 16 bits; buckets up to `flips` bits away are looked at."""
    import faiss

    index = faiss.IndexBinaryMultiHash(64, 4, 16)
    index.nflip = flips
    return _searched(index, codes)


def _searched(index: Any, codes: Any) -> Any:
    import numpy as np

    rows = codes.view(np.uint8).reshape(-1, 8)
    index.add(rows)
    limits, _, partners = index.range_search(rows, MOST + 1)
    return np.repeat(np.arange(len(rows)), np.diff(limits.astype(np.int64))), partners


TOOLS = {
    "lookalike exact": partial(lookalike, method="exact"),
    "lookalike lsh": partial(lookalike, method="lsh"),
    "faiss multi-hash 1 flip": partial(faiss_multi_hash, flips=1),
    "faiss multi-hash 2 flips": partial(faiss_multi_hash, flips=2),
    "faiss flat": faiss_flat,
}

if __name__ == "__main__":
    slow = {"faiss flat", "faiss multi-hash 2 flips"}
    race("bits", __file__, make, {"within 8": TOOLS}, slow=slow, size=1_000_000, truth=lambda _: "lookalike exact")
