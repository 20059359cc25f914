"""Where records lose: by candidates, by ranking or by the cut, on sets that chose the defaults and on others.

python benchmarks/records_study.py [--half development|held_out|named|all] [--only WORD] [--largest RECORDS] [--vary]

For every set: the recall of the candidates; the best F1 that any cut of the scores has (what the ranking allows); the
F1 of the cut that was chosen. `--vary` halves and doubles every constant of weights and cuts and says what the mean F1
does. Writes .bench/records_study.json.

Sets of the development half are those that defaults may be chosen by. `held_out` are other kinds of things, by other
generators and from other packages; `named` are the sets of the quality benchmark. Neither is looked at while something
is chosen.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import shapes
from machine import machine, versions
from records import data_sets
from records_unseen import generated
from unseen_sets import Task, fetch, packaged

# promise: docs/how-to/records.md | 0.83 for voters with their households, 0.94 for a census

HERE = Path(__file__).parent
NEIGHBOURS = 10
HALVES = ("development", "held_out", "named")


def tasks(half: str, home: Path) -> Iterator[Task]:
    """The sets of one half."""
    if half == "named":
        data = Path(os.environ.get("LOOKALIKE_DATA", HERE.parent.parent / "shared/data"))
        for name, left, right, id_column, truth in data_sets(data):
            tables = [
                pa.Table.from_pylist(rows).rename_columns({id_column: "id"})
                for rows in (left, right)
                if rows is not None
            ]
            yield Task(name, tables, truth)
        return
    development = half == "development"
    for shape in shapes.development() if development else shapes.held_out():
        for seed in (1, 2):
            yield shape.task(seed)
    for number, task in enumerate(generated(range(1, 2) if development else range(2, 3))):
        if (number % 2 == 0) == development:
            yield task
    fetch(home / "unseen")
    fuzzy = 0
    for task in packaged(home / "unseen"):
        if task.name.startswith("autofj"):
            fuzzy += 1
            if (fuzzy <= 25) == development:
                yield task
        elif (task.name in DEVELOPED) == development:
            yield task


DEVELOPED = ("RLdata 500", "PatentsView inventors", "Amazon-Google as one table")


@dataclass(frozen=True)
class Prepared:
    """A set whose candidates are found and compared (`search`), nothing learned yet. keys u64[t], counts i64[t]: class
    pairs that hold true pairs; within, right: pairs inside classes, and the true ones among them; left, other
    i64[classes]: records of each class in the first and in the second table."""

    task: Task
    search: Any
    rules: Any
    records: int
    keys: np.ndarray
    counts: np.ndarray
    within: int
    right: int
    left: np.ndarray
    other: np.ndarray

    @classmethod
    def of(cls, task: Task) -> Prepared:
        from lookalike.core.trace import Trace
        from lookalike.kinds.records.equal_records import equal_records
        from lookalike.kinds.records.local import load
        from lookalike.kinds.records.search import Search
        from lookalike.kinds.records.source import open_records
        from lookalike.kinds.records.spec import RecordJob
        from lookalike.runtime.local.pool import Pool

        with Pool(2) as pool:
            loaded, rules = load([open_records(one, id="id") for one in task.tables], None, None, pool, Trace())
            classes = equal_records(loaded.fields, np.arange(len(loaded)), loaded.split, collapse=True)
            job = RecordJob(rules=rules, threshold=0.5, neighbours=NEIGHBOURS)
            search = Search.of(loaded.fields, classes, loaded.split, pool, Trace(), job)
        names = [loaded.ids[0].to_pylist(), loaded.ids[-1].to_pylist()]
        offset = len(loaded) - len(names[1])
        place = [{str(v): n for n, v in enumerate(names[0])}, {str(v): n + offset for n, v in enumerate(names[1])}]
        ends = np.array([(place[0][a], place[1][b]) for a, b in task.truth], np.int64).reshape(-1, 2)
        pairs = search.number[ends]
        pairs = np.sort(pairs[(pairs >= 0).all(axis=1)], axis=1).astype(np.uint64)
        apart = pairs[:, 0] != pairs[:, 1]
        keys, counts = np.unique(pairs[apart, 0] << np.uint64(32) | pairs[apart, 1], return_counts=True)
        cut = loaded.split if loaded.split >= 0 else len(loaded)
        first, second = (
            np.bincount(part[part >= 0], minlength=len(classes)) for part in (search.number[:cut], search.number[cut:])
        )
        within = (first * second).sum() if loaded.split >= 0 else (first * (first - 1) // 2).sum()
        right = int((~apart).sum())
        return cls(task, search, rules, len(loaded), keys, counts, int(within), right, first, second)

    def weights(self, table: Any) -> tuple[np.ndarray, np.ndarray]:
        """(pairs of records, true ones) of every candidate."""
        a, b = table.left.astype(np.int64), table.right.astype(np.int64)
        if table.split >= 0:
            pairs = self.left[a] * self.other[b] + self.other[a] * self.left[b]
        else:
            pairs = self.left[a] * self.left[b]
        packed = table.packed
        at = np.minimum(np.searchsorted(self.keys, packed), max(len(self.keys) - 1, 0))
        true = (
            np.where(self.keys[at] == packed, self.counts[at], 0) if len(self.keys) else np.zeros(len(packed), np.int64)
        )
        return pairs, true

    def judge(self, table: Any, score: np.ndarray, cut: float) -> dict[str, float]:
        """F1, precision and recall at the cut, the best F1 of any cut, the recall of the candidates."""
        pairs, true = self.weights(table)
        total = max(len(self.task.truth), 1)
        keep = score >= np.float32(cut)
        found, right = self.within + int(pairs[keep].sum()), self.right + int(true[keep].sum())
        order = np.argsort(-score, kind="stable")
        f1 = 2 * (self.right + np.cumsum(true[order])) / (self.within + np.cumsum(pairs[order]) + total)
        ends = np.append(score[order][1:] != score[order][:-1], True)[: len(f1)]
        return {
            "f1": 2 * right / (found + total),
            "precision": right / max(found, 1),
            "recall": right / total,
            "best_f1": float(max(f1[ends].max(initial=0.0), 2 * self.right / (self.within + total))),
            "candidate_recall": (self.right + int(true.sum())) / total,
            "threshold": cut,
            "false_per_1000": 1000 * (found - right) / self.records,
        }

    def again(self, *, single: bool = False, by: str = "auto", **rules: Any) -> dict[str, Any]:
        """Weights, cut and scores learned from the candidates, and what comes of them."""
        from lookalike.core.trace import Trace

        search = self.search
        if self.rules.whole == 0:  # only one column, whose words are those of the whole record
            rules.pop("whole", None)
        made, score = search.scores(replace(self.rules, **rules), by, None, single)
        if search.table.split < 0 and not any(made.sides(across=False)):
            search, score = search.widened(made, score, Trace())
        about = {"set": self.task.name, "records": self.records, "tables": len(self.task.tables)}
        about |= {"true": len(self.task.truth), "rivals": made.rivals}
        return about | self.judge(search.table, score, float(made.threshold or 0.5))


def table(runs: list[dict[str, Any]]) -> str:
    names = (
        "set",
        "records",
        "tables",
        "true pairs",
        "candidates' recall",
        "best F1 of any cut",
        "F1",
        "precision",
        "recall",
        "lost by",
    )
    lines = ["| " + " | ".join(names) + " |", "|---" * len(names) + "|"]
    for r in runs:
        if not r["true"]:
            lines.append(
                f"| {r['set']} | {r['records']:,} | {r['tables']} | 0 | | | {r['false_per_1000']:.1f} false per 1000"
                " | | | |"
            )
            continue
        loss = {
            "candidates": 1 - 2 * r["candidate_recall"] / (1 + r["candidate_recall"]),
            "cut": r["best_f1"] - r["f1"],
        }
        loss["ranking"] = max(0.0, 1 - loss["candidates"] - r["best_f1"])
        worst = max(loss, key=lambda name: loss[name])
        cells = (
            r["set"],
            f"{r['records']:,}",
            r["tables"],
            f"{r['true']:,}",
            *(f"{r[n]:.3f}" for n in ("candidate_recall", "best_f1", "f1", "precision", "recall")),
            f"{worst} {loss[worst]:.3f}" if loss[worst] >= 0.01 else "",
        )
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def means(runs: list[dict[str, Any]]) -> str:
    parts = []
    for count in (1, 2):
        some = [r for r in runs if r["tables"] == count and r["true"]]
        if some:
            parts.append(
                f"{count} table{'s' * (count > 1)}: mean F1 {np.mean([r['f1'] for r in some]):.4f}, best of any cut "
                f"{np.mean([r['best_f1'] for r in some]):.4f}, {len(some)} sets"
            )
    none = [r for r in runs if not r["true"]]
    if none:
        parts.append(
            f"no match at all: {np.mean([r['false_per_1000'] for r in none]):.2f} false per 1000, {len(none)} sets"
        )
    return "; ".join(parts) + "\n"


CONSTANTS = (
    ("threshold", "LIFT", 0.25, 1.0),
    ("threshold", "FALL", 4.0, 16.0),
    ("threshold", "NOISE", 1.5, 6.0),
    ("threshold", "DOUBT", 0.1, 0.4),
    ("threshold", "FURTHER", 0.05, 0.2),
    ("threshold", "BLUR", 0.075, 0.3),
    ("threshold", "SHARES", (1.0,), (1.0, 0.5, 0.25, 0.0)),
    ("threshold", "MIN_PAIRS", 10, 40),
    ("pair_table", "MIN_WEIGHT_SHARE", 0.15, 0.6),
    ("em_composite", "AGREE", 0.25, 0.75),
    ("em_composite", "MIN_INDEPENDENCE", 0.1, 0.4),
    ("em", "MATCHED", 0.125, 0.5),
    ("em", "OWN", 0.25, 0.75),
    ("em", "SPREADS", 1, 4),
    ("em", "PRIOR", 2.5, 10),
    ("em", "ENOUGH_DRAWN", 10, 40),
    ("em_three_class", "BY_CHANCE", 1.4, 4),
)


def varied(sets: Sequence[Prepared]) -> Iterator[dict[str, Any]]:
    """Mean F1 of one-table and of two-table sets, and false pairs where there are none, by every constant."""
    from lookalike.kinds.records import em, em_composite, em_three_class, pair_table, threshold

    homes = {
        "em": em,
        "em_composite": em_composite,
        "pair_table": pair_table,
        "em_three_class": em_three_class,
        "threshold": threshold,
    }

    def row(name: str, value: Any, **rules: Any) -> dict[str, Any]:
        runs = [(len(one.task.tables), bool(one.task.truth), one.again(**rules)) for one in sets]
        made: dict[str, Any] = {"constant": name, "value": value}
        for count in (1, 2):
            made[f"f1_{count}"] = float(np.mean([r["f1"] for n, true, r in runs if n == count and true] or [np.nan]))
        made["false"] = float(np.mean([r["false_per_1000"] for _, true, r in runs if not true] or [np.nan]))
        return made

    yield row("as it is", "")
    for share in (0.25, 0.75):
        yield row("whole", share, whole=share)
    for home, name, *values in CONSTANTS:
        users = [module for module in homes.values() if hasattr(module, name)]
        kept = getattr(homes[home], name)
        for value in values:
            for module in users:
                setattr(module, name, value)
            yield row(name, value)
        for module in users:
            setattr(module, name, kept)


def variations(rows: Sequence[dict[str, Any]]) -> str:
    """What changes against the first row."""
    base = rows[0]
    lines = ["| constant | value | one table | two tables | false per 1000 without any match |", "|---" * 5 + "|"]
    lines.append(f"| as it is | | {base['f1_1']:.4f} | {base['f1_2']:.4f} | {base['false']:.2f} |")
    for r in rows[1:]:
        cells = (f"{r[key] - base[key]:+.4f}" for key in ("f1_1", "f1_2"))
        lines.append(f"| {r['constant']} | {r['value']} | {' | '.join(cells)} | {r['false'] - base['false']:+.2f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--half", choices=(*HALVES, "all"), default="development")
    parser.add_argument("--only", action="append", help="sets whose name holds this word (repeatable)")
    parser.add_argument("--vary", action="store_true", help="halve and double every constant")
    parser.add_argument("--largest", type=int, default=0, help="leave out sets of more records")
    given = parser.parse_args()
    home = (HERE.parent / ".bench").resolve()
    home.mkdir(exist_ok=True)
    out: dict[str, Any] = {"machine": machine(), "versions": versions()}
    for half in HALVES if given.half == "all" else (given.half,):
        sets = []
        for task in tasks(half, home):
            rows = sum(table.num_rows for table in task.tables)
            wanted = not given.only or any(word in task.name for word in given.only)
            if not wanted or (given.largest and rows > given.largest):
                continue
            sets.append(Prepared.of(task))
            sys.stderr.write(json.dumps(sets[-1].again()) + "\n")
        runs = [one.again() for one in sets]
        out[half] = {"sets": runs}
        sys.stdout.write(f"\n{half}\n\n{table(runs)}\n{means(runs)}")
        if given.vary:
            rows_ = []
            for row in varied(sets):
                rows_.append(row)
                sys.stderr.write(json.dumps(row) + "\n")
            out[half]["varied"] = rows_
            sys.stdout.write("\n" + variations(rows_))
    (home / "records_study.json").write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
