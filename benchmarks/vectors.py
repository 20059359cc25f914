"""All pairs of MNIST within an angle: lookalike and faiss, each in its own process.

    python benchmarks/vectors.py [--only NAME] [--slow] [--angle 22.2] [--angle 31.9]

seconds: of the search, in a warm process (kernels compiled, data in memory); cpu: the same in processor time, which
tells more where the machine is shared. Recall against the exact partners of 2,000 rows, in float64.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TOOLS = ("lookalike", "lookalike recall .99", "lookalike exact", "faiss IVF 512/3", "faiss flat")
SLOW = ("lookalike exact", "faiss flat")
SAMPLE = 2000


def ours(data: Any, angle: float, **options: Any) -> tuple[Any, Any, dict[str, Any]]:
    import lookalike as la

    result = la.vectors.pairs(data, max_angle=angle, **options)
    receipt = result.receipt
    reported = {
        "plan": (receipt["plan"] or {}).get("shape"),
        "choice": receipt["choice"],
        "own": receipt["recall_measured"],
    }
    return result.pairs["left"].to_numpy(), result.pairs["right"].to_numpy(), reported


def faiss_range(data: Any, angle: float, *, cells: int = 0, probes: int = 0) -> tuple[Any, Any, dict[str, Any]]:
    import faiss
    import numpy as np

    unit = data / np.linalg.norm(data, axis=1, keepdims=True)
    index: Any = faiss.IndexFlatIP(unit.shape[1])
    if cells:
        index = faiss.IndexIVFFlat(index, unit.shape[1], cells, faiss.METRIC_INNER_PRODUCT)
        index.train(unit)
        index.nprobe = probes
    index.add(unit)
    ends, _, found = index.range_search(unit, math.cos(math.radians(angle)))
    left = np.repeat(np.arange(len(unit)), np.diff(ends.astype(np.int64)))
    apart = left != found  # an inverted file may find a pair from one side only
    low, high = np.minimum(left, found)[apart], np.maximum(left, found)[apart]
    pairs = np.unique(low.astype(np.int64) * len(unit) + high)
    return pairs // len(unit), pairs % len(unit), {}


def run(tool: str, angle: float) -> dict[str, Any]:
    """In this process: search, warm where that matters, and score."""
    import numpy as np

    from shared_data import mnist

    data = mnist()
    search = {
        "lookalike": lambda: ours(data, angle, recall=0.9 if angle < 30 else 0.86),
        "lookalike recall .99": lambda: ours(data, angle),
        "lookalike exact": lambda: ours(data, angle, exact=True),
        "faiss IVF 512/3": lambda: faiss_range(data, angle, cells=512, probes=3),
        "faiss flat": lambda: faiss_range(data, angle),
    }[tool]
    if tool.startswith("lookalike"):
        ours(data[:4000], angle, exact=True)
        ours(data[:4000], angle, method="lsh")
    begin, cpu = time.perf_counter(), time.process_time()
    left, right, reported = search()
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    unit = data.astype(np.float64) / np.linalg.norm(data.astype(np.float64), axis=1, keepdims=True)
    sample = np.random.default_rng(9).choice(len(data), SAMPLE, replace=False)
    cosines = unit[sample] @ unit.T
    row, other = np.nonzero(cosines >= math.cos(math.radians(angle)))
    row = sample[row]
    apart = row != other
    truth = np.unique(np.minimum(row, other)[apart] * len(data) + np.maximum(row, other)[apart])
    mine = np.minimum(left, right).astype(np.int64) * len(data) + np.maximum(left, right)
    inside = np.isin(left, sample) | np.isin(right, sample)
    return {
        "tool": tool, "angle": angle, "seconds": round(seconds, 2), "cpu": round(cpu, 2), "peak_bytes": peak,
        "pairs": len(mine), "partners": round(2 * len(mine) / len(data), 1),
        "recall": round(float(np.isin(truth, mine).mean()), 4),
        "precision": round(float(np.isin(mine[inside], truth).mean()), 6), **reported,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=TOOLS)
    parser.add_argument("--slow", action="store_true", help=f"also run {', '.join(SLOW)}")
    parser.add_argument("--angle", action="append", type=float, help="degrees; default 22.2 and 31.9")
    parser.add_argument("--here", help=argparse.SUPPRESS)
    parser.add_argument("--home", type=Path, default=Path(".bench"))
    given = parser.parse_args()
    if given.here:
        sys.stdout.write(json.dumps(run(given.here, given.angle[0])) + "\n")
        return
    from machine import machine

    runs = []
    for angle in given.angle or (22.2, 31.9):
        for tool in given.only or [tool for tool in TOOLS if given.slow or tool not in SLOW]:
            command = [sys.executable, str(HERE / "vectors.py"), "--here", tool, "--angle", str(angle)]
            done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
            if done.returncode:
                message = (done.stderr.strip().splitlines() or ["failed"])[-1]
                runs.append({"tool": tool, "angle": angle, "status": message[:200]})
            else:
                runs.append(json.loads(done.stdout))
            sys.stderr.write(json.dumps(runs[-1]) + "\n")
    given.home.mkdir(exist_ok=True)
    (given.home / "vectors.json").write_text(json.dumps({"machine": machine(), "runs": runs}, indent=1) + "\n")
    head = ("tool", "angle", "seconds", "cpu", "recall", "precision", "partners", "plan")
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(str(one.get(name, one.get("status", ""))) for name in head) + " |" for one in runs]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
