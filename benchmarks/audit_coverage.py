"""Coverage of the 95 % interval of the measured recall, end to end: whole runs with their own seeds.

The laws in `tests/laws` draw only the sample again. Here, the hashes of a run change with its seed too, and the
interval is read from the receipt. Data: those of the laws of coverage.

    python benchmarks/audit_coverage.py [--seeds 50] [--audit 300] [KIND ...]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "laws"))

import test_audit_coverage as data
import test_record_audit_coverage as record_data

import lookalike as la

RECALLS = (0.8, 0.95, 0.99)
Run = Callable[[int], Any]


def sets_or_points(kind: str, audit: int) -> Iterator[tuple[float, int, Run]]:
    """Yield the wanted recall, the true number of pairs and a run by its seed."""
    make = getattr(data, kind)
    true = len(make(method="exact").found.pairs)
    for recall in RECALLS:
        yield recall, true, lambda seed, recall=recall: make(method="lsh", recall=recall, audit=audit, seed=seed)


def records(audit: int) -> Iterator[tuple[float, int, Run]]:
    """Records, with few neighbours each: recall is what the keys make of it. The truth compares all pairs."""
    table = record_data.people().slice(0, 900)
    options: dict[str, Any] = {"threshold": 0.6, "weights": "equal"}
    for neighbours in (1, 2, 5):
        asked = options | {"neighbours": neighbours}
        whole = la.records.pairs(table, audit=2001, **asked).receipt["recall_measured"]
        yield (
            whole["recall"],
            whole["true_pairs"],
            lambda seed, asked=asked: la.records.pairs(table, audit=min(audit, 60), seed=seed, **asked),
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--audit", type=int, default=300)
    parser.add_argument("kinds", nargs="*", default=["documents", "baskets", "vectors", "bits", "records"])
    asked = parser.parse_args()
    print(f"{'kind':12}{'recall':>8}{'true':>8}{'found':>8}{'covered':>9}{'width':>8}")
    for kind in asked.kinds:
        for recall, true, run in records(asked.audit) if kind == "records" else sets_or_points(kind, asked.audit):
            shares, held, widths = [], [], []
            for seed in range(asked.seeds):
                measured = run(seed).receipt["recall_measured"]
                share, (low, high) = measured["run_pairs"] / true, measured["interval_95"]
                shares.append(share)
                held.append(low - 1e-9 <= share <= high + 1e-9)
                widths.append(high - low)
            row = f"{np.mean(shares):8.4f}{np.mean(held):9.3f}{np.mean(widths):8.4f}"
            print(f"{kind:12}{recall:8.3f}{true:8}{row}", flush=True)


if __name__ == "__main__":
    main()
