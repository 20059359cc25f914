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
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.feather as pf
import pyarrow.parquet as pq
import pytest

import lookalike as la
from lookalike.errors import TooManyPairs, UsageError
from lookalike.io.pictures import PictureFolder
from lookalike.kinds.baskets.local import BASKETS_NEED
from lookalike.kinds.images.local import PICTURES_NEED
from lookalike.runtime.local import memory_limit, work_folder
from lookalike.runtime.local.memory_limit import MemoryLimit
from lookalike.runtime.local.work_folder import ResourceLimits

BUDGET = 300  # MB
ALLOWED = 1.1 * BUDGET
LIMIT: dict[str, Any] = {"memory": "300MB"}
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


def names(folder: Path) -> None:
    draw = np.random.default_rng(1)
    table = {"id": range(20_000), "name": [" ".join(words(2, draw)) for _ in range(20_000)]}
    pq.write_table(pa.table({**table, "city": words(20_000, draw)}), folder / "in.parquet")


def codes(folder: Path) -> None:
    table = {"code": np.random.default_rng(1).integers(0, 1 << 62, 300_000)}
    pq.write_table(pa.table(table), folder / "in.parquet")


def many_codes(folder: Path) -> None:
    """Three times as many as fit into memory."""
    table = {"code": np.random.default_rng(1).integers(0, 1 << 62, 2_000_000)}
    pq.write_table(pa.table(table), folder / "in.parquet")


def rows(folder: Path) -> None:
    np.save(folder / "in.npy", np.random.default_rng(1).standard_normal((40_000, 32), np.float32))


def rows_beyond(folder: Path) -> None:
    """More than fit into memory."""
    np.save(folder / "in.npy", np.random.default_rng(1).standard_normal((300_000, 32), np.float32))


def few_rows(folder: Path) -> None:
    np.save(folder / "in.npy", np.random.default_rng(1).standard_normal((1_500, 32), np.float32))


def entries(folder: Path) -> None:
    table = {"basket": np.arange(200_000) // 10, "item": np.random.default_rng(1).integers(0, 1 << 20, 200_000)}
    pq.write_table(pa.table(table), folder / "in.parquet")


def articles(folder: Path) -> None:
    write(folder / "in.parquet", ordinary(np.random.default_rng(1))[:4_000])


@pytest.mark.promise("docs/how-to/large.md", "Every other kind takes `--memory`")
@pytest.mark.parametrize(
    ("made", "command"),
    [
        (names, ["strings", "groups", "in.parquet", "--text", "name"]),
        (names, ["records", "groups", "in.parquet"]),
        (codes, ["bits", "groups", "in.parquet", "--max-bits", "2"]),
        (many_codes, ["bits", "pairs", "in.parquet", "--max-bits", "2"]),
        (rows, ["vectors", "groups", "in.npy", "--max-angle", "10"]),
        (rows_beyond, ["vectors", "pairs", "in.npy", "--max-angle", "10", "--audit", "0"]),
        (few_rows, ["faces", "groups", "in.npy", "--tolerance", "0.01", "-t", "0.9"]),
        (entries, ["baskets", "groups", "in.parquet", "--set", "basket", "--item", "item", "-t", "0.8"]),
        (articles, ["stories", "in.parquet"]),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_other_kinds_stay_within_the_limit(made: Callable[[Path], None], command: list[str], tmp_path: Path) -> None:
    made(tmp_path)
    run = measured(tmp_path, [*command, "-o", "out.csv"])
    assert (tmp_path / "out.csv").exists(), run.messages
    assert run.peak <= ALLOWED


def labelled(folder: Path) -> None:
    texts = ordinary(np.random.default_rng(1))[:2_000]
    labels = [str(row % 3) if row % 2 else "" for row in range(len(texts))]
    pq.write_table(pa.table({"id": range(len(texts)), "text": texts, "topic": labels}), folder / "in.parquet")
    pq.write_table(pa.table({"id": range(9), "text": texts[:9]}), folder / "few.parquet")


@pytest.mark.promise("docs/how-to/large.md", "`nearest`, `classify` and `records merge` take the same limit")
@pytest.mark.parametrize(
    ("made", "command"),
    [
        (labelled, ["nearest", "in.parquet", "--in", "in.parquet", "--top", "2"]),
        (labelled, ["classify", "in.parquet", "--label", "topic"]),
        (labelled, ["decontaminate", "in.parquet", "--against", "few.parquet"]),
        (labelled, ["scrub", "in.parquet"]),
        (entries, ["baskets", "nearest", "in.parquet", "--set", "basket", "--item", "item", "--at-least", "0.9"]),
        (few_rows, ["vectors", "nearest", "in.npy"]),
        (names, ["records", "merge", "in.parquet"]),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else "",
)
def test_other_commands_stay_within_the_limit(made: Callable[[Path], None], command: list[str], tmp_path: Path) -> None:
    made(tmp_path)
    run = measured(tmp_path, [*command, "-o", "out.parquet"])
    assert (tmp_path / "out.parquet").exists(), run.messages
    assert run.peak <= ALLOWED


def alike(folder: Path) -> None:
    """Every two of them match."""
    np.save(folder / "in.npy", np.random.default_rng(1).standard_normal((60_000, 32), np.float32))


@pytest.mark.parametrize(
    "command", [["faces", "pairs", "in.npy"], ["vectors", "pairs", "in.npy", "--max-angle", "85", "--exact"]]
)
def test_too_many_pairs_are_noticed_within_the_limit(command: list[str], tmp_path: Path) -> None:
    """A task ends at the limit: it does not collect all of its pairs first."""
    alike(tmp_path)
    run = measured(tmp_path, [*command, "-o", "out.csv"])
    assert "pairs are to be expected, more than fit into --memory" in run.messages
    assert run.peak <= ALLOWED
    assert not (tmp_path / "out.csv").exists()


def many_rows(folder: Path) -> None:
    """A sparse file: nothing of it is read."""
    np.lib.format.open_memmap(folder / "in.npy", mode="w+", dtype=np.float32, shape=(2_000_000, 64))


def mapped(file: Path) -> Any:
    """An array of the user, which another process could not read again."""
    return np.load(file, mmap_mode="r")


def many_values(folder: Path) -> None:
    pq.write_table(pa.table({"id": range(1_200_000), "code": ["ab cd ef"] * 1_200_000}), folder / "in.parquet")


def many_keys(folder: Path) -> None:
    """Short enough to be read; their variants with two deletions are not."""
    table = {"code": [f"{number:06} lorem ipsum" for number in range(70_000)]}
    pq.write_table(pa.table(table), folder / "in.parquet")


@pytest.mark.promise("docs/how-to/large.md", "refused with the memory that it needs")
@pytest.mark.parametrize(
    ("made", "find", "what"),
    [
        (many_values, lambda file: la.strings.pairs(pq.read_table(file), text="code", **LIMIT), "1,200,000 strings"),
        (
            many_keys,
            lambda file: la.strings.pairs(pq.read_table(file), max_edits=2, **LIMIT),
            "70,000 strings with .* keys",
        ),
        (many_values, lambda file: la.records.pairs(file, **LIMIT), "1,200,000 records"),
        (many_values, lambda file: la.bits.pairs(pq.read_table(file), column="code", **LIMIT), "1,200,000 codes"),
        (many_rows, lambda file: la.vectors.pairs(mapped(file), max_angle=10, **LIMIT), "2,000,000 vectors"),
        (many_rows, lambda file: la.faces.pairs(file, **LIMIT), "2,000,000 faces"),
        (many_values, lambda file: la.nearest(file, text="code", **LIMIT), "1,200,000 documents"),
        (many_values, lambda file: la.strings.nearest(file, text="code", **LIMIT), "1,200,000 strings"),
        (many_values, lambda file: la.bits.nearest(pq.read_table(file), column="code", **LIMIT), "1,200,000 codes"),
        (many_rows, lambda file: la.vectors.nearest(file, **LIMIT), "2,000,000 vectors"),
        (many_values, lambda file: la.classify(file, label="id", text="code", **LIMIT), "1,200,000 documents"),
        (many_values, lambda file: la.records.merge(file, **LIMIT), "1,200,000 records"),
    ],
    ids=[
        "strings",
        "keys of strings",
        "records",
        "bits",
        "vectors",
        "faces",
        "nearest",
        "nearest strings",
        "nearest bits",
        "nearest vectors",
        "classify",
        "merge",
    ],
)
def test_other_kinds_refuse_what_cannot_fit(
    made: Callable[[Path], None], find: Callable[[Path], Any], what: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(work_folder, "return_memory_promptly", lambda: None)  # it is for the whole process
    made(tmp_path)
    message = rf"a run on {what} needs about [\d,]+ MB of memory, more than `memory=300 MB`\. Allow `memory=\d+MB`\."
    with pytest.raises(UsageError, match=message):
        find(next(tmp_path.iterdir()))


def test_neighbours_that_cannot_fit_are_refused_before_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_folder, "return_memory_promptly", lambda: None)
    monkeypatch.setattr(memory_limit, "resident", lambda: 0)
    texts = [f"a{number % 7} b{number}" for number in range(1_500)]
    with pytest.raises(UsageError, match=r"a table of 1,498,500 neighbours needs about 35\d MB of memory, more than"):
        la.nearest(texts, k=1, top=999, **LIMIT)
    with pytest.raises(UsageError, match=r"a search in 1,500 sets of 900,000 elements needs about 309 MB"):
        la.nearest([" ".join(map(str, range(600)))] * 1_500, k=1, top=1, **LIMIT)


def test_pictures_and_baskets_that_cannot_fit(tmp_path: Path) -> None:
    limit = MemoryLimit(ResourceLimits(300_000_000, stated=True))
    with pytest.raises(UsageError, match="a run on 100,000 pictures needs about"):
        limit.check_input([PictureFolder("a", (Path("a.png"),) * 100_000, ("a.png",) * 100_000)], PICTURES_NEED)
    with (tmp_path / "baskets.csv").open("wb") as file:
        file.truncate(50_000_000)
    with pytest.raises(UsageError, match=r"a run on an input of 50\.0 MB needs about 400 MB"):
        limit.check_files([str(tmp_path)], BASKETS_NEED)


def test_work_that_turns_out_to_need_more_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the process holds decides in the end, not the estimate."""
    monkeypatch.setattr(work_folder, "return_memory_promptly", lambda: None)
    monkeypatch.setattr(memory_limit, "resident", lambda: 320_000_000)
    codes = np.random.default_rng(1).integers(0, 1 << 62, 3_000)
    with pytest.raises(UsageError, match=r"the run was stopped: it holds 320\.0 MB, more than `memory=300\.0 MB`"):
        la.bits.pairs(codes, max_bits=4, memory="300MB")
    assert len(la.bits.pairs(codes, max_bits=4).pairs) == 0


@pytest.mark.promise("docs/explanation/limits.md", "pairs that do not fit are refused")
def test_pairs_that_do_not_fit_name_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_folder, "return_memory_promptly", lambda: None)
    monkeypatch.setattr(memory_limit, "PER_PAIR", 100_000)
    monkeypatch.setattr(memory_limit, "resident", lambda: 0)
    codes = np.random.default_rng(1).integers(0, 1 << 8, 300)
    with pytest.raises(TooManyPairs, match=r"more than fit into `memory=300\.0 MB`\. Ask for nearer pairs, or"):
        la.bits.pairs(codes, max_bits=60, memory="300MB")
    with pytest.raises(TooManyPairs, match=r"more than 10 pairs \(`max_pairs`\)"):
        la.bits.pairs(codes, max_bits=60, max_pairs=10, memory="300MB")
