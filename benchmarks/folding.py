"""Hamming LSH by OR-folding beside minhash on real sets: python benchmarks/folding.py

Sets: the baskets of groceries.csv (LOOKALIKE_DATA, default ../shared/data), about four products each, and the word
5-shingles of the Python files of this Python's library. Recall is against the exact join. Writes .bench/folding.json.
"""

from __future__ import annotations

import json
import os
import sys
import sysconfig
import time
from pathlib import Path
from typing import Any

import lookalike as la
from machine import machine


def groceries() -> list[list[str]] | None:
    """Lists of products; None where the file is missing."""
    file = Path(os.environ.get("LOOKALIKE_DATA", "../shared/data")) / "groceries" / "groceries.csv"
    if not file.exists():
        sys.stderr.write(f"{file} is missing; set LOOKALIKE_DATA to the folder that has it.\n")
        return None
    return [line.strip().split(",") for line in file.read_text().splitlines() if line.strip()]


def library() -> list[str]:
    """The texts of the standard library's Python files."""
    files = sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py"))
    return [file.read_text(errors="replace") for file in files if "site-packages" not in file.parts]


def timed(name: str, find: Any, exact: set[tuple[int, int]] | None) -> dict[str, Any]:
    """The second of two runs, with its kernels compiled."""
    find()
    begin, spent = time.perf_counter(), time.process_time()
    result = find()
    row: dict[str, Any] = {"way": name, "seconds": round(time.perf_counter() - begin, 2)}
    row["cpu_seconds"] = round(time.process_time() - spent, 2)
    pairs = set(zip(result.pairs["left"].to_pylist(), result.pairs["right"].to_pylist(), strict=True))
    truth = pairs if exact is None else exact
    row |= {"pairs": len(pairs), "candidates": result.receipt["counts"].get("candidates", 0)}
    row |= {
        "recall": round(len(pairs & truth) / max(1, len(truth)), 4),
        "planned": result.receipt["recall_at_threshold"],
    }
    return row | {"found": pairs}


def main() -> None:
    rows = []
    for name, sets, threshold in (
        ("groceries", groceries(), 0.6),
        ("library", library(), 0.5),
        ("library", library(), 0.8),
    ):
        if sets is None:
            continue
        options: Any = {"threshold": threshold}
        exact = timed("exact", lambda: la.pairs(sets, method="exact", **options), None)  # noqa: B023
        ways = [
            exact,
            timed("minhash", lambda: la.pairs(sets, method="lsh", **options), exact["found"]),  # noqa: B023
            timed("folding", lambda: la.folding.pairs(sets, **options), exact["found"]),  # noqa: B023
        ]
        rows += [{"sets": f"{name} {threshold}", **{k: v for k, v in row.items() if k != "found"}} for row in ways]
    Path(".bench").mkdir(exist_ok=True)
    Path(".bench/folding.json").write_text(json.dumps({"machine": machine(), "runs": rows}, indent=1))
    head = list(rows[0])
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    lines += [
        "| " + " | ".join(f"{row[key]:.4g}" if isinstance(row[key], float) else f"{row[key]}" for key in head) + " |"
        for row in rows
    ]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
