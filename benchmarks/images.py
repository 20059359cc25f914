"""Near-duplicate wallpapers: lookalike by default and with other hashes, and imagehash's phash alone.

    python benchmarks/images.py

Truth: pictures of one group, among them portrait crops and dark variants that no hash of the whole can see.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from machine import machine
from shared_data import place

# promise: docs/how-to/find-look-alike-images.md | Measured on 72 desktop wallpapers in 30 groups


def measure(tool: str, truth: dict[str, str], found: set[frozenset[str]], cpu: float) -> dict[str, Any]:
    right = sum(len({truth[name] for name in pair}) == 1 for pair in found)
    true = sum(size * (size - 1) // 2 for size in Counter(truth.values()).values())
    precision, recall = right / max(1, len(found)), right / true
    f1 = 2 * precision * recall / max(1e-12, precision + recall)
    return {
        "tool": tool, "precision": round(precision, 4), "recall": round(recall, 4), "f1": round(f1, 4),
        "pairs": len(found), "ms_per_image_and_core": round(cpu / len(truth) * 1e3, 2),
    }  # fmt: skip


def ours(folder: Path, **options: Any) -> tuple[set[frozenset[str]], float]:
    import lookalike as la

    begin = time.process_time()
    rows = la.images.pairs(folder, **options).pairs.to_pylist()
    return {frozenset((row["left"], row["right"])) for row in rows}, time.process_time() - begin


def plain(folder: Path, files: list[str], bits: int) -> tuple[set[frozenset[str]], float]:
    """phash of the imagehash package, all pairs within so many bits: what imagededup does."""
    import imagehash
    from PIL import Image

    begin = time.process_time()
    codes = [imagehash.phash(Image.open(folder / name)) for name in files]
    found = {
        frozenset((files[i], files[j])) for i in range(len(files)) for j in range(i) if codes[i] - codes[j] <= bits
    }
    return found, time.process_time() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, default=Path(".bench"))
    home = parser.parse_args().home
    home.mkdir(exist_ok=True)
    data = place("kde-wallpapers")
    truth = {row["file"]: row["group"] for row in csv.DictReader((data / "truth.csv").open())}
    folder = data / "images"
    ours(folder, hashes=["phash", "whash"])  # the compiler and the packages are loaded
    runs = [
        measure("lookalike", truth, *ours(folder)),
        measure("lookalike --no-crops", truth, *ours(folder, crops=False)),
        measure("lookalike --hash phash --hash dhash", truth, *ours(folder, hashes=["phash", "dhash"])),
        measure("lookalike -d 14", truth, *ours(folder, max_bits=14)),
        measure("imagehash phash, 10 bits", truth, *plain(folder, list(truth), 10)),
    ]
    (home / "images.json").write_text(json.dumps({"machine": machine(), "runs": runs}, indent=1) + "\n")
    for one in runs:
        sys.stdout.write(json.dumps(one) + "\n")


if __name__ == "__main__":
    main()
