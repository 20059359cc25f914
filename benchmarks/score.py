"""Compare an answer with the exact one.

    python benchmarks/score.py CORPUS ANSWER

An answer is a Parquet file with the columns left and right, or with one column of lists, `bucket`, whose members are
all paired with one another. Prints one line of JSON.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from compiler import jit
from sets import sets_of
from truth import DEN, NUM, overlap_from, truth_of

MOST_PAIRS = 400_000_000


@jit
def pairs_of_buckets(members: Any, offsets: Any, out: Any) -> Any:
    # members i64[], offsets i64[b+1]: the buckets; out u64[pairs]
    """Every pair inside each bucket, packed as smaller << 32 | larger."""
    at = 0
    for b in range(len(offsets) - 1):
        for i in range(offsets[b], offsets[b + 1]):
            for j in range(offsets[b], i):
                out[at] = min(members[i], members[j]) << 32 | max(members[i], members[j])
                at += 1


@jit
def count_true(packed: Any, elements: Any, offsets: Any, out: Any) -> Any:
    # packed u64[p]; elements u64[], offsets i64[n+1]: the sets; out bool[p]
    """Which of the pairs are at or above the threshold, by their sets."""
    for p in range(len(packed)):
        left, right = packed[p] >> 32, packed[p] & 0xFFFFFFFF
        a, b = offsets[left + 1] - offsets[left], offsets[right + 1] - offsets[right]
        needed = (NUM * (a + b) + NUM + DEN - 1) // (NUM + DEN)
        shared = overlap_from(elements, offsets[left], offsets[left + 1], offsets[right], offsets[right + 1], needed)
        out[p] = a + b > 0 and shared >= needed


def packed_pairs(answer: Path) -> Any:
    """The distinct pairs of an answer as sorted smaller << 32 | larger."""
    table = pq.read_table(answer)
    if "bucket" in table.column_names:
        buckets = table.column("bucket").combine_chunks()
        offsets = buckets.offsets.to_numpy().astype(np.int64)
        members = buckets.values.to_numpy().astype(np.int64)
        sizes = np.diff(offsets)
        total = int((sizes * (sizes - 1) // 2).sum())
        if total > MOST_PAIRS:
            raise SystemExit(f"the buckets hold {total} pairs; {MOST_PAIRS} fit in memory.")
        packed = np.empty(total, np.int64)
        pairs_of_buckets(members, offsets, packed)
    else:
        left, right = (table.column(name).to_numpy().astype(np.int64) for name in ("left", "right"))
        packed = np.minimum(left, right) << 32 | np.maximum(left, right)
    return np.unique(packed[packed >> 32 != packed & 0xFFFFFFFF])


def score(corpus: Path, answer: Path) -> dict[str, Any]:
    """Pairs, recall, recall between .80 and .85, and precision of an answer."""
    table = truth_of(corpus)
    truth = table.column("left").to_numpy() << 32 | table.column("right").to_numpy()
    near = table.column("similarity").to_numpy() < 0.85
    packed = packed_pairs(answer)
    right = np.empty(len(packed), np.bool_)
    count_true(packed, *sets_of(corpus), right)
    found = np.isin(truth, packed)
    if int(right.sum()) != int(found.sum()):
        raise SystemExit(f"the exact answer lacks {int(right.sum()) - int(found.sum())} true pairs of {answer}.")
    return {
        "pairs": len(packed),
        "recall": float(found.mean()) if len(found) else 1.0,
        "recall_80_85": float(found[near].mean()) if near.any() else 1.0,
        "precision": float(right.mean()) if len(right) else 1.0,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("answer", type=Path)
    given = parser.parse_args()
    print(json.dumps(score(given.corpus, given.answer)))


if __name__ == "__main__":
    main()
