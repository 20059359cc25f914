"""The 10 nearest of 60,000 digits for each of 10,000 others (MNIST), next to faiss and pynndescent.

    python benchmarks/nearest.py

Core seconds of one process with one thread, from float32 arrays to the neighbours: `la.vectors.nearest`, faiss's
IndexFlatL2, and pynndescent's index with its default and a wider search. Recall is the share of the true distances,
computed in float64 for a sample of 500 rows. Writes .bench/nearest.json.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402

from machine import machine, versions  # noqa: E402
from shared_data import mnist  # noqa: E402

TOP, SAMPLE = 10, 500


def lookalike(asked: np.ndarray, searched: np.ndarray) -> np.ndarray:
    import lookalike as la

    found = la.vectors.nearest(asked, against=searched, top=TOP, measure="distance", threads=1)
    return found.nearest["right"].to_numpy().reshape(-1, TOP)


def faiss_flat(asked: np.ndarray, searched: np.ndarray) -> np.ndarray:
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexFlatL2(searched.shape[1])
    index.add(searched)
    return index.search(asked, TOP)[1]


def pynndescent(epsilon: float) -> Callable[..., np.ndarray]:
    def search(asked: np.ndarray, searched: np.ndarray) -> np.ndarray:
        import pynndescent as peer

        index = peer.NNDescent(searched, n_neighbors=30, random_state=42, n_jobs=1)
        index.prepare()
        return index.query(asked, k=TOP, epsilon=epsilon)[0]

    return search


TOOLS: dict[str, Callable[..., np.ndarray]] = {
    "lookalike": lookalike,
    "faiss flat": faiss_flat,
    "pynndescent": pynndescent(0.1),
    "pynndescent, epsilon .3": pynndescent(0.3),
}


def recall(found: np.ndarray, asked: np.ndarray, searched: np.ndarray) -> float:
    """The share of the true neighbours, by distance: equal distances are as good."""
    sample = np.random.default_rng(1).choice(len(asked), SAMPLE, replace=False)
    hits = 0
    wide = searched.astype(np.float64)
    for row in sample:
        distances = ((wide - asked[row]) ** 2).sum(axis=1)
        hits += int((distances[found[row]] <= np.partition(distances, TOP - 1)[TOP - 1]).sum())
    return hits / (SAMPLE * TOP)


def main() -> None:
    digits = mnist()
    searched, asked = digits[:60_000], digits[60_000:]
    made: dict[str, Any] = {"machine": machine(), "versions": versions(), "top": TOP, "tools": {}}
    for name, tool in TOOLS.items():
        tool(asked[:50], searched[:500])  # loads and compiles
        begin = time.process_time()
        found = tool(asked, searched)
        row = {"core_seconds": round(time.process_time() - begin, 2), "recall": recall(found, asked, searched)}
        made["tools"][name] = row
        print(name, row, flush=True)
    out = Path(".bench")
    out.mkdir(exist_ok=True)
    (out / "nearest.json").write_text(json.dumps(made, indent=1))


if __name__ == "__main__":
    main()
