"""A memory budget is a promise: a run stays within it, or is refused with what it needs. Small inputs of the shapes that
benchmarks/scale/hostile.py measures at full size.

What is measured is the peak that the system counts for the process of a run. It has pages of mapped work files in it,
which a thread gives back; on a busy machine it may come late, so a run whose peak is too high is repeated, and the least of
three counts.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.feather as pf
import pyarrow.parquet as pq
import pytest

BUDGET = 300  # MB
ALLOWED = 1.1 * BUDGET
pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system does not tell the memory")


def words(count: int, draw: np.random.Generator) -> list[str]:
    return [f"w{number}" for number in draw.integers(0, 30_000, count)]


def near_copies(draw: np.random.Generator) -> list[str]:
    template = words(300, draw)
    return [" ".join([*template[:150], f"n{number}", *template[150:]]) for number in range(12_000)]


def few_near_copies(draw: np.random.Generator) -> list[str]:
    """Few enough for the exact join, whose pairs are too many."""
    return near_copies(draw)[:2_000]


def footers(draw: np.random.Generator) -> list[str]:
    footer = " ".join(words(80, draw))
    return [" ".join(words(60, draw)) + " " + footer for _ in range(12_000)]


def equal_rows(draw: np.random.Generator) -> list[str]:
    """Long ones: the file holds the text once, and the rows refer to it."""
    return [" ".join(words(6_000, draw))] * 3_000


def ordinary(draw: np.random.Generator) -> list[str]:
    return [" ".join(words(100, draw)) for _ in range(15_000)]


def long_ones(draw: np.random.Generator) -> list[str]:
    """As long as is accepted, one after the other."""
    return [" ".join(words(1_000_000, draw)) for _ in range(3)]


class Measured(NamedTuple):
    """A run. peak: MB of resident memory; messages: what it wrote to standard error."""

    peak: float
    messages: str


PROGRAM = """
import re, sys
from lookalike.cli.main import main
try:
    main()
finally:
    peak = re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]
    open("peak", "w").write(peak)
"""


def measured(folder: Path, arguments: list[str]) -> Measured:
    """The run with the least peak of up to three; the first whose peak is within the budget ends them."""
    command = [sys.executable, "-c", PROGRAM, *arguments, "--memory", f"{BUDGET}MB", "--force"]
    runs: list[Measured] = []
    while len(runs) < 3 and (not runs or runs[-1].peak > ALLOWED):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        runs.append(Measured(int((folder / "peak").read_text()) * 1024 / 1e6, done.stderr))
    return min(runs)


def write(path: Path, texts: list[str]) -> None:
    table = pa.table({"id": range(len(texts)), "text": texts})
    match path.suffix:
        case ".csv":
            pv.write_csv(table, path)
        case ".arrow":
            pf.write_feather(table, path, compression="uncompressed")
        case ".parquet":
            pq.write_table(table, path)
        case ".jsonl":
            path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        case _:
            path.write_bytes(gzip.compress("\n".join(texts).encode(), 1))


@pytest.mark.promise("docs/how-to/large.md", "at most a tenth above the budget")
@pytest.mark.parametrize(
    ("shape", "command", "name"),
    [
        (near_copies, ["groups", "-o", "out.csv"], "in.parquet"),
        (near_copies, ["dedup", "-o", "out.parquet"], "in.parquet"),
        (few_near_copies, ["dedup", "-o", "out.parquet"], "in.parquet"),
        (footers, ["dedup", "-o", "out.parquet", "--method", "exact"], "in.parquet"),
        (equal_rows, ["dedup", "-o", "out.parquet"], "in.parquet"),
        (long_ones, ["dedup", "-o", "out.parquet"], "in.arrow"),
        (long_ones, ["dedup", "-o", "out.jsonl"], "in.jsonl"),
        (ordinary, ["pairs", "-o", "out.csv"], "in.csv"),
        (ordinary, ["passages", "-o", "out.parquet"], "in.parquet"),
    ],
    ids=lambda value: value.__name__ if callable(value) else None,
)
def test_a_run_stays_within_the_budget(
    shape: Callable[[np.random.Generator], list[str]], command: list[str], name: str, tmp_path: Path
) -> None:
    write(tmp_path / name, shape(np.random.default_rng(1)))
    run = measured(tmp_path, [command[0], name, *command[1:]])
    assert (tmp_path / command[2]).exists(), run.messages
    assert run.peak <= ALLOWED


LONG = "word " * 8_000_000


@pytest.mark.promise("docs/how-to/large.md", "before it is read")
@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("in.parquet", r"a page of column 'text' of in\.parquet \(40\.0 MB\)"),
        ("in.csv", r"a record of in\.csv \(40\.0 MB\)"),
        ("in.jsonl", r"line 2 of in\.jsonl \(40\.0 MB\)"),
        ("in.txt.gz", r"line 2 of in\.txt\.gz \(40\.0 MB\)"),
        ("in.arrow", r"the document in row 1 of in\.arrow \(40\.0 MB\)"),
    ],
)
def test_a_text_that_cannot_fit_is_refused_before_it_is_read(name: str, what: str, tmp_path: Path) -> None:
    write(tmp_path / name, ["short", LONG, "short too"])
    run = measured(tmp_path, ["dedup", name, "-o", "out.csv"])
    message = rf"UsageError: {what} needs about 760 MB of memory, more than --memory 300 MB\. Allow --memory 800MB\."
    assert re.search(message, run.messages), run.messages
    assert run.peak <= ALLOWED
    assert not (tmp_path / "out.csv").exists()


def test_a_file_that_cannot_fit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text("short")
    (tmp_path / "folder" / "b.txt").write_text(LONG)
    run = measured(tmp_path, ["dedup", "folder", "-o", "out.csv"])
    assert re.search(r"UsageError: folder/b\.txt \(40\.0 MB\) needs about 760 MB", run.messages), run.messages
    assert run.peak <= ALLOWED


@pytest.mark.parametrize(
    ("texts", "command", "message"),
    [
        (
            ["short", "x" * 4_000_000],
            ["dedup", "-o", "out.csv", "--unit", "char"],
            r"UsageError: the document in row 1 of in\.parquet \(4\.0 MB\) needs about 400 MB of memory, more than "
            r"--memory 300 MB\. Allow --memory 450MB\.",
        ),
        (
            [" ".join([*map(str, range(300)), f"n{number}"]) for number in range(5_000)],
            ["groups", "-o", "out.csv", "--method", "exact"],
            r"TooManyPairs: about 12,\d+,\d+ pairs are to be expected, which need about 1\.4 GB of memory, more than "
            r"--memory 300\.0 MB\. Use --method lsh, .* or allow more memory\.",
        ),
    ],
    ids=["one long document", "pairs of near-copies"],
)
def test_what_cannot_fit_is_refused_with_what_it_needs(
    texts: list[str], command: list[str], message: str, tmp_path: Path
) -> None:
    write(tmp_path / "in.parquet", texts)
    run = measured(tmp_path, [command[0], "in.parquet", *command[1:]])
    assert re.search(message, run.messages), run.messages
    assert run.peak <= ALLOWED
    assert not (tmp_path / "out.csv").exists()
