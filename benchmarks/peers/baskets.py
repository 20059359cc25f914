"""All pairs of baskets at or above a threshold, by one tool: python -m peers.baskets TOOL FILE OUT THRESHOLD WAY

FILE: one basket a line, commas between the items. WAY: customers or products. Prints the seconds of the work alone,
from the file to the pairs in memory; of lookalike those of a second call, when its kernels are loaded.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def read(path: str, way: str) -> list[list[str | int]]:
    """The sets to compare; of products, in the order of their first appearance."""
    lines = Path(path).read_text().splitlines()
    baskets: list[list[Any]] = [list(dict.fromkeys(item.strip() for item in line.split(","))) for line in lines]
    if way == "customers":
        return baskets
    products: dict[str, list[Any]] = {}
    for number, basket in enumerate(baskets):
        for item in basket:
            products.setdefault(item, []).append(number)
    return list(products.values())


def set_similarity_search(path: str, threshold: float, way: str) -> pa.Table:
    from SetSimilaritySearch import all_pairs

    found = list(all_pairs(read(path, way), similarity_func_name="jaccard", similarity_threshold=threshold))
    left, right, similarity = zip(*found, strict=True) if found else ((), (), ())
    return pa.table({"left": np.array(left, np.int64), "right": np.array(right, np.int64), "similarity": similarity})


def sparse_product(path: str, threshold: float, way: str) -> pa.Table:
    """The overlaps of all pairs as the product of the matrix with its transpose."""
    from scipy.sparse import csr_array

    sets = read(path, way)
    numbers: dict[Any, int] = {}
    columns = [numbers.setdefault(item, len(numbers)) for one in sets for item in one]
    sizes = np.array([len(one) for one in sets])
    ends = np.concatenate([[0], np.cumsum(sizes)])
    matrix = csr_array((np.ones(len(columns), np.int32), columns, ends), shape=(len(sets), len(numbers)))
    found = []
    for at in range(0, len(sets), 1000):  # all at once would take many gigabytes
        shared = (matrix[at : at + 1000] @ matrix.T).tocoo()
        left, right = shared.row + at, shared.col
        similarity = shared.data / (sizes[left] + sizes[right] - shared.data)
        keep = (similarity >= threshold) & (left < right)
        found.append((left[keep], right[keep], similarity[keep]))
    columns = (np.concatenate(column) for column in zip(*found, strict=True))
    return pa.table(dict(zip(("left", "right", "similarity"), columns, strict=True)))


def lookalike(path: str, threshold: float, way: str) -> pa.Table:
    import lookalike as la

    made = la.baskets.pairs(Path(path), lines=True, separator=",", threshold=threshold, dual=way == "products")
    return made.pairs


TOOLS: dict[str, Callable[[str, float, str], pa.Table]] = {
    "lookalike": lookalike, "SetSimilaritySearch": set_similarity_search, "SciPy product": sparse_product,
}  # fmt: skip


def main() -> None:
    tool, path, out, threshold, way = sys.argv[1:]
    for _ in range(2 if tool == "lookalike" else 1):
        begin = time.perf_counter()
        table = TOOLS[tool](path, float(threshold), way)
        seconds = time.perf_counter() - begin
    pq.write_table(table, out)
    sys.stdout.write(json.dumps({"work_seconds": round(seconds, 3)}) + "\n")


if __name__ == "__main__":
    main()
