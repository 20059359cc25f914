"""Similar baskets at a low threshold: lookalike next to SetSimilaritySearch and a SciPy sparse product, exactly.

    python benchmarks/baskets.py [--only NAME] [--timeout 600]

Two collections: groceries (9 835 baskets; from LOOKALIKE_DATA, default ../shared/data) and 21 891 baskets of ten items
drawn by Zipf's law from 4 000. Every answer is compared with brute force: what each set shares with every
other one, counted by NumPy. Each tool is its own process, from the file to a Parquet file of pairs; `work` leaves
out imports and the writing of that file. Writes .bench/baskets.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from machine import machine, versions
from measure import measure

HERE = Path(__file__).resolve().parent
TOOLS = ("lookalike", "lookalike command", "SciPy product", "SetSimilaritySearch")
CASES = (("groceries", "customers", 0.2), ("groceries", "products", 0.05), ("zipf", "customers", 0.2),
         ("zipf", "products", 0.2))  # fmt: skip
ZIPF = """
import numpy as np, sys
rng = np.random.default_rng(42)
weights = 1 / np.arange(1, 4001)
draw = np.cumsum(weights / weights.sum())
with open(sys.argv[1], "w") as file:
    for _ in range(21891):
        basket = set()
        while len(basket) < 10:
            basket.add(int(np.searchsorted(draw, rng.random())))
        file.write(",".join(map(str, basket)) + "\\n")
"""
JUDGE = """
import json, sys, numpy as np, pyarrow.parquet as pq
sys.path.insert(0, ".")
from peers.baskets import read
path, answer, threshold, way = sys.argv[1:]
sets = read(path, way)
owners = {}
for i, one in enumerate(sets):
    for item in one:
        owners.setdefault(item, []).append(i)
owners = {item: np.array(these) for item, these in owners.items()}
sizes, true = np.array([len(one) for one in sets]), []
percent = round(100 * float(threshold))
for i, one in enumerate(sets):  # with every other set: how many items it shares
    shared = np.bincount(np.concatenate([owners[item] for item in one]), minlength=len(sets))[i + 1 :]
    match = (shared > 0) & (100 * shared >= percent * (sizes[i] + sizes[i + 1 :] - shared))
    true.append(i * len(sets) + i + 1 + np.flatnonzero(match))
true = np.concatenate(true)
table = pq.read_table(answer)
left, right = (table[name].to_pylist() for name in ("left", "right"))
if way == "products" and left and isinstance(left[0], str):
    order = {}
    for line in open(path):
        for item in line.rstrip("\\n").split(","):
            order.setdefault(item.strip(), len(order))
    left, right = [order[x] for x in left], [order[x] for x in right]
left, right = np.array(left, np.int64), np.array(right, np.int64)
found = np.minimum(left, right) * len(sets) + np.maximum(left, right)
both = len(np.intersect1d(true, found))
print(json.dumps({"pairs": len(found), "true": len(true), "recall": both / max(1, len(true)),
                  "precision": both / max(1, len(found))}))
"""


def command(tool: str, path: Path, answer: Path, threshold: float, way: str) -> list[str]:
    if tool == "lookalike command":
        dual = ["--dual"] if way == "products" else []
        words = ["baskets", "pairs", str(path), "--lines", "--separator", ",", "-t", str(threshold), *dual]
        return [sys.executable, "-m", "lookalike.cli.main", *words, "-o", str(answer), "-q", "--force"]
    return [sys.executable, "-m", "peers.baskets", tool, str(path), str(answer), str(threshold), way]


def data(home: Path) -> dict[str, Path]:
    """The two collections, the second made where it is missing."""
    groceries = Path(os.environ.get("LOOKALIKE_DATA", HERE.parent.parent / "shared/data")) / "groceries/groceries.csv"
    zipf = home / "corpora" / "zipf-baskets.txt"
    if not zipf.exists():
        zipf.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-c", ZIPF, str(zipf)], check=True)
    found = {"groceries": groceries, "zipf": zipf}
    if not groceries.exists():
        sys.stderr.write(f"no {groceries}: set LOOKALIKE_DATA to the folder of the data sets; going on without.\n")
        del found["groceries"]
    return found


def run(tool: str, name: str, way: str, threshold: float, path: Path, home: Path, timeout: float) -> dict[str, Any]:
    mark = f"baskets-{name}-{way}-{tool.replace(' ', '-')}"
    answer, log = home / "answers" / f"{mark}.parquet", home / "logs" / f"{mark}.txt"
    for one in (answer, log):
        one.parent.mkdir(parents=True, exist_ok=True)
    words = command(tool, path, answer, threshold, way)
    measured = measure(words, folder=HERE, log=log, timeout=timeout)
    if tool.startswith("lookalike") and measured["status"] == "ok":  # the first run may have compiled kernels
        measured = measure(words, folder=HERE, log=log, timeout=timeout)
    result = {"collection": name, "way": way, "threshold": threshold, "tool": tool, **measured}
    if measured["status"] == "ok":
        text = log.read_text().strip()
        result |= json.loads(text.splitlines()[-1]) if text else {}
        judge = [sys.executable, "-c", JUDGE, str(path), str(answer), str(threshold), way]
        reported = subprocess.run(judge, cwd=HERE, check=True, stdout=subprocess.PIPE, text=True).stdout
        result |= json.loads(reported)
    return result


def line(one: dict[str, Any]) -> str:
    work = f"{one['work_seconds']:.2f}" if "work_seconds" in one else ""
    quality = (
        f"{one['recall']:.6f} | {one['precision']:.6f} | {one['pairs']:,}"
        if "recall" in one
        else f"{one['status']} | |"
    )
    where = f"{one['collection']}, {one['way']} at {one['threshold']}"
    return (
        f"| {where} | {one['tool']} | {one['seconds']:.2f} | {work} | {one['peak_bytes'] / 1e6:,.0f} MB | {quality} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=TOOLS)
    parser.add_argument("--collection", action="append", choices=["groceries", "zipf"])
    parser.add_argument("--timeout", type=float, default=600)
    parser.add_argument("--home", type=Path, default=Path(".bench"))
    given = parser.parse_args()
    home = given.home.resolve()
    places = data(home)
    runs = []
    head = "| collection | tool | seconds | work | peak memory | recall | precision | pairs |"
    sys.stdout.write(f"{head}\n|---|---|---:|---:|---:|---:|---:|---:|\n")
    for name, way, threshold in CASES:
        if name not in places or (given.collection and name not in given.collection):
            continue
        for tool in given.only or TOOLS:
            runs.append(run(tool, name, way, threshold, places[name], home, given.timeout))
            sys.stdout.write(line(runs[-1]) + "\n")
            sys.stdout.flush()
    whole = {"machine": machine(), "versions": versions(), "runs": runs}
    (home / "baskets.json").write_text(json.dumps(whole, indent=1) + "\n")


if __name__ == "__main__":
    main()
