"""Nearest person on the ORL faces: each of 400 pictures is looked up among the other 399.

    python benchmarks/faces.py

The floor is the nearest neighbour by Euclidean distance over all pixels: 0.975.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from machine import machine
from shared_data import orl_faces


def measure(folder: Path, **options: Any) -> dict[str, Any]:
    """Accuracy of the best match that is not the probe itself, and the share of the gallery that was scored."""
    import lookalike as la

    begin, cpu = time.perf_counter(), time.process_time()
    table, result = la.faces.query(folder, folder, **options)
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    best: dict[str, str] = {}
    for row in table.to_pylist():
        if row["probe"] != row["match"]:
            best.setdefault(row["probe"], row["match"])
    person = {name: name.split("/")[-2] for name in set(best) | set(best.values())}
    counts = result.receipt["counts"]
    return {
        **options, "accuracy": sum(person[probe] == person[match] for probe, match in best.items()) / 400,
        "scored": round(counts["candidates"] / counts["all_pairs"], 4), "seconds": round(seconds, 2),
        "cpu": round(cpu, 2), "plan": (result.receipt["plan"] or {}).get("shape", "all pairs"),
        "recall": (result.receipt["recall_measured"] or {}).get("recall"),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, default=Path(".bench"))
    home = parser.parse_args().home
    home.mkdir(exist_ok=True)
    folder = orl_faces(home / "orl-faces")
    measure(folder, method="lsh", threshold=0.35)
    runs = [
        measure(folder, threshold=0.35, method="exact"),
        measure(folder, threshold=0.35, method="lsh", recall=0.9, max_scored=0.1),
        measure(folder, threshold=0.35, method="lsh", recall=0.95, max_scored=0.2),
    ]
    (home / "faces.json").write_text(json.dumps({"machine": machine(), "runs": runs}, indent=1) + "\n")
    for one in runs:
        sys.stdout.write(json.dumps(one) + "\n")


if __name__ == "__main__":
    main()
