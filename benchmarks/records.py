"""Entity resolution without training: quality on data sets with known answers, speed on generated people.

python benchmarks/records.py [--rows 1000000] [--splink]

One set of defaults for all sets, no labels. The sets are in LOOKALIKE_DATA (default ../shared/data); without it
only the generated people are run. Writes .bench/records.json.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from machine import machine, versions
from measure import measure

Row = dict[str, str | None]
Pairs = set[tuple[str, str]]
HERE = Path(__file__).parent


def rows(path: Path, delimiter: str = ",") -> list[Row]:
    """A CSV file, perhaps gzipped; blanks around names and values do not count."""
    opener: Any = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", newline="", encoding="utf-8") as file:
        return [
            {k.strip(): v.strip() or None for k, v in row.items()} for row in csv.DictReader(file, delimiter=delimiter)
        ]


def listed(path: Path, left: str, right: str, delimiter: str = ",") -> Pairs:
    return {(str(row[left]), str(row[right])) for row in rows(path, delimiter)}


def data_sets(data: Path) -> Iterator[tuple[str, list[Row], list[Row] | None, str, Pairs]]:
    """(name, table, other table or None, column of ids, true pairs)."""
    clean = data / "er-clean-clean"
    for name, number, one, other, mark in (("DBLP-ACM", 4, "dblp", "acm", "%"), ("Abt-Buy", 2, "abt", "buy", "|")):
        tables = [rows(clean / f"D{number}_{table}.csv.gz", mark) for table in (one, other)]
        yield name, *tables, "id", listed(clean / f"D{number}_gt.csv.gz", "D1", "D2", mark)
    food = data / "fodors-zagats"
    truth = listed(food / "matches_fodors_zagats.csv", "fodors_id", "zagats_id")
    yield "Fodors-Zagats", rows(food / "fodors.csv"), rows(food / "zagats.csv"), "id", truth
    for number in (1, 2, 3):
        table = rows(data / f"febrl/dataset{number}.csv.gz")
        ids = [str(row["rec_id"]) for row in table]
        same: dict[str, list[str]] = {}
        for one in ids:
            same.setdefault(one.split("-")[1], []).append(one)
        yield f"FEBRL {number}", table, None, "rec_id", {(a, b) for g in same.values() for a in g for b in g if a < b}
    tables = [rows(data / f"febrl/dataset4{part}.csv.gz") for part in "ab"]
    second = {str(row["rec_id"]).split("-")[1]: str(row["rec_id"]) for row in tables[1]}
    first = [str(row["rec_id"]) for row in tables[0]]
    yield "FEBRL 4", *tables, "rec_id", {(a, second[a.split("-")[1]]) for a in first if a.split("-")[1] in second}


def quality(name: str, one: list[Row], other: list[Row] | None, id_column: str, truth: Pairs, **options: Any) -> dict:
    """Precision, recall and F1 of the answer, and the recall of the candidates."""
    import lookalike as la
    from lookalike.core.trace import Trace
    from lookalike.kinds.records.local import searched
    from lookalike.kinds.records.source import open_records

    tables = [pa.Table.from_pylist(table) for table in (one, other) if table is not None]
    against = tables[1] if other is not None else None
    result = la.records.pairs(tables[0], against=against, id=id_column, audit=0, **options)
    made = searched([open_records(t, id=id_column) for t in tables], {"audit": 0}, Trace())
    ids = [made.loaded.ids[0].to_pylist(), made.loaded.ids[-1].to_pylist()]
    offset = len(made.loaded) - len(ids[1])
    table = made.search.table
    met = set(zip(table.left.tolist(), table.right.tolist(), strict=True))
    place = [{str(one): n for n, one in enumerate(ids[0])}, {str(one): n + offset for n, one in enumerate(ids[1])}]
    number = made.search.number
    classes = [sorted((int(number[place[0][a]]), int(number[place[1][b]]))) for a, b in truth]
    candidates = sum(a == b or (a, b) in met for a, b in classes)
    answer = (result.pairs["left"].to_pylist(), result.pairs["right"].to_pylist())
    found = {(str(a), str(b)) for a, b in zip(*answer, strict=True)}
    if other is None:
        found = {(min(pair), max(pair)) for pair in found}
    correct = len(found & truth)
    return {
        "set": name, **options, "records": sum(t.num_rows for t in tables), "true_pairs": len(truth),
        "precision": correct / max(len(found), 1), "recall": correct / len(truth),
        "f1": 2 * correct / (len(found) + len(truth)), "threshold": result.job.threshold,
        "candidate_recall": candidates / len(truth),
        "candidates_per_record": 2 * len(table) / sum(t.num_rows for t in tables),
        "seconds": round(sum(result.receipt["seconds"].values()), 2),
    }  # fmt: skip


def generated(home: Path, count: int, *, splink: bool) -> list[dict[str, Any]]:
    """Seconds, memory and F1 on generated people: whole processes, from Parquet to pairs."""
    folder = home / f"people-{count}"
    if not (folder / "truth.parquet").exists():
        subprocess.run([sys.executable, HERE / "people.py", folder, "--rows", str(count)], check=True)
    out = home / "people-pairs.parquet"
    run = [
        sys.executable,
        "-m",
        "lookalike.cli.main",
        "records",
        "pairs",
        folder / "people.parquet",
        "-o",
        out,
        "--force",
        "-q",
    ]
    made = []
    for number in range(2):  # the first run compiles the kernels
        out.unlink(missing_ok=True)
        done = measure([str(word) for word in run], folder=home, log=home / "people.log", timeout=1800)
        made.append({"tool": "lookalike", "rows": count, "compiled": number > 0, **done, **scored(out, folder)})
    if splink:
        run = [sys.executable, HERE / "peers/splink_people.py", folder / "people.parquet", out]
        out.unlink(missing_ok=True)
        done = measure([str(word) for word in run], folder=home, log=home / "splink.log", timeout=1800)
        made.append({"tool": "splink", "rows": count, **done, **scored(out, folder)})
    return made


def scored(answer: Path, folder: Path) -> dict[str, float]:
    """Precision, recall and F1 against the persons that were generated."""
    import numpy as np

    if not answer.exists():
        return {}
    person = pq.read_table(folder / "truth.parquet")["group"].to_numpy()
    pairs = pq.read_table(answer, columns=["left", "right"])
    left, right = pairs["left"].to_numpy(), pairs["right"].to_numpy()
    counts = np.bincount(person)
    true, correct = int((counts * (counts - 1) // 2).sum()), int((person[left] == person[right]).sum())
    return {"precision": correct / max(len(left), 1), "recall": correct / true, "f1": 2 * correct / (len(left) + true)}


def table(runs: list[dict[str, Any]]) -> str:
    """The runs on the data sets as Markdown."""
    lines = [
        "| set | one to one | F1 | precision | recall | candidates' recall | candidates per record | s |",
        "|---" * 8 + "|",
    ]
    for run in runs:
        single = "yes" if run.get("one_to_one") else ""
        cells = [
            run["set"],
            single,
            *(f"{run[name]:.4f}" for name in ("f1", "precision", "recall", "candidate_recall")),
        ]
        lines.append("| " + " | ".join([*cells, f"{run['candidates_per_record']:.1f}", f"{run['seconds']:.1f}"]) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rows", type=int, default=1_000_000, help="generated people; 0 for none")
    parser.add_argument("--splink", action="store_true", help="also run Splink on the generated people")
    given = parser.parse_args()
    home = (HERE.parent / ".bench").resolve()
    home.mkdir(exist_ok=True)
    data = Path(os.environ.get("LOOKALIKE_DATA", HERE.parent.parent / "shared/data"))
    runs: list[dict[str, Any]] = []
    if (data / "febrl").is_dir():
        for name, one, other, id_column, truth in data_sets(data):
            for single in (False, True) if other is not None else (False,):
                runs.append(quality(name, one, other, id_column, truth, **({"one_to_one": True} if single else {})))
                sys.stderr.write(json.dumps(runs[-1]) + "\n")
    else:
        sys.stderr.write(
            f"{data} is missing: set LOOKALIKE_DATA to the folder with febrl, er-clean-clean, fodors-zagats.\n"
        )
    made = generated(home, given.rows, splink=given.splink) if given.rows else []
    result = {"machine": machine(), "versions": versions(), "sets": runs, "people": made}
    (home / "records.json").write_text(json.dumps(result, indent=1) + "\n")
    sys.stdout.write(table(runs) + "\n" + "".join(json.dumps(run) + "\n" for run in made))


if __name__ == "__main__":
    main()
