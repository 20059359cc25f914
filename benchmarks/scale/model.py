"""The model of docs/explanation/scale.md next to measured runs.

    python benchmarks/scale/model.py [--most 7] [--only short]

Generated documents of 1.7 kB (10^4 to 10^6 of them) and of 270 bytes (10^4 to 10^7; longer ones would not fit a small
machine). Each run is its own process: `lookalike pairs --method lsh`, from Parquet to the pairs. What the
documents are like (shingles in a byte, copies, partners) is taken from the smallest run of each kind; the costs are
those of `lookalike plan --calibrate`, or the shipped ones. Writes .bench/model.json and .bench/model.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import above  # noqa: F401

from machine import machine, versions
from measure import measure

# promise: docs/explanation/scale.md | documents of 1.7 kB, and of 270 bytes

HERE = Path(__file__).resolve().parents[1]
KINDS = {"long": (191, 6), "short": (30, 7)}  # words of the median document, most tens
FILE = 10**6  # documents of a file
MEMORY = "4GB"


def corpus(words: int, documents: int, home: Path) -> list[dict[str, Any]]:
    """The files of a collection, made in their own processes: this one must stay small (see measure.py)."""
    made = []
    for first in range(0, documents, FILE):
        command = [sys.executable, str(HERE / "corpora.py"), "generated", "--folder", str(home / "corpora")]
        command += ["--documents", str(min(FILE, documents)), "--seed", str(42 + first // FILE)]
        command += ["--words", str(words), "--first", str(first)]
        made.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    return made


def run(files: list[dict[str, Any]], home: Path, threads: int) -> dict[str, Any]:
    """Within MEMORY: above it, and from 2 GB of text on, arrays are in mapped files."""
    answer, log = home / "answers" / "model.parquet", home / "logs" / "model.txt"
    command = [str(Path(sys.executable).parent / "lookalike"), "pairs", *(file["path"] for file in files)]
    command += ["--method", "lsh", "-o", str(answer), "--force", "-q", "--threads", str(threads), "--memory", MEMORY]
    found = measure(command, folder=home, log=log, timeout=1800)
    found |= {"documents": sum(f["documents"] for f in files), "text_bytes": sum(f["text_bytes"] for f in files)}
    if found["status"] == "ok":
        receipt = json.loads(answer.with_name("model.receipt.json").read_text())
        found |= {"counts": receipt["counts"], "stages": receipt["seconds"]}
    return found


def predicted(one: dict[str, Any], like: dict[str, Any], threads: int) -> dict[str, Any]:
    """What the model says of a run, if its documents are like those of another one."""
    from lookalike.cost_model.costs import known_costs
    from lookalike.cost_model.scale import Load, Machine, estimate

    counts, n = like["counts"], like["documents"]
    copies = counts["exact_duplicates"] / n
    load = Load(
        items=one["documents"], mean_bytes=one["text_bytes"] / one["documents"], copies=copies,
        partners=2 * counts["candidates"] / (n * (1 - copies)), background=0.0,
        shingle_bytes=like["text_bytes"] / counts["shingles"],
    )  # fmt: skip
    known = known_costs()
    made = estimate(load, known.costs, Machine(threads=threads, memory=4e9), about=known.words())
    return {
        "cpu_seconds": made.cpu_hours * 3600, "seconds": made.seconds, "peak_bytes": made.memory, "costs": made.costs,
        "candidates": made.candidates.checked, "stages": made.cpu,
    }  # fmt: skip


def markdown(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| documents | text | core seconds: model | measured | ratio | memory: model | measured | seconds |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        model = row["model"]
        lines.append(
            f"| {row['documents']:,} | {row['text_bytes'] / 1e6:,.0f} MB | {model['cpu_seconds']:.1f} "
            f"| {row['cpu_seconds']:.1f} | {model['cpu_seconds'] / row['cpu_seconds']:.2f} "
            f"| {model['peak_bytes'] / 1e6:,.0f} MB | {row['peak_bytes'] / 1e6:,.0f} MB | {row['seconds']:.1f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=7, help="tens: 6 stops at a million documents")
    parser.add_argument("--least", type=int, default=4)
    parser.add_argument("--only", choices=list(KINDS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--home", type=Path, default=HERE.parent / ".bench")
    parser.add_argument("--merge", action="store_true", help="keep the other rows of the last results")
    given = parser.parse_args()
    home = given.home.resolve()
    for name in ("corpora", "answers", "logs"):
        (home / name).mkdir(parents=True, exist_ok=True)
    held = home / "model.json"
    rows: list[dict[str, Any]] = []
    for kind in [given.only] if given.only else list(KINDS):
        words, tens = KINDS[kind]
        for power in range(given.least, min(tens, given.most) + 1):
            files = corpus(words, 10**power, home)
            if power == 4:
                run(files, home, given.threads)  # kernels are compiled
            rows.append({"kind": kind, "power": power, **run(files, home, given.threads)})
            sys.stderr.write(f"{kind} 10^{power}: {rows[-1]['status']} {rows[-1]['cpu_seconds']} core seconds\n")
    if given.merge and held.exists():
        mine = {(row["kind"], row["power"]) for row in rows}
        old = json.loads(held.read_text())["runs"]
        rows = sorted(
            [*rows, *(r for r in old if (r["kind"], r["power"]) not in mine)], key=lambda r: (r["kind"], r["power"])
        )
    done = [row for row in rows if row["status"] == "ok"]
    for row in done:
        row["model"] = predicted(row, next(r for r in done if r["kind"] == row["kind"]), given.threads)
    held.write_text(json.dumps({"machine": machine(), "versions": versions(), "runs": rows}, indent=2) + "\n")
    (home / "model.md").write_text(markdown(done))
    sys.stdout.write(markdown(done))


if __name__ == "__main__":
    main()
