"""lookalike shingles and signatures from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pyarrow.parquet as pq


def test_the_curve_and_a_command(tmp_path: Path, lookalike) -> None:
    draw = Random(1)
    lines = [" ".join(draw.choices(["red", "green", "blue", "grey"], k=30)) for _ in range(50)]
    (tmp_path / "texts.txt").write_text("\n".join(lines))
    done = lookalike("shingles", tmp_path / "texts.txt")
    assert done.out.startswith("Sampled 50 unrelated documents, median 30 words, ")
    assert done.out.endswith(f"\nSuggested: lookalike pairs {tmp_path / 'texts.txt'} --unit word -k 6\n")
    marked = [line.split()[:2] for line in done.out.splitlines() if line.endswith("<-")]
    assert marked[-1] == ["word", "6"]
    survey = json.loads(lookalike("shingles", tmp_path / "texts.txt", "--json").out)
    assert (survey["unit"], survey["k"], survey["documents"]) == ("word", 6, 50)


def test_signatures_from_entries(tmp_path: Path, lookalike) -> None:
    (tmp_path / "entries.csv").write_text("shingle,document\nab,x\nab,y\nbc,y\n")
    done = lookalike("signatures", tmp_path / "entries.csv", "-o", tmp_path / "out.parquet", "--num-hashes", "4")
    assert done.err == f"Wrote    {tmp_path / 'out.parquet'} · 2 signatures of 4 hashes\n"
    assert pq.read_table(tmp_path / "out.parquet")["document"].to_pylist() == ["x", "y"]
