"""Exact join of many small sets at a low threshold: python benchmarks/small_sets.py [--sets 1000000] [-t 0.5]

Sets of 5 to 50 elements, drawn by Zipf's law from as many elements as there are sets; one set in ten is an edited copy
of another. Prints seconds per stage, pairs and peak memory.
"""

from __future__ import annotations

import argparse
import json
import sys

import numpy as np
import pyarrow as pa

import lookalike as la


def make(count: int, seed: int = 42) -> pa.Table:
    """An id column and a column of lists of integers."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(5, 51, count)
    ends = np.cumsum(sizes)
    ranks = np.exp(rng.random(int(ends[-1])) * np.log(count)).astype(np.int64)  # density 1/rank
    for copy in rng.choice(np.arange(1, count), count // 10, replace=False):
        source = rng.integers(0, copy)
        length = min(sizes[copy], sizes[source])
        start, origin = ends[copy] - sizes[copy], ends[source] - sizes[source]
        ranks[start : start + length] = ranks[origin : origin + length]
        ranks[start + rng.integers(0, length)] = rng.integers(0, count)
    offsets = pa.array(np.concatenate([[0], ends]).astype(np.int64))
    return pa.table({"id": np.arange(count), "text": pa.LargeListArray.from_arrays(offsets, pa.array(ranks))})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=1_000_000)
    parser.add_argument("-t", type=float, default=0.5)
    arguments = parser.parse_args()
    la.pairs([["warm", "kernels"], ["warm", "up"]], exact=True, threshold=0.3)
    receipt = la.pairs(make(arguments.sets), threshold=arguments.t, exact=True).receipt
    shown = {name: receipt[name] for name in ("counts", "seconds", "peak_memory_mb")}
    sys.stdout.write(json.dumps(shown, indent=1) + "\n")


if __name__ == "__main__":
    main()
