"""Collections larger than the memory allowed, and collections that break naive tools.

    python benchmarks/scale/budget.py [--files 6] [--memory 1.5GB] [--only large|skewed]

Large: FILES files of 1,000,000 generated documents (1.7 GB of text each), cleaned within a memory budget and, next to
it, with all arrays in memory. Skewed: one document a million times; 200,000 near-copies of a template that share a
bucket in every band; a document of 50 MB among short ones; a footer in every document. Writes scale.json and scale.md
into the folder .bench.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import above  # noqa: F401

from machine import machine, versions
from measure import measure

# promise: docs/how-to/large.md | within 400 MB of memory took 34.5 core seconds and 425 MB
# promise: docs/how-to/large.md | within 1 GB took 108 core seconds and 1,048 MB
# promise: docs/how-to/large.md | a tight budget costs several times more
# promise: docs/explanation/cost.md | took 27.6 core seconds and 2.5 GB in

HERE = Path(__file__).resolve().parents[1]
MILLION = 1_000_000
IN_MEMORY = (
    "from lookalike.runtime.local import workspace; workspace.LARGE_INPUT_BYTES = 1 << 60; "
    "from lookalike.cli.main import main; main()"
)


def large_files(folder: Path, count: int) -> list[Path]:
    """Files of a million documents, ids counted through."""
    paths = []
    for number in range(count):
        path = folder / f"large-{number}.parquet"
        if not path.exists():
            command = (
                "import sys, pyarrow as pa; from pathlib import Path; from corpora import write; "
                "from generated import generate; number, path = int(sys.argv[1]), Path(sys.argv[2]); "
                "write((pa.record_batch({'id': pa.array(range(number * 10**6 + at * 5000, "
                "number * 10**6 + at * 5000 + len(b))), 'text': b['text']}) "
                "for at, b in enumerate(generate(10**6, seed=42 + number, rows=5000))), path)"
            )
            # In its own process: this one must stay small (see measure.py).
            status = os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", command, str(number), str(path)])
            if status:
                raise SystemExit(f"cannot make {path}")
        paths.append(path)
    return paths


def write_lines(path: Path, lines: Iterator[str]) -> Path:
    if not path.exists():
        with path.open("w") as file:
            file.writelines(f"{line}\n" for line in lines)
    return path


def skewed_files(folder: Path) -> dict[str, Path]:
    """Text files, a document a line."""
    draw = random.Random(1)
    words = [f"{draw.randrange(16**6):06x}" for _ in range(20_000)]

    def tweet() -> str:
        return " ".join(draw.choices(words, k=15))

    template = draw.choices(words, k=200)

    def near_copy(number: int) -> str:
        return " ".join([*template[:100], f"n{number}", *template[100:], f"m{number}"])

    footer = " ".join(draw.choices(words, k=60))
    return {
        "one document 1,000,000 times": write_lines(
            folder / "copies.txt", (" ".join(template) for _ in range(MILLION))
        ),
        "200,000 near-copies of a template": write_lines(folder / "near.txt", map(near_copy, range(200_000))),
        "50 MB among 200,000 short texts": write_lines(
            folder / "long.txt",
            (" ".join(draw.choices(words, k=7_200_000)) if n == 7 else tweet() for n in range(200_000)),
        ),
        "a footer in all of 200,000": write_lines(
            folder / "footer.txt", (f"{tweet()} {tweet()} {footer}" for _ in range(200_000))
        ),
    }


def ours(*arguments: object) -> list[str]:
    return [str(Path(sys.executable).parent / "lookalike"), *map(str, arguments)]


def row(what: str, command: list[str], home: Path, answer: Path | None = None) -> dict[str, Any]:
    """Measure one command; counts come from its receipt."""
    log = home / "logs" / "scale.txt"
    log.parent.mkdir(parents=True, exist_ok=True)
    result = {"what": what, **measure(command, folder=home, log=log, timeout=7200)}
    receipt = answer and answer.with_name(answer.name.split(".")[0] + ".receipt.json")
    if receipt and receipt.exists() and result["status"] == "ok":
        made = json.loads(receipt.read_text())
        result |= {"method": made["choice"]["method"], "counts": made["counts"], "stages": made["seconds"]}
        receipt.unlink()
    sys.stderr.write(f"{what}: {result['status']} {result['seconds']} s, {result['peak_bytes'] / 1e6:,.0f} MB\n")
    return result


def run_large(home: Path, files: list[Path], memory: str) -> list[dict[str, Any]]:
    """The same command within the budget and in memory; the kept rows must be the same bytes."""
    rows = []
    names = [str(file) for file in files]
    for method in ("lsh", "exact"):
        small, big = home / "answers" / "scale-budget.parquet", home / "answers" / "scale-memory.parquet"
        options = ["--method", method, "--audit", "0", "--force", "-q"]
        rows.append(
            row(f"{method}, {memory}", ours("dedup", *names, "-o", small, "--memory", memory, *options), home, small)
        )
        command = [sys.executable, "-c", IN_MEMORY, "dedup", *names, "-o", str(big), "--memory", "1TB", *options]
        rows.append(row(f"{method}, in memory", command, home, big))
        rows[-1]["same bytes"] = small.read_bytes() == big.read_bytes() if small.exists() and big.exists() else False
    return rows


def run_skewed(home: Path, files: dict[str, Path], memory: str) -> list[dict[str, Any]]:
    rows = []
    for what, path in files.items():
        for asked in ("dedup", "groups", "pairs"):
            answer = home / "answers" / f"skewed-{asked}.parquet"
            command = ours(asked, path, "-o", answer, "--memory", memory, "--force", "-q")
            rows.append(row(f"{asked}: {what}", command, home, answer))
    return rows


def markdown(result: dict[str, Any]) -> str:
    lines = [
        f"Memory allowed: {result['memory']}.",
        "",
        "| run | seconds | core seconds | peak memory | outcome |",
        "|---|---:|---:|---:|---|",
    ]
    for one in result["runs"]:
        counts = one.get("counts", {})
        outcome = ", ".join(f"{counts[name]:,} {name}" for name in ("kept", "groups", "pairs") if name in counts)
        outcome = (outcome or one.get("message", one["status"])).replace("|", "/")
        same = {True: "; the same bytes", False: "; OTHER BYTES"}.get(one.get("same bytes"), "")
        spent = f"{one['seconds']:.1f} | {one['cpu_seconds']:.1f}"
        lines.append(f"| {one['what']} | {spent} | {one['peak_bytes'] / 1e6:,.0f} MB | {outcome}{same} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=6)
    parser.add_argument("--memory", default="1.5GB")
    parser.add_argument("--only", choices=["large", "skewed"])
    parser.add_argument("--home", type=Path, default=HERE.parent / ".bench")
    given = parser.parse_args()
    home = given.home.resolve()
    for name in ("corpora", "answers"):
        (home / name).mkdir(parents=True, exist_ok=True)
    os.chdir(HERE)
    runs: list[dict[str, Any]] = []
    if given.only != "skewed":
        runs += run_large(home, large_files(home / "corpora", given.files), given.memory)
    if given.only != "large":
        runs += run_skewed(home, skewed_files(home / "corpora"), given.memory)
    result = {"machine": machine(), "versions": versions(), "memory": given.memory, "runs": runs}
    (home / "scale.json").write_text(json.dumps(result, indent=2) + "\n")
    (home / "scale.md").write_text(markdown(result))
    sys.stdout.write(markdown(result))


if __name__ == "__main__":
    main()
