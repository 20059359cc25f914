"""Pairs of windows of a random walk, next to the matrix profile of stumpy.

    python benchmarks/series.py [STEPS ...]

Core seconds and seconds of one process with two threads, after a first run that compiles. `la.series.pairs` lists all
pairs within a distance; stumpy.stump gives the nearest window of each window. Both must agree on the nearest pair, and
on the windows that have a neighbour within the distance. Writes .bench/series.json.
"""

# promise: docs/how-to/series.md | a random walk of 60,000 steps

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("NUMBA_NUM_THREADS", "2")

import numpy as np

from machine import machine, versions

WINDOW, WITHIN = 100, 1.5
STEPS = (20_000, 60_000)


def walk(steps: int) -> np.ndarray:
    """A random walk in which a stretch occurs again, larger and with noise."""
    rng = np.random.default_rng(steps)
    made = rng.normal(size=steps).cumsum()
    made[-3000:-2700] = 2 * made[1000:1300] + rng.normal(size=300) / 20
    return made


def timed(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, {
        "seconds": round(time.perf_counter() - wall, 2), "core_seconds": round(time.process_time() - cpu, 2)
    }  # fmt: skip


def compare(series: np.ndarray, stumpy: Any) -> dict[str, Any]:
    import lookalike as la

    run: dict[str, Any] = {"steps": len(series)}
    options = {"window": WINDOW, "exclusion": -(-WINDOW // 4) + 1, "threads": 2}  # the zone of stumpy
    found, run["within"] = timed(lambda: la.series.pairs(series, within=WITHIN, overlapping=True, **options))
    motifs, run["top 10"] = timed(lambda: la.series.pairs(series, top=10, **options))
    run["pairs"] = len(found)
    if stumpy is not None:
        profile, run["stumpy"] = timed(lambda: stumpy.stump(series, WINDOW))
        nearest = profile[:, 0].astype(float)
        near = set(found.pairs["left_start"].to_pylist()) | set(found.pairs["right_start"].to_pylist())
        theirs = set(np.flatnonzero(nearest <= WITHIN).tolist())
        run["windows with a neighbour"], run["also by stumpy"] = len(near), len(near & theirs)
        run["only by stumpy"] = len(theirs - near)
        run["nearest distance"] = [motifs.pairs["distance"][0].as_py(), float(nearest.min())]
    return run


def main() -> None:
    import lookalike as la

    try:
        import stumpy
    except ImportError:
        stumpy = None
    made: dict[str, Any] = {
        "machine": machine(),
        "versions": versions(),
        "window": WINDOW,
        "within": WITHIN,
        "runs": [],
    }
    la.series.pairs(walk(6000), window=WINDOW, within=WITHIN)
    if stumpy is not None:
        stumpy.stump(walk(6000), WINDOW)
    for steps in map(int, sys.argv[1:] or STEPS):
        run = compare(walk(steps), stumpy)
        print(json.dumps(run))
        made["runs"].append(run)
    Path(".bench").mkdir(exist_ok=True)
    Path(".bench/series.json").write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()
