"""Forecasts of `lookalike plan INPUTS` compared with their runs: whether the intervals hold.

    python benchmarks/forecasts.py [--only WORD] [--half development|reported]

Each corpus is forecast, then a separate process finds its pairs with `lookalike pairs`: pairs, candidates and method
of the receipt, wall and core seconds, peak resident memory, and most bytes in the work folder. The constants of the
forecast come from the half `development`; the half `reported` are generated shapes that shaped nothing and the real
data in LOOKALIKE_DATA. Where about a third of a corpus is read, counts are extrapolated. Each run is made twice, with
compiled kernels, and the faster one counts. Elapsed time is judged only where the machine is idle. Writes
.bench/forecasts.json.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import random
import shutil
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from measure import measure
from shared_data import place

# promise: docs/how-to/large.md | Of 40 forecasts of 20 corpora

HERE = Path(__file__).resolve().parent
READ = 64 << 20
Texts = list[str]
Make = Callable[[random.Random], Texts]
FORECAST = (
    "import sys; from lookalike.kinds.documents import forecast as f; f.READ_BYTES = int(sys.argv.pop(1)); "
    "from lookalike.cli.main import main; main()"
)


def words(draw: random.Random, count: int, vocabulary: int = 20_000) -> list[str]:
    return [f"w{int(vocabulary ** draw.random())}" for _ in range(count)]


def edited(draw: random.Random, text: list[str], rate: float) -> list[str]:
    return [f"e{draw.randrange(10**6)}" if draw.random() < rate else word for word in text]


def articles(count: int, length: int, *, near: float = 0.2, rate: float = 0.01) -> Make:
    """Unrelated texts of `length` words, and edited copies of some."""

    def make(draw: random.Random) -> Texts:
        base = [words(draw, draw.randint(length // 2, 2 * length)) for _ in range(max(1, int(count * (1 - near))))]
        copies = [edited(draw, draw.choice(base), rate * 2 * draw.random()) for _ in range(count - len(base))]
        return [" ".join(text) for text in base + copies]

    return make


def groups(count: int, length: int, largest: float) -> Make:
    """Groups of near-copies whose sizes fall as 1 / rank; the largest has this share of all texts."""

    def make(draw: random.Random) -> Texts:
        texts: Texts = []
        for rank in range(1, 40):
            template = words(draw, length)
            texts += [" ".join(edited(draw, template, 0.01)) for _ in range(int(count * largest / rank))]
        return texts + [" ".join(words(draw, length)) for _ in range(max(0, count - len(texts)))]

    return make


def footers(count: int, length: int, shared: int) -> Make:
    """Texts that all end alike."""

    def make(draw: random.Random) -> Texts:
        footer = words(draw, shared)
        return [" ".join(words(draw, length, 10**9) + footer) for _ in range(count)]

    return make


def copies(count: int, length: int, share: float) -> Make:
    def make(draw: random.Random) -> Texts:
        base = [" ".join(words(draw, length)) for _ in range(max(1, int(count * (1 - share))))]
        return base + [draw.choice(base) for _ in range(count - len(base))]

    return make


def logs(count: int, *_: int) -> Make:
    """Lines of a log: a few templates with numbers, short."""

    def make(draw: random.Random) -> Texts:
        kinds = [words(draw, draw.randint(6, 14)) for _ in range(300)]
        return [
            " ".join([*draw.choice(kinds), str(draw.randrange(10**4)), str(draw.randrange(10**4))])
            for _ in range(count)
        ]

    return make


def letters(count: int, *_: int) -> Make:
    """Form letters: paragraphs out of a stock, in order."""

    def make(draw: random.Random) -> Texts:
        stock = [" ".join(words(draw, 40)) for _ in range(count // 4)]
        return [" ".join(draw.sample(stock, draw.randint(2, 8))) for _ in range(count)]

    return make


def versions(count: int, length: int) -> Make:
    """Pages in up to ten versions, each an edit of the one before."""

    def make(draw: random.Random) -> Texts:
        texts: Texts = []
        while len(texts) < count:
            page = words(draw, int(length * draw.lognormvariate(0, 0.8)) + 5)
            for _ in range(draw.randint(1, 10)):
                texts.append(" ".join(page))
                page = edited(draw, page, 0.004)
        return texts[:count]

    return make


def hexes(count: int, length: int) -> Make:
    """Random identifiers: every word is new."""

    def make(draw: random.Random) -> Texts:
        return [" ".join(f"{draw.getrandbits(48):x}" for _ in range(length)) for _ in range(count)]

    return make


def generated(count: int, length: int) -> Make:
    """The corpus of generated.py with another seed."""

    def make(draw: random.Random) -> Texts:
        from generated import generate

        batches = generate(count, seed=draw.randrange(1 << 30), rows=5000, words=length)
        return [text for batch in batches for text in batch["text"].to_pylist()]

    return make


def django(draw: random.Random) -> Texts:
    with tarfile.open(place("django-docs-versions") / "django_docs.tar.xz") as archive:
        files = [archive.extractfile(member) for member in archive if member.isfile()]
        return [file.read().decode("utf-8", "replace") for file in files if file is not None]


def licences(draw: random.Random) -> Texts:
    with gzip.open(place("spdx-licenses") / "spdx-full.json.gz", "rt") as file:
        found: Texts = []

        def walk(value: Any) -> None:
            if isinstance(value, str) and len(value) > 200:
                found.append(value)
            elif isinstance(value, dict | list):
                for part in value.values() if isinstance(value, dict) else value:
                    walk(part)

        walk(json.load(file))
        return found


def news(name: str) -> Make:
    def make(draw: random.Random) -> Texts:
        with gzip.open(place("minhash-articles") / f"articles_{name}.train.gz", "rt", errors="replace") as file:
            return [line.partition(" ")[2].strip() for line in file]

    return make


def products(draw: random.Random) -> Texts:
    texts: Texts = []
    for name in ("D2_abt", "D2_buy", "D4_acm", "D4_dblp"):
        with gzip.open(place("er-clean-clean") / f"{name}.csv.gz", "rt", errors="replace") as file:
            texts += [" ".join(row[1:]) for row in csv.reader(file, delimiter="|")]
    return texts


def modules(draw: random.Random) -> Texts:
    """The Python files of this Python and of its packages."""
    files = sorted(Path(os.__file__).parent.rglob("*.py"))
    return [file.read_text(errors="replace") for file in files if file.stat().st_size]


def manual(draw: random.Random) -> Texts:
    """Copyright files and notes of the installed packages of the system."""
    files = [f for f in sorted(Path("/usr/share/doc").rglob("*")) if f.is_file() and f.suffix in ("", ".txt", ".md")]
    return [text for file in files if (text := file.read_text(errors="replace")).strip()]


DEVELOPMENT: dict[str, tuple[Make, str, list[str]]] = {
    "few": (articles(100, 100), "parquet", []),
    "articles-3k": (articles(3_000, 100), "csv", []),
    "articles-20k": (articles(20_000, 200), "parquet", []),
    "articles-20k-t5": (articles(20_000, 200), "jsonl", ["-t", "0.5"]),
    "articles-60k": (articles(60_000, 200), "jsonl", []),
    "articles-60k-tight": (articles(60_000, 200), "parquet", ["--memory", "350MB"]),
    "short-200k": (articles(200_000, 8), "txt", []),
    "long-1k": (articles(1_000, 4_000), "parquet", []),
    "groups-20k": (groups(20_000, 60, 0.03), "jsonl", ["-t", "0.7"]),
    "footers-20k": (footers(20_000, 60, 60), "parquet", ["-t", "0.6"]),
    "copies-60k": (copies(60_000, 60, 0.5), "csv", []),
    "copies-60k-tight": (copies(60_000, 120, 0.2), "jsonl", ["--memory", "300MB"]),
    "articles-20k-lsh": (articles(20_000, 200), "parquet", ["--method", "lsh"]),
    "generated-100k": (generated(100_000, 191), "parquet", []),
    "generated-100k-csv": (generated(100_000, 191), "csv", []),
    "generated-100k-tight": (generated(100_000, 191), "jsonl", ["--memory", "400MB"]),
    "generated-250k": (generated(250_000, 191), "parquet", ["--method", "lsh"]),
    "generated-30k-chars": (generated(30_000, 300), "jsonl", ["--unit", "char", "-k", "9"]),
    "articles-30k-chars": (articles(30_000, 100), "parquet", ["--unit", "char", "-k", "9"]),
}

REPORTED: dict[str, tuple[Make, str, list[str]]] = {
    "django": (django, "jsonl", []),
    "django-t5": (django, "jsonl", ["-t", "0.5"]),
    "licences": (licences, "parquet", ["-t", "0.6"]),
    "news-100": (news("100"), "csv", []),
    "news-1000": (news("1000"), "txt", []),
    "news-2500": (news("2500"), "parquet", ["-t", "0.5"]),
    "products": (products, "csv", ["-k", "3", "-t", "0.5"]),
    "modules": (modules, "parquet", []),
    "modules-lines": (modules, "jsonl", ["--unit", "line", "-k", "2", "-t", "0.6"]),
    "modules-tight": (modules, "parquet", ["--memory", "400MB"]),
    "manual": (manual, "jsonl", ["-t", "0.7"]),
    "logs-100k": (logs(100_000), "txt", ["-k", "3", "-t", "0.9"]),
    "letters-20k": (letters(20_000), "parquet", ["-t", "0.6"]),
    "letters-20k-csv": (letters(20_000), "csv", ["-t", "0.8", "--method", "lsh"]),
    "versions-30k": (versions(30_000, 150), "jsonl", []),
    "versions-30k-tight": (versions(30_000, 300), "parquet", ["--memory", "300MB"]),
    "hexes-50k": (hexes(50_000, 50), "csv", []),
    "hexes-5k-long": (hexes(2_000, 2_000), "parquet", ["-t", "0.9"]),
    "zipf-groups": (groups(30_000, 100, 0.01), "csv", ["-t", "0.8"]),
    "copies-100k": (copies(100_000, 30, 0.1), "txt", []),
}


def written(texts: Texts, form: str, path: Path) -> list[str]:
    """Write the texts; returns the command-line arguments that name them."""
    if form == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"text": texts}), path, compression="zstd", row_group_size=max(1, len(texts) // 64))
    elif form == "jsonl":
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    elif form == "csv":
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([["text"], *([text] for text in texts)])
    else:
        path.write_text("".join(" ".join(text.split()) + "\n" for text in texts))
    return [str(path)]


def on_disk(folder: Path) -> int:
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(root, name)).st_blocks * 512
            except OSError:
                continue
    return total


def run(command: list[str], folder: Path) -> tuple[dict[str, Any], int]:
    """Run in the folder; returns the measurement, and the most bytes on disk in it."""
    most, over = 0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not over.wait(0.03):
            most = max(most, on_disk(folder))

    watcher = threading.Thread(target=watch)
    watcher.start()
    measured = measure(command, folder=folder, log=folder.parent / "log", timeout=900)
    over.set()
    watcher.join()
    return measured, most


def compare(name: str, inputs: list[str], options: list[str], form: str, scratch: Path) -> Iterator[dict[str, Any]]:
    program = str(Path(sys.executable).parent / "lookalike")
    best: dict[str, Any] = {}
    for _ in range(2):
        folder = scratch / "run"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        measured, most = run([program, "pairs", *inputs, *options, "-o", "out.parquet", "-q"], folder)
        if measured["status"] != "ok":
            yield {"name": name, "status": measured}
            return
        receipt = json.loads((folder / "out.parquet.receipt.json").read_text())
        measured["disk"] = max(0, most - on_disk(folder)) if most > 2 * on_disk(folder) else 0
        if not best or measured["seconds"] < best["seconds"]:
            best = measured | {"counts": receipt["counts"], "method": receipt["choice"]["method"]}
    nbytes = Path(inputs[0]).stat().st_size
    for read in (READ, nbytes // 3):
        command = [sys.executable, "-c", FORECAST, str(read), "plan", *inputs, *options, "--json"]
        start, load = time.perf_counter(), os.getloadavg()[0]
        measured, _ = run(command, scratch / "run")
        if measured["status"] != "ok":
            yield {"name": name, "status": measured}
            return
        text = (scratch / "log").read_text()
        made = json.loads(text[text.index("{") :])
        yield {
            "name": name, "form": form, "read": "part" if read < READ else "all", "run": best, "forecast": made,
            "forecast_seconds": time.perf_counter() - start, "load": load,
        }  # fmt: skip


MEASURES = ("pairs", "candidates", "seconds", "core_seconds", "memory", "disk")


def true_value(measure: str, run: dict[str, Any]) -> float:
    if measure in ("pairs", "candidates"):
        return float(run["counts"].get(measure, 0))
    return float(run[{"core_seconds": "cpu_seconds", "memory": "peak_bytes"}.get(measure, measure)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--skip", default="")
    parser.add_argument("--half", choices=["development", "reported"])
    asked = parser.parse_args()
    halves = {"development": DEVELOPMENT, "reported": REPORTED}
    rows = []
    for half, corpora in halves.items():
        if asked.half not in (None, half):
            continue
        for name, (make, form, options) in corpora.items():
            if asked.only not in name or (asked.skip and asked.skip in name):
                continue
            with tempfile.TemporaryDirectory(dir=os.environ.get("LOOKALIKE_SCRATCH")) as scratch:
                child = os.fork()  # this process must stay small: see measure.py
                if not child:
                    draw = random.Random(f"{half} {name}")
                    texts = make(draw)
                    draw.shuffle(texts)
                    written(texts, form, Path(scratch) / f"texts.{form}")
                    os._exit(0)
                if os.waitpid(child, 0)[1]:
                    print(f"{name}: no corpus", file=sys.stderr)
                    continue
                for row in compare(name, [f"{scratch}/texts.{form}"], options, form, Path(scratch)):
                    rows.append(row | {"half": half})
                    show(row)
    out = HERE.parent / ".bench" / "forecasts.json"
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(rows, indent=1))
    for half in halves:
        whole = [row for row in rows if row["half"] == half and "run" in row]
        if not whole:
            continue
        print(f"\n{half}: {len(whole)} forecasts")
        for what in MEASURES:
            judged = [row for row in whole if what != "seconds" or row["load"] < (os.cpu_count() or 1) / 2]
            judged = [row for row in judged if what != "disk" or row["forecast"]["work_folder"]]
            print(f"  {what:<13} {sum(within(row, what) for row in judged)} of {len(judged)} intervals hold")
        same = sum(row["forecast"]["method"] == row["run"]["method"] for row in whole)
        print(f"  method        {same} of {len(whole)} the same")


def within(row: dict[str, Any], what: str) -> bool:
    if f"{what}_interval" not in row["forecast"]:
        return False
    low, high = row["forecast"][f"{what}_interval"]
    return bool(low <= true_value(what, row["run"]) <= high)


def show(row: dict[str, Any]) -> None:
    if "run" not in row:
        print(row, flush=True)
        return
    measured = []
    for what in MEASURES:
        if f"{what}_interval" in row["forecast"]:
            low, high = row["forecast"][f"{what}_interval"]
            true = true_value(what, row["run"])
            measured.append(f"{what} {true:.4g} in {low:.4g}..{high:.4g}{'' if low <= true <= high else ' MISSED'}")
        elif what in row["forecast"]:
            measured.append(f"{what} {true_value(what, row['run']):.4g} forecast {row['forecast'][what]:.4g}")
    same = row["forecast"]["method"] == row["run"]["method"]
    print(
        row["name"], row["read"], row["run"]["method"], "" if same else "OTHER METHOD", "; ".join(measured), flush=True
    )


if __name__ == "__main__":
    main()
