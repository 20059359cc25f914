"""Records with one set of defaults on sets that these were not made for: generated strangers, other packages' data, old
data in new roles.

python benchmarks/records_unseen.py [--only WORD] [--seeds 1] [--no-packages]

Writes .bench/records_unseen.json.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from machine import machine, versions
from strangers import families
from unseen_sets import Task, fetch, packaged, roles, same

HERE = Path(__file__).parent


def generated(seeds: range) -> Iterator[Task]:
    """The strangers, with their truth as pairs."""
    for family in families():
        for seed in seeds:
            tables, who = family.make(seed)
            ids = [table["id"].to_pylist() for table in tables]
            if len(tables) == 1:
                truth = same(ids[0], who[0].tolist())
            else:
                of = {person: one for one, person in zip(ids[0], who[0].tolist(), strict=True)}
                truth = {(of[person], one) for one, person in zip(ids[1], who[1].tolist(), strict=True)}
            yield Task(f"{family.name}", tables, truth)


def score(task: Task, **options: Any) -> dict[str, Any]:
    """Precision, recall and F1 of the answer; recall and number of the candidates; false pairs per thousand records."""
    from lookalike.core.trace import Trace
    from lookalike.kinds.records.local import found, searched
    from lookalike.kinds.records.source import open_records
    from lookalike.result import answer

    started = time.perf_counter()
    opened = [open_records(table, id="id") for table in task.tables]
    trace = Trace()
    made = searched(opened, {"audit": 0, **options}, trace)
    pairs = answer("pairs", "components", made.job, opened, found(made), trace).pairs
    seconds = time.perf_counter() - started
    names = [made.loaded.ids[0].to_pylist(), made.loaded.ids[-1].to_pylist()]
    offset = len(made.loaded) - len(names[1])
    place = [{str(v): n for n, v in enumerate(names[0])}, {str(v): n + offset for n, v in enumerate(names[1])}]
    table, number = made.search.table, made.search.number
    met = set((table.left.astype(np.int64) << 32 | table.right.astype(np.int64)).tolist())
    classes = [sorted((int(number[place[0][a]]), int(number[place[1][b]]))) for a, b in task.truth]
    candidates = sum(a == b or (a << 32 | b) in met for a, b in classes)
    got = set(zip(map(str, pairs["left"].to_pylist()), map(str, pairs["right"].to_pylist()), strict=True))
    if len(task.tables) == 1:
        got = {(min(pair), max(pair)) for pair in got}
    right, records = len(got & task.truth), len(made.loaded)
    return {
        "set": task.name, **options, "records": records, "tables": len(task.tables), "true": len(task.truth),
        "found": len(got), "precision": right / max(len(got), 1), "recall": right / max(len(task.truth), 1),
        "f1": 2 * right / max(len(got) + len(task.truth), 1) if task.truth else None,
        "false_per_1000": 1000 * (len(got) - right) / records, "threshold": made.job.threshold,
        "candidate_recall": candidates / len(task.truth) if task.truth else None,
        "candidates_per_record": 2 * len(table) / records, "seconds": round(seconds, 2),
    }  # fmt: skip


def table(runs: list[dict[str, Any]]) -> str:
    """As Markdown."""
    names = ("set", "records", "tables", "true pairs", "F1", "precision", "recall", "false per 1000",
             "candidates' recall", "per record", "threshold")  # fmt: skip
    lines = ["| " + " | ".join(names) + " |", "|---" * 11 + "|"]
    for r in runs:
        f1, recall = ("" if r[name] is None else f"{r[name]:.3f}" for name in ("f1", "candidate_recall"))
        cells = (r["set"], f"{r['records']:,}", r["tables"], f"{r['true']:,}", f1, f"{r['precision']:.3f}",
                 f"{r['recall']:.3f}", f"{r['false_per_1000']:.1f}", recall, f"{r['candidates_per_record']:.1f}",
                 f"{r['threshold']:.2f}")  # fmt: skip
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    known = [r["f1"] for r in runs if r["f1"] is not None]
    worst = max((r["false_per_1000"] for r in runs if r["f1"] is None), default=0.0)
    lines.append(
        f"\nMean F1 {np.mean(known or [0]):.4f} of {len(known)} sets; "
        f"without any match at most {worst:.1f} false per 1000."
    )
    return "\n".join(lines) + "\n"


def tasks(given: argparse.Namespace, home: Path) -> Iterator[Task]:
    data = Path(os.environ.get("LOOKALIKE_DATA", HERE.parent.parent / "shared/data"))
    every: list[Iterator[Task]] = [generated(range(1, given.seeds + 1))]
    if (data / "febrl").is_dir():
        every.append(roles(data))
    if not given.no_packages:
        fetch(home / "unseen")
        every.append(packaged(home / "unseen"))
    for some in every:
        for task in some:
            if not given.only or any(word in task.name for word in given.only):
                yield task


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", action="append", help="sets whose name holds this word (repeatable)")
    parser.add_argument("--seeds", type=int, default=1, help="how often each family is generated again")
    parser.add_argument("--no-packages", action="store_true", help="nothing that must be fetched")
    given = parser.parse_args()
    home = (HERE.parent / ".bench").resolve()
    home.mkdir(exist_ok=True)
    runs = []
    for task in tasks(given, home):
        runs.append(score(task))
        sys.stderr.write(json.dumps(runs[-1]) + "\n")
    (home / "records_unseen.json").write_text(
        json.dumps({"machine": machine(), "versions": versions(), "sets": runs}, indent=1) + "\n"
    )
    sys.stdout.write(table(runs))


if __name__ == "__main__":
    main()
