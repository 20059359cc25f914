"""Measure how long small commands and their help take, for one or several source trees in the same run.

    python benchmarks/start.py [--sources src OTHER/src] [--repeat 5]

Prints the least wall-clock and core seconds of several runs, after one that compiles. `import lookalike` is given above
the time that Python needs for nothing.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from measure import measure

HERE = Path(__file__).resolve().parent
HELPS = ("--help", "pairs --help", "dedup --help", "passages --help", "records pairs --help", "index query --help")
COMMANDS = (
    "pairs news.csv -t 0.6 -o out.parquet -q --force",
    "groups news.csv -t 0.6 -o out.parquet -q --force",
    "dedup news.csv -t 0.6 -o out.parquet -q --force",
    "passages essays -o out.csv -q --force",
    "records pairs people.csv -o out.csv -q --force",
    "baskets pairs sales.csv --set customer --item product -t 0.2 -o out.csv -q --force",
    "vectors pairs embeddings.npy --max-angle 20 -o out.csv -q --force",
    "plan -t 0.8",
    "compare a.txt b.txt",
)
IMPORTS = {"python alone": "pass", "import lookalike": "import lookalike"}


def best(command: list[str], source: str, folder: Path, repeat: int) -> dict[str, Any]:
    """Run a command several times; returns the least seconds and core seconds, or the first failure."""
    os.environ["PYTHONPATH"] = source
    runs = []
    for _ in range(repeat + 1):
        runs.append(measure(command, folder=folder, log=folder / "log.txt", timeout=120))
        if runs[-1]["status"] != "ok":
            return runs[-1]
    return {"status": "ok", **{key: min(run[key] for run in runs[1:]) for key in ("seconds", "cpu_seconds")}}


def shown(result: dict[str, Any]) -> str:
    """The figures of a command for the table."""
    return f"{result['seconds']:.3f} | {result['cpu_seconds']:.3f}" if result["status"] == "ok" else "failed | -"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sources", nargs="+", default=[str(HERE.parent / "src")])
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    sources = [str(Path(source).resolve()) for source in options.sources]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run(
            [sys.executable, "-m", "lookalike", "samples", "."], cwd=folder, check=True, capture_output=True,
            env={**os.environ, "PYTHONPATH": sources[0]},
        )  # fmt: skip
        print("| command |" + "".join(f" {source}: s | core s |" for source in options.sources))
        print("|---|" + "---:|---:|" * len(sources))
        for words in (*HELPS, *COMMANDS):
            command = [sys.executable, "-m", "lookalike", *shlex.split(words)]
            cells = [shown(best(command, source, folder, options.repeat)) for source in sources]
            print(f"| {words.removesuffix(' -q --force')} | " + " | ".join(cells) + " |", flush=True)
        for words, code in IMPORTS.items():
            cells = [shown(best([sys.executable, "-c", code], source, folder, options.repeat)) for source in sources]
            print(f"| {words} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
