"""How fast the kernels turn text into signatures, without reading: MB/s on one thread and on two.

    python benchmarks/kernels.py [--documents 40000]

Prints a Markdown table and writes kernels.json into the folder .bench.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lookalike.core.arrays import Recipe, ShingleRule
from lookalike.kinds.documents.features import shingle
from lookalike.kinds.documents.signatures import sketch
from lookalike.runtime.local.pool import Pool
from machine import machine, versions

HERE = Path(__file__).resolve().parent
TASK_BYTES = 1 << 21
REPEATS = 5


def texts_of(path: str) -> list[pa.Array]:
    """The texts of a corpus in slices of about TASK_BYTES."""
    texts = pq.read_table(path, columns=["text"]).column(0).cast(pa.large_string()).combine_chunks()
    step = max(1, TASK_BYTES * len(texts) // texts.nbytes)
    return [texts.slice(at, step) for at in range(0, len(texts), step)]


def megabytes_per_second(work: Callable[[pa.Array], Any], slices: list[pa.Array], *, threads: int) -> float:
    """The best of some repeats, after one that is not counted."""
    size = sum(part.nbytes for part in slices) / 1e6
    best = 0.0
    with Pool(threads) as pool:
        for repeat in range(REPEATS + 1):
            start = time.perf_counter()
            for _ in pool.map(work, slices):
                pass
            if repeat:
                best = max(best, size / (time.perf_counter() - start))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=40_000)
    parser.add_argument("--home", type=Path, default=Path(".bench"))
    given = parser.parse_args()
    home = given.home.resolve()
    make = [sys.executable, "corpora.py", "generated", f"--documents={given.documents}", f"--folder={home / 'corpora'}"]
    corpus = json.loads(subprocess.run(make, cwd=HERE, check=True, stdout=subprocess.PIPE, text=True).stdout)
    slices = texts_of(corpus["path"])
    word, byte = ShingleRule(unit="word", k=5), ShingleRule(unit="byte", k=5)
    tasks: dict[str, Callable[[pa.Array], Any]] = {
        "word 5-shingles": lambda texts: shingle(texts, word),
        "word 5-shingles + 128-slot signature": lambda texts: sketch(shingle(texts, word), Recipe()),
        "byte 5-shingles + 128-slot signature": lambda texts: sketch(shingle(texts, byte), Recipe()),
    }
    rows = []
    for name, work in tasks.items():
        one, two = (megabytes_per_second(work, slices, threads=threads) for threads in (1, 2))
        rows.append({"kernel": name, "one": round(one, 1), "two": round(two, 1), "ratio": round(two / one, 2)})
    result = {"machine": machine(), "versions": versions(), "corpus": corpus, "kernels": rows}
    (home / "kernels.json").write_text(json.dumps(result, indent=1) + "\n")
    print("| kernel | MB/s, 1 thread | MB/s, 2 threads | ratio |\n|---|---:|---:|---:|")
    for row in rows:
        print(f"| {row['kernel']} | {row['one']:.0f} | {row['two']:.0f} | {row['ratio']:.2f} |")


if __name__ == "__main__":
    main()
