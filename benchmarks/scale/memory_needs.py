"""Measure the constants by which a run with a memory budget is refused, each in several runs.

    python benchmarks/scale/memory_needs.py [--runs 5]

A constant per document or pair is the growth of the peak between a size and twice the size, divided by the growth of
the count; printed are the median, the least and the greatest of all runs next to the constant in
`runtime/local/memory_needs.py`. A constant below the median is too small.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
from pathlib import Path

import above  # noqa: F401

from lookalike.runtime.local import memory_needs
from measure import measure

WORDS = [f"w{number}" for number in range(20_000)]


def unlike(count: int) -> list[str]:
    """Documents of which no two share a shingle."""
    return [f"{number} a {number} b {number} c" for number in range(count)]


def alike(count: int) -> list[str]:
    """Near-copies, each pair of which is within the threshold."""
    template = random.Random(1).choices(WORDS, k=300)
    return [" ".join([*template[:150], f"n{number}", *template[150:]]) for number in range(count)]


def peak(folder: Path, texts: list[str], *arguments: str) -> int:
    """Return the peak resident bytes of a run over these texts."""
    (folder / "in.txt").write_text("\n".join(texts) + "\n")
    program = [sys.executable, "-m", "lookalike", *arguments, "in.txt", "--lines", "-o", "out.csv", "--force", "-q"]
    return int(measure(program, folder=folder, log=folder / "log.txt", timeout=120)["peak_bytes"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    within = ("--memory", "1GB")
    values: dict[str, list[float]] = {"MEMORY_WITHOUT_INPUT": [], "PER_DOCUMENT": [], "PER_PAIR": []}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for _ in range(given.runs):
            values["MEMORY_WITHOUT_INPUT"].append(peak(folder, ["one text"], "groups", *within))
            few, many = (peak(folder, unlike(count), "groups", "--memory", "300MB") for count in (200_000, 600_000))
            values["PER_DOCUMENT"].append((many - few) / 400_000)
            sizes = (1_500, 3_000)
            few, many = (peak(folder, alike(count), "groups", *within, "--method", "exact") for count in sizes)
            low, high = (count * (count - 1) // 2 for count in sizes)
            values["PER_PAIR"].append((many - few) / (high - low))
    for name, measured in values.items():
        print(
            f"{name}: {getattr(memory_needs, name):,}; measured {statistics.median(measured):,.0f} "
            f"({min(measured):,.0f} to {max(measured):,.0f})"
        )


if __name__ == "__main__":
    main()
