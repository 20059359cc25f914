"""Measure the constants by which a run with a memory budget is refused, each in several runs.

    python benchmarks/scale/memory_needs.py [--runs 5] [--kinds]

A constant per document or pair is the growth of the peak between a size and twice the size, divided by the growth of
the count; printed are the median, the least and the greatest of all runs next to the constant in
`runtime/local/memory_needs.py`. With --kinds: the growth for kinds that hold their items in memory, whose constants are
an `InputNeed` in `kinds/<kind>/local.py`. A constant below the median is too small.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import above  # noqa: F401
import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq
from PIL import Image

from lookalike.runtime.local import memory_needs
from measure import measure

DRAW = np.random.default_rng(1)
# promise: docs/how-to/large.md | 200 MB for the program itself come on top, 270 MB for records

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


def made_codes(folder: Path, count: int) -> tuple[int, int]:
    pq.write_table(pa.table({"code": DRAW.integers(0, 1 << 62, count)}), folder / "codes.parquet")
    return count, 8 * count


def made_strings(folder: Path, count: int) -> tuple[int, int]:
    names = [f"{first}{second} {third}" for first, second, third in DRAW.integers(0, 30_000, (count, 3))]
    pq.write_table(pa.table({"name": names}), folder / "strings.parquet")
    return count, sum(map(len, names))


def made_vectors(folder: Path, count: int) -> tuple[int, int]:
    np.save(folder / "vectors.npy", DRAW.standard_normal((count, 128), np.float32))
    return count, 512 * count


def made_records(folder: Path, count: int) -> tuple[int, int]:
    columns = {name: [f"{name}{n}" for n in DRAW.integers(0, count, count)] for name in ("first", "last", "street")}
    pv.write_csv(pa.table({"id": range(count), **columns}), folder / "records.csv")
    return count, (folder / "records.csv").stat().st_size


def made_pictures(folder: Path, count: int) -> tuple[int, int]:
    (folder / "pictures").mkdir(exist_ok=True)
    for number in range(count):
        pixels = DRAW.integers(0, 256, (12, 16), np.uint8).repeat(8, 0).repeat(8, 1)
        Image.fromarray(pixels).save(folder / "pictures" / f"{number}.png")
    return count, 0


# A kind: what makes its input, two sizes, and the command.
KINDS: dict[str, tuple[Callable[[Path, int], tuple[int, int]], tuple[int, int], list[str]]] = {
    "bits": (made_codes, (200_000, 1_000_000), ["bits", "pairs", "codes.parquet", "--max-bits", "3"]),
    "strings": (made_strings, (100_000, 400_000), ["strings", "pairs", "strings.parquet", "--max-edits", "1"]),
    "vectors": (made_vectors, (50_000, 200_000), ["vectors", "pairs", "vectors.npy", "--max-angle", "20",
                                                  "--method", "lsh", "--audit", "0"]),
    "records": (made_records, (20_000, 80_000), ["records", "pairs", "records.csv"]),
    "images": (made_pictures, (300, 2_000), ["images", "pairs", "pictures"]),
}  # fmt: skip


def kinds() -> None:
    """Print the memory per item of each kind that holds its items in memory, within a limit that it does not reach."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for name, (make, sizes, command) in KINDS.items():
            peaks, counts = [], []
            for size in sizes:
                counts.append(make(folder, size))
                program = [sys.executable, "-m", "lookalike", *command, "-o", "out.csv", "--force", "-q"]
                program += ["--memory", "20GB"]
                peaks.append(measure(program, folder=folder, log=folder / "log.txt", timeout=600)["peak_bytes"])
            grown = peaks[1] - peaks[0]
            (few, small), (many, large) = counts
            share = f", {grown / (large - small):.1f} per byte" if large else ""
            print(f"{name}: {grown / (many - few):,.0f} bytes per item{share}; {peaks[0] / 1e6:,.0f} MB at {few:,}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--kinds", action="store_true", help="of the kinds that are in memory")
    given = parser.parse_args()
    if given.kinds:
        kinds()
        return
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
