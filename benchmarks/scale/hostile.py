"""Peak memory and CPU time of documents of hostile shapes at three sizes, with the exponent of growth.

    python benchmarks/scale/hostile.py [--memory 300MB] [--size 25000] [--only NAME]

Each shape is written at SIZE, 2 SIZE and 4 SIZE documents, and `lookalike dedup` and `groups` run on it within the
budget. An exponent is the slope of log(CPU seconds) or log(peak memory) over log(documents), less that of a run on one
document. "a key per row" has its own JSON key in every row; kept rows are written as JSON Lines, as a table would
need a column for each. A run that is refused says so. Writes hostile.json into the folder .bench.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import above  # noqa: F401

from measure import measure

HERE = Path(__file__).resolve().parents[1]
DRAW = random.Random(1)
WORDS = [f"{DRAW.randrange(16**6):06x}" for _ in range(20_000)]
TEMPLATE, FOOTER = DRAW.choices(WORDS, k=300), " ".join(DRAW.choices(WORDS, k=80))


PER_ROW_KEYS = "a key per row"


def text(words: int) -> str:
    return " ".join(DRAW.choices(WORDS, k=words))


def near_copy() -> str:
    words = TEMPLATE[:]
    for _ in range(3):
        words[DRAW.randrange(len(words))] = DRAW.choice(WORDS)
    return " ".join(words)


SHAPES: dict[str, Callable[[int], Iterator[str]]] = {
    "near-copies": lambda count: (near_copy() for _ in range(count)),
    "equal rows": lambda count: (" ".join(TEMPLATE[:60]) for _ in range(4 * count)),
    "footer": lambda count: (f"{text(60)} {FOOTER}" for _ in range(count)),
    "ordinary": lambda count: (text(100) for _ in range(2 * count)),
    "long ones": lambda count: (text(500_000) for _ in range(max(1, count // 5_000))),
    PER_ROW_KEYS: lambda count: (text(40) for _ in range(count)),
    "one long document": lambda count: (text(40 * count if n == 7 else 100) for n in range(1000)),
}


OUTPUTS = {"dedup": "hostile-out.jsonl", "groups": "hostile-out.csv"}


def exponent(sizes: list[int], seconds: list[float]) -> float | None:
    """The least-squares slope on logarithmic axes; None where a run took no measurable time."""
    if len(seconds) < 2 or min(seconds) <= 0:
        return None
    x, y = [math.log(size) for size in sizes], [math.log(second) for second in seconds]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    slope = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return slope / sum((a - mean_x) ** 2 for a in x)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--memory", default="300MB")
    parser.add_argument("--size", type=int, default=25_000)
    parser.add_argument("--only", choices=list(SHAPES))
    given = parser.parse_args()
    home = HERE.parent / ".bench"
    home.mkdir(exist_ok=True)

    def run(asked: str, path: Path) -> dict[str, Any]:
        program = [sys.executable, "-m", "lookalike", asked, str(path), "-o", OUTPUTS[asked], "--force", "-q"]
        return measure([*program, "--memory", given.memory], folder=home, log=home / "hostile.txt", timeout=600)

    def written(name: str, lines: Iterator[str]) -> Path:
        path = home / f"hostile-{name.replace(' ', '-')}.jsonl"
        with path.open("w") as file:
            for number, line in enumerate(lines):
                keys = {f"key {number}": number} if name == PER_ROW_KEYS else {}
                file.write(json.dumps({"text": line, **keys}) + "\n")
        return path

    single = written("start", iter([text(50)]))
    first = [run("dedup", single) for _ in range(3)]
    start = {name: min(one[name] for one in first) for name in ("cpu_seconds", "peak_bytes")}
    results = []
    chosen = {shape: make for shape, make in SHAPES.items() if given.only in (None, shape)}
    sizes = [given.size, 2 * given.size, 4 * given.size]
    for shape, make in chosen.items():
        runs: dict[str, list[dict[str, Any]]] = {"dedup": [], "groups": []}
        for count in sizes:
            path = written(shape, make(count))
            for asked, rows in runs.items():
                rows.append({"shape": shape, "asked": asked, "count": count, **run(asked, path)})
                last = rows[-1]
                print(
                    f"{shape}, {asked}, {count:,}: {last['cpu_seconds']:.1f} CPU s, {last['peak_bytes'] / 1e6:,.0f} MB "
                    f"of {given.memory}, {last.get('message', last['status'])}"
                )
            path.unlink()
        for asked, rows in runs.items():
            good = [row for row in rows if row["status"] == "ok"]
            for name, what, noise in (("cpu_seconds", "CPU time", 0.2), ("peak_bytes", "memory", 20e6)):
                more = [row[name] - start[name] for row in good]
                slope = exponent([row["count"] for row in good], more) if max(more, default=0) > noise else None
                grows = "not measurable" if slope is None else f"{slope:.2f}"
                print(f"{shape}, {asked}: exponent of {what} {grows}")
        results += [row for rows in runs.values() for row in rows]
    (home / "hostile.json").write_text(json.dumps({"memory": given.memory, "runs": results}, indent=1))


if __name__ == "__main__":
    main()
