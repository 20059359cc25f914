"""Kinds that work on disk, within a budget and in memory: time, peak memory, bytes on disk, growth.

    python benchmarks/scale/kinds.py [--only bits] [--sizes 1000000 3000000 10000000] [--memory 300MB]

Codes: nine in ten are random, the others copies of these with 1 to 3 bits turned; pairs within 3 bits. Vectors: 128
float32 numbers in .npy, nine in ten random, the others near copies; pairs within 10 degrees. Strings: 14 letters, one
in ten with a letter changed; pairs within 1 edit. Both runs write a file,
and the files must be the same. The exponent is that of the core seconds within the budget, over the sizes.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import above  # noqa: F401
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from measure import measure

# promise: docs/how-to/large.md | Ten million codes of 64 bits
# promise: docs/how-to/large.md | A million strings of 14 letters within 1 edit
# promise: docs/how-to/large.md | A million vectors of 128 float32 numbers
# promise: docs/how-to/large.md | Ten million within 1 GB took 287 core seconds
# promise: docs/how-to/large.md | Three million within 300 MB took 55 core seconds
ROWS = 1_000_000  # rows that are made at a time


def made_codes(path: Path, count: int) -> Path:
    draw = np.random.default_rng(42)
    path = path.with_suffix(".parquet")
    with pq.ParquetWriter(path, pa.schema([("code", pa.uint64())]), compression="none", use_dictionary=False) as file:
        for low in range(0, count, ROWS):
            codes = draw.integers(0, 1 << 64, min(ROWS, count - low), dtype=np.uint64)
            copies = len(codes) // 10
            turned = codes[draw.integers(0, len(codes) - copies, copies)]
            number = draw.integers(1, 4, copies)
            for step in range(3):
                here = number > step
                turned[here] ^= np.uint64(1) << draw.integers(0, 64, int(here.sum()), dtype=np.uint64)
            codes[len(codes) - copies :] = turned
            file.write_table(pa.table({"code": codes[draw.permutation(len(codes))]}), row_group_size=1 << 16)
    return path


def made_vectors(path: Path, count: int) -> Path:
    draw = np.random.default_rng(42)
    path = path.with_suffix(".npy")
    with path.open("wb") as file:
        head = {"descr": "<f4", "fortran_order": False, "shape": (count, 128)}
        np.lib.format.write_array_header_1_0(file, head)
        for low in range(0, count, ROWS // 10):
            rows = draw.standard_normal((min(ROWS // 10, count - low), 128), np.float32)
            copies = len(rows) // 10
            rows[:copies] = rows[copies : 2 * copies] + np.float32(0.1) * draw.standard_normal(
                (copies, 128), np.float32
            )
            file.write(rows[draw.permutation(len(rows))].tobytes())
    return path


def made_strings(path: Path, count: int) -> Path:
    draw = np.random.default_rng(42)
    letters = np.frombuffer(b"etaoinshrdlucmfwypvb", np.uint8)
    path = path.with_suffix(".parquet")
    with pq.ParquetWriter(path, pa.schema([("name", pa.string())]), use_dictionary=False) as file:
        for low in range(0, count, ROWS):
            rows = min(ROWS, count - low)
            text = letters[draw.integers(0, len(letters), (rows, 14))]
            copies = rows // 10
            text[:copies] = text[copies : 2 * copies]
            text[np.arange(copies), draw.integers(0, 14, copies)] = ord("x")
            text = text[draw.permutation(rows)]
            ends = np.arange(0, 14 * rows + 1, 14, dtype=np.int32)
            names = pa.StringArray.from_buffers(rows, pa.py_buffer(ends), pa.py_buffer(np.ascontiguousarray(text)))
            file.write_table(pa.table({"name": names}), row_group_size=1 << 16)
    return path


Made = Callable[[Path, int], Path]
KINDS: dict[str, tuple[Made, list[str]]] = {
    "bits": (made_codes, ["bits", "pairs", "--max-bits", "3"]),
    "strings": (made_strings, ["strings", "pairs", "--max-edits", "1", "--text", "name"]),
    "vectors": (made_vectors, ["vectors", "pairs", "--max-angle", "10"]),
}


def folder_bytes(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_blocks * 512
        except OSError:  # removed since it was listed
            continue
    return total


def run(command: list[str], source: Path, memory: str, folder: Path) -> dict[str, Any]:
    """Measure one run, and the largest size of its work folder. (Files without a name are not counted.)"""
    output, most, ended = folder / f"{memory}.parquet", [0], threading.Event()

    def watch() -> None:
        while not ended.wait(0.2):
            most[0] = max(most[0], folder_bytes(Path(f"{output}.work")))

    watcher = threading.Thread(target=watch)
    watcher.start()
    program = [sys.executable, "-m", "lookalike", *command[:2], str(source), *command[2:], "-o", str(output)]
    try:
        found = measure(
            [*program, "--force", "-q", "--memory", memory], folder=folder, log=folder / "log", timeout=7200
        )
    finally:
        ended.set()
        watcher.join()
    if found["status"] != "ok":
        sys.exit(f"{' '.join(command)} within {memory}: {found.get('message', found['status'])}")
    return {**found, "disk": most[0], "bytes": output.read_bytes()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=list(KINDS), nargs="*", default=list(KINDS))
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000_000, 3_000_000, 10_000_000])
    parser.add_argument("--memory", default="300MB")
    parser.add_argument("--alone", action="store_true", help="no run in memory, for sizes that it cannot hold")
    given = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
    for kind in given.only:
        make, command = KINDS[kind]
        spent: list[float] = []
        for count in given.sizes:
            with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as name:
                folder = Path(name)
                source = make(folder / "in", count)
                small = run(command, source, given.memory, folder)
                spent.append(small["cpu_seconds"])
                seconds = small["seconds"]
                line = f"{kind} {count:,} within {given.memory}: {small['seconds']:.1f} s, {spent[-1]:.1f} core s, "
                stored = small["disk"] / source.stat().st_size
                line += f"{small['peak_bytes'] / 1e6:,.0f} MB, on disk {stored:.2f} of the input"
                if not given.alone:
                    big = run(command, source, "100GB", folder)
                    same = "the same bytes" if big["bytes"] == small["bytes"] else "OTHER BYTES"
                    line += f"; in memory {big['seconds']:.1f} s, {big['cpu_seconds']:.1f} core s, "
                    line += f"{big['peak_bytes'] / 1e6:,.0f} MB; {same}"
                print(line, flush=True)
        if len(spent) > 1:
            growth = math.log(spent[-1] / spent[0]) / math.log(given.sizes[-1] / given.sizes[0])
            largest = given.sizes[-1] * (600 / max(1e-9, seconds)) ** (1 / max(1.0, growth))
            print(f"{kind}: core seconds grow with the power {growth:.2f} of the size; ten minutes are enough for "
                  f"about {largest:,.0f}, from the elapsed time of the last size")  # fmt: skip


if __name__ == "__main__":
    main()
