"""A memory budget is a promise: a run stays within it, or is refused with what it needs. Small inputs of the shapes that
benchmarks/scale/hostile.py measures at full size.

The peak that the system counts (VmHWM) has pages of mapped work files in it, which a thread gives back; on a busy machine
it may run late, so a test of that peak is red at times without a mistake. What is measured here is the anonymous memory,
which nobody but the run itself can give back, while the run goes on. Pages of library code that stay resident are added. All shapes run in one process, which starts once.
"""

from __future__ import annotations

import gzip
import json
import re
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.feather as pf
import pyarrow.parquet as pq
import pytest

BUDGET = 300  # MB
SECONDS = 0.002  # between two looks at the process
PROGRAM = """
import gc, json, os, sys
from lookalike.cli.main import main
from lookalike.runtime.local.allocators import trim
answers = os.fdopen(os.dup(1), "w")
for line in sys.stdin:
    folder, sys.argv[1:] = json.loads(line)
    os.chdir(folder)
    try:
        main()
    except SystemExit:
        pass
    gc.collect()  # a command has a process of its own, and need not clean up after an error
    trim()
    answers.write("done\\n")
    answers.flush()
"""
pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system does not tell the memory")


def words(count: int, draw: np.random.Generator) -> list[str]:
    return [f"w{number}" for number in draw.integers(0, 30_000, count)]


def near_copies(draw: np.random.Generator) -> list[str]:
    template = words(300, draw)
    return [" ".join([*template[:150], f"n{number}", *template[150:]]) for number in range(12_000)]


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
    """A run. peak: MB of anonymous memory and library code; messages: what it wrote to standard error."""

    peak: float
    messages: str


class Process:
    """A process that runs one command line after the other."""

    def __init__(self, log: Path) -> None:
        self._log = log
        program = [sys.executable, "-c", PROGRAM]
        with log.open("w") as errors:
            self._run = subprocess.Popen(program, stdin=-1, stdout=-1, stderr=errors, text=True)
        self._code = 0.0

    def memory(self, kind: str) -> float:
        status = Path(f"/proc/{self._run.pid}/status").read_text()
        return int(status.split(f"{kind}:")[1].split()[0]) * 1024 / 1e6

    def __call__(self, folder: Path, arguments: list[str]) -> Measured:
        assert self._run.stdin is not None
        assert self._run.stdout is not None
        before, peak = len(self._log.read_text()), 0.0
        self._run.stdin.write(json.dumps([str(folder), [*arguments, "--memory", f"{BUDGET}MB"]]) + "\n")
        self._run.stdin.flush()
        while not select.select([self._run.stdout], [], [], SECONDS)[0]:
            peak = max(peak, self.memory("RssAnon"))
        assert self._run.stdout.readline() == "done\n", self._log.read_text()
        self._code = self._code or self.memory("RssFile")  # after the first run all libraries are loaded
        return Measured(peak + self._code, self._log.read_text()[before:])

    def close(self) -> None:
        self._run.communicate(timeout=60)


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    process = Process(tmp_path_factory.mktemp("process") / "log")
    folder = tmp_path_factory.mktemp("start")
    (folder / "in.txt").write_text("one text\nanother\n")
    process(folder, ["dedup", "in.txt", "-o", "out.txt"])
    yield process
    process.close()


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
    shape: Callable[[np.random.Generator], list[str]], command: list[str], name: str, process: Process, tmp_path: Path
) -> None:
    write(tmp_path / name, shape(np.random.default_rng(1)))
    run = process(tmp_path, [command[0], name, *command[1:]])
    assert (tmp_path / command[2]).exists(), run.messages
    assert run.peak <= 1.1 * BUDGET


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
def test_a_text_that_cannot_fit_is_refused_before_it_is_read(
    name: str, what: str, process: Process, tmp_path: Path
) -> None:
    write(tmp_path / name, ["short", LONG, "short too"])
    run = process(tmp_path, ["dedup", name, "-o", "out.csv"])
    message = rf"UsageError: {what} needs about 760 MB of memory, more than --memory 300 MB\. Allow --memory 800MB\."
    assert re.search(message, run.messages), run.messages
    assert run.peak <= 1.1 * BUDGET
    assert not (tmp_path / "out.csv").exists()


def test_a_file_that_cannot_fit_is_refused_before_it_is_read(process: Process, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text("short")
    (tmp_path / "folder" / "b.txt").write_text(LONG)
    run = process(tmp_path, ["dedup", "folder", "-o", "out.csv"])
    assert re.search(r"UsageError: folder/b\.txt \(40\.0 MB\) needs about 760 MB", run.messages), run.messages
    assert run.peak <= 1.1 * BUDGET


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
    texts: list[str], command: list[str], message: str, process: Process, tmp_path: Path
) -> None:
    write(tmp_path / "in.parquet", texts)
    run = process(tmp_path, [command[0], "in.parquet", *command[1:]])
    assert re.search(message, run.messages), run.messages
    assert run.peak <= 1.1 * BUDGET
    assert not (tmp_path / "out.csv").exists()
