"""SetSimilaritySearch: all pairs at or above 0.8, exactly, over token sets made in Python."""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from SetSimilaritySearch import all_pairs

from peers.shingles import documents, shingles


def find(corpus: str, out: str) -> None:
    everyone: list[int] = []
    sets: list[set[str]] = []
    for ids, texts in documents(corpus):
        everyone += ids
        sets += map(shingles, texts)
    pairs = [(x, y) for x, y, _ in all_pairs(sets, similarity_func_name="jaccard", similarity_threshold=0.8)]
    found = np.array(everyone, np.int64)[np.array(pairs, np.int64).reshape(-1, 2)]
    pq.write_table(pa.table({"left": found[:, 0], "right": found[:, 1]}), out)


if __name__ == "__main__":
    find(*sys.argv[1:])
