"""Where the exact join costs more than banding: python benchmarks/crossover.py

Generated documents as sets of word 5-shingles, which are rare, and of single words, which are common; thresholds from
0.3 to 0.95, both ways in one warm process, the faster of two. Writes docs/data/cost.json, from which
scripts/make_plots.py draws the picture in docs/explanation/cost.md. Seconds are of the work from sets to pairs; reading
is the same for both and left out.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

import lookalike as la
from generated import generate
from machine import machine

OUT = Path(__file__).resolve().parents[1] / "docs/data/cost.json"
DOCUMENTS = 20_000
THRESHOLDS = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
SETS = {"5-shingles": 5, "single words": 1}
READING = ("open", "read", "pairs", "audit")


def measured(texts: pa.Table, k: int, threshold: float, method: str) -> dict[str, Any]:
    """Seconds between reading and writing, the faster of two, and what was found."""
    best: dict[str, Any] = {}
    for _ in range(2):
        begin = time.perf_counter()
        receipt = la.pairs(texts, threshold=threshold, k=k, method=method, audit=0).receipt  # type: ignore[arg-type]
        spent = time.perf_counter() - begin
        work = spent - sum(receipt["seconds"].get(stage, 0.0) for stage in READING)
        if not best or work < best["seconds"]:
            counts = receipt["counts"]
            best = {"seconds": round(work, 3), "candidates": counts["candidates"], "pairs": counts["pairs"]}
    return best


def main() -> None:
    rows = []
    texts = pa.Table.from_batches(list(generate(DOCUMENTS, seed=42, rows=DOCUMENTS)))
    for name, k in SETS.items():
        for threshold in THRESHOLDS:
            for method in ("lsh", "exact"):
                rows.append({"sets": name, "threshold": threshold, "method": method,
                             **measured(texts, k, threshold, method)})  # fmt: skip
                sys.stdout.write(f"{rows[-1]}\n")
                sys.stdout.flush()
    OUT.write_text(json.dumps({"machine": machine(), "documents": DOCUMENTS, "runs": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
